"""Beginnings of a body that are valid bodies themselves: the array of messages ends earlier, the rest follows.

This module finds where a body's array may end, and writes the body that ends there. It knows no format's keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.removal import element_place


def borders(conversation: Conversation, step: int, most: int) -> tuple[int, ...]:
    """Ends of elements of the array of messages, about `step` characters apart; the last one is the end of the last element.

    () if an element has more than `most` characters, or there is none.
    """
    start, end = conversation.history
    inside = [i for i, (at, _) in enumerate(conversation.spans) if start <= at < end]
    places = dict.fromkeys(element_place(conversation, i) for i in inside)
    if any(stop - begin > most for begin, stop in places):
        return ()
    found: list[int] = []
    at = 0
    for _, stop in places:
        if stop >= at + step:
            found.append(stop)
            at = stop
    last = max((stop for _, stop in places), default=0)
    return (*found, last) if last > at else tuple(found)


def beginning(text: str, borders: Sequence[int], border: int) -> str:
    """A body whose array of messages ends at one of its `borders`."""
    return text[:border] + text[borders[-1] :]
