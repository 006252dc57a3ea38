"""Terse prose: the same statements, questions and orders in fewer words, by rules that each save tokens.

The rules, what may be rewritten, and the rewriting with its receipt. Sentences are left out in ``shorten.prose``; the words are
in ``text.lexicon``.
"""
