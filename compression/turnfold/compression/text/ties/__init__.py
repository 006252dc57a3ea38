"""Ties: which sentences must not be shown without which others, so that no meaning is reversed.

Lives here: what one sentence is asked (``pieces``), the words and phrases that tell (``cues``, ``hints``),
a file of rules for each way in which sentences depend on others. Does not belong here: what is one statement
(``text.statements``, which asks these rules), what is shown (``shorten``).
"""
