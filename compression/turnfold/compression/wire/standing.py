"""Moving instructions between messages when some of these are left out.

This module decides which of them move, and in which order messages are written. It knows no format's keys, and does not choose
what is left out.

Anthropic takes instructions amid the messages ("Mid-conversation system messages") right behind a user's message and in front of
an assistant's, or at the end; neighbours count as one. Where a fold leaves out what they stood between, they go behind the next
user's message. They keep their order among themselves, and are never left out, but for those that the provider no longer shows
to the model: behind another message it would show them again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import dropwhile, islice, takewhile
from typing import Final, NamedTuple

from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import Edit

_USERS: Final = frozenset({"user", "tool"})


class _HistoryElement(NamedTuple):
    """An element of the array of messages: the indices of its messages, their role, and its end."""

    start: int
    stop: int
    role: str
    end: int


class _InstructionRun(NamedTuple):
    """Adjacent instructions, the messages before and after them, and the index of the latter."""

    run: tuple[_HistoryElement, ...]
    front: _HistoryElement | None
    back: _HistoryElement | None
    at: int


def moved(conversation: Conversation, gone: Collection[int]) -> Mapping[int, _HistoryElement | None]:
    """Instructions that must move when messages are left out, and the element that each goes after; None if it is removed."""
    messages = conversation.messages
    if not gone or not any(messages[i].placed for i in messages.pinned):
        return {}
    elements = list(_elements(conversation))
    stood = list(_runs(conversation, elements))
    fronts, backs = {s.run[0]: s.front for s in stood}, {s.run[-1]: s.back for s in stood}
    kept = [e for e in elements if not all(i in gone for i in range(e.start, e.stop))]
    cleared = messages.cleared
    found: dict[int, _HistoryElement | None] = {}
    for run, front, back, at in _runs(conversation, kept):
        follows = front is not None and (front.role in _USERS or front == fronts.get(run[0]))
        precedes = back is None or back.role == "assistant" or back == backs.get(run[-1])
        if not (follows and precedes):
            # Instructions between users move too, or stand as the client had them: the next user's message is beside this one.
            later = dropwhile(lambda e: e.role not in _USERS, islice(kept, at, None))
            users = [e for e in takewhile(lambda e: e.role in _USERS or messages[e.start].placed, later) if e.role in _USERS]
            found.update((e.start, None if e.start in cleared else users[-1]) for e in run if users)
    return found


def insertions(conversation: Conversation, moves: Mapping[int, _HistoryElement | None]) -> Iterator[Edit]:
    """Edits that write the instructions in their new places; they are removed from the old ones separately."""
    messages = conversation.messages
    yield from (Edit(target.end, target.end, f",{messages[i].raw}") for i, target in moves.items() if target is not None)


def order(conversation: Conversation, gone: Collection[int]) -> Sequence[int]:
    """Indices of the remaining messages in the order in which they are written."""
    moves = moved(conversation, gone)
    kept = [i for i in range(len(conversation.messages)) if i not in gone]
    if not moves:
        return kept
    places = {i: (target.stop - 1, 1, i) for i, target in moves.items() if target is not None}
    return sorted((i for i in kept if i in places or i not in moves), key=lambda i: places.get(i, (i, 0, i)))


def _elements(conversation: Conversation) -> Iterator[_HistoryElement]:
    messages, (begin, end) = conversation.messages, conversation.history
    groups = {group.start: group for group in conversation.groups}
    at = 0
    while at < len(messages):
        group = groups.get(at)
        stop, place = (group.end, group.place) if group else (at + 1, conversation.spans[at])
        if begin <= place[0] < end:
            yield _HistoryElement(at, stop, messages[at].role, place[1])
        at = stop


def _runs(conversation: Conversation, elements: Sequence[_HistoryElement]) -> Iterator[_InstructionRun]:
    front: _HistoryElement | None = None
    run: list[_HistoryElement] = []
    for at, element in enumerate(elements):
        if conversation.messages[element.start].placed:
            run.append(element)
            continue
        if run:
            yield _InstructionRun(tuple(run), front, element, at)
        front, run = element, []
    if run:
        yield _InstructionRun(tuple(run), front, None, len(elements))
