"""Trails find how far one request repeats another, to a kilobyte."""

from __future__ import annotations

import base64
import json
import random
import zlib
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear
from tests.support.weighed_memo import Scales
from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Conversation, Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.proxy.trails.cache_entries import Entries
from turnfold.proxy.trails.trail import Trail, Trails, trail_of

Message = dict[str, Any]


def trail(messages: list[Message], **behind: Any) -> Trail:
    body = {"model": "m", "messages": messages, **behind}
    return trail_of(CHAT.read(json.dumps(body).encode(), Memo()))


def said(*lengths: int, role: str = "user") -> list[Message]:
    return [{"role": role, "content": f"{number} " * (length // 2)} for number, length in enumerate(lengths)]


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=8), st.lists(st.integers(0, 5000), max_size=3))
def test_what_only_grows_repeats_all_of_it(old: list[int], new: list[int]) -> None:
    earlier, later = trail(said(*old), tools=[1]), trail(said(*old, *new), tools=[1])
    assert later.repeats(earlier) == 1.0
    assert Trail.from_json(json.loads(json.dumps(later.to_json()))) == later


@given(st.integers(0, 60_000), st.integers(4000, 60_000))
def test_what_changes_is_repeated_as_far_as_it_does_not(same: int, other: int) -> None:
    one = trail([{"role": "user", "content": "a" * same + "b" * other}])
    two = trail([{"role": "user", "content": "a" * same + "c" * other}])
    assert two.repeats(one) * one.size == pytest.approx(same, abs=1200)


def test_what_stands_behind_the_messages_is_no_part_of_them() -> None:
    tools = [{"type": "function", "function": {"name": "f" * 9000}}]
    earlier, later = trail(said(5000), tools=tools), trail(said(5000, 3000), tools=tools)
    assert earlier.size < 6000
    assert later.repeats(earlier) == 1.0


def test_marks_that_move_on_change_nothing() -> None:
    """A client that marks its last two user messages, for which it makes their content a list."""

    def marked(messages: list[Message], *where: int) -> list[Message]:
        out = [dict(message) for message in messages]
        for at in where:
            out[at]["content"] = [{"type": "text", "text": out[at]["content"], "cache_control": {"type": "ephemeral"}}]
        return out

    messages = said(6000, 6000, 6000, 6000, 6000)
    earlier = trail(marked(messages[:3], 0, 2))
    assert trail(marked(messages, 2, 4)).repeats(earlier) == 1.0
    messages[1]["content"] = "something else " * 500
    assert trail(marked(messages, 2, 4)).repeats(earlier) < 0.5


_MINUTES = {"cache_control": {"type": "ephemeral"}}
_HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_DOCUMENT, _QUESTION, _OTHER = "The crates of bay 7. " * 400, "Where is it? " * 5, "Who came? " * 9


def _part(text: str, mark: Message | None = None) -> Message:
    return {"type": "text", "text": text} | (mark or {})


def _asked(wire: Wire, *contents: Any, **more: Any) -> Conversation:
    """A conversation of which every other message is the user's."""
    kinds = {"text": ("input_text", "output_text")} if wire is RESPONSES else {}
    turns = []
    for i, content in enumerate(contents):
        parts = [one | {"type": kinds.get(one["type"], (one["type"],) * 2)[i % 2]} for one in content if isinstance(one, dict)]
        turns.append({"role": ("user", "assistant")[i % 2], "content": content if isinstance(content, str) else parts})
    body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "input" if wire is RESPONSES else "messages": turns} | more
    return wire.read(json.dumps(body).encode(), Memo())


