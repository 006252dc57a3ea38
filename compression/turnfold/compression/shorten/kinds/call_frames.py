"""The frame of a call that an agent writes as tags in its text: which tool, on which file.

This module finds the lines of an assistant's message that are such a frame. What the frame contains is shortened by its own kind.

The model reads its own messages as examples of how to call a tool, so that a shortened call still has its tags.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.lines import WeighedLine

_OPENS: Final = lazy.pattern(r"<([A-Za-z_][\w.:-]{0,60})>$")
_ONE_LINE: Final = lazy.pattern(r"<([A-Za-z_][\w.:-]{0,60})>[^<\n]{0,200}</\1>$")
_FRAME: Final = 50.0  # worth of its lines
_MOST: Final = 40  # lines of one frame; anything longer is a document


def with_frames(rows: list[WeighedLine]) -> list[WeighedLine]:
    """The rows of an assistant's text, with the frames of its calls taken before all others."""
    lines = _Lines([row.text.rstrip() for row in rows])
    at = 0
    while at < len(rows):
        end = lines.closing(at, len(rows))
        if end is None:
            at += 1
            continue
        frame = [at, *lines.children(at + 1, end), end]
        for i in frame if len(frame) <= _MOST else ():
            rows[i] = rows[i]._replace(weight=_FRAME, evidence=3, scale=1.0)
        at = end + 1
    return rows


class _Lines:
    """Lines, and the positions of those that close an element."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._closings: defaultdict[str, list[int]] = defaultdict(list)
        for at, line in enumerate(lines):
            if line.startswith("</"):
                self._closings[line].append(at)

    def closing(self, at: int, end: int) -> int | None:
        """The line that closes the element opened by a line: the last one, since nested elements may have the same tag."""
        opened = _OPENS.match(self._lines[at])
        closings = self._closings.get(f"</{opened[1]}>", ()) if opened else ()
        last = bisect_left(closings, end) - 1
        return closings[last] if last >= 0 and closings[last] > at else None

    def children(self, start: int, end: int) -> list[int]:
        """The tags directly within an element, including single-line elements."""
        found: list[int] = []
        at = start
        while at < end:
            closing = self.closing(at, end)
            if closing is not None:
                found += (at, closing)
                at = closing
            elif _ONE_LINE.match(self._lines[at]):
                found.append(at)
            at += 1
        return found
