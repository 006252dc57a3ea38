"""What was decided of a conversation holds, whatever is believed later, and by whom.

These tests cover conversations that grow while what is believed of the cache moves. They leave out who keeps decisions
(``tests/proxy/learning``), what follows from one (``test_policy``).
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.compression.fold.test_allowance import agent, chat
from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from turnfold.compression.fold import Folded
from turnfold.compression.fold.decisions import rung
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldDecision, FoldOptions, Warmth

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


@each(("tokens", "number"), [(0, 0), (3999, 0), (4000, 1), (4999, 1), (5000, 2), (6249, 2), (6250, 3)])
def test_rungs_begin_at_4000_tokens_and_are_a_quarter_apart(tokens: int, number: int) -> None:
    assert rung(tokens) == number
