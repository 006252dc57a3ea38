"""Records of several lines in what a program prints: an item of YAML with its keys, a commit, an interface, a row of CSV.

This module finds the lines about one thing, around a place in a text. Records on one line are in ``text.records``; which record a
question is about is decided in ``recall.wholes.parts.named_stanzas``.

Such records come in three layouts: a recurring line at the margin with what stands between (``commit ...``, ``[[package]]``),
lines indented below the one that names the thing, and CSV cells that continue over several lines. Linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from statistics import median
from typing import Final

from turnfold.compression import lazy

Range = tuple[int, int]

_INDENT: Final = lazy.pattern(r"[ \t│├└─|`]*")  # the branches of a tree too
_HEAD: Final = lazy.pattern(r"(\S{1,60})(?:[ \t]+(\S{1,60}))?")
_OPENER: Final = lazy.pattern(r"[\"']?[\w./{}-]{1,80}[\"']?: ?[{\[(]?$")
_NUMBER: Final = lazy.pattern(r"\d+")
_LETTER: Final = lazy.pattern(r"[^\W\d_]")
_CLOSES: Final = ("}", "]", ")", "</")
_FEWEST: Final = 3  # records of a list
_HIGHEST: Final = 12  # levels that are climbed


class Stanzas:
    """The lines of a text, and the records that they make up."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def around(self, at: int, most: int) -> Range | None:
        """The lines of the record around a place, the largest of at most `most` characters; None if the place is on a single
        line.
        """
        line = bisect_right(self.starts, at) - 1
        for first, last in self._candidates(line, most):
            found = (self.starts[first], self._end(last - 1))
            if last - first > 1 and found[1] - found[0] <= most:
                return found
        return None

    def _candidates(self, line: int, most: int) -> list[Range]:
        """Ranges of lines, the best first."""
        listed = [found for heads in (self._rows, self._heads) if (found := self._between(heads, line))]
        return [*listed, *reversed(self._nested(line, most)), self._paragraph(line)]

    def _end(self, line: int) -> int:
        return self.starts[line + 1] - 1 if line + 1 < len(self.starts) else len(self.text)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _indents(self) -> list[int]:
        """The indentation of each line; -1 if it is blank."""
        return [
            -1 if found.end() == len(line) else found.end() for line in self._lines if (found := _INDENT.match(line)) is not None
        ]

    def _between(self, heads: Sequence[int], line: int) -> Range | None:
        at = bisect_right(heads, line)
        if not at:
            return None
        return heads[at - 1], heads[at] if at < len(heads) else len(self._lines)

    @cached_property
    def _heads(self) -> list[int]:
        """Lines at the margin with which records begin: the first ones that recur with other lines between them; if there are
        blank lines, those after one.
        """
        outer = min((n for n in self._indents if n >= 0), default=0)
        at: dict[str, list[int]] = {}
        for n, line in enumerate(self._lines):
            if self._indents[n] == outer and (len(self._blank) < _FEWEST or not n or self._indents[n - 1] < 0):
                for shape in _shapes(line.strip()):
                    at.setdefault(shape, []).append(n)
        listed = (found for found in at.values() if len(found) >= _FEWEST)
        return next((found for found in listed if median(b - a for a, b in pairwise(found)) >= 2), [])

    @cached_property
    def _rows(self) -> list[int]:
        """Lines with which the rows of CSV begin, where a cell may hold lines; none in any other text."""
        header = self._lines[0]
        if header.count(",") < 2 or '"' in header or self.text.count('"') % 2:
            return []
        quotes = accumulate((line.count('"') for line in self._lines), initial=0)
        found = [n for n, before in zip(range(len(self._lines)), quotes, strict=False) if before % 2 == 0 and self._lines[n]]
        return found if _FEWEST < len(found) < len(self._lines) - 1 else []

    def _nested(self, line: int, most: int) -> list[Range]:
        """Blocks of indented lines around a line, the smallest first, up to an item of a list."""
        found: list[Range] = []
        head: int | None = line if self._indents[line] >= 0 else None
        while head is not None and len(found) < _HIGHEST:
            block = self._block(head, most)
            if block[1] - block[0] > 1:
                found.append(block)
                if self._is_listed(head):
                    break
            head = self._above(head, most)
        return found

    def _above(self, line: int, most: int) -> int | None:
        """The line that it is below, within the length of a record."""
        own, farthest = self._indents[line], bisect_left(self.starts, self.starts[line] - most)
        return next((n for n in range(line - 1, farthest - 1, -1) if 0 <= self._indents[n] < own), None)

    def _block(self, head: int, most: int) -> Range:
        own, last = self._indents[head], head
        for n in range(head + 1, bisect_right(self.starts, self.starts[head] + most)):
            if 0 <= self._indents[n] <= own:
                closes = self._indents[n] == own and self._lines[n].strip().startswith(_CLOSES)
                return head, n + 1 if closes else last + 1
            last = n if self._indents[n] > own else last
        return head, last + 1

    def _is_listed(self, head: int) -> bool:
        """Whether similar lines are next to it, under the same line."""
        shapes = _shapes(self._lines[head].strip())
        return any(self._indented[self._indents[head], shape] >= _FEWEST for shape in shapes)

    @cached_property
    def _indented(self) -> Counter[tuple[int, str]]:
        """How often each shape has this indentation."""
        named = zip(self._indents, self._lines, strict=True)
        return Counter((indent, shape) for indent, line in named if indent >= 0 for shape in _shapes(line.strip()))

    def _paragraph(self, line: int) -> Range:
        """Lines between blank ones, in a text of several such."""
        blank = self._blank
        at = bisect_right(blank, line)
        if len(blank) < _FEWEST or self._indents[line] < 0:
            return line, line + 1
        return blank[at - 1] + 1 if at else 0, blank[at] if at < len(blank) else len(self._lines)

    @cached_property
    def _blank(self) -> list[int]:
        return [n for n, indent in enumerate(self._indents) if indent < 0]


def _shapes(line: str) -> tuple[str, ...]:
    """What lines that begin records of one kind have in common: the first word, behind a mark the next too, or the colon."""
    if _OPENER.fullmatch(line):
        return (":",)
    found = _HEAD.match(line)
    if found is None:
        return ()
    first = _NUMBER.sub("0", found[1])
    if _LETTER.search(first) or found[2] is None or not _LETTER.search(found[2]):
        return (first,)
    return (first, f"{first} {_NUMBER.sub('0', found[2])}")
