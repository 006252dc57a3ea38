"""An upstream that answers every format, streamed or not: for real clients that are tried through a proxy.

    python -m tests.support.answering_upstream 9100 [LOG]     # writes a line for each request

It gives the smallest answers that official SDKs and agents accept: one text or one tool call, with usage. What the real APIs
refuse is in ``messages_api`` and ``responses_rules``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.types import Receive, Scope, Send

Body = dict[str, Any]
Event = tuple[str | None, Body]

SAID: Final = "A heron is a long-legged wading bird."
_CACHED: Final = 128


def usage_of(size: int) -> tuple[int, int]:
    """Tokens of a body of `size` bytes, and how many of them came from the cache; rough, but never more than the body."""
    return size // 4, min(_CACHED, size // 8)


class Answers:
    """What is answered: `said`, or a call of `call`'s tool, once for each of the client's messages, where it has that tool."""

    def __init__(self, said: str = SAID, call: tuple[str, Body] | None = None) -> None:
        self.said = said
        self.call = call

    def chat(self, body: Body, size: int) -> Body:
        """A chat completion."""
        prompt, cached = usage_of(size)
        message: Body = {"role": "assistant", "content": self.said}
        if self._calls(body):
            name, arguments = self.call or ("", {})
            function = {"name": name, "arguments": json.dumps(arguments)}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
            }
        reason = "tool_calls" if "tool_calls" in message else "stop"
        details = {"prompt_tokens_details": {"cached_tokens": cached}}
        usage = {"prompt_tokens": prompt, "completion_tokens": 12, "total_tokens": prompt + 12, **details}
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"]}
        return {**head, "choices": [choice], "usage": usage}

    def responses(self, body: Body, size: int) -> Body:
        """A response."""
        prompt, cached = usage_of(size)
        part = {"type": "output_text", "text": self.said, "annotations": [], "logprobs": []}
        item: Body = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        if self._calls(body):
            name, arguments = self.call or ("", {})
            item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "status": "completed"}
            item["arguments"] = json.dumps(arguments)
        usage: Body = {"input_tokens": prompt, "output_tokens": 12, "total_tokens": prompt + 12}
        usage |= {"input_tokens_details": {"cached_tokens": cached}, "output_tokens_details": {"reasoning_tokens": 0}}
        head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": body["model"]}
        fixed: Body = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None, "metadata": {}}
        return {**head, **fixed, "incomplete_details": None, "instructions": None, "output": [item], "usage": usage}

    def messages(self, body: Body, size: int) -> Body:
        """A message."""
        prompt, cached = usage_of(size)
        block: Body = {"type": "text", "text": self.said}
        if self._calls(body):
            name, arguments = self.call or ("", {})
            block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
        usage = {"input_tokens": prompt - cached, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [block]}
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        return {**head, "stop_reason": reason, "stop_sequence": None, "usage": {**usage, "output_tokens": 12}}

    def _calls(self, body: Body) -> bool:
        """Whether it is the tool's turn: the client has it, and its last message is no tool's result."""
        names = {tool.get("name") or tool.get("function", {}).get("name") for tool in body.get("tools") or ()}
        last = (body.get("messages") or body.get("input") or [""])[-1]
        return self.call is not None and self.call[0] in names and "tool_" not in json.dumps(last) and "_output" not in str(last)


def chat_events(answer: Body) -> Iterator[Event]:
    """A chat completion as a stream."""
    choice = answer["choices"][0]
    head = {**{key: answer[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    delta = {**choice["message"]}
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": 0, **delta["tool_calls"][0]}]
    yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield None, {**head, "choices": [], "usage": answer["usage"]}


def responses_events(answer: Body) -> Iterator[Event]:
    """A response as a stream."""
    item = answer["output"][0]
    place = {"output_index": 0, "item_id": item["id"]}
    started = {**answer, "status": "in_progress", "output": [], "usage": None}
    events: list[Body] = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
    ]
    if item["type"] == "message":
        part, inside = item["content"][0], {**place, "content_index": 0}
        empty = {**item, "status": "in_progress", "content": []}
        events += [
            {"type": "response.output_item.added", "output_index": 0, "item": empty},
            {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}},
            {"type": "response.output_text.delta", **inside, "delta": part["text"], "logprobs": []},
            {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []},
            {"type": "response.content_part.done", **inside, "part": part},
        ]
    else:
        events += [
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
            {"type": "response.function_call_arguments.delta", **place, "delta": item["arguments"]},
            {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]},
        ]
    events += [{"type": "response.output_item.done", "output_index": 0, "item": item}]
    events += [{"type": "response.completed", "response": answer}]
    for number, event in enumerate(events):
        yield event["type"], {**event, "sequence_number": number}


def messages_events(answer: Body) -> Iterator[Event]:
    """A message as a stream."""
    block = answer["content"][0]
    if block["type"] == "text":
        empty: Body = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    end = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": end, "usage": {"output_tokens": 12}},
        {"type": "message_stop"},
    ):
        yield str(event["type"]), event


_STREAMS: Final = {"chat": chat_events, "responses": responses_events, "messages": messages_events}


def wire_of(path: str) -> str | None:
    """The format of a path; None for paths of other kinds."""
    endings = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
    return next((wire for ending, wire in endings.items() if path.endswith(ending)), None)


def encode(events: Iterator[Event], wire: str) -> bytes:
    """Server-sent events."""
    lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events]
    return "".join([*lines, "data: [DONE]\n\n"] if wire == "chat" else lines).encode()


class AnsweringUpstream:
    """The ASGI app.

    Attributes:
        log: a line for each request: method, path, format, model, bytes, names of headers.
    """

    def __init__(self, answers: Answers | None = None, log: Path | None = None) -> None:
        self.answers = answers or Answers()
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        data, more = b"", True
        while more:
            message = await receive()
            data += message.get("body", b"")
            more = message.get("more_body", False)
        wire = wire_of(scope["path"]) if scope["method"] == "POST" else None
        body = json.loads(data) if wire else {}
        self._note(scope, wire, body, data)
        if wire is None:
            await _send(send, _other(scope["path"]), b"application/json")
            return
        answer: Body = getattr(self.answers, wire)(body, len(data))
        if body.get("stream"):
            await _send(send, encode(_STREAMS[wire](answer), wire), b"text/event-stream")
        else:
            await _send(send, json.dumps(answer).encode(), b"application/json")

    def _note(self, scope: Scope, wire: str | None, body: Body, data: bytes) -> None:
        if self._log is None:
            return
        names = {key.decode(): value.decode("latin-1")[:60] for key, value in scope["headers"]}
        line = {"method": scope["method"], "path": scope["path"], "wire": wire, "model": body.get("model"), "bytes": len(data)}
        with self._log.open("a") as log:
            log.write(json.dumps({**line, "headers": names, "keys": sorted(body)}) + "\n")


def _other(path: str) -> bytes:
    if path.endswith("/count_tokens"):
        return b'{"input_tokens": 10}'
    if path.endswith("/models"):
        return b'{"object": "list", "data": [{"id": "gpt-4o", "object": "model", "created": 1, "owned_by": "me"}]}'
    return b"{}"


async def _send(send: Send, body: bytes, kind: bytes) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    where = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    uvicorn.run(AnsweringUpstream(log=where), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