@pytest.mark.parametrize("wire", [CHAT, MESSAGES, RESPONSES], ids=lambda wire: wire.name)
@pytest.mark.parametrize(
    ("earlier", "later", "found"),
    [
        ([[_part(_DOCUMENT + _QUESTION, _MINUTES)]], [[_part(_DOCUMENT + _OTHER, _MINUTES)]], 0.0),
        ([[_part(_DOCUMENT), _part(_QUESTION, _MINUTES)]], [[_part(_DOCUMENT), _part(_OTHER, _MINUTES)]], 0.0),
        ([[_part(_DOCUMENT, _HOUR), _part(_QUESTION)]], [[_part(_DOCUMENT, _HOUR), _part(_OTHER)]], 0.98),
        ([[_part(_DOCUMENT, _HOUR), _part(_QUESTION)]], [[_part(_DOCUMENT), _part(_OTHER, _MINUTES)]], 0.98),
        ([[_part(_QUESTION, _MINUTES)]], [_QUESTION, "There.", [_part(_OTHER, _MINUTES)]], 1.0),  # its parts are a text now
        ([_DOCUMENT, "I see.", [_part(_QUESTION, _MINUTES)]], [_DOCUMENT, "I see.", [_part(_OTHER, _MINUTES)]], 0.0),
        ([[_part(_DOCUMENT, _MINUTES)], "I see.", _QUESTION], [[_part(_DOCUMENT, _MINUTES)], "I see.", _OTHER], 0.97),
        ([[_part(_QUESTION, _MINUTES)]], [[_part(_QUESTION)], "There.", _OTHER], 0.0),  # nothing is looked up without a mark
        ([_QUESTION], [_QUESTION, "There.", [_part(_OTHER, _MINUTES)]], 0.0),
    ],
)
def test_what_a_cache_that_hits_at_marks_finds(wire: Wire, earlier: list[Any], later: list[Any], found: float) -> None:
    before, now = (trail_of(_asked(wire, *contents)).entries for contents in (earlier, later))
    assert now.found(before) == pytest.approx(found, abs=0.03)
    assert now.found(Entries.from_json(before.to_json())) == now.found(before)
    assert now.found(before, 600.0) == (found and pytest.approx(found, abs=0.03) if "1h" in str(earlier) else 0.0)


@pytest.mark.parametrize(("life", "seconds"), [(_MINUTES, 300), (_HOUR, 3600)])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_system_text_is_cached_for_as_long_as_its_mark_asks(life: dict[str, Any], seconds: int, parts: int) -> None:
    system = [*[_part("Be kind. " * 90)] * (parts - 1), _part("Be brief. " * 90, life)]
    before, now = (trail_of(_asked(MESSAGES, *turns, system=system)).entries for turns in ([_QUESTION], [_OTHER]))
    assert [one.life for one in before.left] == [seconds]
    assert now.found(before, seconds - 1.0) > 0.8
    assert now.found(before, seconds + 1.0) == 0.0


@each(
    ("more", "found"),
    [
        ({"cache_control": {"type": "ephemeral"}}, 1.0),
        ({"system": [_part("Be brief. " * 90, _HOUR)]}, 0.9),
        ({"model": "gpt-5.6"}, 1.0),
        ({}, 0.0),
    ],
)
def test_what_ends_without_a_mark_on_a_message_is_found_too(more: Message, found: float) -> None:
    before, now = (trail_of(_asked(MESSAGES, *said, **more)).entries for said in ([_QUESTION], [_QUESTION, "There.", _OTHER]))
    assert now.found(before) == pytest.approx(found, abs=0.1)


def test_content_of_any_shape_has_a_trail() -> None:
    odd: list[Message] = [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}, "cache_control": {}}, "a string", None]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1"},
    ]
    assert trail(odd).repeats(trail(odd)) == 1.0
    assert trail([]).repeats(trail([])) == 1.0


def test_both_sides_survive_the_store() -> None:
    one = Trails(trail(said(5000)), trail(said(3000)))
    assert Trails.from_json(json.loads(json.dumps(one.to_json()))) == one
    same = Trails(one.received, one.received)
    assert Trails.from_json(json.loads(json.dumps(same.to_json()))) == same


_FRONT = "Be brief, s'il vous plaît. " * 60


