"""What stands in a section's place is read off the fold's own edits, whatever form the messages have."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.words import prose
from turnfold.compression.fold import FoldedRequest, Section, fold_request
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.edits import Edit, apply, invert
from turnfold.proxy.books.replaced import with_replacements

Message = dict[str, Any]


def chat(turns: int) -> list[Message]:
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": prose(i, "en", 8)} for i in range(2 * turns + 1)]


def agent(steps: int) -> list[Message]:
    """A task, and a loop of calls with long results."""
    messages: list[Message] = [{"role": "user", "content": "Find the failing pump and say why. " + prose(1, "en", 6)}]
    for step in range(steps):
        call = {"id": f"c{step}", "type": "function", "function": {"name": "read", "arguments": json.dumps({"pump": step})}}
        messages.append({"role": "assistant", "content": prose(step, "en", 3), "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{step}", "content": prose(100 + step, "en", 40)})
    return messages


def folded(messages: list[Message], budget: int | None = None) -> FoldedRequest:
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    made = fold_request(body, FoldOptions(model="gpt-4o", budget=budget), Memo())
    assert made.folded
    return made


def marked(messages: list[Message]) -> list[Message]:
    part = {"type": "text", "text": messages[-1]["content"], "cache_control": {"type": "ephemeral"}}
    return [*messages[:-1], {**messages[-1], "content": [part]}]


def texts_of(body: bytes) -> str:
    contents = [message["content"] for message in json.loads(body)["messages"]]
    return "\n".join(part["text"] for c in contents for part in ([{"text": c}] if isinstance(c, str) else c or []))


@pytest.mark.parametrize("budget", [None, 4000, 1500])
@pytest.mark.parametrize("messages", [chat(60), marked(chat(60)), agent(30)], ids=["chat", "marked", "agent"])
def test_every_section_has_what_stands_in_its_place(messages: list[Message], budget: int | None) -> None:
    made = folded(messages, budget)
    forwarded = texts_of(made.body)
    for section, found in zip(made.sections, with_replacements(made), strict=True):
        assert (found.id, found.level, found.messages, found.tokens) == (
            section.id, section.level, section.messages, section.tokens
        )  # fmt: skip
        instead = [text for text in found.instead if text]
        assert instead
        if found.level == "facts":
            assert len(found.instead) == len(found.messages)
            pairs = [(raw, text) for raw, text in zip(found.messages, found.instead, strict=True) if text]
            assert all(text in forwarded and len(json.dumps(text)) < len(raw) for raw, text in pairs)
        else:
            assert all(text in forwarded for text in instead)
            assert instead[0].startswith(f"[turnfold {section.id}: ")


@pytest.mark.parametrize("own", ['[turnfold 0123456789ab: "', "[turnfold 0123456789ab: \\", '[turnfold 0123456789ab: x\\n"}, {'])
def test_text_that_looks_like_a_marker_does_no_harm(own: str) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "a long text"}]})
    at = body.index("a long text")
    edits = [Edit(at, at + len("a long text"), json.dumps(own)[1:-1])]
    section = Section("0123456789ab", "facts", ('{"role": "user", "content": "a long text"}',), 3)
    made = FoldedRequest(apply(body, edits).encode(), True, "", 9, 3, (section,), invert(body, edits))
    assert with_replacements(made)[0].instead == (own,)
