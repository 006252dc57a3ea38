"""The demo's conversation in the other formats.

This module turns a chat request into one of ``/v1/responses`` or ``/v1/messages``, with the upstream's answer. ``demo`` plays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import orjson

from turnfold.compression.memo import Memo
from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        body: a request from a model, a system text, chat messages and chat tools.
        answer: an answer from a chat message, and the prompt's tokens with those of them that the cache had.
    """

    wire: Wire
    body: Callable[[str, str, Iterable[Body], Iterable[Body]], Body]
    answer: Callable[[Body, int, int], Body]

    @property
    def path(self) -> str:
        """Where requests go."""
        return f"/v1/{self.wire.name}"

    def texts(self, body: bytes) -> list[Body]:
        """The messages of a request as plain chat messages, calls as text, for counting on both sides of the proxy."""
        return [{"role": message.role, "content": message.text} for message in self.wire.read(body, Memo()).messages]


def _items(message: Body) -> list[Body]:
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    said = [{"type": "message", "role": message["role"], "content": message["content"]}] if message.get("content") else []
    calls = message.get("tool_calls") or ()
    return [*said, *({"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls)]


def _responses_body(model: str, system: str, messages: Iterable[Body], tools: Iterable[Body]) -> Body:
    items = [item for message in messages for item in _items(message)]
    shapes = [{"type": "function", **tool["function"]} for tool in tools]
    return {"model": model, "instructions": system, "input": items, "tools": shapes, "store": False}


def _responses_answer(reply: Body, prompt: int, cached: int) -> Body:
    usage = {"input_tokens": prompt, "output_tokens": 0, "input_tokens_details": {"cached_tokens": cached}}
    return {"id": "resp_demo", "object": "response", "status": "completed", "output": _items(reply), "usage": usage}


def _blocks(message: Body) -> Body:
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        return {"role": "user", "content": [result]}
    said = [{"type": "text", "text": message["content"]}] if message.get("content") else []
    calls = [(call["id"], call["function"]) for call in message.get("tool_calls") or ()]
    uses = [{"type": "tool_use", "id": name, "name": f["name"], "input": orjson.loads(f["arguments"])} for name, f in calls]
    return {"role": message["role"], "content": [*said, *uses]}


def _messages_body(model: str, system: str, messages: Iterable[Body], tools: Iterable[Body]) -> Body:
    shapes = [
        {"name": f["name"], "description": f.get("description", ""), "input_schema": f["parameters"]}
        for f in (tool["function"] for tool in tools)
    ]
    return {"model": model, "max_tokens": 1024, "system": system, "tools": shapes, "messages": list(map(_blocks, messages))}


def _messages_answer(reply: Body, prompt: int, cached: int) -> Body:
    usage = {"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "output_tokens": 0}
    head = {"id": "msg_demo", "type": "message", "role": "assistant", "stop_reason": "end_turn", "stop_sequence": None}
    return {**head, "content": _blocks(reply)["content"], "usage": usage}


#: By name, as in receipts.
FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        "responses": Format(RESPONSES, _responses_body, _responses_answer),
        "messages": Format(MESSAGES, _messages_body, _messages_answer),
    }
)
