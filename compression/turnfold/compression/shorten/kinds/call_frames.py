"""The frame of a call that an agent writes as tags in its text: which tool, on which file.

Lives here: which lines of an assistant's message are such a frame. Does not belong here: what stands inside of it.

The model reads its own messages as examples of how to call a tool, so that a shortened call still has its tags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression.shorten.lines import WeighedLine

_OPENS: Final = re.compile(r"<([A-Za-z_][\w.:-]{0,60})>$")
_ONE_LINE: Final = re.compile(r"<([A-Za-z_][\w.:-]{0,60})>[^<\n]{0,200}</\1>$")
_FRAME: Final = 50.0  # worth of its lines
_MOST: Final = 40  # lines of one frame; what has more is a document


def with_frames(rows: list[WeighedLine]) -> list[WeighedLine]:
    """The rows of an assistant's text; those of the frames of its calls are taken before any other."""
    lines = [row.text.rstrip() for row in rows]
    at = 0
    while at < len(lines):
        end = _closing(lines, at, len(lines))
        if end is None:
            at += 1
            continue
        frame = [at, *_children(lines, at + 1, end), end]
        for i in frame if len(frame) <= _MOST else ():
            rows[i] = rows[i]._replace(weight=_FRAME, evidence=3, scale=1.0)
        at = end + 1
    return rows


def _closing(lines: Sequence[str], at: int, end: int) -> int | None:
    """The line that closes the element which a line opens: the last one, since what stands inside may have the same tag."""
    opened = _OPENS.match(lines[at])
    if opened is None:
        return None
    closing = f"</{opened[1]}>"
    return next((i for i in range(end - 1, at, -1) if lines[i] == closing), None)


def _children(lines: Sequence[str], start: int, end: int) -> list[int]:
    """The tags directly inside of an element, with those of one line whole."""
    found: list[int] = []
    at = start
    while at < end:
        closing = _closing(lines, at, end)
        if closing is not None:
            found += (at, closing)
            at = closing
        elif _ONE_LINE.match(lines[at]):
            found.append(at)
        at += 1
    return found
