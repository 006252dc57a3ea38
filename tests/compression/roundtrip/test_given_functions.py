"""What a caller's own counter or store may return, and what is said of anything else.

These tests cover functions of the caller that break their promise. They leave out options of the wrong type (``test_roundtrip``),
scorers (``tests/compression/scorers``).
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from tests.support.cases import each
from turnfold.compression import (
    CompressOptions,
    Compressor,
    InvalidInput,
    compress,
    strip_provenance,
    uncompress,
)
from turnfold.compression.layers import truncate_to_tokens

TALK = "The crew met at the old pier and spoke at length about the weather and the fish. " * 8
MESSAGES: list[dict[str, Any]] = [{"role": ("user", "assistant")[n % 2], "content": f"{TALK}{n}"} for n in range(12)]


@each(("count", "budget"), product([math.nan, math.inf, -1, -0.5, None, "12", True, [3], {}], [None, 0, 700, 10**9]))
def test_a_counter_that_returns_no_number_of_tokens_is_refused(count: Any, budget: int | None) -> None:
    with pytest.raises(InvalidInput, match="token_counter: must return a finite number") as raised:
        compress(MESSAGES, CompressOptions(token_counter=lambda _: count, token_budget=budget))
    assert raised.value.field == "token_counter"


def test_an_argument_of_another_type_is_refused_by_name() -> None:
    wrong: list[tuple[str, Any]] = [
        ("request", lambda: Compressor().compress("a text")),  # type: ignore[arg-type]
        ("text", lambda: truncate_to_tokens(5, 3)),  # type: ignore[arg-type]
        ("messages", lambda: strip_provenance(compress(MESSAGES))),  # type: ignore[arg-type]
        ("recursive", lambda: uncompress(MESSAGES, {}, recursive="no")),  # type: ignore[arg-type]
    ]
    for field, call in wrong:
        with pytest.raises(InvalidInput) as raised:
            call()
        assert raised.value.field == field


def test_a_counter_may_return_parts_of_tokens_and_nothing() -> None:
    halves: Any = lambda message: len(message["content"]) / 4  # noqa: E731 - what a user writes
    result = compress(MESSAGES, CompressOptions(token_counter=halves, token_budget=1000))
    assert result.fits
    assert result.token_count == sum(halves(message) for message in result.messages)
    assert compress(MESSAGES, CompressOptions(token_counter=lambda _: 0, token_budget=0)).messages == MESSAGES


@each("found", ["a text", "", 7, 0, False, math.nan, [], [MESSAGES[0]], (1,)])
def test_a_store_that_has_no_message_is_refused(found: Any) -> None:
    result = compress(MESSAGES)
    stores: list[Any] = [lambda _: found, dict.fromkeys(result.verbatim, found)]
    for store in stores:
        with pytest.raises(InvalidInput, match="store: must give a message or None") as raised:
            uncompress(result.messages, store)
        assert raised.value.field == "store"


def test_a_store_that_has_nothing_lists_what_is_missing() -> None:
    result = compress(MESSAGES)
    restored = uncompress(result.messages, lambda _: None)
    assert set(restored.missing_ids) == set(result.verbatim)
    assert restored.messages == result.messages