@pytest.mark.parametrize("wire", [CHAT, MESSAGES, RESPONSES], ids=lambda wire: wire.name)
@pytest.mark.parametrize(
    ("letters", "front"), [("abc", _FRONT), ("aé", ""), ("a€é\N{GRINNING FACE}", _FRONT), ("\N{GRINNING FACE}", "")]
)
def test_a_trail_that_goes_on_from_an_earlier_one_is_that_of_the_whole_body(wire: Wire, letters: str, front: str) -> None:
    """A kilobyte may end inside a character, and the next request may go on otherwise right there."""
    draw, memo, messages = random.Random(len(letters)), Memo(), list[Message]()
    for turn in range(16):
        if turn % 5 == 4:  # the conversation goes on otherwise from an earlier turn
            messages = messages[: draw.randrange(len(messages))]
        content = "".join(draw.choice(letters) for _ in range(draw.randrange(1500)))
        messages.append({"role": ("user", "assistant")[len(messages) % 2], "content": content})
        history = "input" if wire is RESPONSES else "messages"
        body = {"instructions" if wire is RESPONSES else "system": front, "model": "m", "max_tokens": 1, history: messages}
        read = wire.read(json.dumps(body, ensure_ascii=False).encode(), memo)
        assert trail_of(read, memo) == trail_of(read)


@pytest.mark.parametrize("wire", [CHAT, MESSAGES, RESPONSES], ids=lambda wire: wire.name)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_marked_trail_that_goes_on_is_that_of_the_whole_body(wire: Wire, grouped: bool) -> None:
    """The marks move on, and a turn may be another one, or have a part more, than it was in the request before."""
    draw, memo, turns = random.Random(5), Memo(), list[list[str]]()
    for number in range(24):
        if number % 5 == 4:
            turns = turns[: draw.randrange(1, len(turns))]
            turns[-1] = [*turns[-1], "more " * draw.randrange(300)] if grouped else turns[-1][:1]
        turns.append(["said " * draw.randrange(300) for _ in range(draw.randrange(1, 4) if grouped else 1)])
        body = _marked_body(wire, turns, {len(turns) - 1, max(0, len(turns) - 3)})
        read = wire.read(json.dumps(body).encode(), memo)
        assert trail_of(read, memo) == trail_of(read)


@pytest.mark.parametrize("place", [0, 2])
def test_a_message_of_results_that_says_something_else_beside_them_is_summed_anew(place: int) -> None:
    memo, body = Memo(), _marked_body(MESSAGES, [["said " * 250] * 6, ["yes " * 300], ["said " * 250]], {0, 2})
    for noted in ("one", "other", "one"):
        body["messages"][place]["metadata"] = {"note": noted * 1000}
        read = MESSAGES.read(json.dumps(body).encode(), memo)
        assert trail_of(read, memo) == trail_of(read)


