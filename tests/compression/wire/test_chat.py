"""Chat completions: a body is read once, and changes come out as what they say, every other byte as it was."""

from __future__ import annotations

import copy
import json
import struct
from base64 import b64encode
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import Message, messages_of, raw_messages
from tests.support.cases import each
from tests.support.conversations import bodies, conversations, odd_conversations
from tests.support.drawn_changes import drawn_changes
from tests.support.effort import costly, draws
from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo
from turnfold.compression.wire.bodies import Layout, read_body
from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.edits import apply, invert
from turnfold.compression.wire.formats.chat import CHAT

TEXTS = st.text(max_size=30).map(lambda text: text * 400)
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS), min_size=1, max_size=40)


def _body(turns: list[tuple[str, str]], *, ascii_only: bool, model_last: bool, spaced: bool) -> bytes:
    messages = [{"role": role, "content": text} for role, text in turns]
    members = {"model": "gpt-4o", "stream": True, "messages": messages, "tools": [{"type": "function"}]}
    if model_last:
        members["model"] = members.pop("model")
    text = json.dumps(members, ensure_ascii=ascii_only, separators=(" ,\n", " : ") if spaced else None)
    return text.encode("utf-8", "surrogatepass")


@draws(16)
@given(TURNS, st.integers(1, 40), st.booleans(), st.booleans(), st.booleans())
def test_what_is_known_of_the_beginning_changes_nothing(
    turns: list[tuple[str, str]], grown: int, ascii_only: bool, model_last: bool, spaced: bool
) -> None:
    memo = Memo()
    for end in sorted({*range(0, len(turns), grown), len(turns)}):
        body = _body(turns[:end], ascii_only=ascii_only, model_last=model_last, spaced=spaced)
        assert CHAT.read(body, memo) == CHAT.read(body, Memo())


def test_what_is_known_of_the_beginning_is_not_read_again() -> None:
    elements: list[str] = []

    def element(text: str, data: Any, memo: Memo) -> str:
        elements.append(text)
        return text

    layout = Layout("made up", "messages", frozenset(), element, len)
    turns, memo = [("user", f"{i}" + " word" * 1500) for i in range(60)], Memo()
    for count in (58, 59, 60):
        elements.clear()
        _, found = read_body(_body(turns[:count], ascii_only=True, model_last=False, spaced=False), layout, memo)
        assert len(found.elements) == count
    assert len(elements) <= 32_768 // 7500 + 2


@each("differs", [0, 1, 20])
def test_what_is_known_of_one_conversation_is_not_taken_for_another(differs: int) -> None:
    memo = Memo()
    for name in ("ash", "oak", "elm"):
        turns = [("user", (name if i == differs else "fir") + " word" * 1500) for i in range(40)]
        body = _body(turns, ascii_only=True, model_last=False, spaced=False)
        assert CHAT.read(body, memo) == CHAT.read(body, Memo())


@each("tail", [b"", b"]", b",]}", b"}", b"]}]", b'], "messages": []}', b'], "a": 1, "a": 2}', b'], "model": "other"}', b",1]}"])
def test_what_is_known_hides_no_fault(tail: bytes) -> None:
    memo = Memo()
    start = _body([("user", "word " * 2000)] * 40, ascii_only=True, model_last=False, spaced=False)
    whole = start[: start.rindex(b"]", 0, start.rindex(b'"tools"'))]
    assert CHAT.read(whole + b"]}", memo).messages
    with pytest.raises(FoldRejected):
        CHAT.read(whole + tail, memo)


@each(
    "body",
    [
        b'{"messages":[',
        b'{"messages":',
        b'{"a":,"messages":[]}',
        b'{"messages":[,]}',
        b'{"messages":[{"role":"user"},]}',
        b'{"messages":[],}',
        b'{"messages":{}}',
        b'{"messages":[1]}',
        b'{"messages":[{"content":"x"}]}',
        b"[]",
        b"",
    ],
)
def test_what_is_no_request_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(FoldRejected, match="unparsable"):
        CHAT.read(body, Memo())


# -- what stands where ---------------------------------------------------------------------------------------------------------

everything = st.one_of(conversations(1, 3, sizes=("short", "middle")), odd_conversations(1, 3))


@costly(5)
@given(bodies(everything))
def test_every_message_stands_where_its_span_says(body: bytes) -> None:
    read = CHAT.read(body, Memo())
    assert read.body == body
    assert [read.text[a:b] for a, b in read.spans] == [m.raw for m in read.messages] == raw_messages(body)
    assert [m.role for m in read.messages] == [m["role"] for m in messages_of(body)]
    for message in read.messages:
        data = json.loads(message.raw)
        assert all(_value_at(data, text.path) == text.text for text in (*message.texts, *message.arguments))


