"""What the proxy makes of requests: the bytes that go on, the headers that come back, the receipt, in every mode and on every
wire (``tests.support.golden`` says when to write the file anew).

Times, ids and addresses are left out: they are another each time.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Handler, StartProxy, UpstreamServer, call, reply, until
from tests.support import golden
from tests.support.block_conversations import Kind, conversation
from tests.support.three_wires import WIRES
from turnfold.compression.fold import fold

FILES = Path(__file__).parent / "golden"
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}
USAGE = {"prompt_tokens": 900, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 512}}
ANSWERS = {
    "plain": reply(json.dumps({"model": "gpt-4o-2024-08-06", "usage": USAGE, "choices": []}).encode()),
    "refused": reply(b'{"error": {"message": "slow down"}}', status=429),
}
_VARYING = ("request_id", "at", "overhead_ms", "first_byte_ms", "total_ms", "upstream", "tenant", "trails", "conversation")


def _uncoded(body: bytes) -> bytes:
    """A body without its coding, whose bytes are another matter with each release of Python."""
    return gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body


def requests() -> Iterator[tuple[str, bytes, list[tuple[str, str]]]]:
    """A path, a body and headers."""
    for seed, wire in enumerate(WIRES):
        body = WIRES[wire].encode(conversation(60 + seed, Kind(turns=4, loops=1, sentences=8)))
        for headers in (
            [],
            [("x-turnfold-budget", "400")],
            [("x-turnfold-mode", "off"), ("x-turnfold-tag", "night")],
            [("x-turnfold-mode", "observe"), ("x-turnfold-budget", "500")],
            [("x-turnfold-budget", "450"), ("x-turnfold-keep", "role:assistant"), ("session_id", "s-1")],
            [("x-turnfold-budget", "450"), ("x-turnfold-keep", "tool:Read, tool:Grep,tool:count")],
        ):
            yield PATHS[wire], body, headers
    yield PATHS["chat"], b'{"messages": 7}', []
    yield PATHS["chat"], b"no json", [("x-turnfold-budget", "400")]
    yield PATHS["chat"], b'{"model": "gpt-4o", "messages": [], "stream": true}', [("x-turnfold-budget", "0")]
    yield PATHS["chat"], gzip.compress(body, mtime=0), [("content-encoding", "gzip")]


def test_requests(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(f"{upstream.origin}/v1", fold=fold, folding={"cache_hit_share": 0.0})
    lines = []
    for path, body, headers in requests():
        for name in ("plain", "refused") if not headers else ("plain",):
            upstream.reset()
            upstream.handler = ANSWERS[name]
            proxy.recorder.reset()
            answer = call(proxy.origin, "POST", path, body, [("content-type", "application/json"), *headers])
            own = {key.lower(): value for key, value in answer.headers if key.lower().startswith("x-turnfold")}
            shown = {key: value for key, value in sorted(own.items()) if not key.endswith(("-ms", "request-id", "conversation"))}
            sent = [golden.name_of(_uncoded(one.body)) for one in upstream.seen]
            lines.append(f"{path} {json.dumps(dict(headers))} {name}: {answer.status} {sent} {json.dumps(shown)}")
            if upstream.seen:
                until(lambda: proxy.recorder.so_far)
                receipt = {key: value for key, value in asdict(proxy.recorder.one()).items() if key not in _VARYING}
                lines.append(f"  {json.dumps(_told(receipt))}")
            else:
                lines.append(f"  {answer.body.decode()[:300]}")
    golden.agrees(FILES / "requests.txt", lines)


REFUSED = b'{"type": "error", "error": {"type": "invalid_request_error", "message": "'
REFUSED += b'messages.1.content.0: Invalid `signature` in `thinking` block"}}'
FULL = b'{"error": {"message": "This model\'s maximum context length is 1500 tokens. However, your messages resulted in 2900'
FULL += b' tokens.", "type": "invalid_request_error", "param": "messages", "code": "context_length_exceeded"}}'


def test_second_sendings(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    """What a refused request becomes, whatever the second sending comes to; and a conversation that is held out."""
    nobody = reply(b"", headers=((b"content-length", b"nine"),))  # no HTTP: as if it had not answered
    refused, full, late = reply(REFUSED, status=400), reply(FULL, status=400), reply(b"{}", status=503)
    held = start_proxy(f"{upstream.origin}/v1", fold=fold, folding={"cache_hit_share": 0.0, "holdout_share": 0.999})
    lines = []
    for name, wire, thinks, answers in (
        ("thinking", "messages", 1.0, (refused, ANSWERS["plain"])),
        ("thinking, twice", "messages", 1.0, (refused, refused)),
        ("thinking, then a fault", "messages", 1.0, (refused, late)),
        ("thinking, then nobody", "messages", 1.0, (refused, nobody)),
        ("thinking that nobody sent", "messages", 0.0, (refused, ANSWERS["plain"])),
        ("full", "chat", 0.0, (full, ANSWERS["plain"])),
        ("full, then a fault", "chat", 0.0, (full, late)),
        ("full, then nobody", "chat", 0.0, (full, nobody)),
        ("held out", "chat", 0.0, (ANSWERS["plain"],)),
    ):
        proxy = held if name == "held out" else start_proxy(f"{upstream.origin}/v1", fold=fold, folding={"cache_hit_share": 0.0})
        waiting = iter(answers)

        async def handler(scope: Scope, receive: Receive, send: Send, waiting: Iterator[Handler] = waiting) -> None:
            await next(waiting, late)(scope, receive, send)

        upstream.reset()
        upstream.handler = handler
        proxy.recorder.reset()
        body = WIRES[wire].encode(conversation(90, Kind(turns=8, loops=1, sentences=8, thinks=thinks)))
        answer = call(proxy.origin, "POST", PATHS[wire], body, [("content-type", "application/json")])
        own = {key.lower(): value for key, value in answer.headers if key.lower().startswith("x-turnfold")}
        shown = {key: value for key, value in sorted(own.items()) if not key.endswith(("-ms", "request-id", "conversation"))}
        lines.append(f"{name}: {answer.status} {[golden.name_of(one.body) for one in upstream.seen]} {json.dumps(shown)}")
        receipt = {key: value for key, value in asdict(proxy.recorder.one()).items() if key not in _VARYING}
        lines.append(f"  {json.dumps(_told(receipt))}")
    golden.agrees(FILES / "second_sendings.txt", lines)


def _told(receipt: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in receipt.items() if value not in ("", None, (), [], False)}
