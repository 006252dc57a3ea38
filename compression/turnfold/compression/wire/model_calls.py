"""Our own calls of a model, on any of the three wires.

This module writes the body of a call and reads its answer. What is asked is up to ``summary``; sending and headers are up to the
shell.

Calls are not stored upstream (``store`` is false), and not streamed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

from turnfold.compression import lazy
from turnfold.compression.summary.calls import ModelCall, ModelReply

WireName = Literal["chat", "responses", "messages"]

#: Paths under an upstream's ``/v1``.
PATHS: Final[Mapping[str, str]] = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
#: OpenAI's models that think first: no temperature, and the limit holds thoughts too (OpenAI, "Reasoning models").
_THINKS: Final = lazy.pattern(r"(?:^|/)(?:o[1-9]\b|gpt-5)", re.IGNORECASE)
_FOR_THOUGHTS: Final = 2_000


def write_call(wire: WireName, model: str, call: ModelCall) -> bytes:
    """The body of a call."""
    thinks = bool(_THINKS.search(model))
    most = call.max_tokens + _FOR_THOUGHTS if thinks else call.max_tokens
    heat = {} if thinks else {"temperature": call.temperature}
    user = {"role": "user", "content": call.user}
    if wire == "responses":
        body = {"model": model, "instructions": call.system, "input": [user], "max_output_tokens": most, "store": False, **heat}
    elif wire == "messages":
        body = {"model": model, "system": call.system, "messages": [user], "max_tokens": most, **heat}
    else:
        limit = "max_completion_tokens" if thinks else "max_tokens"
        body = {"model": model, "messages": [{"role": "system", "content": call.system}, user], limit: most, **heat}
    return json.dumps(body, separators=(",", ":")).encode("ascii")  # a lone surrogate stays an escape


def read_reply(wire: WireName, body: bytes) -> ModelReply | None:
    """The reply; None if the body cannot be read or has no text."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    text, ended = _READERS[wire](value)
    return None if text is None else ModelReply(text, ended not in ("length", "max_tokens", "incomplete"))


def _chat(value: dict[str, Any]) -> tuple[str | None, Any]:
    choices = value.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return (content if isinstance(content, str) else _joined(content)), choice.get("finish_reason")


def _responses(value: dict[str, Any]) -> tuple[str | None, Any]:
    output = value.get("output")
    parts = [part for item in _dicts(output) if item.get("type", "message") == "message" for part in _dicts(item.get("content"))]
    return _joined(parts), value.get("status")


def _messages(value: dict[str, Any]) -> tuple[str | None, Any]:
    return _joined(value.get("content")), value.get("stop_reason")


def _joined(parts: Any) -> str | None:
    """The joined texts of parts; None if there are none."""
    texts = [
        part["text"]
        for part in _dicts(parts)
        if part.get("type") in ("text", "output_text") and isinstance(part.get("text"), str)
    ]
    return "".join(texts) if texts else None


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


_READERS: Final[Mapping[str, Callable[[dict[str, Any]], tuple[str | None, Any]]]] = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
}
