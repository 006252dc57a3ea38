"""Cutting in the middle: it fits, what must stay whole does, and nothing else is touched than has to be."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import draws, every
from tests.support.overfull import Writer, overfull
from tests.support.structure import structure_faults
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.bound_fold import BoundFold
from turnfold.compression.fit.cut import LEVELS, Cut, cut
from turnfold.compression.fit.older import fold_older
from turnfold.compression.fold import conversation_tokens, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.edits import Edit
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.message import Messages

Body = dict[str, Any]
#: A single giant message has to be cut, the user's own too: the one law that a recovery may break.
WAIVED = {"the last user message lost something of its own"}


def encoded(body: Body) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode()


def read(body: bytes) -> Conversation:
    return CHAT.read(body, WARM)


def tokens_of(body: bytes, model: str = "gpt-4o") -> int:
    return conversation_tokens(read(body), model, WARM)


def cut_to(body: Body, budget: int) -> tuple[Cut, Body]:
    raw = encoded(body)
    result = cut(read(raw), budget, FoldOptions(model="gpt-4o"), WARM)
    assert result is not None
    sent = result.forwarded.body
    assert result.tokens == tokens_of(sent) <= budget
    assert not set(structure_faults(raw, sent)) - WAIVED
    return result, json.loads(sent)


def test_only_what_is_larger_than_the_level_changes() -> None:
    w = Writer(2)
    messages = [
        {"role": "system", "content": "s"},
        w.user(30),
        w.assistant(3000),
        w.user(20),
        w.assistant(40),
        w.user(30),
        w.assistant(9),
        w.user(10),
    ]
    result, after = cut_to({"model": "gpt-4o", "messages": messages, "temperature": 1.0}, 1000)
    assert [i for i, (a, b) in enumerate(zip(messages, after["messages"], strict=True)) if a != b] == [2]
    assert (result.shortened, result.dropped) == (1, 0)
    assert result.tokens > 850  # no more is cut than a step of the ladder


@each("level", [LEVELS.index(n) for n in LEVELS if 400 <= n <= 1500])
def test_a_cut_takes_no_more_than_it_has_to(level: int) -> None:
    """What is missing is just what the level saves: with one token less of it the next lower level would be due."""
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "word " * 2500 + "end"}]
    body = {"model": "gpt-4o", "messages": [*messages, {"role": "user", "content": "go on"}]}
    long = tokens.count(messages[1]["content"])
    budget = tokens_of(encoded(body)) - long + LEVELS[level]
    result, after = cut_to(body, budget)
    assert LEVELS[level + 1] < tokens.count(after["messages"][1]["content"]) <= LEVELS[level]
    assert (result.shortened, result.dropped) == (1, 0)
    _, below = cut_to(body, budget - 1)
    assert tokens.count(below["messages"][1]["content"]) <= LEVELS[level + 1]


def test_a_message_of_just_the_levels_size_stays() -> None:
    level = next(n for n in LEVELS if n < 1000)
    exact = "word" + " word" * (level - 1)
    assert tokens.count(exact) == level
    turns = [("user", "hi"), ("assistant", exact), ("user", "and?"), ("assistant", "word " * 3 * level), ("user", "go on")]
    body = {"model": "gpt-4o", "messages": [{"role": role, "content": text} for role, text in turns]}
    _, after = cut_to(body, tokens_of(encoded(body)) - tokens.count("word " * 3 * level) + level)
    assert after["messages"][1] == body["messages"][1]
    assert after["messages"][3] != body["messages"][3]


def test_what_just_fits_is_not_cut() -> None:
    body = encoded(overfull("long chat", 3000, model="gpt-4o"))
    result = cut(read(body), tokens_of(body), FoldOptions(model="gpt-4o"), WARM)
    assert result is None or result.forwarded.body == body


def test_untouched_messages_keep_their_bytes() -> None:
    odd = '{ "role":"user" , "content":"\\u00e9 and 1.0", "x": 1.0e2 }'
    raw = f'{{"model":"gpt-4o","messages":[{odd},{{"role":"assistant","content":{json.dumps("word " * 3000)}}},{odd}]}}'.encode()
    result = cut(read(raw), 600, FoldOptions(model="gpt-4o"), WARM)
    assert result is not None
    assert result.forwarded.body.count(odd.encode()) == 2


def test_the_oldest_go_when_cutting_is_not_enough() -> None:
    body = overfull("long chat", 6000, model="gpt-4o")
    result, after = cut_to(body, 2200)
    count = len(body["messages"])
    recent = -(-count // 5)
    assert result.dropped == count - len(after["messages"]) > 0
    assert after["messages"][0] == body["messages"][0]
    assert after["messages"][-recent + 1 :] == body["messages"][-recent + 1 :]
    assert f"[... {result.dropped} messages left out here ...]" in after["messages"][1]["content"]


@each("short", [1, 150, 300])
def test_no_more_of_the_oldest_go_than_have_to(short: int) -> None:
    """An exchange more in front of a conversation that just fits: at most that one goes, however little is missing."""
    w = Writer(8)
    turns = [m for _ in range(16) for m in (w.user(60), w.assistant(60))]
    body = {"model": "gpt-4o", "messages": [*turns, w.user(20)]}
    result, after = cut_to(body, tokens_of(encoded(body)) - short)
    assert result.shortened == 0
    assert 0 < result.dropped <= 2 * (1 + -(-short // 100))
    assert after["messages"][-20:] == body["messages"][-20:]


def test_two_giants_are_cut_alike() -> None:
    body = overfull("two giant messages", 8000, model="gpt-4o")
    _, after = cut_to(body, 2000)
    sizes = [len(m["content"]) for m in after["messages"] if m["role"] == "user"]
    assert max(sizes) < 1.3 * min(sizes)


def test_every_long_part_of_a_message_is_cut() -> None:
    w = Writer(3)
    parts = [{"type": "text", "text": w.prose(n)} for n in (2000, 20, 2000)]
    parts[0]["cache_control"] = {"type": "ephemeral"}  # type: ignore[assignment]
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": parts}]}
    _, after = cut_to(body, 900)
    assert after["messages"][0]["content"][1] == parts[1]
    assert after["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_long_arguments_stay_the_same_json_with_shorter_strings() -> None:
    w = Writer(4)
    body = overfull("giant tool result", 100, model="gpt-4o")
    arguments = {"path": "/a.py", "text": w.prose(3000), "n": [1.50, {"deep": w.prose(1500)}]}
    body["messages"][2]["tool_calls"][0]["function"]["arguments"] = json.dumps(arguments)
    _, after = cut_to(body, 900)
    short = json.loads(after["messages"][2]["tool_calls"][0]["function"]["arguments"])
    assert short["path"] == "/a.py"
    assert list(short) == list(arguments)
    assert "tokens left out" in short["text"]


def test_signed_messages_are_whole_or_gone() -> None:
    w = Writer(5)
    signed = {
        "role": "assistant",
        "content": w.prose(400),
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "A" * 400}],
    }
    turns = [m for _ in range(12) for m in (w.user(60), signed)]
    body = {"model": "gpt-4o", "messages": [*turns, w.user(30)]}
    _, after = cut_to(body, 2500)
    assert all(m == signed for m in after["messages"] if m["role"] == "assistant")


def test_a_system_message_between_dropped_ones_stays() -> None:
    w = Writer(6)
    turns = [m for _ in range(40) for m in (w.user(30), w.assistant(100))]
    middle = {"role": "developer", "content": "From here on: metric units."}
    _, after = cut_to({"model": "gpt-4o", "messages": [*turns[:20], middle, *turns[20:], w.user(9)]}, 1200)
    assert middle in after["messages"]


@pytest.mark.parametrize("shape", ["giant system prompt", "huge tool schema"])
def test_what_may_not_be_touched_is_not(shape: str) -> None:
    assert cut(read(encoded(overfull(shape, 5000, model="gpt-4o"))), 2000, FoldOptions(model="gpt-4o"), WARM) is None


def test_assistant_text_that_was_cut_does_not_end_in_white_space() -> None:
    body = {
        "model": "gpt-4o",
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "word " * 4000 + "\n \n"},
            {"role": "user", "content": "go on"},
        ],
    }
    _, after = cut_to(body, 400)
    text = after["messages"][1]["content"]
    assert text == text.rstrip()


def test_a_level_stands_while_the_conversation_grows() -> None:
    w = Writer(7)
    messages = [w.user(20), w.assistant(4000), *[m for _ in range(6) for m in (w.user(20), w.assistant(20))], w.user(5)]
    seen = set()
    for _ in range(6):
        messages += [w.assistant(10), w.user(5)]
        _, after = cut_to({"model": "gpt-4o", "messages": messages}, 2000)
        seen.add(after["messages"][1]["content"])
    assert len(seen) <= 2


texts = st.text("ab \n.é字`", max_size=60).map(lambda t: (t + "x") * 40)
messages_of = {
    "user": st.builds(lambda t: {"role": "user", "content": t}, texts),
    "parts": st.builds(
        lambda a, b: {"role": "user", "content": [{"type": "text", "text": a}, {"type": "text", "text": b}]}, texts, texts
    ),
    "assistant": st.builds(lambda t: {"role": "assistant", "content": t}, texts),
    "reasoning": st.builds(lambda t: {"role": "assistant", "content": t, "reasoning_content": t}, texts),
}


@st.composite
def conversations(draw: st.DrawFn) -> Body:
    out: list[Body] = [{"role": "system", "content": "Be brief."}] if draw(st.booleans()) else []
    out += [{"role": "assistant", "content": "Good morning."}] if draw(st.booleans()) else []
    for i in range(draw(st.integers(1, 8))):
        out.append(draw(messages_of[draw(st.sampled_from(["user", "parts"]))]))
        if draw(st.booleans()):
            out += _exchange(draw, i)
        if draw(st.booleans()):
            out.append({"role": draw(st.sampled_from(["system", "developer"])), "content": f"Rule {i}: reply in English."})
        out.append(draw(messages_of[draw(st.sampled_from(["assistant", "reasoning"]))]))
    out.append(draw(messages_of["user"]))
    return {"model": "gpt-4o", "messages": out}


def _exchange(draw: st.DrawFn, number: int) -> list[Body]:
    ids = [f"c{number}_{k}" for k in range(draw(st.integers(1, 3)))]
    arguments = draw(texts.map(lambda t: json.dumps({"a": t})) | st.just('{"a": "par'))
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": arguments}} for i in ids]
    results = [{"role": "tool", "tool_call_id": i, "content": draw(texts)} for i in ids]
    if draw(st.booleans()):
        results.insert(draw(st.integers(0, len(ids))), {"role": "developer", "content": f"Trust no result of {ids[0]}."})
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


@draws(12)
@given(conversations(), st.floats(0.05, 0.95))
def test_any_conversation_fits_well_formed_or_is_left_alone(body: Body, share: float) -> None:
    raw = encoded(body)
    budget = int(tokens_of(raw) * share)
    result = cut(read(raw), budget, FoldOptions(model="gpt-4o"), WARM)
    if result is None:
        return
    sent = result.forwarded.body
    assert tokens_of(sent) <= budget
    assert not set(structure_faults(raw, sent)) - WAIVED
    assert json.loads(sent)["messages"][-1]["role"] == body["messages"][-1]["role"]
    assert cut(read(raw), budget, FoldOptions(model="gpt-4o"), Memo()) == result


@each("place", [3, 4, 5])
def test_instructions_between_a_call_and_its_results_outlive_both(place: int) -> None:
    w = Writer(3)
    calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("a", "b")]
    messages = [
        w.user(40),
        w.assistant(40),
        w.user(40),
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": i, "content": w.prose(150)} for i in ("a", "b")),
        w.assistant(40),
        *(one for _ in range(6) for one in (w.user(150), w.assistant(150))),
        w.user(20),
    ]
    rule = {"role": "system", "content": "Never quote customer names."}
    messages.insert(place + 1, rule)
    result, after = cut_to({"model": "gpt-4o", "messages": messages}, 900)
    assert result.dropped > 5
    assert rule in after["messages"]
    assert not any(one["role"] == "tool" for one in after["messages"])


def test_old_pictures_that_stay_leave_roles_in_turn_where_an_assistant_began() -> None:
    w = Writer(4)
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    messages = [w.assistant(30), *(one for i in range(6) for one in (w.user(120), *w.step(i, 120)))]
    messages += [{"role": "user", "content": [{"type": "text", "text": "Look."}, picture]}, w.assistant(60), w.user(20)]
    messages += [*w.step(9, 60), w.user(20), w.assistant(60), w.user(20)]
    result, _ = cut_to({"model": "gpt-4o", "messages": messages}, 1700)
    assert result.dropped


@each(("model", "learned"), [("claude-opus-5-5", None), ("claude-of-the-house", True), ("claude-3-opus", None)])
def test_thinking_behind_a_cut_goes_where_the_model_binds_it(model: str, learned: bool | None) -> None:
    said = [{"type": "thinking", "thinking": "Hm.", "signature": "s"}, {"type": "text", "text": "Noted."}]
    messages = [
        {"role": "user", "content": "One word after another. " * 2000},
        {"role": "assistant", "content": said},
        {"role": "user", "content": "And now?"},
    ]
    conversation = MESSAGES.read(encoded({"model": model, "max_tokens": 9, "messages": messages}), WARM)
    result = cut(conversation, 2000, FoldOptions(model=model, preserved_thinking=learned), WARM)
    assert result is not None
    assert (b"signature" in result.forwarded.body) is (model == "claude-3-opus")


def test_a_cut_that_broke_a_law_is_not_sent() -> None:
    """Whatever a wire's writer gets wrong shows before the request goes out: here it loses the system message."""
    w = Writer(5)
    received = read(
        encoded({"messages": [{"role": "system", "content": "Never book bay 7."}, w.user(900), w.assistant(40), w.user(20)]})
    )

    def loses_the_first(conversation: Conversation, changes: Changes) -> list[Edit]:
        return CHAT.write(conversation, replace(changes, dropped=((0, 1), *changes.dropped)))

    assert cut(received, 500, FoldOptions(model="gpt-4o"), WARM) is not None
    with pytest.raises(FoldRejected, match="system"):
        cut(replace(received, wire=replace(CHAT, write=loses_the_first)), 500, FoldOptions(model="gpt-4o"), WARM)


