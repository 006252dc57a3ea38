"""A thing that a question needs whole, as it was found.

The value, and a ranking with it in front. The modules beside this one find such things.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes, in_front
from turnfold.compression.text.quotes import Quote


class FoundWork(NamedTuple):
    """The quotes found for a message that needs something as a whole.

    Attributes:
        quotes: the work, then its changes; empty if the request already holds it or it does not fit.
        outdated: older forms, which must not be quoted beside it.
        tokens: tokens of the quotes with their labels.
        cut: the source of a table of which not all needed rows fit.
        counted: quotes that each count even if others have the same text.
        listed: quotes that only name things; passages about these things may contain them.
        beside: most tokens for other passages, if the quotes answer the question; None for no such limit.
    """

    quotes: tuple[Quote, ...] = ()
    outdated: tuple[Quote, ...] = ()
    tokens: int = 0
    cut: int | None = None
    counted: frozenset[Quote] = frozenset()
    listed: frozenset[Quote] = frozenset()
    beside: int | None = None

    def joined(self, other: FoundWork) -> FoundWork:
        """Merge the two."""
        cut = other.cut if self.cut is None else self.cut
        quotes, outdated = (*self.quotes, *other.quotes), (*self.outdated, *other.outdated)
        tokens, counted, listed = self.tokens + other.tokens, self.counted | other.counted, self.listed | other.listed
        return FoundWork(quotes, outdated, tokens, cut, counted, listed)


def with_work(ranking: RankedQuotes, index: PassageIndex, work: FoundWork) -> RankedQuotes:
    """A ranking with a work in front, without the passages that overlap it or its older forms.

    If the work is part of a record that the question names, the rest of the record stays.
    """
    apart: dict[int, list[Quote]] = {}
    for quote in {*work.quotes, *work.outdated} - work.listed:
        apart.setdefault(quote.source, []).append(quote)
    quotes = (*index.quotes, *ranking.more) if ranking.more else index.quotes

    records = [one for one in ranking.records if one.source not in {quote.source for quote in work.outdated}]

    def is_apart(quote: Quote) -> bool:
        met = [one for one in apart.get(quote.source, ()) if one.overlaps(quote)]
        if not met or any(quote.is_in(one) for one in met):
            return not met
        return any(record.overlaps(quote) and all(one.is_in(record) for one in met) for record in records)

    others = [n for n in ranking.numbers.tolist() if is_apart(quotes[n])]
    return in_front(ranking, work.quotes, np.array(others, np.int64))
