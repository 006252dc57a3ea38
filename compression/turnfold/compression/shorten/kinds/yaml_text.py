"""YAML and other outlines of `key: value`: shallow lines first, each below the keys that it is in.

Lines are worth less the deeper they are, and need the keys they belong to. YAML is not loaded: tags and anchors stay as written,
and no objects are built.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.evidence import graded_lines, grades, odd_settings
from turnfold.compression.shorten.kinds.plain import template
from turnfold.compression.shorten.lines import MOST_ROWS, WeighedLine, needed_above, rows_of, short_lines

_ANSWER: Final = 2.5  # worth of what stands below a key that the task names
_OFTEN: Final = 4
_NAME, _PART = lazy.pattern(r"\w{3,}"), lazy.pattern(r"[^\W_]{3,}")


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Every line; each level of indentation reduces its worth, comments have none."""
    lines = short_lines(text)
    found = grades(lines)
    above = needed_above(lines, headings=False)
    parents, odd = _parents(lines), odd_settings(lines)
    needs = {i: (*above.get(i, ()), *parents.get(i, ())) for i in (*above, *parents)}
    answers = _below_named(lines, words, needs) if words and needs else frozenset()

    def row(i: int) -> WeighedLine:
        body = lines[i].lstrip(" ")
        depth = (len(lines[i]) - len(body)) // 2
        worth = -0.5 if body.startswith("#") or not body.strip("{}[](),; ") else max(0.2, 1.5 - 0.4 * depth)
        return WeighedLine(
            lines[i],
            weight=worth + _ANSWER * (i in answers),
            evidence=1 if found[i] == 3 or i in odd else 0,
            like=template(body) if depth and i not in odd else "",
            unmarked=len(lines) <= MOST_ROWS,  # without its parents, a line must not seem to follow the previous one
            needs=needs.get(i, ()),
        )

    return rows_of(lines, words, {*odd, *graded_lines(found)}, row)


def _below_named(lines: Sequence[str], words: frozenset[str], needs: Mapping[int, Sequence[int]]) -> Set[int]:
    """The lines below a key or section that the task names, itself or by a part of its name; not one that many share."""
    named = [words.intersection((*_PART.findall(line), *_NAME.findall(line))) for line in map(str.lower, lines)]
    seen = Counter(chain.from_iterable(named))
    rare = {word for word, times in seen.items() if times <= max(_OFTEN, len(lines) // 8)}
    below: set[int] = set()
    for i in sorted(needs) if rare else ():
        if any(i - d in below or not rare.isdisjoint(named[i - d]) for d in needs[i] if d > 0):
            below.add(i)
    return below


def _parents(lines: Sequence[str]) -> dict[int, tuple[int]]:
    """For each line, the distance to the line above that it is part of; empty if `rows_of` samples.

    Without it, a line would be read as part of whatever line is shown above.
    """
    if len(lines) > MOST_ROWS:
        return {}
    found: dict[int, tuple[int]] = {}
    open_: list[tuple[int, int]] = []  # the lines that the next one may be part of: indentation and index
    for i, line in enumerate(lines):
        body = line.lstrip()
        if not body:
            continue
        depth = 2 * (len(line) - len(body)) + (body == "-" or body.startswith("- "))  # a list item may directly follow its key
        while open_ and open_[-1][0] >= depth:
            open_.pop()
        if open_:
            found[i] = (i - open_[-1][1],)
        if not body.startswith("#"):
            open_.append((depth, i))
    return found
