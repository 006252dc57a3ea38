"""Messages that are whole or gone (hosted tools, encrypted reasoning) do not delay folds: they go into a summary at once."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tests.support.effort import crosswise
from tests.support.messages_api import refusals
from tests.support.responses import Item, reasoning
from tests.support.responses_rules import rule_faults
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold, unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

PRICES = [CachePrices(1.0, 1.0), CachePrices(0.5, 1.0), CachePrices(0.1, 1.25)]
PROFILES = pytest.mark.parametrize("prices", PRICES)
TURNS = 30  # of 350 tokens and more


def logs(turn: int) -> str:
    return "\n".join(f"crate {line} stands in bay {line * turn % 97}" for line in range(45))


def said(turn: int) -> Item:
    return {"role": "assistant", "content": [{"type": "output_text", "text": prose(turn, "en", 12)}]}


def computed(turn: int) -> list[Item]:
    call = {
        "type": "code_interpreter_call",
        "id": f"ci_{turn}",
        "container_id": "c",
        "code": f"count({turn})",
        "status": "completed",
    }
    return [call | {"outputs": [{"type": "logs", "logs": logs(turn)}]}, said(turn)]


def thought(turn: int) -> list[Item]:
    return [reasoning(turn), said(turn)]


@pytest.mark.parametrize(("answer", "prices"), crosswise(product([computed, thought], PRICES), 3))
def test_items_that_stay_as_they_are_are_folded_in_time(answer: Any, prices: CachePrices) -> None:
    items: list[Item] = []
    for turn in range(TURNS):
        items += [{"role": "user", "content": f"What stands in berth {turn}?"}, *answer(turn)]
    items.append({"role": "user", "content": "And in berth 3?"})
    body = json.dumps({"model": "gpt-4o", "store": False, "input": items}).encode()
    folded = fold(RESPONSES.read(body, WARM), FoldOptions(model="gpt-4o", prices=prices), WARM)
    assert folded.tokens_after < folded.tokens_before * 0.6
    assert unfold(folded) == body
    assert not rule_faults(body, folded.body)


@PROFILES
def test_server_tools_are_folded_in_time(prices: CachePrices) -> None:
    messages: list[dict[str, Any]] = []
    for turn in range(TURNS):
        use = {"type": "server_tool_use", "id": f"srvtoolu_{turn}", "name": "code_execution", "input": {"code": f"count({turn})"}}
        done = {"type": "code_execution_result", "stdout": logs(turn), "stderr": "", "return_code": 0, "content": []}
        result = {"type": "code_execution_tool_result", "tool_use_id": use["id"], "content": done}
        messages.append({"role": "user", "content": f"What stands in berth {turn}?"})
        messages.append({"role": "assistant", "content": [use, result, {"type": "text", "text": prose(turn, "en", 12)}]})
    messages.append({"role": "user", "content": "And in berth 3?"})
    body = json.dumps({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages}).encode()
    folded = fold(MESSAGES.read(body, WARM), FoldOptions(model="claude-sonnet-4-5", prices=prices), WARM)
    assert folded.tokens_after < folded.tokens_before * 0.6
    assert unfold(folded) == body
    assert refusals(folded.body) == []
