"""The laws on Anthropic's messages: what the API refuses is never sent, and signed thinking stays valid."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.block_conversations import SEEDS, Kind, conversation, encode, kinds
from tests.support.cases import each
from tests.support.effort import costly, every
from tests.support.messages_api import Bindings, blocks_of, refusals
from tests.support.warm import WARM
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.fit import shrink
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.fold.check import check
from turnfold.compression.fold.thinking import binds_thinking
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions, StateBlocks
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.messages import MESSAGES

BINDING = "claude-opus-5-5"
FREE, CLAUDE = CachePrices(1.0, 1.0), CachePrices(0.1, 1.25)

options = st.builds(
    FoldOptions,
    prices=st.sampled_from([FREE, CLAUDE]),
    budget=st.one_of(st.none(), st.integers(300, 8000)),
    recall=st.booleans(),
    shape_results=st.booleans(),
)


def read(body: bytes, memo: Memo, *, state: bool = False) -> Conversation:
    """A body, under a state that every third message of the user's changes where one is wanted."""
    found = MESSAGES.read(body, memo)
    users = [i for i, m in enumerate(found.messages) if m.role == "user" and m.holds]
    pins = tuple((i, f"[state {n}: use docker]") for n, i in enumerate(users) if n % 3 == 1)

    def carried(border: int) -> str:
        return next((text for i, text in reversed(pins) if i < border), "")

    return found.with_state(StateBlocks(pins, carried)) if state else found


def ends(messages: list[dict[str, Any]]) -> list[int]:
    """Where a client sends: before each message of the assistant's, and at the end."""
    return [*(i for i, m in enumerate(messages) if m["role"] == "assistant"), len(messages)]


@costly(6)
@given(SEEDS, kinds(), options, st.booleans())
def test_any_conversation_any_options(seed: int, kind: Kind, chosen: FoldOptions, state: bool) -> None:
    body = encode(conversation(seed, kind), kind)
    assert refusals(body) == []
    folded = fold(read(body, WARM, state=state), chosen, WARM)
    assert unfold(folded) == body
    assert refusals(folded.body) == []
    assert folded.body == fold(read(body, Memo(), state=state), chosen, Memo()).body
    if not folded.folded and not state:
        assert folded.body == body


def bound_replay(seed: int, kind: Kind, chosen: FoldOptions, *, state: bool) -> list[Folded]:
    """Play a growing conversation against an API that binds thinking to what was sent."""
    messages, memo, api, found = conversation(seed, kind), WARM, Bindings(), []
    for end in ends(messages):
        body = encode(messages[:end], kind, model=BINDING)
        folded = fold(read(body, memo, state=state), chosen, memo)
        assert unfold(folded) == body
        assert refusals(folded.body) == []
        assert api.violations(folded.body) == [], (end, folded.events, folded.reason)
        if end < len(messages):
            api.answered(folded.body, messages[end])
        found.append(folded)
    return found


thinkers = kinds(thinks=0.7)


@costly(4)
@given(SEEDS, thinkers, options, st.booleans())
def test_thinking_is_never_sent_behind_a_changed_prefix(seed: int, kind: Kind, chosen: FoldOptions, state: bool) -> None:
    bound_replay(seed, kind, chosen, state=state)


def test_thinking_stays_valid_under_a_budget_while_the_clients_mark_moves_on() -> None:
    kind = Kind(turns=8, loops=4, sentences=50, thinks=0.7, marks=True)
    bare = FoldOptions(prices=CachePrices(0.1, 1.25), cache_hit_share=0.7, budget=6913, recall=False, shape_results=False)
    found = bound_replay(663, kind, bare, state=True)
    assert found[-1].events >= 2
    assert any("thinking" in one.body.decode() for one in found if one.events)


