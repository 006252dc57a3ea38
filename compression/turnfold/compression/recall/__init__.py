"""Recall: the passages of earlier messages that a question needs, quoted word for word.

This package has an index of passages, their scores for a question, how many of them fit, and the fence in which they are quoted.
Which messages are folded, which of them ask, and where the quotes go is decided in ``fold``. It knows no wire format.
"""
