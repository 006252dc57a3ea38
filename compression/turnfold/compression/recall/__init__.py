"""Recall: the passages of earlier messages that a question needs, quoted word for word.

Lives here: an index of passages, their scores for a question, how many of them fit, the fence that they are quoted in. Does not
belong here: which messages are folded, which of them ask, where the quotes go (all ``fold``); any wire format.
"""
