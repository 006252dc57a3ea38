"""Ties: which sentences must not be shown without which others, so that no meaning is reversed.

The properties of one sentence are in ``pieces``, the telling words and phrases in ``cues`` and ``hints``, and there is a file of
rules for each way in which sentences depend on others. ``text.statements`` asks these rules and makes statements of them; what is
shown is decided in ``shorten``.
"""
