"""Where folds may begin: what the client keeps a cache mark on stays as it was sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.bodies import Message, raw_messages
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.words import prose
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions

MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
CHEAP = FoldOptions(model="claude-sonnet-4-5", prices=CachePrices(1.0, 1.0))


def part(role: str, text: str, *, marked: bool = False) -> Message:
    return {"role": role, "content": [{"type": "text", "text": text, **(MARK if marked else {})}]}


def talk(turns: int, marked: int, size: int = 6) -> list[Message]:
    """A chat in which the client keeps one mark in the user's message of an old turn."""
    messages: list[Message] = [{"role": "system", "content": "You keep the harbour's books."}]
    for turn in range(turns):
        messages.append(part("user", prose(turn, "en", size), marked=turn == marked))
        messages.append(part("assistant", prose(1000 + turn, "en", size)))
    return [*messages, part("user", "And now?")]


def body_of(messages: list[Message]) -> bytes:
    return json.dumps({"model": "claude-sonnet-4-5", "messages": messages}).encode()


@pytest.mark.parametrize(("sentences", "stays"), every(2, [(1, False), (40, True)]))
def test_a_recall_goes_with_the_next_question_unless_a_long_answer_stands_behind_it(sentences: int, stays: bool) -> None:
    """Dropping it makes the answer be written to the cache again."""
    messages: list[Message] = []
    for turn in range(40):
        for role, seed in (("user", turn), ("assistant", 1000 + turn)):
            messages.append({"role": role, "content": f"Note {seed}: dock {seed} has a lantern. {prose(seed, 'en', 12)}"})
    messages += [
        {"role": "user", "content": "What was said of the lantern of dock 5?"},
        {"role": "assistant", "content": prose(3000, "en", sentences)},
        {"role": "user", "content": "Thank you."},
    ]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.1), cache_hit_share=0.7), Memo())
    assert folded.events
    (asked,) = (one["content"] for one in json.loads(folded.body)["messages"] if "of dock 5?" in one["content"])
    assert ("Note 5: dock 5" in asked) is stays


@pytest.mark.parametrize("marked", [3, 10])
def test_what_stands_before_an_old_mark_of_the_clients_is_sent_as_it_came(marked: int) -> None:
    messages = talk(45, marked)
    folded = fold_request(body_of(messages), CHEAP, Memo())
    through = 1 + 2 * marked + 1
    assert folded.folded
    assert raw_messages(folded.body)[:through] == raw_messages(body_of(messages))[:through]
    assert all(start >= through for start, _ in folded.changes.dropped)


def test_the_cached_beginning_stays_while_the_conversation_grows() -> None:
    memo, marked = Memo(), 10
    requests = [fold_request(body_of(talk(turns, marked)), CHEAP, memo) for turns in range(12, 52, 8)]
    assert len({one.events for one in requests}) > 1
    assert len({tuple(raw_messages(one.body)[: 2 * marked + 2]) for one in requests}) == 1
