"""Quotes for a question with their worth: the value that the stages of recall pass on.

The value, and how quotes are put in front. What a passage is worth is up to ``ranking``; what fits, to ``quote_choice``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turnfold.compression.recall.passage_index import Floats, Ints
from turnfold.compression.text.quotes import Quote


class RankedQuotes(NamedTuple):
    """Quotes that bear on a question, by number: the number of a passage in its index, or of one of `more`, counted after the
    passages.

    Attributes:
        numbers: the quotes that bear on it, in order.
        worth: the worth of every number; among equals the first is better.
        more: quotes that are not passages.
        records: multi-line records that the question names; their passages belong together.
    """

    numbers: Ints
    worth: Floats
    more: tuple[Quote, ...] = ()
    records: tuple[Quote, ...] = ()


def in_front(ranking: RankedQuotes, quotes: Sequence[Quote], numbers: Ints | None = None) -> RankedQuotes:
    """A ranking with other quotes in front, the first being the best.

    If `numbers` are given, only these of the ranking's own quotes are kept.
    """
    size = len(ranking.worth)
    worth = np.append(ranking.worth, ranking.worth.max(initial=0.0) + np.arange(len(quotes), 0, -1, dtype=np.float64))
    others = ranking.numbers if numbers is None else numbers
    numbers = np.append(others, np.arange(size, size + len(quotes)))
    return ranking._replace(numbers=numbers, worth=worth, more=(*ranking.more, *quotes))
