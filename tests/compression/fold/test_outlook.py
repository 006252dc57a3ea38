"""A conversation that is not folded says why, and at how many tokens it will be."""

from __future__ import annotations

import json
import random
from itertools import pairwise, product

import pytest

from tests.support.bodies import Message, cuts, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import Folded
from turnfold.compression.fold.course import course
from turnfold.compression.fold.outlook import Outlook, expected_use
from turnfold.compression.fold.pieces import Level, Piece
from turnfold.compression.fold.plan import plan
from turnfold.compression.fold.replay import start, step
from turnfold.compression.fold.replaying.state import thresholds_at
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldDecision, FoldOptions, Warmth

HALF = CachePrices(0.5, 1.0)


def chat(turns: int, sentences: int = 4, system: int = 5, picture: bool = False) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "Follow the manual. " * system}]
    for i in range(turns):
        text = f"What stands in berth {i}?"
        part = {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}}
        messages.append({"role": "user", "content": [{"type": "text", "text": text}, part] if picture else text})
        messages.append({"role": "assistant", "content": prose(i, "en", sentences)})
    return [*messages, {"role": "user", "content": "And now?"}]


def folded(messages: list[Message], memo: Memo, prices: CachePrices = HALF, belief: FoldDecision | None = None) -> Folded:
    return fold_request(encode(messages, model="gpt-4o"), FoldOptions(prices=prices, belief=belief), memo)


@each(("sentences", "prices"), every(2, crosswise(product([3, 6, 15], [CachePrices(), HALF, CachePrices(0.25, 1.0)]), 3), 1))
def test_it_is_folded_at_about_as_many_tokens_as_it_said(prices: CachePrices, sentences: int) -> None:
    memo, messages = WARM, chat(140, sentences)
    told = 0
    for end in cuts(messages):
        found = folded(messages[:end], memo, prices)
        if found.events:
            assert told / 1.1 <= found.tokens_before <= 1.6 * told
            return
        assert found.reason in {"short", "waiting"}
        told = found.outlook.at or told
    raise AssertionError("it was never folded")


def test_short_comes_before_waiting() -> None:
    memo, messages = WARM, chat(140)
    reasons = [found.reason for end in every(3, cuts(messages)) if not (found := folded(messages[:end], memo)).events]
    assert reasons[0] == "short"
    assert "waiting" not in reasons[: reasons.count("short")]


def test_instructions_and_attachments_are_named() -> None:
    manual = folded(chat(2, system=3000), WARM)
    assert (manual.reason, manual.folded) == ("unfoldable", False)
    assert manual.outlook.at is not None
    assert manual.outlook.at > manual.tokens_before
    assert manual.outlook.foldable < 3000 < manual.tokens_before


def test_a_brake_is_named_and_promises_nothing() -> None:
    belief = FoldDecision(Warmth(0.0, 0.0), brake=True)
    found = folded(chat(140), WARM, belief=belief)
    assert (found.reason, found.events, found.outlook.at) == ("braked", 0, None)


def test_a_large_system_prompt_is_no_growth() -> None:
    small, large = (folded(chat(3, system=words), WARM).outlook.foldable for words in (5, 2000))
    assert small == large


def test_what_was_dictated_without_a_full_stop_is_folded() -> None:
    words = ["server", "cache", "table", "index", "deploy", "branch", "queue", "worker", "metric", "latency", "budget", "region"]
    draw = random.Random(1)

    def said(number: int) -> str:
        return " ".join(draw.choice(words) for _ in range(number))

    messages = [{"role": ("user", "assistant")[n % 2], "content": said(160)} for n in range(91)]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    for read in (1.0, 0.5, 0.1):
        folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(read, 1.0)), WARM)
        assert folded.folded
        assert folded.tokens_after < 0.6 * folded.tokens_before


def sized(tokens: int, *, pinned: bool = False, at: int = 0) -> Unit:
    return Unit(at, at + 1, tokens, tokens // 2, not pinned, pinned, not pinned, False, False, False)


def test_which_side_the_borders_are_on() -> None:
    """Of instructions and talk of the same size, and of as many tokens as are needed before anything is folded."""
    options = FoldOptions(prices=CachePrices(0.1, 1.25))

    def outlook(instructions: int, talk: int) -> Outlook:
        return plan((sized(instructions, pinned=True), sized(talk, at=1)), options).outlook

    assert [outlook(size, 30_000).reason for size in (29_999, 30_000, 30_001)] == ["waiting", "waiting", "unfoldable"]
    assert {outlook(size, 30_000).foldable for size in (1, 60_000)} == {30_000}
    least = next(talk for talk in range(1, 30_000) if outlook(10, talk).reason != "short")
    units = (sized(10, pinned=True), sized(least - 1, at=1))
    whole = course(units, options, 1.0)
    assert thresholds_at(whole, start(whole), whole.requests[0]).start == least + 9


def test_each_piece_that_fills_the_share_brings_the_next_summary_nearer_by_one_fold() -> None:
    units = tuple(sized(400, at=i) for i in range(81))
    whole = course(units, FoldOptions(prices=CachePrices(0.1, 1.25)), 1.0)
    now = start(whole)
    while now.turns < len(whole.requests):
        now = step(whole, now)
    written = Piece(0, 4, Level.SUMMARY, 800, 100, None)

    def use(facts: int) -> float:
        filling = [Piece(4 + 2 * i, 6 + 2 * i, Level.FACTS, 400, 100, None) for i in range(facts)]
        return expected_use(whole, now._replace(pieces=(written, *filling)), written)

    uses = [use(facts) for facts in range(1, 12)]
    steps = [later - earlier for earlier, later in pairwise(uses) if earlier]
    assert len(steps) > 2
    assert steps == pytest.approx([steps[0]] * len(steps))
    assert steps[0] > 0
