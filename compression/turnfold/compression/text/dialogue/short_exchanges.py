"""The short exchanges of a chat: "add milk", "Milk added."; what users have kept, step by step.

This module finds them. What is quoted of them is decided in ``shorten.told`` and ``recall.ledger``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression.text.quotes import Quotable

_LONGEST: Final = 240  # characters of an answer
_LONGEST_TOLD: Final = 400  # characters of the message that it answers


def short_exchanges(sources: Sequence[Quotable]) -> Iterator[int]:
    """The users' short messages with a short answer, which is the next message."""
    for at in range(1, len(sources)):
        user, answer = sources[at - 1], sources[at]
        if (user.role, answer.role) != ("user", "assistant") or not answer.text.strip():
            continue
        if len(user.text) <= _LONGEST_TOLD and is_short(answer):
            yield at - 1


def is_short(answer: Quotable) -> bool:
    """Whether an answer is as short as the answer to something that was only to be recorded."""
    return len(answer.text) <= _LONGEST
