"""Dialogue: what the messages of a conversation do, told by their words: they order, ask, tell, pick, change, take back.

Lives here: a file for each of these acts, and who speaks in a text that holds several turns. Does not belong here: what is quoted
or kept for it (``shorten``, ``recall``), the words themselves (``text.lexicon``).
"""
