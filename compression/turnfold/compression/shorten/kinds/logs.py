"""Logs: every error once, each kind of line once with its count, first and last.

This module knows levels, and templates of lines. While there is room, no failure is dropped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.evidence import graded_lines, grades
from turnfold.compression.shorten.kinds.plain import in_short, templates
from turnfold.compression.shorten.lines import MOST_ROWS, WeighedLine, rows_of, short_lines

_LEVEL: Final = lazy.pattern(
    r"\b(?:(FATAL|CRITICAL|PANIC|ERROR|SEVERE|EMERG|ALERT)|(WARN(?:ING)?)|(TRACE|DEBUG|INFO|NOTICE))\b|^([EF])\d{4} |^(W)\d{4} "
)

_RECOVERS: Final = lazy.pattern(
    r"\b(?:succe(?:eded|ss|ssful|ssfully)|recovered|resolved|restored|reconnected|healthy again|back online)\b", re.IGNORECASE
)
_STAMP: Final = lazy.pattern(r"^\W*[\d:.,/TZ+ -]+")
_NAME: Final = lazy.pattern(r"[\w./-]{3,}")
_SHARED: Final = 2  # names that a failure and its recovery have in common
_MOST: Final = 40  # most failures and recoveries that are compared


def _recoveries(lines: Sequence[str], found: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """For each failure, the distance to the first later line that reports success of the same thing."""
    if len(lines) > MOST_ROWS or 3 not in found:
        return {}
    over = [(i, _names(line)) for i, line in enumerate(lines) if found[i] != 3 and _RECOVERS.search(line)][:_MOST]
    out: dict[int, tuple[int, ...]] = {}
    for i in [i for i, grade in enumerate(found) if grade == 3][:_MOST] if over else ():
        failed = _names(lines[i])
        later = next((k for k, names in over if k > i and _agree(failed, names)), None)
        if later is not None:
            out[i] = (i - later,)
    return out


def _names(line: str) -> frozenset[str]:
    return frozenset(_NAME.findall(_STAMP.sub("", line).lower()))


def _agree(failed: frozenset[str], names: frozenset[str]) -> bool:
    shared = failed & names
    return len(shared) >= _SHARED and any(not name.isalpha() for name in shared)


def _grade(line: str, words: int) -> int:
    """The grade of the line's own level; without one, that of its words (`words`)."""
    level = _LEVEL.search(line[:120])
    if level is None:
        return words
    if level[1] or level[4]:
        return 3
    return 1 if level[2] or level[5] else 0


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Lines of one template count as similar; the first of more than two states their number."""
    lines = short_lines(text)
    keys = templates(lines)
    many = Counter(keys)
    first = dict(zip(reversed(keys), range(len(keys) - 1, -1, -1), strict=True))
    found = [_grade(line, words) if line else 0 for line, words in zip(lines, grades(lines), strict=True)]
    ends = (0, len(lines) - 1)
    needs = _recoveries(lines, found)

    def row(i: int) -> WeighedLine:
        line, key = lines[i], keys[i]
        new = first[key] == i
        shown = f"{line} [{many[key]} like this]" if new and many[key] > 2 and line.strip() else line
        edge = 2.0 if i in ends else 0.0
        return WeighedLine(
            shown, weight=edge + (1.0 if new else 0.2), evidence=found[i], like=key, unmarked=True, needs=needs.get(i, ())
        )

    return in_short(rows_of(lines, words, {*graded_lines(found), *first.values()}, row))
