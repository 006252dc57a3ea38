"""Numbered questions and the answers that somebody gave to them in a list of their own: an exam paper, "my answers: 1. ...".

This module finds the list that belongs to a quoted one. Which one a message is about is decided in ``works``, ``placed_parts``
and ``parts.sections``.

Grading answers takes the questions too, and hardly any message names both. Two lists belong together if one has the numbers of
the other, and either asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.recall.fence import quote_tokens
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.text.dialogue.wanted.places import numbered_items
from turnfold.compression.text.quotes import Quotable, Quote

_FEWEST: Final = 3  # items of a list
_APART: Final = 60  # messages between two lists
_SHARED: Final = 0.8  # share of the numbers of the shorter list
_ASKS: Final = lazy.pattern(r"[?？؟]")
_PART: Final = 0.7  # share of a list's characters, below which a quote has some of its items


def with_answered(
    found: FoundWork, sources: Sequence[Quotable], behind: Sequence[Quotable], room: int, count: Callable[[str], int]
) -> FoundWork:
    """The quotes found, with the list that answers theirs or that theirs answers. For single items, only the matching items."""
    own = {quote.source for quote in found.quotes if sources[quote.source].role == "user"}
    if len(own) != 1 or found.cut is not None:
        return found
    at = own.pop()
    items = dict(numbered_items(sources[at].text))
    other = _other(at, items, [*sources, *behind]) if len(items) >= _FEWEST else None
    if other is None or other >= len(sources) or any(quote.source == other for quote in found.quotes):
        return found
    quotes = _of(found.quotes, at, items, sources, other)
    tokens = quote_tokens(quotes, sources, count)
    return found.joined(FoundWork(tuple(quotes), (), tokens)) if quotes and tokens <= room - found.tokens else found


def _other(at: int, items: dict[int, tuple[int, int]], messages: Sequence[Quotable]) -> int | None:
    """The nearest list with the same numbers, if just one of the two asks."""
    asks = _asks(messages[at].text, items)
    near = sorted(range(max(0, at - _APART), min(len(messages), at + _APART)), key=lambda n: (abs(n - at), n))
    for n in near:
        if n == at or messages[n].role not in ("user", "assistant"):
            continue
        others = dict(numbered_items(messages[n].text))
        same = len(items.keys() & others.keys())
        if same >= max(_FEWEST, _SHARED * min(len(items), len(others))) and _asks(messages[n].text, others) != asks:
            return n
    return None


def _asks(text: str, items: dict[int, tuple[int, int]]) -> bool:
    return sum(_ASKS.search(text, *place) is not None for place in items.values()) * 2 > len(items)


def _of(
    quotes: Sequence[Quote], at: int, items: dict[int, tuple[int, int]], sources: Sequence[Quotable], other: int
) -> list[Quote]:
    own = [(quote.start, quote.end) for quote in quotes if quote.source == at]
    if sum(end - start for start, end in own) > _PART * len(sources[at].text):
        return [Quote(other, 0, len(sources[other].text))]
    numbers = [number for number, (a, b) in items.items() if any(a < end and start < b for start, end in own)]
    others = dict(numbered_items(sources[other].text))
    return [Quote(other, *others[number]) for number in numbers if number in others]
