"""Spans of a text.

Lives here: the one value type that every cutter of text hands out. Must not: cutting.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Half-open range of characters, ``text[start:end]``; `kind` says what it is (a slug, "" for nothing special)."""

    start: int
    end: int
    kind: str = ""

    def of(self, text: str) -> str:
        """The characters that the span covers."""
        return text[self.start : self.end]
