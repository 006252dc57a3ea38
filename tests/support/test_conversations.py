"""The random conversations hold what the laws are tried on, and are what they say.

These tests show that each ingredient is drawn, that `conversations()` is well formed and `odd_conversations()` is not, and how
large they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.support import words
from tests.support.bodies import Message, encode, messages_of, raw_messages, text_of
from tests.support.conversations import bodies, conversations, huge_conversations, long_conversations, odd_conversations
from tests.support.structure import is_signed, own_faults

FEW = settings(max_examples=20)
T = TypeVar("T")


def sample(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """The same draws every time, so that what they must contain is either always there or never."""
    drawn: list[T] = []

    @settings(FEW, max_examples=count, derandomize=True, database=None, phases=[Phase.generate])
    @given(strategy)
    def collect(value: T) -> None:
        drawn.append(value)

    collect()
    return drawn


def any_message(test: Callable[[Message], Any]) -> Callable[[list[Message]], bool]:
    return lambda messages: any(test(message) for message in messages)


def has_part(*keys: str) -> Callable[[Message], bool]:
    return lambda message: isinstance(message.get("content"), list) and any(set(keys) & set(p) for p in message["content"])


INGREDIENTS: dict[str, Callable[[list[Message]], bool]] = {
    "tools": any_message(lambda m: m["role"] == "tool"),
    "parallel calls": any_message(lambda m: len(m.get("tool_calls") or []) > 2),
    "custom calls": any_message(lambda m: any(c["type"] == "custom" for c in m.get("tool_calls") or [])),
    "thought signatures": any_message(lambda m: any("extra_content" in c for c in m.get("tool_calls") or [])),
    "part lists": any_message(has_part("text")),
    "images": any_message(has_part("image_url")),
    "cache marks": any_message(has_part("cache_control")),
    "breakpoints": any_message(has_part("prompt_cache_breakpoint")),
    "signatures": any_message(is_signed),
    "null contents": any_message(lambda m: m.get("content", 0) is None),
    "empty results": any_message(lambda m: m["role"] == "tool" and m["content"] == ""),
    "missing contents": any_message(lambda m: "content" not in m),
    "unknown keys": any_message(lambda m: "x_vendor" in m),
    "repeated call ids": lambda ms: len(i := [c["id"] for m in ms for c in m.get("tool_calls") or []]) > len(set(i)),
    "Chinese": any_message(lambda m: "码头" in text_of(m)),
    "Arabic": any_message(lambda m: "الرصيف" in text_of(m)),
    "no system message": lambda ms: ms[0]["role"] == "user",
    "ends with a result": lambda ms: ms[-1]["role"] == "tool",
}
ODD: dict[str, Callable[[list[Message]], bool]] = {
    "late system": lambda ms: any(m["role"] == "system" for m in ms[1:]),
    "developer inside": lambda ms: any(m["role"] == "developer" for m in ms[1:]),
    "null user": any_message(lambda m: m["role"] == "user" and m.get("content", 0) is None),
    "empty part list": any_message(lambda m: m.get("content") == []),
    "orphan": any_message(lambda m: m.get("tool_call_id") == "nobody_asked"),
    "strange role": any_message(lambda m: m["role"] == "narrator"),
    "broken arguments": lambda ms: '\\"n\\": ' in json.dumps(ms),
}


def test_every_ingredient_is_drawn() -> None:
    drawn = sample(conversations(1, 4, sizes=("short",)), 50)
    assert not [name for name, holds in INGREDIENTS.items() if not any(map(holds, drawn))]


def test_every_oddity_is_drawn() -> None:
    drawn = sample(odd_conversations(1, 2), 200)
    assert not [name for name, holds in ODD.items() if not any(map(holds, drawn))]
    assert any("tool result without its call" in own_faults(messages) for messages in drawn)


@FEW
@given(conversations())
def test_conversations_are_what_an_upstream_takes(messages: list[Message]) -> None:
    faults = own_faults(messages)
    assert {fault for fault in faults if not fault.startswith("opens with")} <= {"empty message", "empty text part"}
    assert faults["opens with user"] == 1
    assert all(text_of(m) or m["content"] for m in messages if m["role"] == "user")
    assert all(m["role"] not in {"system", "developer"} for m in messages[1:])


def test_sizes() -> None:
    long = [len(encode(messages)) for messages in sample(long_conversations(), 5)]
    huge = [max(len(text_of(message)) for message in messages) for messages in sample(huge_conversations(), 2)]
    assert min(long) > 30_000
    assert max(long) > 200_000
    assert max(huge) > 40_000


@FEW
@given(bodies(st.one_of(conversations(1, 3), odd_conversations(1, 3))))
def test_bodies_are_read_message_by_message(body: bytes) -> None:
    raw = raw_messages(body)
    assert [json.loads(text) for text in raw] == messages_of(body)
    assert all(text in body.decode() for text in raw)


def test_the_last_of_two_message_lists_counts() -> None:
    body = b' { "messages" : [ {"role":"a"} ] , "model":"m", "messages":[ ] , "x" : {"messages": [1]} } '
    assert raw_messages(body) == []
    with pytest.raises(KeyError):
        raw_messages(b'{"x":{"messages":[]}}')


def test_words_are_the_same_for_the_same_seed_and_differ_else() -> None:
    for language in words.LANGUAGES:
        text = words.prose(7, language, 40)
        assert text == words.prose(7, language, 40)
        assert text != words.prose(8, language, 40)
    for kind in words.KINDS:
        assert words.text_of_kind(kind, 3) == words.text_of_kind(kind, 3) != words.text_of_kind(kind, 4)


def test_prose_hardly_repeats_itself() -> None:
    rows = words.prose(1, "en", 400).replace("\n\n", " ").split(". ")
    assert len(set(rows)) > 395
