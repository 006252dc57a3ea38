"""Meanings of a question's words: things of a kind, another spelling, initials.

Lives here: a file each. Does not belong here: what they weigh (``recall.question``).
"""
