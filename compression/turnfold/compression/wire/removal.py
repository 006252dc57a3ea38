"""Removing messages from a body.

This module decides which elements of the body's arrays go, and which comma goes with them. It knows no format's keys.

A message is a run of elements of one array: of the array of messages, or of one inside an element of that (a `MessageGroup`). An
element whose messages all go is left out itself, so that no inner array is left empty. What stands outside of the array of
messages is never left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

from turnfold.compression.wire.conversation import Conversation, MessageGroup, Place
from turnfold.compression.wire.edits import Edit


def removals(conversation: Conversation, dropped: Iterable[tuple[int, int]]) -> Iterator[Edit]:
    """Edits of the body's text that remove runs of messages, given as half-open ranges of indices in any order."""
    runs = _merged(dropped)
    if not runs:
        return
    spans, (start, end) = conversation.spans, conversation.history
    outside = next((i for i, (at, _) in enumerate(spans) if start <= at < end), len(spans))  # those outside the array come first
    cut: dict[MessageGroup, set[int]] = {}
    for first, last in ((max(first, outside), last) for first, last in runs if last > outside):
        head, tail = _cut_group(conversation, first, first, last), _cut_group(conversation, last - 1, first, last)
        for group in (head, tail):
            if group is not None:
                cut.setdefault(group, set()).update(range(max(first, group.start), min(last, group.end)))
        begin, stop = head.end if head else first, tail.start if tail else last
        if begin < stop:
            yield _whole_removal(conversation, begin, stop, outside)
    for group, gone in cut.items():
        yield from entry_removals(spans[group.start : group.end], [i in gone for i in range(group.start, group.end)])


def _whole_removal(conversation: Conversation, start: int, end: int, outside: int) -> Edit:
    """The removal of whole elements of the array of messages, given by their messages; `outside` is the index of the array's
    first message.
    """
    begin = element_place(conversation, start)[0]
    if end < len(conversation.spans):
        return Edit(begin, element_place(conversation, end)[0], "")
    return Edit(
        element_place(conversation, start - 1)[1] if start > outside else begin, element_place(conversation, end - 1)[1], ""
    )


def element_place(conversation: Conversation, index: int) -> Place:
    """The range of the element that a message belongs to."""
    group = group_of(conversation, index)
    return conversation.spans[index] if group is None else group.place


def _cut_group(conversation: Conversation, index: int, first: int, last: int) -> MessageGroup | None:
    """The group of a message, if it is only partly inside a run of messages."""
    group = group_of(conversation, index)
    return None if group is None or first <= group.start < group.end <= last else group


def group_of(conversation: Conversation, index: int) -> MessageGroup | None:
    """The group that a message is in."""
    groups = conversation.groups
    at = bisect_right(groups, index, key=attrgetter("start")) - 1
    return groups[at] if at >= 0 and index < groups[at].end else None


def _merged(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Half-open runs in order, with adjacent ones merged and empty ones removed."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(run for run in runs if run[0] < run[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def entry_removals(places: Sequence[Place], goes: Sequence[bool]) -> Iterator[Edit]:
    """Edits that remove elements of an array, given their ranges in order and which of them to remove."""
    at = 0
    for gone, run in groupby(goes):
        end = at + len(list(run))
        if gone:
            yield _removal(places, at, end)
        at = end


def _removal(places: Sequence[Place], start: int, end: int) -> Edit:
    """Remove elements with the comma after them, or the last ones with the comma before them."""
    if end < len(places):
        return Edit(places[start][0], places[end][0], "")
    return Edit(places[start - 1][1] if start else places[start][0], places[end - 1][1], "")
