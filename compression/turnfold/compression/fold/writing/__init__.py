"""Writing a fold: the values of a draft, and the writer that goes through its pieces.

``fold.write`` leads from a plan to a draft with them.
"""
