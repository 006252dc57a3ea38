"""What was decided of a conversation holds, whatever is believed later, and by whom.

These tests cover conversations that grow while what is believed of the cache moves. They leave out who keeps decisions
(``tests/proxy/learning``), what follows from one (``test_policy``).
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.compression.fold.test_allowance import agent, chat
from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.wild_sessions import session
from turnfold.compression.fold import Folded
from turnfold.compression.fold.decisions import rung
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldDecision, FoldOptions, Precedent, Warmth

CONVERSATIONS = {"steps": agent(40, 16), "chat": chat(60, 8)}
PRICES = {"strong": CachePrices(0.1), "quarter": CachePrices(0.25), "half": CachePrices(0.5), "written": CachePrices(0.1, 1.25)}


def fold(messages: list[Message], options: FoldOptions, memo: Memo, draw: random.Random) -> Folded:
    """The messages as a replica sends them that happens to believe something of the cache."""
    belief = FoldDecision(Warmth(draw.randrange(10, 21) / 20, draw.randrange(10, 21) / 20))
    return fold_request(encode(messages, model="gpt-4o"), replace(options, belief=belief), memo)


@pytest.mark.parametrize(
    ("conversation", "price"),
    every(2, [("steps", "strong"), ("steps", "quarter"), ("steps", "half"), ("chat", "half"), ("chat", "written")]),
)
def test_a_replica_that_believes_something_else_sends_the_same(conversation: str, price: str) -> None:
    """A fold is due when what it puts at risk can be borne, so each stands at a border that the slightest difference moves."""
    messages, options = CONVERSATIONS[conversation], FoldOptions(model="gpt-4o", prices=PRICES[price])
    draw, memo, events = random.Random(len(messages)), WARM, 0
    for end in [i for i, m in enumerate(messages) if m["role"] == "assistant" and i > 1][::2]:
        found = fold(messages[:end], options, memo, draw)
        assert found.events >= events
        options, events = replace(options, precedents=(*options.precedents, *found.decided)), found.events
    other = fold(messages[:end], options, Memo(), draw)
    assert (other.body, other.decided) == (found.body, ())


def requests_of(conversation: str) -> list[bytes]:
    if conversation == "records":  # a loop over small ones, which folds earliest
        made = session("chat", 4011, 8)
        return [made.body(end) for end in made.ends[:12]]
    messages = CONVERSATIONS[conversation]
    ends = [i for i, m in enumerate(messages) if m["role"] == "assistant" and i > 1]
    return [encode(messages[:end], model="m") for end in ends[:40:2]]


@pytest.mark.parametrize("conversation", ["records", *sorted(CONVERSATIONS)])
def test_nothing_is_folded_before_it_is_decided_whether_there_is_a_cache(conversation: str) -> None:
    """A model without a known price: cached tokens were observed when another process takes over. It asks the store for what was
    decided where it would decide, so nothing may rest on a decision elsewhere."""
    options = FoldOptions(model="m", prices=CachePrices(), prices_if_cached=CachePrices(0.1))
    before, after = (replace(options, belief=FoldDecision(Warmth(0.7, 1.0), caches=caches)) for caches in (False, True))
    stored: dict[tuple[int, str], Precedent] = {}

    def send(options: FoldOptions, known: dict[int, Precedent], body: bytes) -> Folded:
        while True:
            found = fold_request(body, replace(options, precedents=tuple(known.values())), WARM)
            held = [stored.setdefault((one.at, one.prefix), one) for one in found.decided]
            known |= {one.at: one for one in held}
            if held == list(found.decided):
                return found

    known = dict[int, Precedent]()
    for body, following in pairwise(requests_of(conversation)):
        send(before, known, body)
        so_far = dict(stored)
        other = send(after, {}, following)
        assert send(before, dict(known), following).body == other.body
        stored = so_far


@each(("tokens", "number"), [(0, 0), (3999, 0), (4000, 1), (4999, 1), (5000, 2), (6249, 2), (6250, 3)])
def test_rungs_begin_at_4000_tokens_and_are_a_quarter_apart(tokens: int, number: int) -> None:
    assert rung(tokens) == number
