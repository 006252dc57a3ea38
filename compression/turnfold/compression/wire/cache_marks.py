"""The client's cache marks in the JSON of a message, whatever they are called.

This module gives a message's JSON text without its marks, and carries marks of left-out messages to other ones. Each format names
its marks; ``fold.marks`` decides which mark goes where.

A mark is a member of a part of a message's content, or of the message itself. Marks move on from request to request, so a
message's key is that of its text without them. Something in a tool's arguments may look like a mark, but is not one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.edits import Edit, apply
from turnfold.compression.wire.message import Message
from turnfold.compression.wire.spans import elements, members, skip

_HOLDERS: Final = frozenset({"content", "output"})  # keys of a message, and of a result inside one, that hold parts


@dataclass(frozen=True, slots=True)
class PlacedMarks:
    """Marks that move to a message, each as a member with a leading comma; "" for none.

    Attributes:
        front: on the last text inserted before its content.
        own: on the last part of its content.
        behind: on the last text inserted after its content.
    """

    front: str = ""
    own: str = ""
    behind: str = ""


NO_MARKS: Final = PlacedMarks()


def cut_marks(raw: str, names: Collection[str]) -> str:
    """The JSON text of a message, or of a run of values, as the same client would write it without marks."""
    if not _may_be_marked(raw, names):
        return raw
    run = f"[{raw}]"
    return apply(run, [edit for _, start, _ in elements(run, 0) for edit in _cuts(run, start, names)])[1:-1]


def has_mark(part: Mapping[str, object], names: Collection[str]) -> bool:
    """Whether a part carries a mark. Null and empty values do not count: ``model_dump()`` writes them where no mark was set."""
    return any(part.get(name) for name in names)


def lasts_an_hour(mark: object) -> bool:
    """Whether a mark asks the provider to keep the text for an hour instead of minutes."""
    return isinstance(mark, dict) and mark.get("ttl") == "1h"


def mark_of(raw: str, names: Collection[str]) -> str:
    """The last mark in the JSON text of a message, or of a run of values, as a member with a leading comma; "" for none."""
    if not _may_be_marked(raw, names):
        return ""
    run = f"[{raw}]"
    found = [mark for _, start, _ in elements(run, 0) for mark in _marks(run, start, names)]
    return found[-1] if found else ""


def mark_value(raw: str, names: Collection[str]) -> object:
    """The value of that mark; None if there is none."""
    mark = mark_of(raw, names)
    return orjson.loads(f"{{{mark[1:]}}}").popitem()[1] if mark else None


def placed_marks(messages: Sequence[Message], changes: Changes, names: Collection[str]) -> Mapping[int, PlacedMarks]:
    """The marks that the changes move, by the index of their new message."""
    found: dict[int, dict[str, str]] = {}
    for move in changes.marks:
        found.setdefault(move.target, {})[move.place] = mark_of(messages[move.source].raw, names)
    return {index: PlacedMarks(**places) for index, places in found.items()}


def _may_be_marked(raw: str, names: Collection[str]) -> bool:
    return any(f'"{name}"' in raw for name in names)


def _cuts(raw: str, start: int, names: Collection[str]) -> Iterator[Edit]:
    """Edits that remove the marks, each with one comma, from the object at `start` and from its parts."""
    if raw[start] != "{":
        return
    found = list(members(raw, start))
    leading = next((i for i, (key, _) in enumerate(found) if key not in names), len(found))
    if leading:
        end = found[leading - 1][1][2]
        behind = skip(raw, end)
        yield Edit(start + 1, skip(raw, behind, ",") if raw[behind] == "," else end, "")
    for i in range(leading, len(found)):
        key, (data, begin, end) = found[i]
        if key in names:
            yield Edit(found[i - 1][1][2], end, "")
        elif key in _HOLDERS:
            yield from (edit for at in _parts(raw, data, begin) for edit in _cuts(raw, at, names))


def _parts(raw: str, data: object, begin: int) -> Iterator[int]:
    """The starts of a content's parts."""
    return (at for _, at, _ in elements(raw, begin)) if isinstance(data, list) else iter(())


def _marks(raw: str, start: int, names: Collection[str]) -> Iterator[str]:
    """The marks of the object at `start` and of its parts."""
    for key, (data, begin, end) in members(raw, start) if raw[start] == "{" else ():
        if key in names:
            if data:
                yield f',"{key}":{raw[begin:end]}'
        elif key in _HOLDERS:
            yield from (mark for at in _parts(raw, data, begin) for mark in _marks(raw, at, names))
