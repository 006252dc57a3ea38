"""Responses: what is folded and cut of it keeps the laws and the wire's own rules.

These tests cover folds of items. They leave out how items are read and written (``test_responses``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compression.wire.test_responses import body_of, call, part, read, result, said, user
from tests.support import conversations as chat
from tests.support.effort import costly, every
from tests.support.prefix import Kind, classify
from tests.support.responses import Item, bodies, inputs, reasoning
from tests.support.responses_rules import rule_faults
from tests.support.warm import WARM
from turnfold.compression.fit.fit import fit
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.responses import RESPONSES

# -- folded ----------------------------------------------------------------------------------------------------------------------

options = st.builds(
    FoldOptions,
    model=st.sampled_from(["gpt-5", "gpt-4", ""]),
    prices=st.sampled_from([CachePrices(1.0, 1.0), CachePrices(0.1, 1.25)]),
    budget=st.one_of(st.none(), st.integers(1, 3000)),
    recall=st.booleans(),
    cache_breakpoints=st.booleans(),
)


def holds(body: bytes, chosen: FoldOptions) -> Folded:
    """Fold, and hold the result against the laws and the wire's own rules."""
    folded = fold(RESPONSES.read(body, WARM), chosen, WARM)
    assert unfold(folded) == body
    assert folded.folded or folded.body == body
    assert folded == fold(RESPONSES.read(body, Memo()), chosen, Memo())
    assert rule_faults(body, folded.body) == []
    return folded


@costly(4)
@given(bodies(), options)
def test_any_conversation_any_options(body: bytes, chosen: FoldOptions) -> None:
    holds(body, chosen)


@costly(1)
@given(bodies(inputs(chat.long_conversations(8, 16))), options)
def test_every_law_holds_for_a_long_conversation(body: bytes, chosen: FoldOptions) -> None:
    holds(body, chosen)


@costly(2)
@given(bodies(inputs(chat.conversations(3, 6))), st.integers(1500, 4000))
def test_what_is_cut_to_a_window_is_well_formed(body: bytes, window: int) -> None:
    fitted = fit(RESPONSES.read(body, WARM), FoldOptions(window=window), WARM)
    faults = [f for f in rule_faults(body, fitted.forwarded.body) if not f.startswith("The question")]
    assert faults == []


def _as_chat(body: bytes) -> bytes:
    """A body as what compares prefixes reads: its items under the key of chat's messages."""
    data = json.loads(body)
    return json.dumps({"model": data["model"], "messages": data["input"]}).encode()


def _requests(items: Sequence[Item]) -> list[Sequence[Item]]:
    """What a client sends as the conversation grows: all before each turn of the assistant's."""
    roles = [m.role for m in read(items).messages]
    lengths = [len(json.loads(f"[{m.raw}]")) for m in read(items).messages]
    starts = list(accumulate(lengths, initial=0))
    ends = [starts[i] for i, role in enumerate(roles) if role == "assistant" and i and roles[i - 1] != "assistant"]
    return [items[:end] for end in (*ends, len(items))]


def prefix_holds(items: Sequence[Item], chosen: FoldOptions) -> int:
    """Play a conversation; between two requests the prefix is stable unless a fold event lies between. Their number."""
    memo, events = WARM, 0
    last: Folded | None = None
    for request in _requests(items):
        now = fold(RESPONSES.read(body_of(request), memo), chosen, memo)
        if last is not None and last.events == now.events:
            step = classify(_as_chat(last.conversation.body), _as_chat(last.body), _as_chat(now.body))
            assert step.kind is not Kind.REWRITE, step
        elif last is not None:
            events += 1
        last = now
    return events


@costly(1)
@given(inputs(chat.long_conversations(5, 8)), st.sampled_from([CachePrices(1.0, 1.0), CachePrices(0.5, 1.0)]))
def test_the_prefix_is_stable_between_fold_events(items: list[Item], prices: CachePrices) -> None:
    marked = any("prompt_cache_breakpoint" in json.dumps(item) for item in items)
    prefix_holds([] if marked else items, FoldOptions(prices=prices))


def codex_loop(calls: int) -> list[Item]:
    """What Codex sends: instructions of its own as items, a task, then reasoning, calls and results in turn."""
    items: list[Item] = [
        {"type": "message", "role": "developer", "content": [part("<permissions>never ask</permissions>")]},
        {
            "type": "message",
            "role": "user",
            "content": [part("<environment_context><cwd>/srv/desk</cwd></environment_context>")],
        },
        {"type": "message", "role": "user", "content": [part("Find out why bay 7 is booked twice, and repair it.")]},
    ]
    for i in range(calls):
        log = "\n".join(f"2024-03-{i % 28 + 1:02} 10:{j:02} bay {j % 9} booked by order {i * 100 + j}" for j in range(14))
        arguments = json.dumps({"cmd": ["bash", "-lc", f"grep -n bay log.{i}"], "workdir": "/srv/desk"})
        items += [
            reasoning(i),
            *([said(f"Log {i} next.", phase="commentary")] if i % 5 == 0 else []),
            {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": f"call_{i}"},
            {"type": "function_call_output", "call_id": f"call_{i}", "output": f"Exit code: 0\nOutput:\n{log}"},
        ]
    return items


def test_a_long_agent_folds_rarely_and_well() -> None:
    items = codex_loop(40)
    chosen = FoldOptions(model="gpt-5", prices=CachePrices(0.5, 1.0))
    assert 0 < prefix_holds(items, chosen) <= 8
    folded = holds(body_of(items, instructions="You are Codex."), chosen)
    assert folded.tokens_after < 0.8 * folded.tokens_before


@pytest.mark.parametrize("tasks", every(2, [1, 5]))
def test_outputs_of_a_codex_session_are_shortened_and_its_reasoning_keeps_what_follows_it(tasks: int) -> None:
    items: list[Item] = []
    for number in range(60):
        if number % (60 // tasks) == 0:
            items += [user(f"Task {number}: find the leak.")]
        output = "\n".join(f"{k}: crate {number * 40 + k} stands in bay {k % 9}, said by {number}" for k in range(40))
        arguments = json.dumps({"command": ["bash", "-lc", f"rg -n crate_{number}"]})
        call_item = call(f"c{number}", arguments)
        items += [reasoning(number), call_item, result(f"c{number}", output)]
        if number % (60 // tasks) == 60 // tasks - 1 and tasks > 1:
            items += [reasoning(1000 + number), said(f"Done with {number}.")]
    items += [user("Go on.")] if tasks > 1 else []
    body = body_of(items)
    folded = fold(RESPONSES.read(body, WARM), FoldOptions(prices=CachePrices(0.5, 1.0)), WARM)
    assert rule_faults(body, folded.body) == []
    assert folded.events >= 2
    assert {section.level for section in folded.sections} == {"facts"}
    assert folded.tokens_after < 0.6 * folded.tokens_before
    kept = [item for item in json.loads(folded.body)["input"] if item.get("type") in ("reasoning", "function_call")]
    assert kept == [item for item in items if item.get("type") in ("reasoning", "function_call")]
