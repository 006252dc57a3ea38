"""Spans of a text.

Everything that cuts a text returns this value type, and agrees on the line ends and question marks defined here. Cutting is done
elsewhere.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple, cast, overload

from turnfold.compression import lazy

QUESTION_MARKS: Final = ("?", "？", "؟")
#: Ends of sentences in Indic, Arabic, Armenian, Ethiopic, Burmese, Khmer and Tibetan script.
STOPS: Final = "।॥؟۔։።፧။។៕།"
#: How a sentence that asks ends.
ASKS: Final = lazy.pattern(r"[?？؟]\s*[\"'”’)]*\s*\Z")


class Span(NamedTuple):
    """Half-open range of characters, ``text[start:end]``; `kind` says what it is (a slug, "" for nothing special).

    A named tuple and no dataclass: a megabyte of hostile text has half a million of them, and a frozen dataclass takes
    five times as long to make.
    """

    start: int
    end: int
    kind: str = ""

    def of(self, text: str) -> str:
        """The characters that the span covers."""
        return text[self.start : self.end]


def bare_range(span: Span, piece: str) -> tuple[int, int]:
    """The range of a span with the characters `piece`, without surrounding blanks."""
    return span.end - len(piece.lstrip()), span.start + len(piece.rstrip())


class Tiles(Sequence[Span]):
    """Spans that tile a text, as columns: while one is not asked for, it takes no object, and the garbage collector no time.

    Attributes:
        ends: where they end.
        kinds: of those of any kind.
    """

    __slots__ = ("ends", "kinds")

    def __init__(self, spans: Sequence[Span]) -> None:
        columns = tuple(zip(*spans, strict=True)) or ((), (), ())
        self.ends = cast("tuple[int, ...]", columns[1])
        kinds = cast("tuple[str, ...]", columns[2])
        self.kinds: Mapping[int, str] = {j: kind for j, kind in enumerate(kinds) if kind} if any(kinds) else _NO_KINDS

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> Span: ...

    @overload
    def __getitem__(self, index: slice) -> list[Span]: ...

    def __getitem__(self, index: int | slice) -> Span | list[Span]:
        if isinstance(index, slice):
            return [self[j] for j in range(*index.indices(len(self)))]
        at = index if index >= 0 else index + len(self.ends)
        return Span(self.ends[at - 1] if at else 0, self.ends[at], self.kinds.get(at, ""))

    def piece(self, text: str, index: int) -> str:
        """The characters that one covers."""
        return text[self.ends[index - 1] if index else 0 : self.ends[index]]

    def pieces(self, text: str) -> list[str]:
        """The characters that each covers."""
        return [text[start:end] for start, end in pairwise((0, *self.ends))]


def with_line_feeds(text: str) -> str:
    r"""The text, of the same length, with other systems' line ends as ``\n``: those of Windows with a blank in front, those of
    old Macs if it has no others.
    """
    if "\r" not in text:
        return text
    return text.replace("\r\n", " \n") if "\n" in text else text.replace("\r", "\n")


def whole_character(text: str, at: int, step: int) -> int:
    """A place that does not separate a letter from its accents, or split a joined emoji or a flag."""
    for _ in range(16):
        if not 0 < at < len(text) or not (_joins(text[at]) or text[at - 1] == "\u200d" or _is_in_flag(text, at)):
            return at
        at += step
    return at


def _joins(character: str) -> bool:
    return unicodedata.category(character).startswith("M") or character == "\u200d" or "\U0001f3fb" <= character <= "\U0001f3ff"


def _is_in_flag(text: str, at: int) -> bool:
    """Whether a place parts the two letters of a flag."""
    if not (text[at] in _FLAG_LETTERS and text[at - 1] in _FLAG_LETTERS):
        return False
    before = text[max(0, at - 64) : at]
    return (len(before) - len(before.rstrip(_FLAG_LETTERS))) % 2 == 1


_FLAG_LETTERS: Final = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_NO_KINDS: Final[Mapping[int, str]] = MappingProxyType({})


def spans_of(triples: Iterable[tuple[int, int, str]]) -> list[Span]:
    """Spans from (start, end, kind), made without a Python call for each."""
    return cast("list[Span]", list(map(partial(tuple.__new__, Span), triples)))
