"""Wanted: the thing that a message asks for: a work, an older version of it, all rows of a table, a part, one of a list.

Lives here: a file for each, with what it looks like in a text. Does not belong here: which message holds it, what of it is quoted
(``recall.wholes``); other acts of messages (``text.dialogue``).
"""
