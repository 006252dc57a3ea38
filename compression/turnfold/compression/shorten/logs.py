"""Logs: every error once, each kind of line once with its count, first and last.

Lives here: levels, and templates of lines. Does not belong here: dropping a failure while there is room.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from turnfold.compression.shorten.evidence import graded_lines, grades
from turnfold.compression.shorten.lines import WeighedLine, rows_of, short_lines
from turnfold.compression.shorten.plain import in_short, templates

_LEVEL: Final = re.compile(
    r"\b(?:(FATAL|CRITICAL|PANIC|ERROR|SEVERE|EMERG|ALERT)|(WARN(?:ING)?)|(TRACE|DEBUG|INFO|NOTICE))\b|^([EF])\d{4} |^(W)\d{4} "
)


def _grade(line: str, words: int) -> int:
    """The grade of the line's own level; without one, that of its words (`words`)."""
    level = _LEVEL.search(line[:120])
    if level is None:
        return words
    if level[1] or level[4]:
        return 3
    return 1 if level[2] or level[5] else 0


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Lines of one template count as alike; the first of more than two says how many there are."""
    lines = short_lines(text)
    keys = templates(lines)
    many = Counter(keys)
    first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
    found = [_grade(line, words) if line else 0 for line, words in zip(lines, grades(lines), strict=True)]
    ends = (0, len(lines) - 1)

    def row(i: int) -> WeighedLine:
        line, key = lines[i], keys[i]
        new = first[key] == i
        shown = f"{line} [{many[key]} like this]" if new and many[key] > 2 and line.strip() else line
        edge = 2.0 if i in ends else 0.0
        return WeighedLine(shown, weight=edge + (1.0 if new else 0.2), evidence=found[i], like=key, unmarked=True)

    return in_short(rows_of(lines, words, {*graded_lines(found), *first.values()}, row))
