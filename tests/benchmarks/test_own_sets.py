"""The set of standing orders is what it says, and its measure sees an order that is gone.

These tests cover the cases' own quality, and the measure on folds whose result is known. They leave out the engine's figures.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import httpx
import pytest

from benchmarks.own_sets import kept_orders, prompt_tokens, sender, try_case
from benchmarks.support.data import conversations, own_cases
from benchmarks.support.upstream import record_requests

CASES = own_cases("orders")


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 6
    assert len({case["language"] for case in CASES}) >= 5
    orders = [order["text"] for case in CASES for order in case["orders"]]
    assert len(set(orders)) == len(orders) >= 20


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case_is_well_formed(case: dict[str, Any]) -> None:
    messages = case["messages"]
    assert prompt_tokens(messages) >= 4000
    assert [message["role"] for message in messages[:2]] == ["system", "user"]
    assert messages[-1]["role"] == "user"
    assert all(one["role"] != other["role"] for one, other in pairwise(messages))
    for order in case["orders"]:
        assert messages[order["at"]]["role"] == "user"
        assert order["text"] in messages[order["at"]]["content"]
        assert order["text"] not in messages[-1]["content"]
        assert len(messages[order["at"]]["content"]) > len(order["text"]) + 40


def test_an_order_is_kept_whole_or_lost() -> None:
    orders = ["Never touch the billing table.", "Always answer in French."]
    messages = [{"role": "user", "content": [{"type": "text", "text": "Never touch\nthe billing  table."}]}]
    assert kept_orders(orders, messages) == orders[:1]
    assert kept_orders(orders, [{"role": "user", "content": "Always answer in (...) French."}]) == []


def test_what_arrives_is_what_is_measured() -> None:
    case = CASES[0]
    with record_requests() as recorder:
        whole = try_case(case, sender(recorder.url), recorder, 0.1, "gpt-4o")
        assert (whole.kept, whole.lost, whole.forwarded, whole.faults) == (whole.orders, (), whole.tokens, ())
        assert whole.budget == int(0.1 * whole.tokens)

        def cutting(body: bytes, headers: dict[str, str]) -> None:
            parsed = json.loads(body)
            sender(recorder.url)(json.dumps({**parsed, "messages": parsed["messages"][-1:]}).encode(), headers)

        cut = try_case(case, cutting, recorder, 0.1, "gpt-4o")
    assert (cut.kept, len(cut.lost)) == (0, cut.orders)
    assert cut.forwarded < cut.tokens / 20
    assert cut.faults


def test_the_recorder_takes_chunked_bodies() -> None:
    with record_requests() as recorder:
        chunks = iter([b'{"model": "m", ', b'"messages": []}'])
        assert httpx.post(f"{recorder.url}/chat/completions", content=chunks, timeout=60).json()["model"] == "m"
        assert recorder.bodies == [{"model": "m", "messages": []}]


def test_absent_data_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("EVALUATION_SHARED", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="EVALUATION_SHARED"):
        conversations("NC_locomo")
