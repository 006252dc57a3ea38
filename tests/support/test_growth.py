"""The measure of growth tells a quadratic function from a linear one, on a noisy machine too."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.growth import assert_linear, repeated


def linear(size: int) -> int:
    return sum(range(size))


def quadratic(size: int) -> int:
    return sum(sum(range(size)) for _ in range(size))


def test_linear_passes() -> None:
    assert_linear(linear, int, 100_000)


def test_linear_with_a_cost_per_call_passes() -> None:
    assert_linear(lambda size: linear(200_000) + linear(size), int, 50_000)


def test_linear_with_noise_passes() -> None:
    noise = Random(7)
    assert_linear(lambda size: linear(int(size * noise.uniform(1, 2))), int, 100_000)


def test_sorting_passes() -> None:
    assert_linear(sorted, lambda size: Random(7).choices(range(10**9), k=size), 20_000)


def test_quadratic_fails() -> None:
    with pytest.raises(AssertionError, match="8 times the input takes"):
        assert_linear(quadratic, int, 400)


def test_quadratic_with_a_cost_per_call_fails() -> None:
    with pytest.raises(AssertionError, match="8 times the input takes"):
        assert_linear(lambda size: linear(10_000) + quadratic(size), int, 300)


def test_what_takes_next_to_no_time_passes() -> None:
    assert_linear(len, repeated("ab"), 100_000)
    assert repeated("ab")(5) == "abab"
