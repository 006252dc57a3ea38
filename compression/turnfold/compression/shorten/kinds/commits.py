"""Commit logs: ids and subjects first, then dates, authors and bodies.

This module says what a line of `git log` is worth. Patches in between are diffs (see `diff`).
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.shorten.lines import WeighedLine, rows_of, short_lines

_NAMED: Final = ("Author: ", "Date: ", "AuthorDate: ", "Commit: ", "CommitDate: ", "Merge: ")


def _entries(lines: list[str]) -> list[tuple[str, int]]:
    """Lines with the number of lines that each represents: a commit and its subject count as one."""
    out: list[tuple[str, int]] = []
    head = -1
    for line in lines:
        if line.startswith("commit "):
            head = len(out)
        elif head >= 0 and line.startswith("    ") and line.strip():
            out[head] = (f"{out[head][0]}\n{line}", 2)
            head = -1
            continue
        out.append((line, 1))
    return out


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Commits first, then files and totals, then message bodies, then authors and dates."""
    entries = _entries(short_lines(text))

    def row(i: int) -> WeighedLine:
        line, stands_for = entries[i]
        if line.startswith("commit "):
            return WeighedLine(line, weight=2.0, evidence=1, lines=stands_for, unmarked=True)
        if line.startswith(_NAMED):
            return WeighedLine(line, weight=-0.2, scale=0.3, like=line[:6], unmarked=True)
        return WeighedLine(line, weight=0.4, unmarked=True)

    heads = (i for i, (line, _) in enumerate(entries) if line.startswith("commit "))
    return rows_of([line for line, _ in entries], words, heads, row)
