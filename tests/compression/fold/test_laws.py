"""The laws, as properties over random conversations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.bodies import Message, encode, messages_of, raw_messages, text_of
from tests.support.conversations import bodies, conversations, huge_conversations, long_conversations, odd_conversations
from tests.support.effort import costly, every
from tests.support.prefix import Kind, classify
from tests.support.replay import moves, play, requests_of
from tests.support.structure import structure_faults
from tests.support.warm import WARM
from turnfold.compression.fold import Folded, fold_request, unfold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions

FREE = CachePrices(1.0, 1.0)
HALF = CachePrices(0.5, 1.0)
CLAUDE = CachePrices(0.1, 1.25)

slow = costly(4)
few = costly(2)

options = st.builds(
    FoldOptions,
    model=st.sampled_from(["gpt-4o", "gpt-4", "claude-sonnet-4-5", ""]),
    prices=st.sampled_from([FREE, HALF, CLAUDE]),
    cache_hit_share=st.sampled_from([0.0, 0.7, 1.0]),
    budget=st.one_of(st.none(), st.integers(1, 3000)),
    window=st.one_of(st.none(), st.integers(1, 3000)),
    recall=st.booleans(),
    recall_tool_text=st.booleans(),
    cache_breakpoints=st.booleans(),
)
everything = st.one_of(conversations(), odd_conversations())
MARKS = ('"cache_control"', '"prompt_cache_breakpoint"')
PART_KEYS = frozenset({"type", "text", "prompt_cache_breakpoint"})


def holds(body: bytes, chosen: FoldOptions) -> Folded:
    """Fold, and hold the result against laws 1, 2, 3, 5 and 6."""
    folded = fold_request(body, chosen, WARM)
    assert unfold(folded) == body
    assert folded == fold_request(body, chosen, Memo())
    if not folded.folded:
        assert folded.body == body
    else:
        assert folded.tokens_after < folded.tokens_before
        assert structure_faults(body, folded.body, PART_KEYS) == []
    return folded


@slow
@given(bodies(everything), options)
def test_any_conversation_any_options(body: bytes, chosen: FoldOptions) -> None:
    holds(body, chosen)


@few
@given(bodies(st.one_of(long_conversations(6, 10), huge_conversations())), options)
def test_every_law_holds_for_a_long_conversation(body: bytes, chosen: FoldOptions) -> None:
    holds(body, chosen)


@slow
@given(bodies(everything), st.integers(1, 3000), st.data())
def test_a_warm_memo_changes_nothing(body: bytes, budget: int, data: st.DataObject) -> None:
    chosen = FoldOptions(budget=budget)
    memo = Memo()
    fold_request(data.draw(bodies(everything)), FoldOptions(budget=2 * budget), memo)
    first = fold_request(body, chosen, memo)
    assert first == fold_request(body, chosen, memo) == fold_request(body, chosen, Memo())


@few
@given(conversations(12, 16, sizes=("short", "middle")), options, st.integers(1, 10))
def test_what_is_kept_of_earlier_requests_changes_nothing(messages: list[Message], chosen: FoldOptions, less: int) -> None:
    memo = Memo()
    for end in (max(1, len(messages) - 2 * less), max(1, len(messages) - less), len(messages)):
        body = encode(messages[:end])
        assert fold_request(body, chosen, memo) == fold_request(body, chosen, Memo())


@slow
@given(bodies(everything), st.integers(400, 3000))
def test_a_budget_is_kept_or_said_to_be_exceeded(body: bytes, budget: int) -> None:
    folded = fold_request(body, FoldOptions(budget=budget), WARM)
    if folded.tokens_after > budget:
        assert not folded.folded or folded.reason == "over-budget"


def marked_roles(body: bytes) -> set[bool]:
    """Whether the messages with the client's cache marks are instructions."""
    messages = zip(raw_messages(body), messages_of(body), strict=True)
    return {m["role"] in {"system", "developer"} for raw, m in messages if any(mark in raw for mark in MARKS)}


def prefix_holds(requests: list[list[Message]], chosen: FoldOptions) -> int:
    """Play requests; between two that follow each other the prefix is stable unless a fold event lies between. Their number."""
    memo = WARM
    results: dict[bytes, Folded] = {}

    def fold(body: bytes) -> bytes:
        results[body] = fold_request(body, chosen, memo)
        return results[body].body

    exchanges = play(requests, fold)
    events = 0
    for one in exchanges:
        if one.parent is None:
            continue
        before, after = results[exchanges[one.parent].received], results[one.received]
        step = classify(exchanges[one.parent].received, before.body, after.body)
        # Where the client's first cache mark comes, text of ours moves into parts of its own, once; at its first one outside of
        # the instructions, what a fold costs changes.
        marks = [marked_roles(body) for body in (exchanges[one.parent].received, one.received)]
        if before.events != after.events or before.fitting or after.fitting or marks[0] != marks[1]:
            events += 1
        else:
            assert step.kind is not Kind.REWRITE, step
    return events


@few
@given(
    st.one_of(long_conversations(6, 12), conversations(2, 8)),
    st.lists(moves(), max_size=4),
    st.sampled_from([FREE, HALF, CLAUDE]),
)
def test_the_prefix_is_stable_between_fold_events(messages: list[Message], played: list[Any], prices: CachePrices) -> None:
    requests = requests_of(messages, played)
    # A blank user message, which upstreams refuse, goes with the message before it and may move a border when the next one comes.
    assume(not any(m["role"] == "user" and not text_of(m).strip() for one in requests for m in one))
    prefix_holds(requests, FoldOptions(prices=prices))


@pytest.mark.parametrize(("prices", "turns"), every(4, [(FREE, 55), (HALF, 55), (CLAUDE, 90)]))
def test_fold_events_are_rare(prices: CachePrices, turns: int) -> None:
    turn = "In week {i} the harbour office moved crane {i} to berth {j}, because the tide table of {i} March said so. " * 4
    messages: list[Message] = []
    for i in range(turns):
        messages += [
            {"role": "user", "content": f"Note {i}: " + turn.format(i=i, j=i * 7 % 13)},
            {"role": "assistant", "content": f"Noted {i}. " + turn.format(i=i, j=i * 5 % 11)},
        ]
    assert 0 < prefix_holds(requests_of(messages), FoldOptions(prices=prices)) <= turns / 4.5
