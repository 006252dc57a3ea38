"""Ties: which sentences must not be shown without which others, so that no meaning is reversed.

The properties of one sentence are in ``pieces``, the cue words and phrases in ``cues`` and ``hints``; each way in which sentences
depend on others has a file of rules. ``text.statements`` applies the rules and builds statements from the result; what is shown
is decided in ``shorten``.
"""
