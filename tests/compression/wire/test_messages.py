"""Anthropic's messages: a body is read once, and changes come out as what they say, every other byte as it was."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.block_conversations import MARK, SEEDS, TOOLS, Kind, conversation, encode, kinds
from tests.support.cases import each
from tests.support.effort import costly
from turnfold.compression.errors import FoldRejected
from turnfold.compression.memo import Memo
from turnfold.compression.wire.changes import Beside, Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import apply, invert
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.message import Message

STYLES = ((",", ":"), (", ", ": "), (" ,\n ", " :\t"))


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A body in any writing: escaped or not, compact or spaced, with its keys in any order."""
    kind = draw(kinds())
    body = json.loads(encode(conversation(draw(SEEDS), kind), kind))
    body = {key: body[key] for key in draw(st.permutations(sorted(body)))}
    return json.dumps(body, ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from(STYLES))).encode()


def read(messages: list[dict[str, Any]], **keys: Any) -> Conversation:
    return MESSAGES.read(json.dumps({"messages": messages, **keys}).encode(), Memo())


def value_at(data: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        data = data[step]
    return data


def value_of(message: Message) -> Any:
    """A message's JSON; a run of blocks as a list."""
    try:
        return json.loads(message.raw)
    except json.JSONDecodeError:
        return json.loads(f"[{message.raw}]")


# -- what stands where ---------------------------------------------------------------------------------------------------------


@costly(5)
@given(bodies())
def test_every_message_stands_where_its_span_says(body: bytes) -> None:
    found = MESSAGES.read(body, Memo())
    assert found.body == body
    assert [found.text[a:b] for a, b in found.spans] == [m.raw for m in found.messages]
    for message in found.messages:
        data = value_of(message)
        if message.role == "user" and "content" not in data and isinstance(data, dict):
            data = [data]  # a run of one block
        for text in message.texts:
            assert value_at(data, text.path) == text.text
        for call in message.arguments:
            assert value_at(data, call.path) == json.loads(call.text)
        assert message.tokens > message.other_tokens or not message.text


@costly(4)
@given(SEEDS, kinds(), st.integers(1, 6))
def test_what_is_known_of_the_beginning_changes_nothing(seed: int, kind: Kind, grown: int) -> None:
    messages, memo = conversation(seed, kind), Memo()
    for end in sorted({*range(1, len(messages), grown), len(messages)}):
        body = encode(messages[:end], kind)
        assert MESSAGES.read(body, memo) == MESSAGES.read(body, Memo())


@each("key", ["cache_control", "thread", "compaction", "thinking", "metadata"])
def test_what_stands_in_front_of_the_messages_is_read_in_every_request(key: str) -> None:
    """A process that knows the beginning reads on behind it."""
    memo, turns = Memo(), conversation(1, Kind(turns=12))
    for end in range(1, len(turns) + 1, 2):
        body = json.dumps({key: {"type": "ephemeral"}, "messages": turns[:end]}).encode()
        assert MESSAGES.read(body, memo) == MESSAGES.read(body, Memo())


@each(
    "body",
    [
        b"[]",
        b"",
        b'{"messages":[',
        b'{"messages":{}}',
        b'{"messages":"x"}',
        b'{"messages":[1]}',
        b'{"messages":[{"role":"user"}]}',
        b'{"messages":[{"content":"x"}]}',
        b'{"messages":[{"role":"user","content":null}]}',
        b'{"messages":[{"role":"user","content":["x"]}]}',
        b'{"messages":[],"messages":[]}',
        b'{"model":"m"}',
    ],
)
def test_what_is_no_request_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(FoldRejected, match="unparsable"):
        MESSAGES.read(body, Memo())


def test_a_users_results_are_messages_of_their_own() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a b"}}
    found = read(
        [
            {"role": "user", "content": "task"},
            {"role": "assistant", "content": [{"type": "text", "text": "let me see"}, use, use | {"id": "t2"}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
                    {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "two"}]},
                    {"type": "text", "text": "and?"},
                ],
            },
        ],
        system="be brief",
        max_tokens=7,
        model="claude-x",
        stream=True,
        tools=TOOLS,
    )
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [m.own for m in found.messages] == ["be brief", "task", "let me see", "one", "two", "and?"]
    assert [m.answers for m in found.messages] == [None, None, None, "t1", "t2", None]
    assert found.messages[2].call_ids == ("t1", "t2")
    assert found.messages[2].calls[0].arguments == '{"path": "a b"}'
    assert [(g.start, g.end) for g in found.groups] == [(3, 6)]
    assert (found.model, found.output, found.streams, found.marked_at_end) == ("claude-x", 7, True, False)
    assert json.loads(found.schema) == TOOLS


