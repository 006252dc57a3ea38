"""Words of a query that stand side by side in a passage as they do in the query.

The dependence of neighbouring words in the sense of Metzler and Croft, "A Markov Random Field Model for Term Dependencies"
(2005), weighed by rarity as single words are. Single words are scored in ``bm25``.

Function words are no terms, so "plans for the summer" and "summer plans" are both neighbours.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from turnfold.compression.scorers.bm25 import Field, Floats, Hits, Ints, Wanted, distinct, rarity

_FARTHEST: Final = 2  # greatest distance, in terms
_ELSE: Final = -2  # no group, and not adjacent to any
_NO_NUMBERS: Final = np.zeros(0, np.int64)


def proximity(said: Field, wanted: Wanted, hits: Hits, weights: Floats) -> Floats:
    """For every passage, the total weight of consecutive groups whose terms are adjacent in it, in any order.

    Args:
        said: the terms of the passages.
        hits: where the groups occur in them.
        weights: the weight of each group; a pair has the lesser weight of its two.
    """
    passages, pairs = _pairs(said, wanted, _with_neighbours(hits))
    having = np.bincount(pairs, minlength=max(1, wanted.groups - 1))
    value = rarity(having, hits.passages) * np.minimum(weights[:-1], weights[1:]) if wanted.groups > 1 else np.zeros(1)
    total: Floats = np.bincount(passages, value.take(pairs), hits.passages).astype(np.float64, copy=False)
    return total


def _with_neighbours(hits: Hits) -> Ints:
    """The passages with two consecutive groups, in order."""
    cells = np.sort(hits.passage * (hits.terms + 1) + hits.term)
    return distinct(cells[1:][np.diff(cells) == 1] // (hits.terms + 1))


def _pairs(said: Field, wanted: Wanted, candidates: Ints) -> tuple[Ints, Ints]:
    """Passages with the distinct pairs of groups that are adjacent in them; a pair is the number of its first group."""
    if not len(candidates):
        return _NO_NUMBERS, _NO_NUMBERS
    read = said.of_passages(candidates)
    order = np.argsort(wanted.terms)
    sought = wanted.terms[order]
    at = np.minimum(sought.searchsorted(read.terms), len(sought) - 1)
    group = np.where(sought[at] == read.terms, wanted.group[order][at], _ELSE)
    owner = np.repeat(candidates, read.lengths)
    found = [_beside(group, owner, distance, wanted.groups) for distance in range(1, _FARTHEST + 1)]
    cells = distinct(np.concatenate(found))
    return cells // wanted.groups, cells % wanted.groups


def _beside(group: Ints, owner: Ints, distance: int, groups: int) -> Ints:
    """Passages and pairs at a given distance, each encoded as one number."""
    one, other = group[:-distance], group[distance:]
    is_pair = (np.abs(one - other) == 1) & (np.minimum(one, other) >= 0) & (owner[:-distance] == owner[distance:])
    cells: Ints = owner[:-distance][is_pair] * groups + np.minimum(one, other)[is_pair]
    return cells