def _value_at(data: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


# -- changes written back ------------------------------------------------------------------------------------------------------


def _changed(messages: list[Message], changes: Changes) -> list[Message]:
    """The same on parsed messages: what the written body has to say."""
    gone = {i for a, b in changes.dropped for i in range(a, b)}
    out = []
    for i, message in enumerate(copy.deepcopy(messages)):
        for path, text in changes.texts.get(i, {}).items():
            _value_at(message, path[:-1])[path[-1]] = text
        one = changes.beside.get(i, Beside())
        content: Any = message.get("content")
        parts = isinstance(content, list)
        if i in changes.apart and not parts:
            mark = {"prompt_cache_breakpoint": {"mode": "explicit"}} if i == changes.breakpoint else {}
            content, parts = [{"type": "text", "text": content, **mark}], True
        if parts:
            message["content"] = [*map(_part, one.front), *content, *map(_part, one.behind)]
        elif one.front or one.behind:
            message["content"] = "\n\n".join([*one.front, content, *one.behind])
        if i not in gone:
            out.append(message)
    return out


def _part(text: str) -> Message:
    return {"type": "text", "text": text}


@costly(4)
@given(bodies(everything), st.data())
def test_changes_come_out_as_they_were_asked_for_and_go_back(body: bytes, data: st.DataObject) -> None:
    read = CHAT.read(body, Memo())
    changes = data.draw(drawn_changes(read))
    after = read.with_changes(changes, Memo())
    before, now = json.loads(body), json.loads(after.body)
    assert now == before | {"messages": _changed(before["messages"], changes)}
    assert list(now) == list(before)
    gone = {i for a, b in changes.dropped for i in range(a, b)}
    touched = {*(i for i, new in changes.texts.items() if new), *changes.beside, *changes.apart}
    kept = [i for i in range(len(read.messages)) if i not in gone]
    pairs = zip(kept, after.messages, strict=True)
    assert all(new.raw == read.messages[i].raw for i, new in pairs if i not in touched)
    back = invert(read.text, CHAT.write(read, changes))
    assert apply(after.text, back).encode() == body


@costly(4)
@given(bodies(everything))
def test_no_changes_change_nothing(body: bytes) -> None:
    read = CHAT.read(body, Memo())
    assert CHAT.write(read, Changes()) == []
    assert read.with_changes(Changes(), Memo()) == read


@each(
    ("dropped", "left", "comma"),
    [
        (*row, comma)
        for row in [
            (((3, 4),), "abc"),
            (((2, 4),), "ab"),
            (((2, 3), (3, 4)), "ab"),
            (((3, 4), (0, 1)), "bc"),
            (((1, 2), (2, 4)), "a"),
            (((0, 4),), ""),
            (((0, 2), (2, 4)), ""),
        ]
        for comma in [",", " ,\n "]
    ],
)
def test_what_goes_at_the_end_takes_the_comma_before_it(dropped: tuple[tuple[int, int], ...], left: str, comma: str) -> None:
    messages = comma.join(f'{{"role":"user","content":"{c}"}}' for c in "abcd")
    body = f'{{"messages":[ {messages} ],"model":"m"}}'.encode()
    after = CHAT.read(body, Memo()).with_changes(Changes(dropped=dropped), Memo())
    assert [m.own for m in after.messages] == list(left)
    assert after.text.endswith(' ],"model":"m"}')


# -- pictures --------------------------------------------------------------------------------------------------------------------


@each(
    ("width", "height", "counted"),
    # Scaled to fit 2,048 x 2,048, then to 768 on the shorter side; 85 tokens and 170 for each tile of 512 ("Images and vision").
    [(1024, 1024, 765), (2048, 4096, 1105), (8000, 1000, 765), (1000, 16_000, 765), (300, 200, 255), (4000, 512, 765)],
)
def test_a_picture_counts_by_the_published_rule(width: int, height: int, counted: int) -> None:
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", width, height) + b"\x08\x02\0\0\0\0\0\0\0"
    image = {"url": f"data:image/png;base64,{b64encode(head).decode()}"}
    parts = [{"type": "image_url", "image_url": one} for one in (image, image | {"detail": "low"})]
    bodies = [{"model": "gpt-4o", "messages": [{"role": "user", "content": [part]}]} for part in parts]
    high, low = (CHAT.read(json.dumps(body).encode(), Memo()).messages[0].other_tokens for body in bodies)
    assert high - low == counted - 85


@each(
    ("text", "role"),
    product(
        ["", "Hello.", " \n", "<keep>this</keep>", "caf\u00e9 \U0001f600", 'a "cache_control": {} in words'],
        ["user", "assistant", "system", "tool", "odd"],
    ),
)
def test_a_message_of_a_role_and_a_text_is_read_like_any_other(role: str, text: str) -> None:
    turns = [{"role": role, "content": text}, {"role": role, "content": text, "x": None}]
    plain, other = CHAT.read(json.dumps({"messages": turns}).encode(), Memo()).messages
    assert plain.keys == {"role", "content"}
    assert replace(plain, raw=other.raw, key=other.key, keys=other.keys) == other


@each(
    ("message", "known"),
    [
        ({"role": "user", "content": "The harbour crane."}, True),
        ({"role": "user", "content": [{"type": "text", "text": "The harbour crane."}], "name": "anna"}, True),
        ({"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "two."}]}, False),
        (
            {"role": "assistant", "content": "So.", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
            False,
        ),
    ],
)
def test_the_tokens_of_a_text_that_is_all_that_was_counted_are_known(message: dict[str, Any], known: bool) -> None:
    read = CHAT.read(json.dumps({"model": "gpt-4o", "messages": [message]}).encode(), Memo()).messages[0]
    assert read.text_tokens == (tokens.count(read.text) if known else None)
