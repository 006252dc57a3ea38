"""A conversation that outgrows its window, one exchange at a time: its forwarded prefix is rewritten seldom, and it always fits.

These tests cover runs of requests through `fit`, beyond a window or an explicit budget. They leave out single requests
(``test_cut.py``), an upstream's refusal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import costly, every, is_thorough
from tests.support.overfull import Writer
from tests.support.three_wires import WIRES, OnWire, with_marks
from turnfold.compression.calibration import Learned, learn_from_usage
from turnfold.compression.fit.fit import Fitted, fit
from turnfold.compression.fold import conversation_tokens
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.conversation import Conversation

Message = dict[str, Any]

_CACHED: Final = CachePrices(read=0.1, write=1.25)
_WINDOW: Final = 6_000  # less than what is folded at these prices without one
_DRAWN: Final = 9_000  # that of conversations that are drawn
_REQUESTS: Final = 12  # beyond the window
_SIZE: Final = _WINDOW // 32  # tokens of an exchange
_SELDOM: Final = 4  # exchanges of a thirtieth of the window each between two rewrites, at least


@dataclass(frozen=True, slots=True)
class Growing:
    """How a conversation grows.

    Attributes:
        loops: tool calls under a question, before the next one; 0: talk.
        size: tokens that an exchange adds, about.
        marks: whether the client marks its newest two messages.
    """

    wire: str
    loops: int
    size: int
    marks: bool
    seed: int

    def requests(self) -> Iterator[list[Message]]:
        w, messages, number = Writer(self.seed), list[Message](), 0
        messages.append(_said("user", w.prose(40)))
        while True:
            yield list(messages)
            if self.loops and number % self.loops:
                messages += _step(w, number, self.size)
            elif self.loops:
                messages += [_said("assistant", w.prose(30)), _said("user", w.prose(40)), *_step(w, number, self.size)]
            else:
                messages += [_said("assistant", w.prose(self.size * 4 // 5)), _said("user", w.prose(self.size // 5))]
            number += 1

    def read(self, messages: list[Message], memo: Memo) -> Conversation:
        places = {len(messages) - 1, len(messages) - 3} if self.marks else set[int]()
        wire: OnWire = WIRES[self.wire]
        return wire.wire.read(wire.encode(with_marks(messages, places)), memo)


def _said(role: str, text: str) -> Message:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _step(w: Writer, number: int, size: int) -> list[Message]:
    call = {"type": "tool_use", "id": f"call_{number}", "name": "Read", "input": {"path": f"/src/module_{number}.py"}}
    result = {"type": "tool_result", "tool_use_id": f"call_{number}", "content": w.prose(size)}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def options(window: int = _WINDOW) -> FoldOptions:
    return FoldOptions(model="gpt-4o", prices=_CACHED, cache_hit_share=1.0, window=window)


def outgrown(growing: Growing, window: int = _WINDOW, most: int = _REQUESTS) -> list[Fitted]:
    """What is sent of the first requests that would not fit as they came."""
    memo, sent = Memo(), list[Fitted]()
    for messages in growing.requests():
        conversation = growing.read(messages, memo)
        if conversation_tokens(conversation, "gpt-4o", memo) > window:
            sent.append(fit(conversation, options(window), memo))
        if len(sent) == most:
            return sent
    raise AssertionError("requests never end")


def is_rewritten(before: Conversation, after: Conversation) -> bool:
    """Whether a later request repeats less of an earlier one than what stands in front of its last question, or all of it while
    that goes on. A client that writes a text as a part while it is marked says the same."""
    old, new = ([(m.role, m.text, m.call_ids, m.answers) for m in one.messages] for one in (before, after))
    asked = [len([m for m in one.messages if m.speaker == "user"]) for one in (before, after)]
    question = max(i for i, m in enumerate(before.messages) if m.speaker == "user")
    same = old if asked[0] == asked[1] else old[:question]
    return new[: len(same)] != same


def gives_up_quotes(before: Conversation, after: Conversation) -> bool:
    """Whether the first message that a later request repeats otherwise is a question that only lost its quotes."""
    pairs = zip(before.messages, after.messages, strict=False)
    old, new = next((a.text, b.text) for a, b in pairs if (a.role, a.text, a.call_ids) != (b.role, b.text, b.call_ids))
    return old.startswith(new)


growths = st.builds(
    Growing,
    wire=st.sampled_from(sorted(WIRES)),
    loops=st.sampled_from((0, 4, 1000)),
    size=st.integers(_DRAWN // 60, _DRAWN // 30),
    marks=st.booleans(),
    seed=st.integers(0, 10_000),
)


@given(growths)
@example(Growing("responses", loops=4, size=238, marks=False, seed=3326))  # a question gives up quotes between two borders
@costly(2)
@pytest.mark.timeout(300)
def test_of_a_conversation_beyond_its_window_few_requests_rewrite_the_prefix(growing: Growing) -> None:
    sent = outgrown(growing, _DRAWN)
    assert all(one.fitted and one.tokens <= _DRAWN for one in sent)
    forwarded = list(enumerate(pairwise([one.forwarded for one in sent]), 1))
    rewrites = [n for n, (a, b) in forwarded if is_rewritten(a, b)]
    borders = [n for n, (a, b) in forwarded if n in rewrites and not gives_up_quotes(a, b)]
    assert all(b - a >= _SELDOM for a, b in pairwise(borders)), rewrites
    assert all(b - a > 1 for a, b in pairwise(rewrites)), rewrites
    assert len(rewrites) <= 2 * len(borders) + 1, rewrites  # between two borders, quotes are given up once


_FIRST: Final = 9  # requests beyond a window or budget, of which replicas are sent some


def _places(wire: str) -> slice:
    """Two of the first requests, on each wire others."""
    return slice(sorted(WIRES).index(wire), None, 5)


@each("wire", every(2, sorted(WIRES), 1))
@pytest.mark.timeout(300)
def test_replicas_that_know_nothing_of_earlier_requests_send_the_same(wire: str) -> None:
    growing = Growing(wire, loops=4, size=_SIZE, marks=wire == "messages", seed=3)
    for one in outgrown(growing, most=_FIRST)[_places(wire)]:
        again = fit(one.folded.conversation, options(), Memo())
        assert again.forwarded.body == one.forwarded.body


@each("wire", sorted(WIRES))
@pytest.mark.timeout(300)
def test_what_was_told_long_ago_is_quoted_behind_each_question_beyond_the_window(wire: str) -> None:
    w, memo, sent = Writer(5), Memo(), 0
    codes = [("Aalborg", "48213"), ("Bergen", "70935"), ("Cuxhaven", "15687"), ("Dieppe", "93420")]
    messages = [_said("user", w.prose(60))]
    for depot, code in codes:
        messages += [_said("assistant", w.prose(200)), _said("user", f"The gate code of depot {depot} is {code}. {w.prose(80)}")]
    while sent < len(codes) * (1 + is_thorough()):
        messages += [_said("assistant", w.prose(250)), _said("user", w.prose(80)), _said("assistant", w.prose(150))]
        depot, code = codes[sent % len(codes)]
        messages.append(_said("user", f"What was the gate code of depot {depot}?"))
        conversation = Growing(wire, 0, 0, marks=False, seed=0).read(messages, memo)
        if conversation_tokens(conversation, "gpt-4o", memo) > _WINDOW:
            assert code in fit(conversation, options(), memo).forwarded.text, (sent, depot)
            sent += 1


@pytest.mark.timeout(300)
def test_a_ratio_that_moves_a_little_with_every_answer_moves_nothing() -> None:
    growing, memo, sent = Growing("chat", loops=1000, size=_SIZE, marks=False, seed=8), Memo(), list[Fitted]()
    for number, messages in enumerate(growing.requests()):
        conversation, known = growing.read(messages, memo), Learned(ratios=(1.15 + number % 3 / 100,) * 9)
        if conversation_tokens(conversation, "gpt-4o", memo) > _WINDOW:
            sent.append(fit(conversation, options(), memo, known))
        if len(sent) == _REQUESTS:
            break
    rewrites = [n for n, (a, b) in enumerate(pairwise(sent), 1) if is_rewritten(a.forwarded, b.forwarded)]
    assert len(rewrites) <= _REQUESTS // _SELDOM, rewrites


_BUDGET: Final = 6_000
_KEPT: Final = 7  # of 12 requests of a tool loop that outgrow an explicit budget


def within_budget(growing: Growing, share: float = 0.0, most: int = _REQUESTS) -> list[Fitted]:
    """What is sent of the first requests that exceed an explicit budget, or a share of what came in."""
    memo, sent = Memo(), list[Fitted]()
    given = FoldOptions(model="gpt-4o", prices=_CACHED, cache_hit_share=1.0)
    for messages in growing.requests():
        conversation = growing.read(messages, memo)
        size = conversation_tokens(conversation, "gpt-4o", memo)
        if size > 1.5 * _BUDGET:
            sent.append(fit(conversation, replace(given, budget=int(share * size) or _BUDGET), memo))
        if len(sent) == most:
            return sent
    raise AssertionError("requests never end")


# Half of the grid: tool loops of chat completions and of Responses are folded alike.
@each(
    ("wire", "share", "seed"), every(4, [("chat", 0.4, 5), ("messages", 0.0, 4), ("messages", 0.4, 5), ("responses", 0.0, 5)], 3)
)
@pytest.mark.timeout(300)
def test_a_tool_loop_that_outgrows_an_explicit_budget_seldom_rewrites_its_prefix(wire: str, share: float, seed: int) -> None:
    sent = within_budget(Growing(wire, loops=1000, size=300, marks=wire == "messages", seed=seed), share)
    kept = [not is_rewritten(a.forwarded, b.forwarded) for a, b in pairwise(sent)]
    assert sum(kept) >= _KEPT, kept
    assert all(one.folded.reason == "" for one in sent)


@each("wire", every(2, sorted(WIRES), 1))
@pytest.mark.timeout(300)
def test_replicas_keep_an_explicit_budget_alike(wire: str) -> None:
    growing = Growing(wire, loops=6, size=300, marks=wire == "messages", seed=3)
    for one in within_budget(growing, most=_FIRST)[_places(wire)]:
        given = FoldOptions(model="gpt-4o", prices=_CACHED, cache_hit_share=1.0, budget=_BUDGET)
        assert fit(one.folded.conversation, given, Memo()).forwarded.body == one.forwarded.body
        assert one.tokens <= _BUDGET


@pytest.mark.timeout(300)
def test_a_learned_ratio_at_the_edge_of_a_step_moves_the_prefix_no_oftener() -> None:
    """1.122 lies between two steps of the ladder; the median of what is reported keeps crossing it."""
    growing, memo, sent, known = Growing("chat", loops=1000, size=_SIZE, marks=False, seed=8), Memo(), list[Fitted](), Learned()
    for number, messages in enumerate(growing.requests()):
        conversation = growing.read(messages, memo)
        one = fit(conversation, options(), memo, known)
        for more in (0, 1, 2, 3, 4):  # other conversations of the same model
            known = learn_from_usage(known, 5_000, int(5_000 * (1.105 if (number + more // 3) % 2 else 1.14)))
        if conversation_tokens(conversation, "gpt-4o", memo) > _WINDOW:
            sent.append(one)
        if len(sent) == _REQUESTS:
            break
    rewrites = [n for n, (a, b) in enumerate(pairwise(sent), 1) if is_rewritten(a.forwarded, b.forwarded)]
    assert len(rewrites) <= _REQUESTS // _SELDOM, rewrites