@pytest.mark.parametrize(("seed", "prices"), every(2, [(1, FREE), (2, FREE), (2, CachePrices(0.5, 1.0))]))
def test_thinking_stays_valid_over_several_fold_events(seed: int, prices: CachePrices) -> None:
    kind = Kind(turns=10, loops=3, sentences=35, thinks=0.8, odd=seed == 2, marks=seed == 1)
    found = bound_replay(seed, kind, FoldOptions(prices=prices), state=True)
    assert found[-1].events >= 2
    assert any(one.recalls for one in found)
    assert any("thinking" in one.body.decode() for one in found if one.events)


def test_the_api_of_these_tests_sees_a_fold_that_breaks_thinking() -> None:
    kind = Kind(turns=10, loops=3, sentences=35, thinks=0.8)
    with pytest.raises(AssertionError):
        bound_replay(1, kind, FoldOptions(prices=FREE, preserved_thinking=False), state=False)


@costly(4)
@given(SEEDS, kinds(thinks=0.7), options, st.sampled_from([BINDING, "claude-sonnet-4-5"]))
def test_the_latest_turn_keeps_its_bytes_from_its_first_thinking_on(
    seed: int, kind: Kind, chosen: FoldOptions, model: str
) -> None:
    messages, memo = conversation(seed, kind), WARM
    for end in ends(messages)[-5::2]:
        found = read(encode(messages[:end], kind, model=model), memo)
        user = max(i for i, m in enumerate(found.messages) if m.role == "user" and m.holds)
        turn = [m.raw for m in found.messages[user:] if m.role == "assistant"]
        first = next((i for i, raw in enumerate(turn) if "thinking" in raw), len(turn))
        sent = fold(found, chosen, memo).forwarded.messages
        kept = [m.raw for m in sent if m.role == "assistant"]
        assert kept[len(kept) - len(turn[first:]) :] == turn[first:]


@costly(2)
@given(SEEDS, st.sampled_from([FREE, CLAUDE]), st.booleans())
def test_the_prefix_is_stable_between_fold_events(seed: int, prices: CachePrices, marks: bool) -> None:
    kind = Kind(turns=8, loops=3, sentences=50, marks=marks)
    messages, memo, before = conversation(seed, kind), WARM, None
    for end in ends(messages):
        folded = fold(read(encode(messages[:end], kind), memo), FoldOptions(prices=prices), memo)
        if before is not None and before.events == folded.events:
            old, new = before.forwarded.messages, folded.forwarded.messages
            user = max(i for i, m in enumerate(old) if m.role == "user" and m.holds)
            assert [m.key for m in old[:user]] == [m.key for m in new[:user]]
            assert [t.text for t in new[user].texts][: len(old[user].texts) - 1] == [t.text for t in old[user].texts][:-1]
        before = folded


def test_lists_of_blocks_are_folded_like_strings() -> None:
    kind = Kind(turns=14, loops=4, sentences=35)
    messages = conversation(5, kind)
    assert any(isinstance(b.get("content"), list) for m in messages for b in blocks_of(m))
    folded = fold(read(encode(messages, kind), WARM), FoldOptions(prices=FREE), WARM)
    assert folded.events >= 1
    assert folded.tokens_after < 0.6 * folded.tokens_before


def test_what_is_recalled_stays_where_the_client_marks_the_end_of_whatever_it_sends() -> None:
    kind = Kind(turns=20, loops=0, sentences=35)
    messages, memo = conversation(3, kind), WARM
    for marked, lost in ((False, True), (True, False)):
        before: Folded | None = None
        vanished = False
        for end in ends(messages):
            keys = {"cache_control": {"type": "ephemeral"}} if marked else {}
            folded = fold(read(encode(messages[:end], kind, **keys), memo), FoldOptions(prices=FREE), memo)
            if before is not None and before.events == folded.events:
                old = [m.raw for m in before.forwarded.messages]
                vanished |= [m.raw for m in folded.forwarded.messages[: len(old)]] != old
            before = folded
        assert vanished is lost


