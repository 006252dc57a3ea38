"""Messages left out of a body.

Lives here: which elements of the body's arrays go, and which comma goes with them. Does not belong here: any wire format's keys.

A message is a run of elements of one array: of the array of messages, or of one inside an element of that (a `MessageGroup`). An
element whose messages all go is left out itself, so that no inner array is left empty. What stands outside of the array of
messages is never left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from turnfold.compression.wire.conversation import Conversation, Place
from turnfold.compression.wire.edits import Edit


class ArrayEntry(NamedTuple):
    """A place among the elements of an array, and whether what stands there goes."""

    place: Place
    goes: bool


def removals(conversation: Conversation, dropped: Iterable[tuple[int, int]]) -> Iterator[Edit]:
    """Edits of the body's text that leave out runs of messages, given by half-open ranges of indices in any order."""
    gone = {index for start, end in dropped for index in range(start, end)}
    if not gone:
        return
    spans, (start, end) = conversation.spans, conversation.history
    grouped = {index for group in conversation.groups for index in range(group.start, group.end)}
    outer = [ArrayEntry(span, i in gone) for i, span in enumerate(spans) if start <= span[0] < end and i not in grouped]
    for group in conversation.groups:
        inner = [ArrayEntry(spans[i], i in gone) for i in range(group.start, group.end)]
        goes = all(entry.goes for entry in inner)
        outer.append(ArrayEntry(group.place, goes))
        if not goes:
            yield from entry_removals(inner)
    yield from entry_removals(sorted(outer))


def entry_removals(entries: Sequence[ArrayEntry]) -> Iterator[Edit]:
    """Edits that leave out those elements of one array that go."""
    at = 0
    for goes, run in groupby(entries, key=lambda entry: entry.goes):
        end = at + len(list(run))
        if goes:
            yield _removal(entries, at, end)
        at = end


def _removal(entries: Sequence[ArrayEntry], start: int, end: int) -> Edit:
    """Elements go with the comma behind them, the last ones with the comma before them."""
    first, last = entries[start].place, entries[end - 1].place
    if end < len(entries):
        return Edit(first[0], entries[end].place[0], "")
    return Edit(entries[start - 1].place[1] if start else first[0], last[1], "")
