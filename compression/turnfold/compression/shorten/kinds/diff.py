"""Diffs: file and hunk headers, then changed lines, no context.

This module says what each line of a unified diff is worth. Patches are neither applied nor their numbers parsed, since a
truncated diff must be handled like a whole one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.shorten.lines import MOST_ROWS, WeighedLine, rows_of, short_lines

#: Beginning of a line, its worth and its evidence grade; the first match counts.
_OPENINGS: Final = (
    ("diff --git ", 3.0, 3),
    ("commit ", 2.0, 2),
    ("rename ", 2.0, 1),
    ("new file", 1.0, 1),
    ("deleted file", 1.0, 1),
    ("Binary files", 1.0, 1),
    ("index ", -1.0, 0),
    ("similarity ", -1.0, 0),
    ("@@ ", 1.2, 0),
    ("+", 1.0, 0),
    ("-", 0.8, 0),
    (" ", -0.6, 0),
)
_HEADS: Final = (*(opening for opening, _, evidence in _OPENINGS if evidence), "--- ", "+++ ")


def _row(line: str, named: bool) -> WeighedLine:
    if line.startswith(("--- ", "+++ ")):
        return WeighedLine(line, weight=-1.0) if named else WeighedLine(line, weight=3.0, evidence=3)
    if len(line.strip("+- \t")) < 3:
        return WeighedLine(line, weight=-1.0)
    for opening, weight, evidence in _OPENINGS:
        if line.startswith(opening):
            return WeighedLine(line, weight=weight, evidence=evidence, unmarked=opening == "@@ ")
    return WeighedLine(line, weight=0.8)


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Every line; `---` and `+++` lines matter only if no `diff --git` line names the file."""
    lines = short_lines(text)
    named = any(line.startswith("diff --git ") for line in lines)
    instead = _replacements(lines) if len(lines) <= MOST_ROWS else {}

    def row(i: int) -> WeighedLine:
        made = _row(lines[i], named)
        return made._replace(needs=(instead[i],)) if i in instead else made

    return rows_of(lines, words, (i for i, line in enumerate(lines) if line.startswith(_HEADS)), row)


def _replacements(lines: Sequence[str]) -> dict[int, int]:
    """For each removed line, the (negative) distance to the added line that replaces it."""
    found: dict[int, int] = {}
    removed: list[int] = []
    added = 0
    for i, line in enumerate(lines):
        if line.startswith("-") and not line.startswith("--- "):
            removed, added = ([], 0) if added else (removed, 0)
            removed.append(i)
        elif line.startswith("+") and not line.startswith("+++ ") and removed:
            if added < len(removed):
                found[removed[added]] = removed[added] - i
            added += 1
        else:
            removed, added = [], 0
    return found
