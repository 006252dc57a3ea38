"""Quotes of places in texts: put in order, counted, and spread where they are too long.

Lives here: what the finders of named parts share. Does not belong here: which places a question names (the modules beside it).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.wholes.spread_works import spread
from turnfold.compression.recall.wholes.works import FoundWork
from turnfold.compression.text import words
from turnfold.compression.text.quotes import Quotable, Quote

_OPENING: Final = 600  # characters of a text that say what it is


def joined(sources: Sequence[Quotable], quotes: Iterable[Quote]) -> tuple[Quote, ...]:
    """The quotes in order, without white space around them; those that overlap, or have nothing between them, as one."""
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


def tokens_of(quotes: Iterable[Quote], sources: Sequence[Quotable], count: Callable[[str], int]) -> int:
    """The tokens of quotes, as they are rendered."""
    return sum(count(sources[n].text[start:end]) + FRAME for n, start, end in quotes)


def fitted(
    quotes: Sequence[Quote], sources: Sequence[Quotable], room: int, count: Callable[[str], int], beside: int | None
) -> FoundWork:
    """The quotes, or the beginnings of their paragraphs where they have no room; nothing where not even these have."""
    tokens = tokens_of(quotes, sources, count)
    if tokens > room:
        quotes = spread(sources, quotes, room)
        tokens = tokens_of(quotes, sources, count)
    return FoundWork(tuple(quotes), (), tokens, beside=beside) if quotes and tokens <= room else FoundWork()


def about(sources: Sequence[Quotable], n: int) -> set[str]:
    """The words by which a text is told: those of its beginning, and of what was said just before it."""
    before = sources[n - 1].text[-_OPENING:] if n else ""
    return set(words.words(words.fold(f"{before}\n{sources[n].text[:_OPENING]}")))
