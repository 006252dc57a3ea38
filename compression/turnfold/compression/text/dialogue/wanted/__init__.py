"""Wanted: what a message asks to have: a work, an older version of it, all rows of a table, a part by its place, one of a list.

Lives here: a file for each, with what it looks like in a text. Does not belong here: which message holds it, what of it is quoted
(``recall.wholes``); other acts of messages (``text.dialogue``).
"""
