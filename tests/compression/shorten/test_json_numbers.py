"""Numbers of JSON stay as they are written, in whatever the JSON is wrapped.

These tests cover numbers that a reader of numbers would write otherwise. They leave out which values are kept.
"""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.support.cases import each
from turnfold.compression.shorten.kinds.json_text import facts
from turnfold.compression.tokens import count

NUMBERS = [
    "1e999",
    "-1e400",
    "NaN",
    "-Infinity",
    "1.50",
    "-0",
    "0.00001",
    "123456789.12345678",
    "12345678901234567890123",
    "6.02E+23",
]
ROWS = json.dumps({"r": [{"id": n, "name": f"valve {n}", "v": "@"} for n in range(4)], "v": "@", "end": "yes"})


@each(("number", "keep"), product(NUMBERS, [60, 400]))
def test_a_number_is_shown_as_it_is_written(number: str, keep: int) -> None:
    whole = ROWS.replace('"@"', number)
    row = f'{{"name": "valve", "open": true, "v": {number}}}'
    texts = {
        "whole": whole,
        "lines": "\n".join([row] * 12),
        "inside a string": json.dumps({"body": whole, "also": [whole]}),
        "cut": whole[:-4],
        "with text behind": f"{whole}\nDone.",
    }
    lost = [name for name, text in texts.items() if number not in facts(text, keep, frozenset(), count)]
    assert lost == []


def test_a_number_that_is_cut_is_shown_as_far_as_it_goes_and_strings_stay() -> None:
    text = '{"a": 80.50, "b": "1.50 \\" 2.50", "c": "\\\\", "d": 1e999, "e": 12345678901234567890123'
    shown = facts(text, 400, frozenset(), count)
    assert all(part in shown for part in ("80.50", '1.50 " 2.50', "1e999", "12345678901234567890123"))


def test_json_that_is_nested_beyond_reading_is_no_json() -> None:
    with pytest.raises(ValueError, match=r"nested|recursion|JSON"):
        facts("[" * 200_000 + "1.50" + "]" * 200_000, 400, frozenset(), count)
