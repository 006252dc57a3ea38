"""A scripted writer of summaries: what a faithful model would answer to our calls, on any wire.

It reads a call and answers it. Servers are elsewhere.
"""

from __future__ import annotations

import json
import re
from typing import Any

from turnfold.compression import tokens
from turnfold.compression.text.passages import sentences

_LIMIT = re.compile(r"[Aa]t most (\d+) tokens")
_TRANSCRIPT = re.compile(r"<transcript>\n(.*)\n</transcript>", re.DOTALL)


def call_of(body: bytes) -> tuple[str, str]:
    """System text and user text of a call on any wire."""
    value = json.loads(body)
    if "instructions" in value:
        return value["instructions"], value["input"][0]["content"]
    if "system" in value:
        return value["system"], value["messages"][0]["content"]
    system, user = value["messages"]
    return system["content"], user["content"]


def is_call(body: bytes) -> bool:
    """Whether a body is one of our own calls."""
    return b"<transcript>" in body or b"You rate how important" in body or b"as one directive" in body


def faithful(body: bytes) -> str:
    """A summary in the structure (or in prose) that says nothing that is not in the text: its first sentences, as many as fit."""
    system, user = call_of(body)
    text = _TRANSCRIPT.search(user)
    limit = _LIMIT.search(system)
    assert text
    assert limit
    source = re.sub(r"(?m)^\[\w+\] ", "", text[1])
    anchored = "decisions:" in system
    said: list[str] = []
    for start, end in sentences(source, 0, len(source)):
        new = [*said, source[start:end].replace("\n", " ").replace(";", ",")]
        if tokens.count(_written(new, anchored=anchored)) > int(limit[1]):
            break
        said = new
    return _written(said, anchored=anchored)


def _written(said: list[str], *, anchored: bool) -> str:
    return "facts:\n" + "\n".join(f"- {one}" for one in said) if anchored else " ".join(said)


def answer(wire: str, text: str, *, prompt: int = 1000, completion: int = 100, ended: str = "") -> bytes:
    """An upstream's answer."""
    body: dict[str, Any]
    if wire == "messages":
        usage = {"input_tokens": prompt, "output_tokens": completion}
        body = {
            "type": "message",
            "content": [{"type": "text", "text": text}],
            "stop_reason": ended or "end_turn",
            "usage": usage,
        }
    elif wire == "responses":
        parts = [{"type": "output_text", "text": text}]
        output = [{"type": "reasoning", "summary": []}, {"type": "message", "content": parts}]
        told = {"input_tokens": prompt, "output_tokens": completion, "input_tokens_details": {"cached_tokens": 0}}
        body = {"object": "response", "status": ended or "completed", "output": output, "usage": told}
    else:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": ended or "stop"}
        body = {"choices": [choice], "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}
    return json.dumps(body).encode()
