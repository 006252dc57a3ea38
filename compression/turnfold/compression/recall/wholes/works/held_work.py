"""A message with a work, in the form in which works are compared.

The value, with the lines and words of what it holds, which are kept from question to question. Which messages hold a work, and
which is meant, is decided in the modules beside this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range, fences
from turnfold.compression.text.dialogue.wanted.code_blocks import part_names
from turnfold.compression.text.quotes import Quotable, Quote

_TELLING_LINE: Final = 8  # characters; shorter lines occur in any code
_STRING: Final = 90  # bytes of a string in a set, apart from its characters


@dataclass(frozen=True, slots=True)
class HeldWork:
    """A message that contains a work.

    Attributes:
        source: the message's number.
        ranges: the work's ranges in it.
        lines: the work's lines.
        words: the work's words.
        parts: the names of the parts of its code, in order.
        is_prose: whether the work is the whole message, rather than code in it.
        fits: how well the work fits the question.
    """

    source: int
    ranges: tuple[Range, ...]
    lines: frozenset[str]
    words: frozenset[str]
    parts: tuple[str, ...]
    is_prose: bool
    fits: float

    @property
    def quotes(self) -> tuple[Quote, ...]:
        """The work's ranges as quotes."""
        return tuple([Quote(self.source, start, end) for start, end in self.ranges])


class _ReadWork(NamedTuple):
    """Data about the ranges of a text, independent of the question."""

    lines: frozenset[str]
    words: frozenset[str]
    parts: tuple[str, ...]
    is_prose: bool

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return sum(_STRING + len(one) for said in (self.lines, self.words, self.parts) for one in said)


def held_work(number: int, source: Quotable, ranges: tuple[Range, ...], fits: float, memo: Memo) -> HeldWork:
    """A message with the ranges of the work that it contains."""
    read = memo.get(("work", source.key, ranges), lambda: _read(source.text, ranges), lambda found: found.size)
    return HeldWork(number, ranges, *read, fits)


def _read(text: str, ranges: tuple[Range, ...]) -> _ReadWork:
    said = words.fold("\n".join(text[start:end] for start, end in ranges))
    terms = frozenset((*words.words(said), *map(str, words.run_on_terms(said).tolist())))
    is_prose = ranges == ((0, len(text)),) and not any(fences(f"\n{text}"))
    parts = () if is_prose else part_names("\n".join(text[start:end] for start, end in ranges))
    return _ReadWork(_lines(text, ranges), terms, parts, is_prose)


def _lines(text: str, ranges: Sequence[Range]) -> frozenset[str]:
    said = (line.strip() for start, end in ranges for line in text[start:end].splitlines())
    return frozenset(line for line in said if len(line) >= _TELLING_LINE)
