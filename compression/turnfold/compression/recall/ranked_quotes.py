"""Quotes for a question with their worth: the value that the stages of recall pass on.

Lives here: the value, and quotes put in front. Does not belong here: what a passage is worth (``ranking``), what fits
(``quote_choice``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turnfold.compression.recall.passage_index import Floats, Ints
from turnfold.compression.text.quotes import Quote


class RankedQuotes(NamedTuple):
    """Quotes that bear on a question, by number: that of a passage in its index, behind these that of a quote of its own.

    Attributes:
        numbers: which do, in order.
        worth: of every number; of equal ones the first is the better.
        more: quotes that are no passages.
        records: records of several lines that are named: passages of these belong together.
    """

    numbers: Ints
    worth: Floats
    more: tuple[Quote, ...] = ()
    records: tuple[Quote, ...] = ()


def in_front(ranking: RankedQuotes, quotes: Sequence[Quote], numbers: Ints | None = None) -> RankedQuotes:
    """A ranking with quotes that are no passages in front, the first the best; of the others only those `numbers`, if given."""
    size = len(ranking.worth)
    worth = np.append(ranking.worth, ranking.worth.max(initial=0.0) + np.arange(len(quotes), 0, -1, dtype=np.float64))
    others = ranking.numbers if numbers is None else numbers
    numbers = np.append(others, np.arange(size, size + len(quotes)))
    return ranking._replace(numbers=numbers, worth=worth, more=(*ranking.more, *quotes))
