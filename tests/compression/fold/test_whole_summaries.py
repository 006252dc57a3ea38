"""A request for a summary of everything, without a budget: it is sent whole where the folds so far have saved what that costs.

These tests show what is forwarded for such a request, and for those around it. They leave out what it holds under a budget
(``test_summary_requests``), which messages are such requests (``text.test_requests``).
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Final

import pytest

from tests.compression.fold.test_summary_requests import COMPACT
from tests.support.effort import crosswise, every
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Part = dict[str, Any]

_ASKED: Final = COMPACT["an agent's"]
_TURNS: Final = 12
_LONG: Final = 90  # sentences of a result with which folds pay at any price
_CHEAP: Final = CachePrices(0.1, 1.25)
_PRICES: Final = (CachePrices(0.5, 1.0), _CHEAP, CachePrices(1.0, 1.0))
_WIRES: Final = pytest.mark.parametrize("wire", [CHAT, MESSAGES, RESPONSES], ids=["chat", "messages", "responses"])


def _step(wire: Wire, n: int, sentences: int) -> list[Part]:
    name, result = f"c{n}", prose(n, "en", sentences)
    if wire is CHAT:
        call = {"id": name, "type": "function", "function": {"name": "bash", "arguments": json.dumps({"step": n})}}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": name, "content": result},
        ]
    if wire is RESPONSES:
        return [
            {"type": "function_call", "call_id": name, "name": "bash", "arguments": json.dumps({"step": n})},
            {"type": "function_call_output", "call_id": name, "output": result},
        ]
    use = {"type": "tool_use", "id": name, "name": "bash", "input": {"step": n}}
    return [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": result}]},
    ]


def _session(wire: Wire, turns: int, sentences: int = 25) -> list[Part]:
    found: list[Part] = []
    for n in range(turns):
        found.append({"role": "user", "content": f"Please look at part {n}. {prose(9000 + n, 'en', 2)}"})
        for step in range(4):
            found += _step(wire, 4 * n + step, sentences)
        found.append({"role": "assistant", "content": f"Done with part {n}. {prose(7000 + n, 'en', 6)}"})
    return found


def _fold(wire: Wire, said: list[Part], options: FoldOptions) -> Folded:
    key = "input" if wire is RESPONSES else "messages"
    body = json.dumps({"model": "m", "max_tokens": 99, key: said}).encode()
    found = fold(wire.read(body, WARM), options, WARM)
    assert unfold(found) == body
    return found


@pytest.mark.parametrize(("wire", "prices"), every(2, crosswise(product([CHAT, MESSAGES, RESPONSES], _PRICES), 3)))
def test_it_is_sent_whole(wire: Wire, prices: CachePrices) -> None:
    session = _session(wire, 18, _LONG) if prices == _CHEAP else _session(wire, _TURNS)
    assert _fold(wire, session[:-1], FoldOptions(prices=prices)).events
    found = _fold(wire, [*session, {"role": "user", "content": _ASKED}], FoldOptions(prices=prices))
    assert (found.folded, found.reason) == (False, "asks-for-all")
    assert found.forwarded is found.conversation


def test_a_tools_results_may_stand_in_the_same_message() -> None:
    """Claude Code appends its request to the results that it has."""
    session = _session(MESSAGES, 18, _LONG)[:-1]
    session[-1] = {"role": "user", "content": [*session[-1]["content"], {"type": "text", "text": _ASKED}]}
    assert _fold(MESSAGES, session, FoldOptions(prices=_CHEAP)).reason == "asks-for-all"


@_WIRES
def test_what_comes_behind_it_finds_the_fold_again(wire: Wire) -> None:
    """The folded prefix is still cached: a conversation that goes on needs no other."""
    options = FoldOptions(prices=CachePrices(0.5, 1.0))
    session = _session(wire, _TURNS)
    before = _fold(wire, session[:-1], options)
    said = [*session, {"role": "user", "content": _ASKED}, {"role": "assistant", "content": f"In short: {prose(3, 'en', 9)}"}]
    after = _fold(wire, [*said, {"role": "user", "content": "Good, go on."}], options)
    assert after.folded
    shared = len([1 for a, b in zip(before.forwarded.messages, after.forwarded.messages, strict=False) if a.key == b.key])
    assert shared > len(before.forwarded.messages) // 2


def test_it_is_folded_where_the_folds_have_not_saved_that_much() -> None:
    """Law 9: a bill is never higher."""
    options = FoldOptions(prices=_CHEAP, cache_hit_share=1.0)
    session = _session(MESSAGES, 24, _LONG)
    asked: Part = {"role": "user", "content": _ASKED}
    ends = [i for i, part in enumerate(session) if part["role"] == "assistant" and isinstance(part["content"], str)]
    first = next(i for i in ends if _fold(MESSAGES, session[:i], options).events)
    assert _fold(MESSAGES, [*session[: first + 1], asked], options).folded


@pytest.mark.parametrize("budget", every(2, [4000, 8000], 1))
def test_a_budget_is_kept(budget: int) -> None:
    said: list[Part] = [*_session(CHAT, _TURNS), {"role": "user", "content": _ASKED}]
    found = _fold(CHAT, said, FoldOptions(budget=budget))
    assert found.folded
    assert found.tokens_after <= budget
