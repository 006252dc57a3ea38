"""Sections of a text: the content under one heading, or a few paragraphs.

Lives here: where sections begin, and which spans are headings. Does not belong here: ids, summaries (``layers``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression.text.spans import Span

# A label in brackets on a short line of its own, as retrieval puts before its chunks: "[Chunk 3] Source: ...".
# A time in brackets, or a sentence behind them, is what somebody said.
_LABEL: Final = re.compile(r"\[(?![^\]\n]*\d[:/-]\d)[^\]\n]{1,40}\](?:(?! \w+: \w+ \w+ \w+ )[^\n]){0,160}(?<![.!?。！？])\n+")
# Characters: a paragraph ends a section that has this many, a line one of four times, a sentence one of eight times as many.
_ENOUGH: Final = 400


def is_heading(text: str, span: Span) -> bool:
    """Whether a span of ``sentences(text)`` names what follows rather than saying something."""
    return span.kind in ("heading", "label") or (not span.kind and _LABEL.fullmatch(text, span.start, span.end) is not None)


def _begins(text: str, span: Span) -> bool:
    """Whether a span names a section; a speaker behind the time of a line does not, as what the next one says may correct it."""
    return is_heading(text, span) and not (span.kind == "label" and text[span.start].isdigit())


def section_starts(text: str, spans: Sequence[Span]) -> list[int]:
    """Indices of the spans that begin a section, 0 first; empty for no spans."""
    starts: list[int] = []
    begin = 0
    for i, span in enumerate(spans):
        size = span.start - begin
        behind = text[max(0, span.start - 2) : span.start]
        if (
            not i
            or (_begins(text, span) and not is_heading(text, spans[i - 1]))
            or (size > _ENOUGH and behind == "\n\n")
            or (size > 4 * _ENOUGH and behind.endswith("\n"))
            or size > 8 * _ENOUGH
        ):
            starts.append(i)
            begin = span.start
    return starts
