"""Meanings of a question's words: things of a kind, another spelling, initials.

There is one file for each. What they weigh is up to ``recall.question``.
"""
