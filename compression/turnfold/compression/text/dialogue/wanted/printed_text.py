"""Texts as tools print them: with the number of each line in front, in a string of JSON, as JSON on one line.

This module gives such a text as its author wrote it, with the places of its parts in what was printed. Definitions are in
``code_definitions``; sections, times and blocks in the modules beside this one. Which call a text answers is not asked here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.code_definitions import Definition, definitions
from turnfold.compression.text.escapes import is_json, with_breaks

_BEHIND: Final = r"(?:\t|→|[:|│] ?|  )"  # the number of a line
_NUMBER: Final = lazy.pattern(rf"[^\S\n]{{0,8}}\d{{1,6}}{_BEHIND}")
_SHARE: Final = 0.8  # of the lines
_LONG_LINES: Final = 400  # characters of a line on average, from which JSON is written for programs
#: A string of JSON, be it in a string itself, that holds no JSON; or a sign between such.
_JSON_PART: Final = lazy.pattern(r"(?<!\\)(\\{0,7})\"(?![\[{]\s{0,9}(?:\\{1,8}[\"n]|[\[{\]}]))(?s:.*?)(?<!\\)\1\"|[\[{}\],]")
_DEEPEST: Final = 40


class PrintedText(NamedTuple):
    """A text as its author wrote it.

    Attributes:
        text: the text itself.
        begins: the starts of its pieces.
        places: the range of each piece in the printed text.
    """

    text: str
    begins: Sequence[int] = (0,)
    places: Sequence[Range] = ()

    def place(self, at: int) -> int:
        """The position in the printed text for a position in this text. Text between two pieces belongs to the later one."""
        if not self.places:
            return at
        n = bisect_right(self.begins, at) - 1
        if n > 0 and at == self.begins[n]:
            return self.places[n - 1][1]
        start, end = self.places[n]
        return min(start + at - self.begins[n], end)

    def range(self, place: Range) -> Range:
        """The same for a range."""
        return self.place(place[0]), self.place(place[1])


def printed_text(text: str) -> PrintedText:
    """A text without line numbers. Line breaks are added where a JSON string has them, or to JSON without any."""
    if is_json(text):
        broken = with_breaks(text)
        is_on_one_line = _LONG_LINES * (1 + broken.count("\n")) < len(text)
        return _opened(broken) if is_on_one_line else _unpadded(text, broken)
    return _unnumbered(text)


def bare_code(text: str) -> str:
    """Code without line numbers."""
    return _unnumbered(text).text


def printed_line(text: str, number: int) -> int:
    """The position of a numbered line in a tool's output of a file; -1 if it has none."""
    found = re.search(rf"^[^\S\n]{{0,8}}{number}{_BEHIND}[^\n]*", text, re.MULTILINE)
    return found.end() if found else -1


def printed_definitions(text: str) -> Iterator[Definition]:
    """The definitions in a tool's output."""
    bare = _unnumbered(text)
    for one in definitions(bare.text):
        yield one._replace(place=bare.range(one.place), head=bare.range(one.head))


def _unnumbered(text: str) -> PrintedText:
    lines = text.splitlines(keepends=True)
    widths = _widths(lines)
    if not any(widths):
        return PrintedText(text)
    bare = [line[width:] for line, width in zip(lines, widths, strict=True)]
    ends = [*accumulate(map(len, lines))]
    places = [(end - len(line), end) for end, line in zip(ends, bare, strict=True)]
    return _joined(bare, places)


def _unpadded(text: str, broken: str) -> PrintedText:
    """A text with real line breaks instead of escaped ones, without the padding that keeps its length."""
    if broken is text:
        return PrintedText(text)
    lines = broken.splitlines(keepends=True)
    ends = [*accumulate(map(len, lines))]
    places = [(end - len(line), end) for end, line in zip(ends, lines, strict=True)]
    bare = [line.rstrip(" \n") + "\n" if line.endswith(" \n") else line for line in lines]
    return _joined(bare, places)


def _joined(pieces: Sequence[str], places: Sequence[Range]) -> PrintedText:
    """A text made of pieces."""
    return PrintedText("".join(pieces), [0, *accumulate(map(len, pieces[:-1]))], places)


def _widths(lines: Sequence[str]) -> list[int]:
    """Width of the line number of each line; 0 for all if most have none."""
    widths = [found.end() if (found := _NUMBER.match(line)) else 0 for line in lines]
    return widths if sum(map(bool, widths)) >= _SHARE * len(lines) else [0] * len(lines)


def _opened(text: str) -> PrintedText:
    """JSON with a line for each value, indented by depth."""
    pieces, places = list[str](), list[Range]()
    at = depth = 0
    for found in _JSON_PART.finditer(text):
        sign = found[0]
        if len(sign) > 1:
            continue
        depth += (sign in "[{") - (sign in "]}")
        end = found.start() if sign in "]}" else found.end()
        if end > at:
            piece = text[at:end].lstrip(" ")
            pieces.append(piece.rstrip(" ") + "\n" + "  " * min(max(depth, 0), _DEEPEST))
            places.append((end - len(piece), end))
            at = end
    return _joined([*pieces, text[at:]], [*places, (at, len(text))])
