"""Directory listings: paths, grouped by folder, without owners, modes and dates.

This module reads `ls -l`, `git ls-tree`, trees and bare paths. No path is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.lines import WeighedLine, short_lines

_LONG: Final = lazy.pattern(
    r"([-dlbcps])[rwxsStT-]{9}\S*\s+\d+\s+\S+\s+\S+\s+(\d+|\d+,\s*\d+|[\d.]+[KMGT]?)\s+"
    r"(?:\w{3} +\d+ +(?:\d\d:\d\d|\d{4})|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: [-+]\d{4})?) (\S.*)$"
)
_TREE: Final = lazy.pattern(r"\d{6} (?:blob|tree|commit) [\da-f]{7,64}\s+(\d+|-)?\s*(\S.*)$")
_SIZED: Final = lazy.pattern(r"([\d.]+[KMGT]?)\t(\S+)$")
_PATH: Final = lazy.pattern(r"\S+/[^/\s]+/?$")
_TOGETHER: Final = 6  # names of one folder that share a line


def _short(line: str) -> str:
    """A line without fields that later calls never need: modes, links, owners, dates."""
    long = _LONG.match(line)
    if long:
        name = long[3] + ("/" if long[1] == "d" and not long[3].endswith("/") else "")
        return f"{name} {long[2]}" if long[1] != "d" else name
    tree = _TREE.match(line)
    if tree:
        return f"{tree[2]} {tree[1] or ''}".rstrip()
    sized = _SIZED.match(line)
    return f"{sized[2]} {sized[1]}" if sized else line


def _folder(line: str) -> str:
    return line[: line.rstrip("/").rfind("/") + 1] if _PATH.match(line) else ""


def _group_names(folder: str, lines: Sequence[str], words: frozenset[str]) -> list[WeighedLine]:
    """Names of a folder on shared lines; names that match the task's words get a line of their own with the whole path."""
    out: list[WeighedLine] = []
    rest: list[str] = []
    for line in lines:
        name = line[len(folder) :]
        if line.lower() in words or name.lower() in words or name.partition(".")[0].lower() in words:
            out.append(WeighedLine(line, weight=2.0, unmarked=True))
        else:
            rest.append(name)
    for at in range(0, len(rest), _TOGETHER):
        some = rest[at : at + _TOGETHER]
        out.append(
            WeighedLine(
                folder + (some[0] if len(some) == 1 else " " + " ".join(some)), weight=0.5, lines=len(some), unmarked=True
            )
        )
    return out


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Listing lines cut to name and size; runs of bare paths of one folder share lines."""
    lines = [_short(line) for line in short_lines(text)]
    out: list[WeighedLine] = []
    for folder, run in groupby(lines, key=_folder):
        some = list(run)
        if folder and len(some) > 2:
            out.extend(_group_names(folder, some, words))
        else:
            out.extend(WeighedLine(line, weight=_worth(line, words), unmarked=True) for line in some)
    return out


def whole_rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """Listing lines cut to name and size, each with its whole path; used if most of them fit."""
    lines = [_short(line) for line in short_lines(text)]
    return [WeighedLine(line, weight=_worth(line, words), evidence=1 if "/" in line else 0, unmarked=True) for line in lines]


def _worth(line: str, words: frozenset[str]) -> float:
    return 0.5 if words.isdisjoint([line, *line.partition(" ")[0].rsplit("/", 1)[-1].lower().split(".")]) else 2.0
