"""Lines that say how others are to be read: the head of a list above its items, a heading above what stands under it.

Lives here: finding them in text that is shown line by line. Does not belong here: the same for sentences (``statements``), which
lines are shown (``shorten.lines``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression.text.statement_pieces import ITEM

_HEADING: Final = re.compile(r"#{1,6} \S")
_COLONS: Final = (":", "：")
_LONGEST: Final = 300  # characters of a line that can be a head


def heads(lines: Sequence[str], *, headings: bool) -> dict[int, int]:
    """By index of a line how far above it the line stands without which it is not to be read; lines without one are left out.

    Args:
        headings: whether "# ..." is a heading; else it is a remark, and the first of several in a row is the head of the others.
    """
    if not any(line.rstrip().endswith(_COLONS) or line.startswith("#") for line in lines):
        return {}
    found: dict[int, int] = {}
    heading = head = -1
    items: list[tuple[int, int]] = []  # the items that are open: how far each is indented, and which it is
    for i, line in enumerate(lines):
        body = line.strip()
        if not body:
            continue
        if _HEADING.match(line):
            if not headings and heading >= 0:
                found[i] = i - heading
            heading, head, items = (i if headings or heading < 0 else heading), -1, []
            continue
        if not headings:
            heading = -1
        indent = len(line) - len(line.lstrip())
        while items and items[-1][0] >= indent:
            items.pop()
        above = items[-1][1] if items else head
        if ITEM.match(line):
            items.append((indent, i))
        elif not items:
            above = -1
            head = i if len(line) <= _LONGEST and body.endswith(_COLONS) else -1
        above = above if above >= 0 else heading
        if above >= 0:
            found[i] = i - above
    return found
