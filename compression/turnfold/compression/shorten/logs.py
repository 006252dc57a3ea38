"""Logs: every error once, each kind of line once with its count, first and last.

Lives here: levels, and templates by what varies. Must not: dropping a line that names a failure while there is room.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from turnfold.compression.shorten.evidence import grades
from turnfold.compression.shorten.lines import Row, short_lines
from turnfold.compression.shorten.plain import template

_LEVEL: Final = re.compile(
    r"\b(?:(FATAL|CRITICAL|PANIC|ERROR|SEVERE|EMERG|ALERT)|(WARN(?:ING)?)|(TRACE|DEBUG|INFO|NOTICE))\b|^([EF])\d{4} |^(W)\d{4} "
)


def _grade(line: str, words: int) -> int:
    """What the line's own level says; without one, what its words say (`words`, a grade)."""
    level = _LEVEL.search(line[:120])
    if level is None:
        return words
    if level[1] or level[4]:
        return 3
    return 1 if level[2] or level[5] else 0


def rows(text: str) -> list[Row]:
    """Lines of one template count as alike; the first of more than two says how many there are."""
    lines = short_lines(text)
    keys = [template(line) for line in lines]
    many = Counter(keys)
    out: list[Row] = []
    seen: set[str] = set()
    for i, (line, key, words) in enumerate(zip(lines, keys, grades(lines), strict=True)):
        first = key not in seen
        seen.add(key)
        shown = f"{line} [{many[key]} like this]" if first and many[key] > 2 and line.strip() else line
        edge = 2.0 if i in (0, len(lines) - 1) else 0.0
        out.append(
            Row(
                shown,
                weight=edge + (1.0 if first else 0.2),
                evidence=_grade(line, words) if line.strip() else 0,
                like=key,
                unmarked=True,
            )
        )
    return out
