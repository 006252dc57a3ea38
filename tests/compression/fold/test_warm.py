"""A memo saves time and changes nothing: what comes out of a conversation's next request is what comes out of a fresh engine."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import costly, every
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.tokens import BORDER_COUNTER, ModelCounter, count, count_line, count_tail, count_with_tail
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.proxy.trails.trail import trails_of

_HISTORY: dict[Wire, str] = {CHAT: "messages", RESPONSES: "input", MESSAGES: "messages"}
_WORDS = (
    "crane",
    "pier",
    "crates",
    "harbour",
    "Anna",
    "lifted",
    "manifest",
    "48 kg",
    "a-17",
    "nicht",
    "港口",
    "release_2",
    "never ask",
)
_STEPS = st.lists(st.sampled_from(["grow", "grow", "grow", "loop", "edit", "cut", "other", "mark"]), min_size=3, max_size=5)


def _said(draw: random.Random, role: str) -> dict[str, Any]:
    text = "".join(draw.choice(_WORDS) + draw.choice([" ", " ", ". ", "\n", "\n\n"]) for _ in range(draw.randint(20, 200)))
    return {"role": role, "content": text if draw.random() < 0.97 else f"<keep>{text}</keep>"}


def _tool_loop(draw: random.Random, number: int) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "look_up", "arguments": json.dumps({"n": number})}}
    rows = json.dumps([{"crane": i, "load": draw.randint(1, 99)} for i in range(draw.randint(3, 60))])
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": rows},
    ]


def _next(draw: random.Random, turns: list[dict[str, Any]], step: str, *, tools: bool) -> list[dict[str, Any]]:
    """The conversation's next request: longer, changed in the middle, cut, or with a cache mark that has moved."""
    grown = [*turns, *(_said(draw, role) for _ in range(3) for role in ("assistant", "user"))]
    if step == "loop" and tools:
        return [*turns, *_tool_loop(draw, len(turns))]
    if step == "edit":
        at = draw.randrange(len(turns))
        return [
            *turns[:at],
            *([_said(draw, turns[at]["role"])] if not turns[at].get("tool_calls") else [turns[at]]),
            *grown[at + 1 :],
        ]
    if step == "cut":
        users = [i for i, turn in enumerate(turns) if turn["role"] == "user"]
        return turns[: draw.choice(users) + 1]
    if step == "mark" and isinstance(grown[-1]["content"], str):
        part = {"type": "text", "text": grown[-1]["content"], "cache_control": {"type": "ephemeral"}}
        return [*grown[:-1], {"role": "user", "content": [part]}]
    return grown


def _outcome(wire: Wire, turns: list[dict[str, Any]], options: FoldOptions, memo: Memo) -> tuple[Any, ...]:
    body = json.dumps({"model": "gpt-4o", "max_tokens": 9, _HISTORY[wire]: turns, "tools": []}, ensure_ascii=False).encode()
    read = wire.read(body, memo)
    found = fold(read, options, memo)
    assert all(recalled.tokens == count(recalled.text) for recalled in found.recalls.values())
    told = (found.body, found.tokens_before, found.tokens_after, found.reason, found.events, found.outlook, found.decided)
    return *told, found.sections, found.recalls, trails_of(read, found.forwarded, memo if memo.find("kept") else None)


@costly(1)
@example(["edit", "grow", "grow"], 431078, CHAT, None)  # a unit beside a kept message
@given(_STEPS, st.integers(0, 10**6), st.sampled_from(list(_HISTORY)), st.sampled_from([None, None, 1500]))
def test_requests_of_two_tenants_in_turn_come_out_as_from_a_fresh_engine(
    steps: list[str], seed: int, wire: Wire, budget: int | None
) -> None:
    draw, shared = random.Random(seed), Memo()
    shared.put("kept", True, lambda _: 1)
    options = FoldOptions(model="gpt-4o", budget=budget)
    first = [{"role": "user", "content": "Keep the harbour log."}, *(_said(draw, r) for r in ("assistant", "user") * 12)]
    talks = [list(first), list(first)]  # they begin alike, and part
    for step in steps:
        if step == "other":
            talks.reverse()
        talks[0] = _next(draw, talks[0], step, tools=wire is CHAT)
        expected = _outcome(wire, talks[0], options, Memo())
        assert _outcome(wire, talks[0], options, shared) == expected


def _agents_turn(draw: random.Random, wire: Wire, number: int) -> list[dict[str, Any]]:
    """A call, or two at once, and their results, in a wire's own form; results of two calls in one message or in two."""
    names = [f"c{number}{letter}" for letter in "ab"[: draw.randint(1, 2)]]
    rows = [json.dumps([{"crane": i, "load": draw.randint(1, 99)} for i in range(draw.randint(3, 60))]) for _ in names]
    if wire is CHAT:
        calls = [{"id": name, "type": "function", "function": {"name": "look_up", "arguments": "{}"}} for name in names]
        results = [{"role": "tool", "tool_call_id": name, "content": text} for name, text in zip(names, rows, strict=True)]
        return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
    if wire is RESPONSES:
        made = [{"type": "function_call", "call_id": name, "name": "look_up", "arguments": "{}"} for name in names]
        given = [
            {"type": "function_call_output", "call_id": name, "output": text} for name, text in zip(names, rows, strict=True)
        ]
        return [*made, *given]
    uses = [{"type": "tool_use", "id": name, "name": "look_up", "input": {}} for name in names]
    blocks = [{"type": "tool_result", "tool_use_id": name, "content": text} for name, text in zip(names, rows, strict=True)]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": blocks}]


