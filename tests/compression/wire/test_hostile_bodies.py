"""Bodies that are nearly right: each wire reads them or says that it can't, and nothing else is raised."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from tests.support.effort import is_thorough
from tests.support.warm import WARM
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fold import fold
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

CALL = {"id": "a", "type": "function", "function": {"name": "n", "arguments": '{"x": 1}'}}
TURNS: dict[str, list[Any]] = {
    "chat": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": "http://h/x.png"}}],
        },
        {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_details": [{"type": "x", "data": "y"}]},
        {"role": "tool", "tool_call_id": "a", "content": "found " * 30},
        {"role": "assistant", "content": "done"},
    ],
    "responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "x" * 80},
        {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "found " * 30}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    ],
    "messages": [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "n", "input": {"type": ["any"]}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "found " * 30}]},
                {"type": "document", "source": {"type": "text", "data": "d", "media_type": "text/plain"}},
            ],
        },
    ],
}
BODIES: dict[str, dict[str, Any]] = {
    "chat": {"model": "m", "messages": TURNS["chat"] * 3},
    "responses": {"model": "m", "store": False, "instructions": "i", "input": TURNS["responses"] * 3},
    "messages": {"model": "claude-opus-5-5", "max_tokens": 9, "system": [{"type": "text", "text": "s"}]}
    | {"messages": TURNS["messages"] * 3},
}
JUNK: list[Any] = [None, 0, True, "", [], {}, [None], [[]], {"type": None}, {"type": []}, {"type": "text", "text": None}]
JUNK += [{"type": "compaction"}, {"role": "user"}, [{"type": "tool_result"}], {"type": {"type": "x"}}, "\ud800"]


def spoiled(value: Any, random: Random) -> Any:
    """The same with a few things replaced or left out."""
    if random.random() < 0.012:
        return random.choice(JUNK)
    if isinstance(value, dict):
        return {key: spoiled(inner, random) for key, inner in value.items() if random.random() > 0.008}
    return [spoiled(inner, random) for inner in value if random.random() > 0.008] if isinstance(value, list) else value


@pytest.mark.parametrize("wire", [CHAT, RESPONSES, MESSAGES], ids=lambda wire: wire.name)
def test_nothing_but_a_rejection_is_raised(wire: Wire) -> None:
    random, folded = Random(5), 0
    for number in range(150 if is_thorough() else 50):
        body = json.dumps(spoiled(BODIES[wire.name], random)).encode()
        try:
            conversation = wire.read(body, WARM)
        except FoldRejected as exc:
            assert exc.reason == "unparsable"  # noqa: PT017 - most are read
            continue
        result = fold(conversation, FoldOptions(budget=(None, 5, 60)[number % 3]), WARM)
        assert result.body == body or result.folded
        assert wire.unmarked(conversation)
        assert wire.reply(conversation, "x", 1).pieces
        folded += result.folded
    assert folded > 6
