"""Works that are too long for their room: the beginnings of all their parts.

This module chooses the sentences. Which works are asked for is decided in ``works``; the whole conversation is covered in
``cover``.

A question about the risks of a contract, or a request to summarize it, needs something of each part rather than all of a few.
Paragraphs get equal room; short ones, such as headings, all that they need. If that would be next to nothing, every second of the
others is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.recall.cover import even_level, first_sentences
from turnfold.compression.recall.fence import FRAME, quote_tokens
from turnfold.compression.text.passages import estimate
from turnfold.compression.text.quotes import Quotable, Quote

_PARAGRAPH: Final = lazy.pattern(r"\S(?:.|\n(?![^\S\n]*\n))*")
_LEAST: Final = 24  # tokens of the shortest useful beginning of a paragraph
_HEADING: Final = 16  # tokens, with label, of what is kept of every second paragraph
_MARGIN: Final = 0.85  # share of the room: sizes are estimates
_SHRINK: Final = 0.85  # factor for the estimate if it was too high
_MOST_PARAGRAPHS: Final = 2000


def spread(sources: Sequence[Quotable], works: Sequence[Quote], room: int) -> list[Quote]:
    """Quotes from all parts of the works, in order, with about this many tokens in total."""
    left = [part for work in works for part in _paragraphs(sources, work)][:_MOST_PARAGRAPHS]
    while left:
        sizes = [estimate(sources[n].text[start:end]) + FRAME for n, start, end in left]
        each = even_level(sizes, _MARGIN * room)
        if each >= min(max(sizes), _LEAST + FRAME) or len(left) == 1:
            break
        thinned = [part for at, part in enumerate(left) if at % 2 == 0 or sizes[at] <= _HEADING]
        left = thinned if len(thinned) < len(left) else left[::2]
    return [*joined(sources, [first_sentences(sources, part, each - FRAME) for part in left])]


def fitting_spread(
    sources: Sequence[Quotable], works: Sequence[Quote], room: int, count: Callable[[str], int]
) -> tuple[list[Quote], int]:
    """The works in full, or else the result of `spread`, with the tokens of the quotes; empty if that does not fit."""
    quotes, tokens, size = list(works), quote_tokens(works, sources, count), room
    while tokens > room and size > _LEAST:
        quotes = spread(sources, works, size)
        tokens = quote_tokens(quotes, sources, count)
        size = int(_SHRINK * size)
    return (quotes, tokens) if tokens <= room else ([], 0)


def _paragraphs(sources: Sequence[Quotable], work: Quote) -> list[Quote]:
    return [Quote(work.source, *found.span()) for found in _PARAGRAPH.finditer(sources[work.source].text, work.start, work.end)]


def joined(sources: Sequence[Quotable], quotes: Iterable[Quote]) -> tuple[Quote, ...]:
    """The quotes in order, stripped of white space. Overlapping quotes, and those with nothing in between, are merged."""
    found: list[Quote] = []
    for n, start, end in sorted(set(quotes)):
        text = sources[n].text
        said = text[start:end]
        one = Quote(n, start + len(said) - len(said.lstrip("\n")), start + len(said.rstrip()))
        last = found[-1] if found else None
        if last and last.source == n and not text[last.end : one.start].strip():
            found[-1] = last._replace(end=max(last.end, one.end))
        elif one.start < one.end:
            found.append(one)
    return tuple(found)