@each("loops", every(2, [5, 20, 60], 1))
def test_the_newest_question_stays_however_long_the_tool_loop_behind_it(loops: int) -> None:
    messages: list[Body] = []
    for turn in range(3):
        messages += [
            {"role": "user", "content": prose(turn, "en", 5)},
            {"role": "assistant", "content": prose(90 + turn, "en", 9)},
        ]
    messages.append({"role": "user", "content": "Which bay is free for the ferry from Aarhus?"})
    for step in range(loops):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": prose(500 + step, "en", 25)})
    for budget in (1500, 4000):
        made, sent = cut_to({"model": "gpt-4o", "messages": messages}, budget)
        assert made.tokens <= budget
        assert [one for one in sent["messages"] if one["role"] == "user"][-1] == messages[6]


@each(("share", "is_folded"), [(0.94, True), (0.953, False)])
def test_what_is_older_is_folded_only_where_the_recent_messages_leave_a_twentieth(share: float, is_folded: bool) -> None:
    lengths = [6] * 16 + [6, 400, 6, 6]
    said = [{"role": ("user", "assistant")[i % 2], "content": prose(i, "en", length)} for i, length in enumerate(lengths)]
    body = json.dumps({"model": "gpt-4o", "messages": [*said, {"role": "user", "content": "Which bay is it?"}]}).encode()
    request, memo = read(body), Memo()
    recent = conversation_tokens(replace(request, messages=Messages(request.messages[16:]), schema=""), "gpt-4o", memo)
    options = FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0))
    assert (fold_older(request, int(recent / share), BoundFold(options, memo, fold)) is not None) == is_folded
