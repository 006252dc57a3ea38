"""Newer messages that match a question as well as the older ones that are quoted.

This module finds them. Messages that say themselves that they update others are in ``recall.later``; passages are scored in
``ranking``.

Quotes come after everything else in a request, so an older message that is quoted seems to be the newest word. People seldom say
that something has changed: "so the hostel cancelled on us, we're at the inn for 138". If a later message with a figure matches
the question about as well as the best quote, which has one too, it is quoted as well, even if the request contains it elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression import lazy
from turnfold.compression.memo import Memo, of_each
from turnfold.compression.recall.leaves import leaves_of, message_terms
from turnfold.compression.recall.passage_index import Floats, Ints, PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import FieldIndex, idf, presence
from turnfold.compression.text.quotes import Quotable, Quote

_AS_MUCH: Final = 0.8  # share of the best quote's match with the question that a message needs
_MOST: Final = 2  # messages added at most
_AHEAD: Final = 1.001
_NEARLY: Final = 0.999  # tolerance for sums added in another order
_FIGURE: Final = lazy.pattern(r"\d")


class Abreast(NamedTuple):
    """Passages that match a question as well as the quotes do, and are newer.

    Attributes:
        numbers: passages of the index.
        behind: quotes of messages after the folded ones, numbered as sources after the folded ones.
    """

    numbers: tuple[int, ...] = ()
    behind: tuple[Quote, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.numbers or self.behind)

    def joined(self, other: Abreast) -> Abreast:
        """Merge the two."""
        return Abreast(
            tuple(sorted({*self.numbers, *other.numbers})),
            tuple(sorted({*self.behind, *other.behind})),
        )


def abreast(
    asked: Iterable[Terms],
    index: PassageIndex,
    sources: Sequence[Quotable],
    behind: Sequence[Quotable],
    quoted: Sequence[Quote],
    memo: Memo,
) -> Abreast:
    """The newest messages that match one of the questions about as well as the best quote, and are newer than all such quotes."""
    messages = (*sources, *behind)
    numbers, told = _numbers(index, quoted), {quote.source for quote in quoted}
    found: set[tuple[Quote, int]] = set()
    for terms in asked:
        value = idf(terms.hits) * terms.weights
        has = presence(terms.hits, value)
        least = _AS_MUCH * float(has[numbers].max(initial=0.0))
        as_much = numbers[has[numbers] >= least].tolist()
        if not (least and any(_tells_figure(index.quotes[n], messages) for n in as_much)):
            continue
        newer = _having(index, has, least, int(index.source_of[as_much[-1]]) + 1)
        newer += _having_behind(behind, terms, value, least, len(sources), memo)
        found.update(_newest([one for one in newer if one.quote.source not in told], messages))
    inside = sorted(number for quote, number in found if quote.source < len(sources))
    return Abreast(tuple(inside), tuple(sorted(quote for quote, _ in found if quote.source >= len(sources))))


def with_abreast(ranking: RankedQuotes, newest: Abreast) -> tuple[RankedQuotes, list[int]]:
    """A ranking with these in front, and their numbers."""
    size, best = len(ranking.worth), float(ranking.worth.max(initial=0.0))
    worth = np.append(ranking.worth, np.full(len(newest.behind), _AHEAD * best))
    worth[list(newest.numbers)] = _AHEAD * best
    numbers = [*newest.numbers, *range(size, size + len(newest.behind))]
    bearing = np.union1d(ranking.numbers, np.array(numbers, np.int64))
    return RankedQuotes(bearing, worth, (*ranking.more, *newest.behind)), numbers


def _numbers(index: PassageIndex, quoted: Sequence[Quote]) -> Ints:
    """The numbers of the quoted passages."""
    found: list[int] = []
    firsts, stops = (index.source_of.searchsorted([quote.source + more for quote in quoted]).tolist() for more in (0, 1))
    passages = index.quotes
    for (_, start, end), first, stop in zip(quoted, firsts, stops, strict=True):
        for n in range(first, stop):
            _, begin, until = passages[n]
            if begin < end and start < until:
                found.append(n)
    return np.array(found, np.int64)


class _Having(NamedTuple):
    """A passage, its match with a question, and its number in its index."""

    share: float
    quote: Quote
    number: int


def _having(index: PassageIndex, has: Floats, least: float, since: int) -> list[_Having]:
    """The passages of the messages from `since` on that match a question at least this well."""
    first = int(index.source_of.searchsorted(since))
    numbers = (np.flatnonzero(has[first:] >= least) + first).tolist()
    return [_Having(float(has[n]), index.quotes[n], n) for n in numbers]


def _having_behind(
    behind: Sequence[Quotable], terms: Terms, value: Floats, least: float, before: int, memo: Memo
) -> list[_Having]:
    """Passages that contain a figure and match a question well enough, in messages after the first `before` ones of an index."""
    value_of = dict(zip(terms.wanted.terms.tolist(), value.take(terms.wanted.group).tolist(), strict=True))
    figures = of_each(memo, "have figures", behind, lambda one: _FIGURE.search(one.text) is not None)
    telling = [
        n for n, has_figure in enumerate(figures) if has_figure and _may_have(least, value_of, message_terms(behind[n], memo))
    ]
    if not telling:
        return []
    leaves = leaves_of([behind[n] for n in telling], memo)
    has = presence(FieldIndex.of(leaves.words).find(terms.wanted), value)
    sources = np.repeat(telling, leaves.counts)
    return [
        _Having(float(has[n]), Quote(before + int(sources[n]), *leaves.spans[n]), n)
        for n in np.flatnonzero(has >= least).tolist()
    ]


def _may_have(least: float, value_of: Mapping[int, float], said: frozenset[int]) -> bool:
    """Whether a message with these terms may have a passage that matches a question well enough."""
    return sum(value for term, value in value_of.items() if term in said) >= _NEARLY * least


def _newest(newer: Sequence[_Having], messages: Sequence[Quotable]) -> list[tuple[Quote, int]]:
    """The newest that contain a figure: the best passage of each message. Excludes answers to a message that is included."""
    best = {one.quote.source: one for one in sorted(newer) if _tells_figure(one.quote, messages)}
    apart = [one[1:] for at, one in best.items() if not (messages[at].role == "assistant" and at - 1 in best)]
    return sorted(apart)[-_MOST:]


def _tells_figure(quote: Quote, messages: Sequence[Quotable]) -> bool:
    return _FIGURE.search(messages[quote.source].text, quote.start, quote.end) is not None
