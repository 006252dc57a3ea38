"""A long conversation of which a thread still counts the tokens folds as one that was counted before."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from turnfold.compression import tokens
from turnfold.compression.fold import Folded, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import CHAT
from turnfold.compression.wire.conversation import Conversation

ODD = ["", "  \n", "<|endoftext|>", "half a pair: \ud83d", "x" * 30_000, "Kräne und Pumpen. 起重机。" * 50]
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": '{"crane": 5}'}}


def conversation(turns: int = 240) -> list[dict[str, Any]]:
    """Long talk, odd texts and a call among it."""
    said: list[dict[str, Any]] = [
        {"role": ("user", "assistant")[i % 2], "content": f"Day {i}: crane {i % 7} lifted {40 + i} crates. " * (8 + i % 30)}
        for i in range(turns)
    ]
    for i, text in enumerate(ODD):
        said[10 + i]["content"] = text if i % 2 else [{"type": "text", "text": text}, {"type": "text", "text": "Noted."}]
    said[31]["tool_calls"] = [CALL]
    said.insert(32, {"role": "tool", "tool_call_id": "c1", "content": "Crane 5 is idle. " * 200})
    return [*said, {"role": "user", "content": "Always say the day. What did crane 3 lift on day 59?"}]


def read(messages: list[dict[str, Any]], memo: Memo) -> Conversation:
    return CHAT.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), memo)


def folded(messages: list[dict[str, Any]], memo: Memo, budget: int | None) -> Folded:
    return fold(read(messages, memo), FoldOptions(model="gpt-4o", budget=budget), memo)


def test_tokens_are_those_of_each_message_alone() -> None:
    messages = conversation()
    together = read(messages, Memo())
    assert not together.messages[len(messages) // 2].is_counted
    assert together.messages == tuple(read([one], Memo()).messages[0] for one in messages)


def test_an_uncounted_message_can_be_sent_to_another_process() -> None:
    messages = read(conversation(), Memo()).messages
    again = pickle.loads(pickle.dumps(tuple(messages)))  # noqa: S301 - our own
    assert [m.tokens for m in again] == [m.tokens for m in messages]
    assert all(m.is_counted for m in again)


@pytest.mark.parametrize("budget", [None, 6000])
def test_a_fold_is_the_same_whether_its_tokens_were_counted_before(budget: int | None) -> None:
    messages, memo = conversation(), Memo()
    for end in range(20, len(messages), 20):
        assert read(messages[:end], memo).messages[end // 2].is_counted
    cold, counted = folded(messages, Memo(), budget), folded(messages, memo, budget)
    assert cold.folded
    assert (cold.body, cold.tokens_before, cold.tokens_after) == (counted.body, counted.tokens_before, counted.tokens_after)


@pytest.mark.parametrize("text", ["x" * 200_000, "<|endoftext|>" * 12_000, "half a pair: \ud83d " * 10_000])
def test_a_large_body_with_nothing_that_can_be_counted_together(text: str) -> None:
    message = {"role": "user", "content": text}
    assert read([message], Memo()).messages[0].tokens == 3 + tokens.count(text)