def _marked(wire: Wire, turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last messages that can have one with cache marks, as agents set them: in the next request they have moved on."""
    turns, mark = list(turns), {"cache_control": {"type": "ephemeral"}}
    able = [i for i, turn in enumerate(turns) if turn.get("role") == "user"]
    for at in able[-2:]:
        content = turns[at]["content"]
        kind = "input_text" if wire is RESPONSES else "text"
        blocks = [{"type": kind, "text": content}] if isinstance(content, str) else content
        turns[at] = {**turns[at], "content": [*blocks[:-1], {**blocks[-1], **mark}]}
    return turns


def _parted(turns: list[dict[str, Any]], at: int) -> list[dict[str, Any]]:
    """The same with two results of one message in two: the same messages to us, in another body."""
    blocks = turns[at].get("content")
    if not (isinstance(blocks, list) and len(blocks) == 2 and blocks[0]["type"] == "tool_result"):
        return turns
    return [*turns[:at], *({"role": "user", "content": [block]} for block in blocks), *turns[at + 1 :]]


@costly(2)
@given(
    st.lists(st.sampled_from(["talk", "loop", "loop", "edit", "cut", "part"]), min_size=3, max_size=6),
    st.integers(0, 10**6),
    st.sampled_from(list(_HISTORY)),
)
def test_an_agents_session_whose_cache_marks_move_comes_out_as_from_a_fresh_engine(
    steps: list[str], seed: int, wire: Wire
) -> None:
    draw, shared = random.Random(seed), Memo()
    shared.put("kept", True, lambda _: 1)
    options = FoldOptions(model="claude-sonnet-4-5" if wire is MESSAGES else "gpt-4o", cache_breakpoints=wire is RESPONSES)
    turns = [{"role": "user", "content": "Find the crane that lifted most, and never touch a manifest."}]
    for number, step in enumerate(steps):
        if step == "talk":
            turns = [*turns, _said(draw, "assistant"), _said(draw, "user")]
        elif step in ("cut", "edit"):
            users = [i for i, turn in enumerate(turns) if turn.get("role") == "user" and isinstance(turn["content"], str)]
            turns = [*turns[: draw.choice(users)], _said(draw, "user")]
        elif step == "part":
            turns = _parted(turns, draw.randrange(len(turns)))
        else:
            turns = [*turns, *(one for n in range(3) for one in _agents_turn(draw, wire, 10 * number + n))]
        sent = _marked(wire, turns)
        assert _outcome(wire, sent, options, shared) == _outcome(wire, sent, options, Memo())


@given(st.lists(st.text(max_size=60), min_size=1, max_size=8), st.text(max_size=20))
def test_lines_that_were_counted_apart_come_to_the_whole(lines: list[str], before: str) -> None:
    apart = ["<quotes>\n", *[f"user: {line}\n" for line in lines], "</quotes>" + " word" * 120]
    text = "".join(apart)
    for counter in (BORDER_COUNTER, ModelCounter("cl100k_base"), ModelCounter(None)):
        counts = [count_line(line, counter) for line in apart]
        assert max(map(sum, zip(*filter(None, counts), strict=True))) == counter(text)
        assert None not in counts
    for counter in (BORDER_COUNTER, ModelCounter("cl100k_base"), ModelCounter(None)):
        memo = Memo()
        count_tail(text, dict(zip(counter.vocabularies, counter.each(text), strict=True)), memo)
        whole = f"{before}\n\n{text}"
        assert counter.with_tail(whole, memo) == counter(whole)
        assert count_with_tail(whole, memo) == count(whole)


@each("line", ["3: x\n", "é: x\n", "\n", "", "a" * 2001, f"user: x\n{'y' * 2000}\n"])
def test_a_line_that_others_may_go_on_in_is_not_counted_alone(line: str) -> None:
    assert count_line(line, BORDER_COUNTER) is None


@each("run", [" " * 4000, "x" * 20000, "\n" * 4001])
def test_long_runs_are_found_by_samples(run: str) -> None:
    memo, tail = Memo(), "<quotes>" + " word" * 200
    count_tail(tail, {"o200k_base": count(tail)}, memo)
    for front in ("", "a", "ab c" * 77):
        text = f"{front}{run}\n{tail}"
        assert count_with_tail(text, memo) == count(text)


_AROUND = (
    "\n",
    "\n\n",
    "\n/",
    "/",
    " the key",
    "don't",
    " 'twas",
    "I'll",
    "-",
    "Über",
    "。",
    "报告",
    "\n报",
    "\r\n",
    "a\u0301",
    "_x",
    " 12",
)
_VERY_LONG = (
    "word and more " * 4000,
    "报告了泄漏。\n" * 8000,
    "报告了泄漏。" * 9000,
    "7f" * 26_000,
    "- a: b\n\n" * 7000,
    " " * 51_000,
)


@each("inner", every(3, [*_VERY_LONG], 2))
def test_what_is_written_around_a_very_long_text_is_counted_alone(inner: str) -> None:
    memo, draw = Memo(), random.Random(7)
    for vocabulary in BORDER_COUNTER.vocabularies + ModelCounter("cl100k_base").vocabularies:
        assert count_with_tail(inner, memo, vocabulary) == count(inner, vocabulary)
        for _ in range(2):
            before, behind = ("".join(draw.choices(_AROUND, k=draw.randint(0, 3))) for _ in range(2))
            text = f"{before}{inner}{behind}"
            assert count_with_tail(text, memo, vocabulary) == count(text, vocabulary)
