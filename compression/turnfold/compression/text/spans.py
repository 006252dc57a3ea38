"""Spans of a text.

Lives here: the value type that everything that cuts a text returns. Does not belong here: cutting.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple, cast


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


def spans_of(triples: Iterable[tuple[int, int, str]]) -> list[Span]:
    """Spans from (start, end, kind), made without a Python call for each."""
    return cast("list[Span]", list(map(partial(tuple.__new__, Span), triples)))
