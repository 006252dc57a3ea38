"""What bodies are read as, and what is answered to them (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.support import golden, odd_bodies
from tests.support.block_conversations import Kind, conversation
from tests.support.cases import each
from tests.support.three_wires import WIRES, with_marks
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold import conversation_tokens
from turnfold.compression.memo import Memo
from turnfold.compression.summary.calls import ModelCall
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.model_calls import WireName, read_reply, write_call
from turnfold.compression.wire.wires import read_any

FILES = Path(__file__).parent / "golden"
#: Keys beside the messages, of which each wire knows some.
TOP: tuple[dict[str, Any], ...] = (
    {},
    {"stream": True, "max_tokens": 900, "stream_options": {"include_usage": True}},
    {
        "max_completion_tokens": 77,
        "response_format": {"type": "json_object"},
        "prompt_cache_key": "k",
        "metadata": {"user_id": "u"},
    },
    {"max_output_tokens": 500, "previous_response_id": "resp_1", "text": {"format": {"type": "text"}}, "store": True},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}, "cache_control": {"type": "ephemeral"}, "stream": True},
    {"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}, "n": 2, "functions": [{"name": "f"}]},
)


def every(request: Conversation) -> list[Any]:
    """All of a conversation that can be told, without what a message's wire has looked up; sets in an order of their own."""
    told = [
        [
            sorted(value) if isinstance(value := getattr(one, part.name), frozenset) else value
            for part in fields(one)
            if part.name != "written"
        ]
        for one in request.messages
    ]
    left_out = {"wire", "messages", "state", "text", "encoded"}
    return [told, [getattr(request, one.name) for one in fields(request) if one.name not in left_out]]


@each("wire", sorted(WIRES))
def test_reading_writing_and_answering(wire: str) -> None:
    lines, on = [], WIRES[wire]
    for seed, top in enumerate(TOP):
        messages = conversation(40 + seed, Kind(turns=3, loops=2, sentences=4, odd=True, thinks=0.4))
        body = json.dumps(json.loads(on.encode(with_marks(messages, [2, len(messages) - 1]))) | top).encode()
        request = on.wire.read(body, Memo())
        first = next(i for i, one in enumerate(request.messages) if not one.pinned)
        texts = {
            i: {text.path: text.text[:20] for text in one.texts if text.text[:20].strip()}
            for i, one in enumerate(request.messages)
        }
        changed = request.with_changes(Changes(dropped=((first + 1, first + 2),)), Memo())
        shortened = request.with_changes(Changes(texts={i: new for i, new in texts.items() if new and i > first + 1}), Memo())
        answered = on.wire.reply(request, "Done: docker is prohibited.", 1_760_000_000)
        counted = [conversation_tokens(request, model, Memo()) for model in ("gpt-4o", "claude-sonnet-4-5", "gpt-4")]
        names = [every(request), changed.body, shortened.body, on.wire.unmarked(request), answered]
        lines.append(f"{seed}: {len(request.messages)} messages, {counted} tokens, {' '.join(map(golden.name_of, names))}")
    golden.agrees(FILES / f"{wire}.txt", lines)


def outcome(wire: str, seed: int) -> list[Any]:
    """What is read from a body of odd parts, and what it is with changes; why not, where it is left alone."""
    on, body = WIRES[wire].wire, odd_bodies.body(wire, seed)
    try:
        request = on.read(body, Memo())
    except FoldRejected as rejected:
        return [rejected.reason]
    counted = [conversation_tokens(request, model, Memo()) for model in ("gpt-4o", "claude-sonnet-4-5", "gpt-4")]
    unsigned = [one.unsigned.tokens for one in request.messages]
    told = [every(request), counted, unsigned, on.unmarked(request), on.reply(request, "Done.", 1_760_000_000)]
    for i in range(2):
        try:
            told.append(request.with_changes(odd_bodies.changes(2 * seed + i, request), Memo()).body)
        except FoldRejected as rejected:
            told.append(rejected.reason)
    return told


@pytest.mark.parametrize("wire", sorted(WIRES))
def test_bodies_of_odd_parts(wire: str) -> None:
    lines = []
    for first in golden.some(range(0, 240, 30)):
        outcomes = [outcome(wire, seed) for seed in range(first, first + 30)]
        read = sum(len(one) > 1 for one in outcomes)
        lines.append(f"{first}: {read} read, {golden.name_of(outcomes)}")
    golden.agrees_in(FILES / f"odd.{wire}.txt", lines)


@each("wire", sorted(WIRES))
def test_every_item_alone(wire: str) -> None:
    """What each is read as, what it weighs, and the body without its marks and with changes."""
    lines = []
    for number, body in enumerate(odd_bodies.each_alone(wire)):
        try:
            request = WIRES[wire].wire.read(body, Memo())
        except FoldRejected as rejected:
            lines.append(f"{number} {rejected.reason}")
            continue
        one = request.messages[1]
        counted = [conversation_tokens(request, model, Memo()) for model in ("gpt-4o", "claude-sonnet-4-5")]
        told = [every(request), WIRES[wire].wire.unmarked(request), read_any(body, Memo()).wire.name]
        for seed in range(3):
            try:
                told.append(request.with_changes(odd_bodies.changes(seed, request), Memo()).body)
            except FoldRejected as rejected:
                told.append(rejected.reason)
        seen = f"{one.role} {one.tokens} {one.unsigned.tokens} {len(one.texts)} {len(one.attached)} {one.sealed} {one.marked}"
        lines.append(f"{number} {seen} {counted} {golden.name_of(told)}")
    golden.agrees(FILES / f"alone.{wire}.txt", lines)


#: What a model answers on each wire: several parts, some of them no text.
REPLIES: dict[WireName, dict[str, Any]] = {
    "chat": {
        "choices": [
            {"message": {"role": "assistant", "content": [{"type": "text", "text": "Bay 4."}, {"type": "x", "text": "-"}]}},
            {"message": {"content": "Bay 5."}, "finish_reason": "length"},
        ],
    },
    "responses": {
        "status": "incomplete",
        "output": [
            {"type": "reasoning", "content": [{"type": "text", "text": "Hm."}]},
            {"content": [{"type": "output_text", "text": "Bay 4."}, {"type": "text", "text": " Bay 5."}]},
            {"type": "message", "content": [{"type": "refusal", "text": "No."}, {"type": "output_text", "text": ""}]},
        ],
    },
    "messages": {
        "stop_reason": "max_tokens",
        "content": [{"type": "thinking", "text": "Hm."}, {"type": "text", "text": "Bay 4."}, {"type": "text", "text": " Yes."}],
    },
}


def test_calls_of_ours_and_what_is_read_of_the_answers() -> None:
    lines = []
    for wire, answered in REPLIES.items():
        for model in ("gpt-4o", "gpt-5-mini", "o3", "claude-sonnet-4-5", ""):
            calls = [ModelCall("summary", "Be short.", "Which bay?\ud800", 64, heat) for heat in (0.0, 0.7)]
            lines += [write_call(wire, model, call).decode() for call in calls]
        plain = json.loads(json.dumps(answered).replace('"incomplete"', '"completed"'))
        for seed in range(60):
            body = json.dumps(odd_bodies.spoiled((answered, plain)[seed % 2], seed)).encode()
            lines.append(f"{wire} {seed} {read_reply(wire, body)}")
    lines += [f"{body!r} {read_reply('chat', body)}" for body in (b"", b"[]", b"{", b"[" * 9000, b"7")]
    golden.agrees(FILES / "calls.txt", [line[:300] for line in lines])
