"""A context that is found full in the middle of an answer, on each wire: the answer is lost, the next one is not.

Lives here: what is learned of a stream that breaks off. Does not belong here: overflows told before the first word
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
WORD = {
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
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


@pytest.mark.parametrize("wire", list(PATHS))
def test_the_next_request_is_made_to_fit(
    wire: str, upstream: UpstreamServer, start_proxy: StartProxy, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        full = count_text(upstream.seen[-1].body.decode()) > WINDOW
        events = [WORD[wire], (BREAK if full else END)[wire]]
        stream = b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)
        await reply(stream, headers=((b"content-type", b"text/event-stream"),))(scope, receive, send)

    upstream.handler = handler
    proxy = start_proxy(upstream.origin + "/v1", fold=warm_fold)
    said = overfull("long chat", 2 * WINDOW, model="late")["messages"][1:]
    key = "input" if wire == "responses" else "messages"
    body = json.dumps({"model": "late", key: said, "stream": True, "max_tokens": 50}).encode()
    headers = [("content-type", "application/json"), ("authorization", "Bearer k")]
    with caplog.at_level(logging.WARNING):
        broken = call(proxy.origin, "POST", PATHS[wire], body, headers)
        until(lambda: proxy.recorder.so_far)
    assert json.dumps(BREAK[wire]).encode() in broken.body
    assert proxy.recorder.one().reason == "overflow-late"
    assert "in the middle of the answer" in caplog.text
    whole = call(proxy.origin, "POST", PATHS[wire], body, headers)
    assert json.dumps(END[wire]).encode() in whole.body
    assert len(upstream.seen) == 2
