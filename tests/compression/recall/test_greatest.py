"""The n-th greatest value is the one that sorting finds."""

from __future__ import annotations

from itertools import product

import numpy as np

from tests.support.cases import each
from turnfold.compression.recall.greatest import nth_greatest


@each(("size", "shape"), product([1, 200, 201, 2000], ["even", "steep", "few", "equal", "none", "negative"]))
def test_it_is_that_of_the_sorted_values(size: int, shape: str) -> None:
    draw = np.random.default_rng(size).random(size)
    values = {
        "even": draw,
        "steep": draw**20,
        "few": np.round(draw, 1),
        "equal": np.ones(size),
        "none": np.zeros(size),
        "negative": draw - 1.5,
    }[shape]
    ordered = np.sort(values)[::-1]
    for number in {1, 3, min(8, size), size // 20 or 1, size // 2 or 1, size}:
        if number <= size:
            assert nth_greatest(values, number) == ordered[number - 1]
