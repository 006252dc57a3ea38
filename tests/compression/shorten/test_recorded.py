"""Recorded tool results: what must survive a tenth of the tokens, and JSON that must come back.

The large sets are no part of this repository; results of our own stand in for them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.data import shared_directory
from tests.support.cases import each
from tests.support.column_tables import unshape_json
from turnfold.compression.shorten.birth import shape, shape_json
from turnfold.compression.shorten.registry import facts
from turnfold.compression.tokens import count


def _cases(name: str) -> list[dict[str, Any]]:
    path = shared_directory() / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here (set EVALUATION_SHARED)")
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_evidence_survives_a_tenth() -> None:
    before = after = wanted = kept = 0
    for case in _cases("tool_output"):
        results = [m["content"] for m in case["messages"] if m["role"] == "tool"][:-1]
        sizes = [count(text) for text in results]
        short = [facts(text, int(size * 0.1), frozenset(), count) for text, size in zip(results, sizes, strict=True)]
        before, after = before + sum(sizes), after + sum(map(count, short))
        wanted += len(case["evidence"] or [])
        kept += sum(any(item in text for text in short) for item in case["evidence"] or [])
    assert kept >= 0.98 * wanted
    assert after <= 0.12 * before  # lines with evidence may take more than their share


def test_recorded_json_comes_back() -> None:
    shaped = 0
    for case in _cases("agent_tau")[:20]:
        for message in case["messages"]:
            form = shape_json(message["content"]) if message["role"] == "tool" else None
            if form is not None:
                shaped += 1
                assert unshape_json(form) == json.loads(message["content"])
                assert count(shape(message["content"], count)) <= count(message["content"])
    assert shaped


HERE = Path(__file__).parent
LOG = [f"2031-04-{day:02} 06:{day:02}:00 INFO pump {day % 5} at {40 + day % 7} percent" for day in range(1, 29)] * 12


@each(
    ("at", "line"),
    [
        (100, "2031-04-17 09:12:44 ERROR pump 3 stopped: seal KX-88213 is leaking"),
        (40, "Traceback: SealBroken('gate B4')"),
        (301, "2031-04-28 23:59:59 FATAL no pump left, reference QZ-40177"),
    ],
)
def test_what_is_odd_survives_a_tenth(at: int, line: str) -> None:
    text = "\n".join([*LOG[:at], line, *LOG[at:]])
    short = facts(text, count(text) // 10, frozenset(), count)
    assert line in short
    assert count(short) <= 0.12 * count(text)


@each("name", ["orders", "table", "account", "envelope", "single"])
def test_json_of_our_own_comes_back(name: str) -> None:
    text = (HERE / "cases" / "json" / f"{name}.txt").read_text("utf-8").split("\n", 1)[1].partition("\n==========\n")[0]
    form = shape_json(text)
    assert form is None or unshape_json(form) == json.loads(text)
    assert count(shape(text, count)) <= count(text)
