"""Words of a query side by side: which passages have them, and what that weighs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import draws
from turnfold.compression.scorers.bm25 import Field, FieldIndex, rarity, wanted_terms
from turnfold.compression.scorers.proximity import proximity


def _proximity(passages: list[list[int]], groups: list[list[int]], weights: list[float]) -> list[float]:
    said = Field(np.array([term for one in passages for term in one], np.uint32), np.array([len(one) for one in passages]))
    wanted = wanted_terms(groups)
    hits = FieldIndex(np.zeros(0, np.int64)).continued(said).find(wanted)
    found: list[float] = proximity(said, wanted, hits, np.array(weights)).tolist()
    return found


def _plainly(passages: list[list[int]], groups: list[list[int]], weights: list[float]) -> list[float]:
    """The same, pair by pair."""
    owner = {term: g for g in range(len(groups) - 1, -1, -1) for term in groups[g]}
    total = [0.0] * len(passages)
    for first in range(len(groups) - 1):
        having = []
        for number, passage in enumerate(passages):
            at = [owner.get(term) for term in passage]
            places = [(i, g) for i, g in enumerate(at) if g is not None]
            if any({g, h} == {first, first + 1} and 0 < j - i <= 2 for i, g in places for j, h in places):
                having.append(number)
        value = float(rarity(np.array([len(having)]), len(passages))[0]) * min(weights[first : first + 2])
        for number in having:
            total[number] += value
    return total


@each(
    ("passage", "is_near"),
    [([1, 2], True), ([2, 1], True), ([1, 9, 2], True), ([1, 9, 9, 2], False), ([1, 1, 3], False), ([3, 2], True), ([1], False)],
)
def test_neighbours_of_the_query_stand_at_most_one_word_apart(passage: list[int], is_near: bool) -> None:
    found = _proximity([passage, [7, 8], [9]], [[1], [2], [3]], [1.0, 1.0, 1.0])
    assert (found[0] > 0) is is_near
    assert found[1:] == [0, 0]


def test_words_of_two_passages_are_no_neighbours() -> None:
    assert _proximity([[5, 1], [2, 5]], [[1], [2]], [1.0, 1.0]) == [0, 0]


@draws(60)
@given(
    st.lists(st.lists(st.integers(0, 9), max_size=12), min_size=1, max_size=8),
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=2), max_size=5),
)
def test_pairs_are_those_found_one_by_one(passages: list[list[int]], groups: list[list[int]]) -> None:
    weights = [1.0 + n / 4 for n in range(len(groups))]
    assert _proximity(passages, groups, weights) == pytest.approx(_plainly(passages, groups, weights))
