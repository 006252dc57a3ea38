"""A context that is found full when an answer has begun, on each wire. One that has said something is lost, the next one is not.

These tests show what is done about a stream that breaks off. They leave out overflows told before the first word
(``test_recovery``), reading the stream (``test_usage``).
"""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import StartProxy, UpstreamServer, call, reply, until
from tests.support.overflow_upstream import count_text
from tests.support.overfull import overfull
from tests.support.warm import warm_fold

WINDOW = 3000
TOLD = {"message": f"prompt is too long: 6000 tokens > {WINDOW} maximum", "type": "invalid_request_error"}
UNTOLD = {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}
WORD: dict[str, dict[str, Any]] = {
    "chat": {"choices": [{"index": 0, "delta": {"content": "It lifts"}}]},
    "messages": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It lifts"}},
    "responses": {"type": "response.output_text.delta", "delta": "It lifts"},
}
BREAK: dict[str, dict[str, Any]] = {
    "chat": {"error": TOLD},
    "messages": {"type": "error", "error": TOLD},
    "responses": {"type": "response.failed", "response": {"status": "failed", "error": UNTOLD, "usage": None}},
}
END: dict[str, dict[str, Any]] = {
    "chat": {"choices": [], "usage": {"prompt_tokens": 900, "completion_tokens": 1, "total_tokens": 901}},
    "messages": {"type": "message_stop"},
    "responses": {"type": "response.completed", "response": {"error": None, "output": []}},
}
FLAT = {"type": "error", **UNTOLD, "param": None, "sequence_number": 4}
EMPTY: dict[str, dict[str, Any]] = {
    "chat": {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
    "messages": {"type": "message_start", "message": {"content": [], "usage": {"input_tokens": 900, "output_tokens": 1}}},
    "responses": {"type": "response.created", "response": {"error": None, "output": []}},
}
HEADERS = [("content-type", "application/json"), ("authorization", "Bearer k")]
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


def events(told: list[dict[str, Any]]) -> bytes:
    """A stream; events have names where they have types."""
    names = [b"event: %b\n" % one["type"].encode() if "type" in one else b"" for one in told]
    return b"".join(b"%bdata: %b\n\n" % (name, json.dumps(one).encode()) for name, one in zip(names, told, strict=True))


def answers(upstream: UpstreamServer, begin: dict[str, Any], broken: dict[str, Any], end: dict[str, Any]) -> None:
    """Let an upstream stream answers that break off where the context is full."""

    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        full = count_text(upstream.seen[-1].body.decode()) > WINDOW
        stream = events([begin, broken if full else end])
        await reply(stream, headers=((b"content-type", b"text/event-stream"),))(scope, receive, send)

    upstream.handler = handler


def too_long(wire: str) -> bytes:
    said = overfull("long chat", 2 * WINDOW, model="late")["messages"][1:]
    key = "input" if wire == "responses" else "messages"
    return json.dumps({"model": "late", key: said, "stream": True, "max_tokens": 50}).encode()


@pytest.mark.parametrize(("wire", "broken"), [*BREAK.items(), ("responses", FLAT)])
def test_the_next_request_is_made_to_fit(
    wire: str, broken: dict[str, Any], upstream: UpstreamServer, start_proxy: StartProxy, caplog: pytest.LogCaptureFixture
) -> None:
    answers(upstream, WORD[wire], broken, END[wire])
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    body = too_long(wire)
    with caplog.at_level(logging.WARNING):
        first = call(proxy.origin, "POST", PATHS[wire], body, HEADERS)
        until(lambda: proxy.recorder.so_far)
    assert json.dumps(broken).encode() in first.body
    assert proxy.recorder.one().reason == "overflow-late"
    assert "in the middle of the answer" in caplog.text
    whole = call(proxy.origin, "POST", PATHS[wire], body, HEADERS)
    assert json.dumps(END[wire]).encode() in whole.body
    assert len(upstream.seen) == 2


@pytest.mark.parametrize(("wire", "broken"), [*BREAK.items(), ("responses", FLAT)])
def test_an_answer_that_has_said_nothing_yet_is_recovered(
    wire: str, broken: dict[str, Any], upstream: UpstreamServer, start_proxy: StartProxy
) -> None:
    answers(upstream, EMPTY[wire], broken, WORD[wire])
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    answer = call(proxy.origin, "POST", PATHS[wire], too_long(wire), HEADERS)
    assert answer.body == events([EMPTY[wire], WORD[wire]])
    assert answer.header("x-turnfold-status") == "recovered"
    until(lambda: proxy.recorder.so_far)
    own = [one.usage.prompt_tokens for one in proxy.recorder.one().calls]
    assert own == ([900] if wire == "messages" else []), "what the lost answer cost"