@each(
    ("blocks", "sealed"),
    [
        ([{"type": "text", "text": "a"}], False),
        ([{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "n", "input": {}}], False),
        ([{"type": "text", "text": "a", "citations": []}], False),
        ([{"type": "text", "text": "a", "citations": [{"type": "char_location"}]}], True),
        ([{"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "text", "text": "a"}], True),
        ([{"type": "redacted_thinking", "data": "x"}], True),
        ([{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}], True),
        ([{"type": "text", "text": "a"}, {"type": "unheard_of", "x": 1}], True),
    ],
)
def test_what_is_signed_or_unknown_seals_its_message(blocks: list[dict[str, Any]], sealed: bool) -> None:
    message = read([{"role": "assistant", "content": blocks}]).messages[0]
    assert message.sealed is sealed
    if not sealed:
        assert message.attached == ()


@each(
    ("content", "texts"),
    [
        ("a", ["a"]),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], ["a", "b"]),
        ([{"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "a"}]}], ["a"]),
        ([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}}], ["a"]),
        ([{"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}]}}], ["a"]),
        ([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "QQ=="}}], []),
        ([{"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}], []),
        ([], []),
        (None, []),
    ],
)
def test_every_text_of_a_result_can_be_folded(content: Any, texts: list[str]) -> None:
    block = {"type": "tool_result", "tool_use_id": "t", "content": content}
    message = read([{"role": "user", "content": [block]}]).messages[0]
    assert [t.text for t in message.texts] == texts
    assert bool(message.attached) == (bool(content) and not texts)
    assert not message.sealed


def test_an_image_counts_by_its_size_and_never_by_its_base64() -> None:
    found = [m for m in conversation(3, Kind(turns=20, odd=True)) if m["role"] == "user" and isinstance(m["content"], list)]
    images = [m for m in found if m["content"][0]["type"] == "image"]
    assert images
    for message in images:
        large = copy.deepcopy(message)
        large["content"][0]["source"]["data"] += "A" * 100_000
        counts = [read([one]).messages[0].other_tokens for one in (message, large)]
        assert counts[0] == counts[1] <= 1603


# -- changes written back ------------------------------------------------------------------------------------------------------

new_texts = st.text(st.sampled_from('ab "\\\n\u2028\u00e9\U0001f600\x00'), min_size=1, max_size=12).filter(str.strip)
beside = st.lists(new_texts, max_size=2).map(tuple)


@st.composite
def changes_of(draw: st.DrawFn, found: Conversation) -> Changes:
    """Any changes that a fold could ask for."""
    indices = [i for i, m in enumerate(found.messages) if not m.pinned]
    gone = draw(st.sets(st.sampled_from(indices)))
    kept = [i for i in indices if i not in gone]
    texts: dict[int, dict[Any, str]] = {}
    for i in draw(st.sets(st.sampled_from(kept))) if kept else ():
        message = found.messages[i]
        texts[i] = {t.path: draw(new_texts) for t in message.texts if draw(st.booleans())}
        texts[i] |= {t.path: json.dumps({"x": draw(new_texts)}) for t in message.arguments if draw(st.booleans())}
    users = [i for i in kept if found.messages[i].role == "user"]
    return Changes(
        dropped=tuple((i, i + 1) for i in draw(st.permutations(sorted(gone)))),
        texts=texts,
        beside={i: Beside(draw(beside), draw(beside)) for i in draw(st.sets(st.sampled_from(users)))} if users else {},
        unsigned=frozenset(draw(st.sets(st.sampled_from(indices)))),
    )


THOUGHTS = ("thinking", "redacted_thinking")


def changed(found: Conversation, changes: Changes) -> list[Any]:
    """The same on parsed messages: what the written body has to say."""
    gone = {i for a, b in changes.dropped for i in range(a, b)}
    out: dict[tuple[int, int], Any] = {}
    group_of = {i: group for group in found.groups for i in range(group.start, group.end)}
    for i, message in enumerate(found.messages):
        if i in gone or message.pinned:
            continue
        data: Any = json.loads(message.raw if i not in group_of else f"[{message.raw}]")
        base = data if i not in group_of or message.role == "user" else data[0]
        for path, text in changes.texts.get(i, {}).items():
            value_at(base, path[:-1])[path[-1]] = json.loads(text) if path[-1] == "input" else text
        one = changes.beside.get(i, Beside())
        if i in group_of:
            blocks = [*map(block, one.front), *data, *map(block, one.behind)]
            element = out.setdefault(group_of[i].place, {"role": "user", "content": []})
            element["content"] += blocks
            continue
        if one.front or one.behind:
            content = data["content"]
            own = [block(content)] if isinstance(content, str) else content
            data["content"] = [*map(block, one.front), *own, *map(block, one.behind)]
        if i in changes.unsigned and isinstance(data["content"], list) and message.reasoning is not None:
            data["content"] = [b for b in data["content"] if b["type"] not in THOUGHTS]
        if data["content"] or not message.reasoning:
            out[found.spans[i]] = data
    return [out[place] for place in sorted(out)]


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@costly(4)
@given(bodies(), st.data())
def test_changes_come_out_as_they_were_asked_for_and_go_back(body: bytes, data: st.DataObject) -> None:
    found = MESSAGES.read(body, Memo())
    changes = data.draw(changes_of(found))
    after = apply(found.text, MESSAGES.write(found, changes))
    before, now = json.loads(body), json.loads(after)
    assert now == before | {"messages": changed(found, changes)}
    assert list(now) == list(before)
    assert apply(after, invert(found.text, MESSAGES.write(found, changes))).encode() == body


@costly(4)
@given(bodies())
def test_no_changes_change_nothing(body: bytes) -> None:
    found = MESSAGES.read(body, Memo())
    assert MESSAGES.write(found, Changes()) == []
    assert found.with_changes(Changes(), Memo()) == found


def test_texts_of_ours_stand_behind_results() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "r"}
    found = read([{"role": "user", "content": [result, {"type": "text", "text": "own"}]}])
    after = json.loads(found.with_changes(Changes(beside={1: Beside(("front",), ("behind",))}), Memo()).body)
    assert after["messages"][0]["content"] == [result, block("front"), block("own"), block("behind")]


def test_a_text_that_would_be_blank_is_not_written() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}]}
    found = read([{"role": "user", "content": [result]}])
    assert MESSAGES.write(found, Changes(texts={0: {("content", 0, "text"): " \n"}})) == []


def test_an_input_that_is_no_object_is_refused() -> None:
    use = {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}
    found = read([{"role": "assistant", "content": [use]}])
    for text in ("[1]", '"x"', "{", ""):
        with pytest.raises(FoldRejected, match="arguments-broken"):
            MESSAGES.write(found, Changes(texts={0: {("content", 0, "input"): text}}))


# -- marks ---------------------------------------------------------------------------------------------------------------------


@costly(4)
@given(SEEDS, kinds(odd=True))
def test_a_moving_mark_changes_neither_keys_nor_fingerprint(seed: int, kind: Kind) -> None:
    messages = conversation(seed, kind)
    plain = MESSAGES.read(encode(messages), Memo())
    lists = [m | {"content": [block(m["content"])] if isinstance(m["content"], str) else m["content"]} for m in messages]
    one, two = (
        MESSAGES.read(encode([m | {"content": [*m["content"][:-1], m["content"][-1] | MARK]} if i == at else m
                              for i, m in enumerate(lists)]), Memo())
        for at in (0, len(lists) - 1)
    )  # fmt: skip
    assert [m.key for m in one.messages] == [m.key for m in two.messages]
    assert any(m.marked for m in one.messages)
    assert MESSAGES.unmarked(one) == MESSAGES.unmarked(two)
    assert not any(m.marked for m in plain.messages)


@each(
    ("written", "bare"),
    [
        ('{"cache_control":{"a":1},"type":"text","text":"x"}', '{"type":"text","text":"x"}'),
        ('{ "cache_control" : {} , "type":"text","text":"x"}', '{"type":"text","text":"x"}'),
        ('{"type":"text" , "cache_control":{}, "text":"x"}', '{"type":"text", "text":"x"}'),
        ('{"type":"text","text":"x","cache_control":null }', '{"type":"text","text":"x" }'),
    ],
)
def test_a_mark_may_stand_anywhere_in_its_block(written: str, bare: str) -> None:
    bodies = [f'{{"messages":[{{"role":"user","content":[{one}]}}]}}'.encode() for one in (written, bare)]
    keys = [MESSAGES.read(one, Memo()).messages[0].key for one in bodies]
    assert keys[0] == keys[1]


def test_an_input_that_looks_like_a_mark_is_no_mark() -> None:
    keys = set()
    for value in (1, 2):
        use = {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 0, "cache_control": {"b": value}}}
        found = read([{"role": "assistant", "content": [use]}])
        assert not found.messages[0].marked
        keys.add(found.messages[0].key)
    assert len(keys) == 2


def test_a_block_that_becomes_a_text_keeps_its_mark() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}} | MARK
    found = read([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [image]}]}])
    after = json.loads(found.with_changes(Changes(texts={0: {("content", 0): "gone"}}), Memo()).body)
    assert after["messages"][0]["content"][0]["content"] == [block("gone") | MARK]


