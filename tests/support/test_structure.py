"""The structure checker sees every kind of damage, and none where there is none.

Each row is damage done on purpose. The product's fold is tested elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.conversations import bodies, conversations, odd_conversations
from tests.support.effort import draws
from tests.support.structure import structure_faults

CALL = {"id": "c1", "type": "function", "function": {"name": "count", "arguments": '{"bay": 7}'}}
REQUEST: list[Message] = [
    {"role": "system", "content": "Never book bay 7."},
    {"role": "user", "content": "Count the crates."},
    {"role": "assistant", "content": None, "tool_calls": [CALL, CALL | {"id": "c2"}]},
    {"role": "tool", "tool_call_id": "c2", "content": "eleven lemons"},
    {"role": "tool", "tool_call_id": "c1", "content": "nine crates"},
    {"role": "assistant", "content": "Twenty.", "reasoning_details": [{"type": "reasoning.encrypted", "data": "gA"}]},
    {"role": "user", "content": "And ladders?"},
    {"role": "assistant", "content": [{"type": "text", "text": "Two."}]},
    {"role": "user", "content": [{"type": "text", "text": "Sure?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]},
]

Change = Callable[[list[Message]], Any]


def put(at: int, **keys: Any) -> Change:
    return lambda messages: messages[at].update(keys)


def arguments(text: str) -> Change:
    return lambda messages: messages[2]["tool_calls"][0]["function"].update(arguments=text)


def drop(*at: int) -> Change:
    def change(messages: list[Message]) -> None:
        messages[:] = [message for i, message in enumerate(messages) if i not in at]

    return change


def add(at: int, message: Message) -> Change:
    return lambda messages: messages.insert(at, message)


RECALL = {"type": "text", "text": "<quoted>nine crates</quoted>"}

ALLOWED: list[Change] = [
    lambda messages: None,
    put(1, content="[summary]\n\nCount the crates.\n\n<quoted/>"),
    put(3, content="11"),
    put(7, content=[{"type": "text", "text": "2"}]),
    arguments('{"bay": "..."}'),
    drop(1, 2, 3, 4, 5, 6, 7),
    drop(2, 3, 4, 5, 6),
    drop(2, 3, 4),
    lambda messages: messages[-1]["content"].append(RECALL),
    put(6, content=[{"type": "text", "text": "And ladders?"}, RECALL]),
]

# (damage, words of the fault that is found)
DAMAGE: list[tuple[Change, str]] = [
    (drop(3), "call without its result"),
    (drop(2), "tool result without its call"),
    (drop(0), "system"),
    (put(0, content="Book bay 7."), "system"),
    (add(4, {"role": "system", "content": "More."}), "system"),
    (arguments('{"bay": 7'), "no JSON"),
    (drop(2, 3, 4, 5), "in a row"),
    (drop(1), "opens with assistant"),
    (put(6, content=""), "empty message"),
    (put(6, content=None), "empty message"),
    (put(7, content=[]), "empty message"),
    (put(7, content=[{"type": "text", "text": ""}]), "empty text part"),
    (put(6, note="folded"), "other keys"),
    (put(6, role="developer"), "invented"),
    (put(3, tool_call_id="c9"), "invented"),
    (add(6, {"role": "assistant", "content": "Summary: twenty."}), "invented"),
    (lambda messages: messages[2]["tool_calls"].reverse(), "invented"),
    (lambda messages: messages[2]["tool_calls"][0]["function"].update(name="drop_table"), "invented"),
    (lambda messages: messages[2].pop("content"), "other keys"),
    (put(7, content="Two."), "another kind"),
    (put(5, content="20"), "signed"),
    (put(5, reasoning_details=[]), "other keys"),
    (lambda messages: messages[-1]["content"].pop(), "lost something"),
    (lambda messages: messages[-1]["content"][0].update(text="Sur"), "lost something"),
    (put(8, content=[RECALL]), "lost something"),
    (drop(8), "last message is gone"),
    (lambda messages: messages[-1]["content"][0].update(cache_control={}), "keys that nobody sent"),
    (lambda messages: messages.clear(), "no user message"),
]


def forwarded(change: Change) -> bytes:
    messages = copy.deepcopy(REQUEST)
    change(messages)
    return encode(messages)


@each("change", ALLOWED)
def test_what_a_fold_may_do(change: Change) -> None:
    assert not structure_faults(encode(REQUEST), forwarded(change))


@each(("change", "words"), DAMAGE)
def test_damage_is_found(change: Change, words: str) -> None:
    assert any(words in fault for fault in structure_faults(encode(REQUEST), forwarded(change)))


def test_what_a_custom_call_was_given_may_be_shortened_and_nothing_else_of_it() -> None:
    def request(**custom: str) -> bytes:
        call = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls -la /mnt"} | custom}
        return encode([REQUEST[1], {"role": "assistant", "tool_calls": [call]}, REQUEST[4], REQUEST[6]])

    assert not structure_faults(request(), request(input="ls ..."))
    assert structure_faults(request(), request(name="python"))


def test_other_keys_of_the_request_stay() -> None:
    received = encode(REQUEST, temperature=0.2)
    assert not structure_faults(received, received)
    assert structure_faults(received, encode(REQUEST))
    assert structure_faults(received, encode(REQUEST, temperature=0.2, store=True))
    assert structure_faults(received, b"[]") == ["no longer a request"]


def test_what_is_no_request_must_not_change() -> None:
    assert not structure_faults(b'{"messages": "x"}', b'{"messages":"x"}')
    assert structure_faults(b'{"messages": ["x"]}', b'{"messages": []}')


def test_a_key_of_our_own_parts_may_be_allowed() -> None:
    marked = forwarded(lambda messages: messages[-1]["content"][0].update(prompt_cache_breakpoint={}))
    assert structure_faults(encode(REQUEST), marked)
    assert not structure_faults(encode(REQUEST), marked, frozenset({"type", "text", "prompt_cache_breakpoint"}))


def test_faults_of_the_client_are_not_ours() -> None:
    broken = encode([*REQUEST[:3], REQUEST[6], {"role": "user", "content": ""}])
    assert not structure_faults(broken, broken)


@draws(12)
@given(bodies(st.one_of(conversations(1, 4), odd_conversations(1, 4))))
def test_no_request_has_a_fault_against_itself(body: bytes) -> None:
    assert not structure_faults(body, body)
