"""Request bodies as bytes and as messages.

It finds the byte span of every message, the text that a message holds, and where a conversation is sent. Nothing is judged here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

Message = dict[str, Any]

INSTRUCTING: Final = frozenset({"system", "developer"})
_BLANK: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


def encode(messages: list[Message], **keys: Any) -> bytes:
    """A compact body as SDKs send it."""
    body = {"model": "gpt-4o", **keys, "messages": messages}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def messages_of(body: bytes) -> list[Message]:
    """The parsed messages of a body."""
    found: list[Message] = json.loads(body)["messages"]
    return found


def raw_messages(body: bytes) -> list[str]:
    """The JSON text of every message, as it stands in the body."""
    text = body.decode()
    at = _messages_start(text)
    spans = []
    while text[at := _skip(text, at)] != "]":
        at = _skip(text, at + 1) if text[at] == "," else at
        _, end = _DECODER.raw_decode(text, at)
        spans.append(text[at:end])
        at = end
    return spans


def _messages_start(text: str) -> int:
    """Where the array of the last top-level ``messages`` key begins, behind its bracket."""
    at = _skip(text, _skip(text, 0) + 1)
    start = None
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if key == "messages":
            start = at + 1
        _, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    if start is None:
        raise KeyError("messages")
    return start


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def text_of(message: Message) -> str:
    """The text content of a message, parts joined by newlines; without calls."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def last_user(messages: list[Message]) -> int | None:
    """Index of the last user message."""
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i].get("role") == "user"), None)


def cuts(messages: Sequence[Message]) -> list[int]:
    """Where a client sends: before each assistant message that answers something, and at the end if that waits for an answer."""
    found = [i for i, message in enumerate(messages) if message.get("role") == "assistant" and i > 0]
    if messages and messages[-1].get("role") != "assistant":
        found.append(len(messages))
    return found
