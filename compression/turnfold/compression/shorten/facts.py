"""FACTS: one message's text, shortened by its role and kind.

Lives here: how much of a message stays. Must not: how a kind of text gets shorter (a file per kind beside this one does).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turnfold.compression.shorten.prose import shorten

_WHOLE_USER: Final = 60  # a user's message is an instruction: up to so many tokens it stays whole
_WHOLE_OTHER: Final = 24
_USER_SHARE: Final = 0.5
_OTHER_SHARE: Final = 0.35


def facts(text: str, *, role: str, is_argument: bool, words: frozenset[str], count: Callable[[str], int]) -> str:
    """The text at FACTS; the text itself where it is short or its kind has no rule.

    Args:
        role: the role of the message that it stands in.
        is_argument: whether it is the arguments of a tool call.
        words: lower-case words of the task: what a selection should look at.
    """
    if is_argument or role in ("tool", "function"):
        return text
    size = count(text)
    whole, share = (_WHOLE_USER, _USER_SHARE) if role == "user" else (_WHOLE_OTHER, _OTHER_SHARE)
    if size <= whole:
        return text
    return shorten(text, max(whole, int(share * size)), role=role, words=words, count=count)


def facts_tokens(role: str, size: int) -> int:
    """About what a message of `size` tokens takes at FACTS: an estimate from its role alone, for planning."""
    if role in ("tool", "function"):
        return size
    whole, share = (_WHOLE_USER, _USER_SHARE) if role == "user" else (_WHOLE_OTHER, _OTHER_SHARE)
    return size if size <= whole else max(whole, int(share * size))
