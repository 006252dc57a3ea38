"""Terse prose: fewer words that claim, ask and order the same, by rules that each save tokens.

Lives here: the rules, what may be rewritten, the rewriting and its receipt. Does not belong here: leaving sentences out
(``shorten.prose``), the words (``text.lexicon``).
"""
