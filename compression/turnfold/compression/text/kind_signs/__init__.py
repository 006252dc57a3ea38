"""Signs of a text's kind: what a single line looks like, and what a whole text does.

``text.kinds`` cuts a text by them.
"""
