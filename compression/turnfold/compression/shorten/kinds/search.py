"""Search results: hits grouped by file, every file named, hits with new content first.

This module reads `path:line:text`, `path-line-text`, `path:text` and `line:text`, whatever a hit means.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.shorten.lines import WeighedLine, short_lines

_HIT: Final = lazy.pattern(
    r"(?P<path>(?:[\w.@+-]+:)?[\w./@+-]*[\w/]):(?P<at>\d+)(?P<sign>[:-])(?P<text>.*)"
    r"|(?P<near>[\w./@+-]*?\.\w{1,8})-(?P<by>\d+)-(?P<around>.*)"
    r"|(?P<number>\d+)(?P<mark>[:-])(?P<rest>.*)"
    r"|(?P<file>(?=[\w@+-]*+[/.][\w./@+-])[\w./@+-]++):(?P<line>.*)"
)
_PATH: Final = lazy.pattern(r"[\w@~+-]*[./][\w./@+-]*$")

_NUMBER: Final = lazy.pattern(r"\d+")
_MOST_NUMBERS: Final = 8
_FILE: Final = 1.5  # worth of a file's name, whatever was found in it


class _Line(NamedTuple):
    path: str
    shown: str
    hit: bool


def _lines(lines: Sequence[str]) -> list[_Line]:
    """Lines with their file, which is named at their beginning or on a line above; gap marks are omitted."""
    out: list[_Line] = []
    heading = ""
    for i, line in enumerate(lines):
        found = _HIT.match(line)
        if found is None:
            over = i + 1 < len(lines) and lines[i + 1][:1].isdigit() and _PATH.match(line)
            heading = line if over else heading if line == "--" else ""
            if not over and line != "--":
                out.append(_Line("", line, True))
        elif found["path"] is not None:
            out.append(_Line(found["path"], f"{found['at']}:{found['text']}", found["sign"] == ":"))
        elif found["near"] is not None:
            out.append(_Line(found["near"], f"{found['by']}-{found['around']}", False))
        elif found["number"] is not None:
            out.append(_Line(heading, line, not heading or found["mark"] == ":"))
        else:
            out.append(_Line(found["file"], found["line"], True))
    return out


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """For each file a heading with the places of its hits, and the hits below it without the path."""
    del words
    out: list[WeighedLine] = []
    for path, run in groupby(_lines(short_lines(text)), key=itemgetter(0)):
        found = list(run)
        if not path:
            out.extend(_alone(path, line) for line in found)
            continue
        out.append(WeighedLine(_heading(path, [line for line in found if line.hit]), weight=_FILE, lines=0, unmarked=True))
        first = True
        for i, line in enumerate(found, 1):
            worth = (1.5 if first else 0.6) if line.hit else -0.5
            first = first and not line.hit
            out.append(WeighedLine(f" {line.shown}", weight=worth, scale=1.0 if line.hit else 0.3, unmarked=True, under=i))
    return out


def _heading(path: str, hits: Sequence[_Line]) -> str:
    """A file with the line numbers of its hits (`path:12,40`), or their count if they are many or have no numbers."""
    numbers = [_NUMBER.match(hit.shown) for hit in hits]
    if 0 < len(numbers) <= _MOST_NUMBERS and all(numbers):
        return f"{path}:{','.join(found[0] for found in numbers if found)}"
    return f"{path} ({len(hits)})"


def _alone(path: str, line: _Line) -> WeighedLine:
    shown = f"{path}:{line.shown}" if path else line.shown
    return WeighedLine(shown, weight=0.8, unmarked=bool(path) or line.shown[:1].isdigit())
