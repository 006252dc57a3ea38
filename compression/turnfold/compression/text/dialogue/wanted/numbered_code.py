"""Code as tools print it, with the number of each line in front.

Lives here: reading such a text as code. Does not belong here: definitions (``code_definitions``), which call it answers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final

from turnfold.compression.text.dialogue.wanted.code_definitions import Definition, definitions

_NUMBER: Final = re.compile(r"[^\S\n]{0,8}\d{1,6}(?:\t|→|[:|│] ?|  )")
_SHARE: Final = 0.8  # of the lines


def bare_code(text: str) -> str:
    """The code without the numbers."""
    lines = text.splitlines(keepends=True)
    return "".join(line[width:] for line, width in zip(lines, _widths(lines), strict=True))


def printed_definitions(text: str) -> Iterator[Definition]:
    """The definitions in what a tool printed."""
    lines = text.splitlines(keepends=True)
    widths = _widths(lines)
    bare = [line[width:] for line, width in zip(lines, widths, strict=True)]
    begins = [0, *accumulate(map(len, bare))]
    shifts = [0, *accumulate(widths)]

    def place(at: int) -> int:
        line = bisect_right(begins, at) - 1
        inside = line < len(widths) and at > begins[line]
        return at + shifts[line + 1 if inside else line]

    for one in definitions("".join(bare)):
        (start, end), (head, stop) = one.place, one.head
        yield one._replace(place=(place(start), place(end)), head=(place(head), place(stop)))


def _widths(lines: Sequence[str]) -> list[int]:
    """Characters of the number in front of each line; 0 for all where most have none."""
    widths = [found.end() if (found := _NUMBER.match(line)) else 0 for line in lines]
    return widths if sum(map(bool, widths)) >= _SHARE * len(lines) else [0] * len(lines)
