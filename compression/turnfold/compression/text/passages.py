"""Cutting a message into passages that can be quoted on their own.

Lives here: where a passage begins and ends. Does not belong here: what it is worth.

A message of up to about 150 tokens is one passage; a longer one is cut into chunks of about 25 tokens between statements
(``statements``; inside blocks at line borders), never across a blank line. What a line with a colon announces is in one chunk
with that, up to 150 tokens. Every step looks at a character a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import statements

#: Tokens up to which a message is quoted whole or not at all, and tokens of a chunk of a longer one.
WHOLE: Final = 150
CHUNK: Final = 25
_LONGEST_STATEMENT: Final = 2400  # characters beyond which it is cut anyway
_LONGEST: Final = 500  # characters without a border after which a chunk is cut at a comma, a blank, or anywhere

_BORDER: Final = re.compile(r"[.!?…؟।][\"')\]»”’]*\s+|[。！？｡][」』”’）]*\s*|\n+")
_SOFT_BORDER: Final = re.compile(r"[,;:|、，；)}\]]\s*|\s+")

Range = tuple[int, int]


def estimate(text: str) -> float:
    """Tokens of a text within about a fifth, from its length and its share of non-ASCII bytes."""
    if text.isascii():
        return len(text) / 4.2
    size = len(text.encode("utf-8", "surrogatepass"))
    # Two-byte scripts take 2.7 characters a token, three-byte ones about 1.5.
    return (2 * len(text) - size) / 4.2 + (size - len(text)) / 2.7 if size < 2 * len(text) else size / 4.6


def passages(text: str) -> list[Range]:
    """Half-open ranges, in order, that hold all of a text but white space at their borders."""
    if estimate(text) <= WHOLE:
        return _trim(text, [(0, len(text))])
    found: list[Range] = []
    start = last = 0
    size = 0.0
    for end, tied in _pieces(text):
        piece = estimate(text[last:end])
        most = WHOLE if tied >= start else 1.25 * CHUNK
        if size and (size + piece > most or (tied < start and text.endswith("\n\n", start, last))):
            found.append((start, last))
            start, size = last, 0.0
        size += piece
        last = end
    return _trim(text, [*found, (start, last)])


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where the pieces of a text end, and where that begins without which the piece would say something else; -1 for nothing."""
    read = statements(text)
    for span, needs in zip(read.spans, read.needs, strict=True):
        needed = (read.spans[i] for i in needs)
        first = max((one.start for one in needed if one.start < span.start and _announces(text, one)), default=-1)
        if not span.kind and span.end - span.start <= _LONGEST_STATEMENT:
            yield span.end, first
            continue
        for end in _sentence_ends(span.of(text)):
            yield span.start + end, first
            first = -1


def _announces(text: str, span: Span) -> bool:
    """Whether a statement is there for what follows it: a line with a colon at its end."""
    return not span.kind and span.of(text).rstrip().endswith((":", "："))


def sentences(text: str, start: int, end: int) -> list[Range]:
    """The statements of a part of a text, without the white space between them."""
    return _trim(text, [(start + span.start, start + span.end) for span in statements(text[start:end]).spans])


def _sentence_ends(text: str) -> list[int]:
    ends: list[int] = []
    last = 0
    for border in [*(m.end() for m in _BORDER.finditer(text)), len(text)]:
        while border - last > _LONGEST:
            soft = [m.end() for m in _SOFT_BORDER.finditer(text, last + _LONGEST // 2, last + _LONGEST)]
            last = soft[-1] if soft else last + _LONGEST
            ends.append(last)
        if border > last:
            ends.append(border)
            last = border
    return ends


def _trim(text: str, ranges: list[Range]) -> list[Range]:
    trimmed = []
    for start, end in ranges:
        part = text[start:end]
        left = start + len(part) - len(part.lstrip())
        if left < end:
            trimmed.append((left, start + len(part.rstrip())))
    return trimmed
