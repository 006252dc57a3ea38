"""Which cases most runs leave out."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support import golden
from tests.support.cases import each
from tests.support.effort import crosswise, is_thorough


@each(("outer", "inner"), [("abcdef", "xy"), ("ab", "uvwxyz"), ("abc", "xyz"), ("abcd", "xyz")])
def test_every_row_of_both_tables_is_met(outer: str, inner: str) -> None:
    pairs = crosswise(product(outer, inner), len(inner))
    assert {one for one, _ in pairs} == set(outer)
    assert {one for _, one in pairs} == set(inner)
    if not is_thorough():
        assert len(pairs) < len(outer) * len(inner)


def test_a_wrong_number_of_rows_is_told() -> None:
    with pytest.raises(AssertionError, match="no pairs of two tables"):
        crosswise(range(7), 3)


@pytest.mark.parametrize("step", [2, 4])
def test_one_of_so_many_cases_in_a_row_is_left(step: int) -> None:
    left = [*golden.some(range(24), step)]
    assert left == [*range(24)] if is_thorough() else [one // step for one in left] == [*range(24 // step)]
    assert {one % 3 for one in left} == {0, 1, 2}  # the wires, for many a test


def test_the_last_cases_may_be_fewer() -> None:
    assert [*golden.some("a")] == ["a"]
    assert len(golden.some(range(5))) == (5 if is_thorough() else 2)
