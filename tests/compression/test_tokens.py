"""Counting: exact, the same for long runs of one class, and in linear time for runs that are almost long."""

from __future__ import annotations

import pytest
import tiktoken

from tests.support.growth import assert_linear, repeated
from turnfold.compression.tokens import count, count_for_model, counter_for_model, encoding


def plain(text: str, encoder: tiktoken.Encoding) -> int:
    return len(encoder.encode_ordinary(text))


@pytest.mark.parametrize("text", ["", "a", "<|endoftext|>", "Grüße aus 東京 🙂", "x " * 3000, "=" * 5000, " " * 3999 + "x"])
def test_a_count_is_the_encoders(text: str) -> None:
    assert count(text) == plain(text, encoding("o200k_base"))
    assert count(text, "cl100k_base") == plain(text, encoding("cl100k_base"))


@pytest.mark.parametrize(("unit", "long"), [(" ", 4000), ("\n", 4000), ("=", 20_000), ("a", 20_000)])
def test_a_long_run_is_counted_piece_by_piece(unit: str, long: int) -> None:
    """A run costs about what it costs in pieces of 4,000 characters, wherever it stands."""
    piece = count(unit * 4000)
    for front in ("", "some words before it "):
        assert abs(count(front + unit * long + " and behind") - long // 4000 * piece) < 20 + piece


@pytest.mark.parametrize("unit", [" ", "=", "a", "=\n", "字"])
def test_runs_that_are_almost_long_take_linear_time(unit: str) -> None:
    def run_in_a_text(size: int) -> str:
        return f"{repeated(unit)(size)} {'word ' * 2 * size}"

    assert_linear(count, run_in_a_text, 2400)


def test_an_unknown_model_is_counted_by_the_costlier_vocabulary() -> None:
    text = "Тише едешь, дальше будешь. " * 20
    both = (count(text, "o200k_base"), count(text, "cl100k_base"))
    assert both[0] < both[1]
    assert count_for_model(text, "my-local-model") == counter_for_model("my-local-model")(text) == both[1]
    assert count_for_model(text, "gpt-4o") == both[0]
    assert count_for_model(text, "gpt-4-0613") == both[1]
