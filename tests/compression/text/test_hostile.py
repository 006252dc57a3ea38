"""Texts that the fuzzer found, made small: what broke a promise, or took time that grew faster than the text."""

from __future__ import annotations

import pytest

from tests.support.growth import assert_linear, repeated
from turnfold.compression.shorten.registry import facts
from turnfold.compression.shorten.terse_prose.compress import compress
from turnfold.compression.text.dialogue.self_statements import fact_weight
from turnfold.compression.text.sentences import LONGEST, sentences


def test_a_long_sentence_without_a_blank_ends_where_the_next_begins() -> None:
    text = "事" * (2 * LONGEST) + "。" + "事は続く。" * 3 + "x" * LONGEST + " end"
    spans = sentences(text)
    assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
    assert all(span.start < span.end for span in spans)
    assert spans[-1].end == len(text)


def test_half_a_character_in_json_that_is_cut_short() -> None:
    text = '[\n{"a": "\ud800", "n": 1.50},\n' + '{"a": "x", "n": 2.50},\n' * 200
    assert facts(text, 50, frozenset(), lambda part: len(part) // 4)


def test_a_long_line_without_a_cell_takes_no_longer_than_others() -> None:
    assert_linear(lambda text: compress(text, "lite"), lambda size: repeated("a word 1 ")(size) + "|", 5_000)


@pytest.mark.parametrize("unit", ["a", "1", "1.", "a.", "「", "“", "a@", "事「"])
def test_a_long_run_holds_no_fact_of_its_own(unit: str) -> None:
    """From each place its end was looked for, which took minutes."""
    assert fact_weight(unit * 3_000) <= 0.3
    assert_linear(fact_weight, repeated(unit), 2_000)
    assert fact_weight(f"{unit * 300} and node-7 at 12 bar, write to ann@example.org") >= 0.3
