"""Wanted: the thing that a message asks for: a work, an older version of it, all rows of a table, a part, one of a list.

There is a file for each, with what it looks like in a text. Which message holds it, and what of it is quoted, is decided in
``recall.wholes``; other acts of messages are in ``text.dialogue``.
"""
