"""Tool loops with thinking bound to what was sent: folded only where the provider can be asked to drop what is invalid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.block_conversations import SEEDS, Kind, conversation, encode
from tests.support.cases import each
from tests.support.effort import costly
from tests.support.messages_api import Bindings, drops_invalid, refusals
from tests.support.warm import WARM
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.messages import MESSAGES

BINDING = "claude-opus-5-5"
THINKS = {"thinking": {"type": "enabled", "budget_tokens": 900}}
DROPS = FoldOptions(prices=CachePrices(1.0, 1.0), drops_thinking=True)
LOOP = Kind(turns=1, loops=40, sentences=40, thinks=1.0)


def replay(messages: Sequence[Any], chosen: FoldOptions, step: int = 1, **keys: Any) -> list[tuple[Folded, list[str]]]:
    """A growing conversation at an API that binds thinking: what was sent, and which blocks were dropped."""
    memo, api, found = WARM, Bindings(), []
    ends = [*(i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages)]
    for end in ends:
        body = encode(list(messages[:end]), model=BINDING, **{**THINKS, **keys})
        folded = fold(MESSAGES.read(body, memo), chosen, memo)
        assert unfold(folded) == body
        assert refusals(folded.body) == []
        assert api.violations(folded.body) == []
        found.append((folded, api.invalid(folded.body)))
        if end < len(messages):
            api.answered(folded.body, messages[end])
    return found[::step]


def loop(calls: int) -> list[Any]:
    """One task and many calls, each with thinking."""
    found = [m for seed in range(9) for m in conversation(seed, LOOP)[1:-2]]
    tools = [m for m in found if isinstance(m["content"], list) and m["content"][-1]["type"] in ("tool_use", "tool_result")]
    for number, message in enumerate(tools):
        for block in message["content"]:
            if "signature" in block:
                block["signature"] = f"sig-{number}"
            for key in {"id", "tool_use_id"} & block.keys():
                block[key] = f"t{number // 2}-{block[key]}"
    return [{"role": "user", "content": "Find the leak."}, *tools[: 2 * calls]]


def test_a_long_loop_folds_where_the_api_may_drop_what_was_thought_in_it() -> None:
    messages = loop(30)
    off = replay(messages, replace(DROPS, drops_thinking=False))
    on = replay(messages, DROPS)
    assert not any(folded.events for folded, _ in off)
    last, dropped = on[-1]
    assert last.events >= 2
    assert dropped
    assert last.tokens_after < 0.7 * off[-1][0].tokens_after
    sent = [m.raw for m in last.forwarded.messages if m.role == "assistant"]
    assert set(sent) <= {json.dumps(m, ensure_ascii=False, separators=(",", ":")) for m in messages}
    assert (
        b'"thinking":{"type":"enabled","budget_tokens":900,"block_binding":{"prefix_mismatch_behavior":"drop_block"}}'
        in last.body
    )
    assert last.forwarded.betas == ("thinking-binding-controls-2026-08-01",)


def test_it_is_asked_only_once_there_is_something_to_drop() -> None:
    for folded, dropped in replay(loop(30), DROPS):
        assert drops_invalid(json.loads(folded.body)) is bool(dropped)
        assert folded.folded or not dropped


@costly(2)
@given(SEEDS, st.one_of(st.none(), st.integers(900, 8000)), st.booleans())
def test_between_fold_events_nothing_more_is_dropped(seed: int, budget: int | None, odd: bool) -> None:
    messages = conversation(seed, Kind(turns=3, loops=6, sentences=32, thinks=0.8, odd=odd))
    before: tuple[Folded, list[str]] | None = None
    for folded, dropped in replay(messages, replace(DROPS, budget=budget)):
        if before is not None and budget is None and folded.events == before[0].events:
            assert set(dropped) <= set(before[1])
        before = folded, dropped


@each(
    "keys",
    [
        {"thinking": {"type": "disabled"}},
        {"thinking": None},
        {"thinking": {"type": "enabled", "budget_tokens": 900, "block_binding": {"prefix_mismatch_behavior": "error"}}},
    ],
)
def test_where_it_cannot_be_asked_loops_stay_whole(keys: dict[str, Any]) -> None:
    body = encode(loop(30), model=BINDING, **keys)
    folded = fold(MESSAGES.read(body, WARM), DROPS, WARM)
    assert folded.events == 0
    assert not drops_invalid(json.loads(folded.body))


def test_a_client_that_asks_itself_is_not_asked_for_twice() -> None:
    binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    body = encode(loop(30), model=BINDING, thinking={"type": "adaptive", **binding})
    folded = fold(MESSAGES.read(body, WARM), DROPS, WARM)
    assert folded.events
    assert folded.body.count(b"block_binding") == 1


def test_other_models_are_never_asked() -> None:
    body = encode(loop(30), thinking=THINKS["thinking"])
    folded = fold(MESSAGES.read(body, WARM), DROPS, WARM)
    assert b"block_binding" not in folded.body


def test_thinking_before_a_summary_of_the_providers_stays() -> None:
    """What stands before it is verbatim for ever, so no fold may take its thinking out."""
    kind = Kind(turns=8, loops=2, sentences=40, thinks=1.0)
    messages = conversation(3, kind)
    at = next(i for i, m in enumerate(messages) if m["role"] == "assistant" and i > 1)
    summary = {"role": "assistant", "content": [{"type": "compaction", "content": "Bays were booked."}]}
    messages[at + 1 : at + 1] = [{"role": "user", "content": "Go on."}, summary, {"role": "user", "content": "And then?"}]
    thoughts = [block for m in messages[: at + 1] if isinstance(m["content"], list) for block in m["content"]]
    assert any(block["type"] == "thinking" for block in thoughts)
    body = encode(messages, model=BINDING, thinking=THINKS["thinking"])
    folded = fold(MESSAGES.read(body, WARM), replace(DROPS, drops_thinking=False, preserved_thinking=True), WARM)
    assert folded.events
    assert json.loads(folded.body)["messages"][: at + 3] == messages[: at + 3]
