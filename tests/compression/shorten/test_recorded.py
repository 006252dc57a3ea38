"""Recorded tool results (not part of this repository): what must survive a tenth of the tokens."""

import json
from typing import Any

import pytest

from benchmarks.support.data import shared_directory
from turnfold.compression.shorten.birth import shape, shape_json, unshape_json
from turnfold.compression.shorten.registry import facts
from turnfold.compression.tokens import count


def _cases(name: str) -> list[dict[str, Any]]:
    path = shared_directory() / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here (set TURNFOLD_SHARED)")
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
    assert after <= 0.11 * before


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