@each(
    ("model", "binds"),
    [
        ("claude-opus-5-5", True),
        ("claude-opus-5-5-20261101", True),
        ("anthropic/claude-sonnet-5.5", True),
        ("eu.anthropic.claude-haiku-5-5-20261101-v1:0", True),
        ("claude-haiku-5-5@20261101", True),
        ("claude-fable", True),
        ("claude-fable-1-20260901", True),
        ("claude-sonnet-5-1", True),
        ("claude-opus-6", True),
        ("claude-sonnet-5", False),
        ("claude-sonnet-5-20260401", False),
        ("claude-opus-4-20250514", False),
        ("claude-sonnet-4-5-20250929", False),
        ("claude-3-5-sonnet-20241022", False),
        ("claude-2.1", False),
        ("gpt-5.5", False),
        ("my-claude", False),
        ("", False),
    ],
)
def test_which_models_bind_thinking(model: str, binds: bool) -> None:
    assert binds_thinking(model) is binds


def test_an_option_says_it_where_a_name_does_not() -> None:
    kind = Kind(turns=10, loops=3, sentences=35, thinks=0.8)
    body = encode(conversation(1, kind), kind, model="our-own-name")
    bodies = [
        fold(read(body, WARM), FoldOptions(prices=FREE, preserved_thinking=said), WARM).body for said in (True, False, None)
    ]
    assert bodies[0] != bodies[1] == bodies[2]
    named = replace(read(body, WARM), model=BINDING)
    assert fold(named, FoldOptions(prices=FREE), WARM).body == bodies[0]


@costly(5)
@given(SEEDS, kinds(thinks=0.7), st.sampled_from([BINDING, "claude-sonnet-4-5"]), st.floats(0.2, 0.9))
def test_what_is_made_to_fit_a_window_is_not_refused(seed: int, kind: Kind, model: str, share: float) -> None:
    found = read(encode(conversation(seed, kind), kind, model=model), WARM)
    room = int(share * fold(found, FoldOptions(), WARM).tokens_before)
    small = shrink(found, room, BoundFold(FoldOptions(prices=FREE), WARM))
    if small is not None:
        assert refusals(small.forwarded.body) == []
        assert small.tokens <= room


# -- the check of our own output -----------------------------------------------------------------------------------------------

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
SAID = {"type": "text", "text": "Said."}
USE = {"type": "tool_use", "id": "t", "name": "n", "input": {}}
ANSWER = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]}


def said(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


ASK = {"role": "user", "content": "Ask."}
OLD = [ASK, said(THOUGHT, SAID), ASK]
LOOP = [*OLD, said(THOUGHT, SAID, USE), ANSWER]


@each(
    ("old", "new", "reason"),
    [
        (OLD, OLD, ""),
        (OLD, [ASK, said(SAID), ASK], ""),
        (OLD, [ASK, said(THOUGHT | {"thinking": "ha"}, SAID), ASK], "seal-broken"),
        (OLD, [ASK, said(THOUGHT, SAID | {"text": "Else."}), ASK], "seal-broken"),
        ([ASK, said(THOUGHT), ASK], [ASK, ASK], ""),
        ([ASK, said(SAID), ASK], [ASK, ASK], "roles-broken"),
        (LOOP, [ASK, said(SAID), *LOOP[2:]], ""),
        (LOOP, [*OLD, said(SAID, USE), ANSWER], "turn-broken"),
        ([*OLD, said(SAID, USE), ANSWER], [*OLD, said(USE), ANSWER], ""),
    ],
)
def test_thinking_goes_as_a_whole_and_never_from_the_latest_turn(old: list[Any], new: list[Any], reason: str) -> None:
    received, sent = (MESSAGES.read(encode(messages), WARM) for messages in (old, new))
    if not reason:
        check(received, sent)
        return
    with pytest.raises(FoldRejected, match=reason):
        check(received, sent)
