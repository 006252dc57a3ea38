"""Dialogue: what messages do, judged by their words: they order, ask, state, pick, change, withdraw.

Lives here: a file for each of these acts, and who speaks in a text that holds several turns. Does not belong here: what is quoted
or kept for it (``shorten``, ``recall``), the words themselves (``text.lexicon``).
"""
