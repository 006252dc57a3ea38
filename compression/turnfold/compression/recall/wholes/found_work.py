"""A thing that a question needs whole, as it was found.

Lives here: the value, and a ranking with it in front. Does not belong here: finding it (the modules beside it).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.recall.ranked_quotes import RankedQuotes, in_front
from turnfold.compression.text.quotes import Quote


class FoundWork(NamedTuple):
    """What a message asks for as a whole.

    Attributes:
        quotes: the work and what changed it, the work first; none where the request holds it already, or has no room for it.
        outdated: older forms, which are not to be quoted beside it.
        tokens: what the quotes take, with their labels.
        cut: the source of a table of which more rows are needed than there is room for.
        counted: those of the quotes of which each counts, although others may say the same.
        listed: those of the quotes that only name things: passages say more of what they name, and may hold them.
        beside: tokens that passages may take beside the quotes, where these say what is asked for; None: as many as without them.
    """

    quotes: tuple[Quote, ...] = ()
    outdated: tuple[Quote, ...] = ()
    tokens: int = 0
    cut: int | None = None
    counted: frozenset[Quote] = frozenset()
    listed: frozenset[Quote] = frozenset()
    beside: int | None = None

    def joined(self, other: FoundWork) -> FoundWork:
        """Both."""
        cut = other.cut if self.cut is None else self.cut
        quotes, outdated = (*self.quotes, *other.quotes), (*self.outdated, *other.outdated)
        tokens, counted, listed = self.tokens + other.tokens, self.counted | other.counted, self.listed | other.listed
        return FoundWork(quotes, outdated, tokens, cut, counted, listed)


def with_work(ranking: RankedQuotes, index: PassageIndex, work: FoundWork) -> RankedQuotes:
    """A ranking with a work in front, without the passages that stand in it or in its older forms.

    Of a record that is named a work may be a part; then the rest of the record stays.
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
