"""Dialogue: what messages do, judged by their words: they order, ask, state, pick, change, withdraw.

There is a file for each of these acts, and for who speaks in a text that holds several turns. What is quoted or kept because of
it is decided in ``shorten`` and ``recall``; the words themselves are in ``text.lexicon``.
"""
