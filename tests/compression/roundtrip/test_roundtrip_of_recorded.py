"""Reversible compression of conversations that were recorded, and of our own: each comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from benchmarks.support.data import own_cases, shared_directory
from tests.support.effort import every
from tests.support.small_talk import Message
from turnfold.compression import (
    compress,
    uncompress,
)

# --- real conversations -----------------------------------------------------------------------------------------------


def recorded() -> Iterator[list[Message]]:
    for path in sorted(shared_directory().glob("*.jsonl")):
        if "questions" not in path.name:
            with path.open(encoding="utf-8") as lines:
                seen = {str(row.get("conversation_id") or row["id"]): row["messages"] for row in map(json.loads, lines)}
            yield from every(8, list(seen.values()))


def test_every_conversation_of_our_own_comes_back() -> None:
    cases = own_cases("orders")
    assert len(cases) > 5
    for case in cases:
        result = compress(case["messages"])
        assert sum(len(m["content"]) for m in result.messages) < sum(len(m["content"]) for m in case["messages"])
        assert json.dumps(uncompress(result).messages) == json.dumps(case["messages"])


@pytest.mark.skipif(
    not shared_directory().is_dir(), reason=f"the evaluation data is not in {shared_directory()}; set EVALUATION_SHARED"
)
def test_every_recorded_conversation_comes_back() -> None:
    count = 0
    for messages in every(3, list(recorded())):
        result = compress(messages)
        assert json.dumps(uncompress(result).messages) == json.dumps(messages)
        count += 1
    assert count > 13