@pytest.mark.parametrize("wire", [CHAT, MESSAGES, RESPONSES], ids=lambda wire: wire.name)
@pytest.mark.parametrize(("parts", "marked"), [(1, False), (1, True), (3, True)])
def test_of_a_conversation_that_goes_on_only_what_is_new_is_summed(
    wire: Wire, parts: int, marked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    memo, turns, summed = Scales(), list[list[str]](), list[int]()

    def crc32(data: bytes, value: int = 0) -> int:
        summed.append(len(data))
        return zlib.crc32(data, value)

    monkeypatch.setattr("turnfold.proxy.trails.trail.zlib", SimpleNamespace(crc32=crc32))
    for number in range(30):
        turns.append(["said " * (420 // parts)] * parts)
        read = wire.read(json.dumps(_marked_body(wire, turns, {number, max(0, number - 2)} if marked else set())).encode(), memo)
        summed.clear()
        found = trail_of(read, memo)
        assert number < 4 or len(summed) <= (20 + 25 * parts if marked else 3), "its first four messages name a conversation"
        assert trail_of(read) == found
    assert len(found.sums) > 4 * 60
    weight, pieces = memo.weights["marked trail" if marked else "trail"][-1], 31 + (wire is MESSAGES)
    assert weight == len(found.sums) + (200 + 8 * len(read.messages) + 200 + 24 * pieces if marked else 500)


def _marked_body(wire: Wire, turns: list[list[str]], marked: set[int]) -> dict[str, Any]:
    messages = []
    for at, texts in enumerate(turns):
        parts: list[dict[str, Any]] = [{"type": "input_text" if wire is RESPONSES else "text", "text": text} for text in texts]
        if wire is MESSAGES and at % 2 == 0:  # results that stand in one message of the user's
            parts = [{"type": "tool_result", "tool_use_id": f"t{at}-{n}", "content": text} for n, text in enumerate(texts)]
        if at in marked:
            parts[-1]["cache_control"] = {"type": "ephemeral"}
        messages.append({"role": ("user", "assistant")[at % 2], "content": parts})
    return {"model": "m", "max_tokens": 1, "input" if wire is RESPONSES else "messages": messages}


def test_what_is_all_but_repeated_counts_as_such_to_the_byte() -> None:
    """What ends within the last kilobyte, and the 64 bytes that the end of a list may take, counts as whole."""
    sums = b"".join(bytes([n]) * 4 for n in range(1, 5))
    for steps, size, share in [
        (4, 4 * 1024 + 1088, 1.0),
        (4, 4 * 1024 + 1089, 4608 / 5185),
        (1, 2112, 1.0),
        (1, 2113, 1536 / 2113),
    ]:
        earlier, later = Trail(size, sums[: 4 * steps]), Trail(99_999, sums[: 4 * steps] + b"else")
        assert later.repeats(earlier) == share
    for same in range(6):  # wherever they part, it is found
        expected = (same * 1024 + 512 * (same > 0)) / 50_000
        assert Trail(99_999, _sums(5, same)).repeats(Trail(50_000, _sums(5, 5))) == expected


def _sums(number: int, same: int) -> bytes:
    return b"".join(bytes([n if n < same else 200 + n]) * 4 for n in range(number))


@pytest.mark.parametrize("marked", [False, True])
def test_what_lies_behind_the_most_that_is_compared_counts_as_equal(marked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*contents: str) -> Conversation:
        turns = [["hi"]] * 5 + [[one] for one in contents]
        return CHAT.read(json.dumps(_marked_body(CHAT, turns, {len(turns) - 1} if marked else set())).encode(), memo)

    monkeypatch.setattr("turnfold.proxy.trails.trail._MOST", 8)  # kilobytes, of 4,096
    memo = Memo()
    begun = trail_of(read("a" * 5500), memo)
    one, other = (trail_of(read("a" * 5500, "b" * 4000 + letter * 30_000), memo) for letter in "cd")
    assert (len(begun.sums), len(one.sums), len(other.sums)) == (5 * 4, 8 * 4, 8 * 4)
    assert (one.size == other.size > 39_000, one.repeats(other), begun.repeats(one) < 1) == (True, 1.0, True)
    for more in (["e" * 3000], ["e" * 3000, "f" * 3000]):
        again = read("a" * 5500, "b" * 4000 + "d" * 30_000, *more)
        assert trail_of(again, memo) == trail_of(again)


def test_only_whole_kilobytes_are_summed() -> None:
    empty = trail([{"role": "user", "content": ""}]).size
    lengths = [(size, len(trail([{"role": "user", "content": "a" * (size - empty)}]).sums) // 4) for size in range(2046, 2050)]
    assert lengths == [(2046, 1), (2047, 1), (2048, 2), (2049, 2)]


@given(st.binary(max_size=400))
def test_sums_are_read_as_this_release_and_earlier_ones_wrote_them(sums: bytes) -> None:
    trail, before = Trail(len(sums), sums), base64.b85encode(sums).decode()
    assert Trail.from_json(json.loads(json.dumps(trail.to_json()))) == trail
    assert Trail.from_json({"size": len(sums), "sums": before}) == Trail.from_json([len(sums), before]) == trail


@each("sums", ['abcd"', "~~~~~", "abcdé", "     "])
def test_sums_that_no_release_wrote_are_refused(sums: str) -> None:
    for value in ([1, sums], {"size": 1, "sums": sums}, {"size": 1, "crcs": sums}):
        with pytest.raises(ValueError):  # noqa: PT011 - of whichever decoder
            Trail.from_json(value)


def test_a_trail_takes_linear_time() -> None:
    def of(size: int) -> Conversation:
        return CHAT.read(b'{"messages":[{"role":"user","content":"' + b"[" * 1000 * size + b'"}]}', Memo())

    assert_linear(trail_of, of, 1000)