# -- replies -------------------------------------------------------------------------------------------------------------------


def test_a_reply_of_ours_is_a_message() -> None:
    found = read([{"role": "user", "content": "x"}], model="claude-x")
    reply = MESSAGES.reply(found, "Said \ud83d.", 0)
    body = json.loads(b"".join(reply.pieces))
    assert reply.content_type == "application/json"
    assert body["content"] == [block("Said \ud83d.")]
    assert (body["type"], body["role"], body["model"], body["stop_reason"]) == ("message", "assistant", "claude-x", "end_turn")
    assert set(body["usage"].values()) == {0}
    assert reply == MESSAGES.reply(found, "Said \ud83d.", 9)


def test_a_streamed_reply_has_every_event_in_order() -> None:
    reply = MESSAGES.reply(read([{"role": "user", "content": "x"}], stream=True), "Said.", 0)
    events = [piece.decode().split("\n") for piece in reply.pieces]
    parsed = [json.loads(data.removeprefix("data: ")) for _, data, *_ in events]
    assert reply.content_type.startswith("text/event-stream")
    assert [name.removeprefix("event: ") for name, *_ in events] == [one["type"] for one in parsed]
    assert [one["type"] for one in parsed] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert parsed[0]["message"]["content"] == []
    assert parsed[2]["delta"] == {"type": "text_delta", "text": "Said."}
    assert parsed[4]["delta"]["stop_reason"] == "end_turn"
