"""Terse prose: the same statements, questions and orders in fewer words, by rules that each save tokens.

Lives here: the rules, what may be rewritten, the rewriting and its receipt. Does not belong here: leaving sentences out
(``shorten.prose``), the words (``text.lexicon``).
"""
