"""A message with a work, in the form in which works are compared.

Lives here: the value, with the lines and the words of what it holds, which are kept from question to question. Does not belong
here: which messages hold one, and which is meant (``works``).
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

_TELLING_LINE: Final = 8  # characters; shorter ones stand in any code
_STRING: Final = 90  # bytes that a string in a set takes beside its characters


@dataclass(frozen=True, slots=True)
class HeldWork:
    """A message that holds a work.

    Attributes:
        source: its number.
        ranges: of the work.
        lines: its lines.
        words: its words.
        parts: what the parts of its code are called, in order.
        is_prose: whether it is the whole message, rather than code in it.
        fits: how well it fits the question.
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
        """Its ranges, as they are quoted."""
        return tuple([Quote(self.source, start, end) for start, end in self.ranges])


class _ReadWork(NamedTuple):
    """What is known of ranges of a text, whatever is asked."""

    lines: frozenset[str]
    words: frozenset[str]
    parts: tuple[str, ...]
    is_prose: bool

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        return sum(_STRING + len(one) for said in (self.lines, self.words, self.parts) for one in said)


def held_work(number: int, source: Quotable, ranges: tuple[Range, ...], fits: float, memo: Memo) -> HeldWork:
    """A message with the ranges of the work that it holds."""
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
