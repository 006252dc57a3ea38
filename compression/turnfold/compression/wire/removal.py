"""Messages left out of a body.

Lives here: which elements of the body's arrays go, and which comma goes with them. Does not belong here: any wire format's keys.

A message is a run of elements of one array: of the array of messages, or of one inside an element of that (a `MessageGroup`). An
element whose messages all go is left out itself, so that no inner array is left empty. What stands outside of the array of
messages is never left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from turnfold.compression.wire.conversation import Conversation, Place
from turnfold.compression.wire.edits import Edit


def removals(conversation: Conversation, dropped: Iterable[tuple[int, int]]) -> Iterator[Edit]:
    """Edits of the body's text that leave out runs of messages, given by half-open ranges of indices in any order."""
    runs = _merged(dropped)
    if not runs:
        return
    spans, (start, end) = conversation.spans, conversation.history
    if not conversation.groups:  # each is an element, or a run of them; what stands outside comes first
        outside = next((i for i, (at, _) in enumerate(spans) if start <= at < end), len(spans))
        entries = spans[outside:]
        yield from (_removal(entries, max(a - outside, 0), b - outside) for a, b in runs if b > outside)
        return
    gone = {index for a, b in runs for index in range(a, b)}
    grouped = {index for group in conversation.groups for index in range(group.start, group.end)}
    inside = [i for i, (at, _) in enumerate(spans) if start <= at < end and i not in grouped]
    places, goes = [spans[i] for i in inside], [i in gone for i in inside]
    for group in conversation.groups:
        inner = [i in gone for i in range(group.start, group.end)]
        places.append(group.place)
        goes.append(all(inner))
        if not all(inner):
            yield from entry_removals(spans[group.start : group.end], inner)
    order = sorted(range(len(places)), key=places.__getitem__)
    yield from entry_removals([places[i] for i in order], [goes[i] for i in order])


def _merged(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Half-open runs in order, neighbours made one, empty ones left out."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(run for run in runs if run[0] < run[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def entry_removals(places: Sequence[Place], goes: Sequence[bool]) -> Iterator[Edit]:
    """Edits that leave out elements of one array: where each stands, in order, and whether it goes."""
    at = 0
    for gone, run in groupby(goes):
        end = at + len(list(run))
        if gone:
            yield _removal(places, at, end)
        at = end


def _removal(places: Sequence[Place], start: int, end: int) -> Edit:
    """Elements go with the comma behind them, the last ones with the comma before them."""
    if end < len(places):
        return Edit(places[start][0], places[end][0], "")
    return Edit(places[start - 1][1] if start else places[start][0], places[end - 1][1], "")
