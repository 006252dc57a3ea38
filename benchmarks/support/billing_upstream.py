"""An upstream that keeps a prompt cache for each API key, answers every format, and writes a bill.

It keeps that cache, answers, and records what was billed. Conversations and Turnfold's own figures are elsewhere.

What a request finds is what any earlier request of the same key and model left, not only the last one. The header `x-clock` is
the time at the provider, in seconds, for its cache forgets; `x-do` is what happens to a request: an answer without usage, a
refusal, a stream that goes on until the client leaves.
"""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from benchmarks.support.caches import COLUMNS, Column, Prompt, render_body
from benchmarks.support.upstream import serve
from turnfold.config.prices import TokenUse, dollars

Body = dict[str, Any]

_STEP: Final = 128
_SAID: Final = 7  # tokens of an answer
_SECONDS: Final = 300.0
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Billed:
    """What one request cost at the provider.

    Attributes:
        told: whether the client was told the usage.
    """

    model: str
    use: TokenUse
    told: bool
    dollars: float


@dataclass(slots=True)
class KeyCache:
    """What the provider holds for one key and model: digests of prefixes, and until when; and how long these are."""

    column: Column
    known: dict[bytes, float] = field(default_factory=dict)
    lengths: set[int] = field(default_factory=set)

    def take(self, body: Body, prompt: Prompt, clock: float) -> TokenUse:
        """The usage of a request; what it leaves is held from then on."""
        use = self.look(body, prompt, clock)
        self.leave(prompt, clock)
        return use

    def look(self, body: Body, prompt: Prompt, clock: float, *, cold: bool = False) -> TokenUse:
        """The usage of a request.

        Args:
            cold: it comes to a machine that has nothing.
        """
        size = len(prompt.tokens)
        hit = 0 if cold else max(self._held(prompt, clock), default=0)
        last = max(prompt.marks, default=0) if self.column.kind == "marks" else size
        written = max(0, last - hit) if self.column.prices.write != 1 and last >= self.column.least else 0
        hour = min(written, max(0, max(prompt.hours, default=0) - hit))
        return TokenUse(size, _SAID * int(body.get("n") or 1), hit, written, hour)

    def leave(self, prompt: Prompt, clock: float) -> None:
        """What a request leaves is held from now on."""
        places = self._places(prompt)
        for at, digest in zip(places, _digests(prompt.tokens, places), strict=True):
            if at >= self.column.least:
                life = _HOUR if at in prompt.hours else _SECONDS
                self.known[digest] = max(clock + life, self.known.get(digest, 0.0))
                self.lengths.add(at)

    def _places(self, prompt: Prompt) -> list[int]:
        """Where a later request may hit."""
        size, kind = len(prompt.tokens), self.column.kind
        ends = {"none": (), "prefix": range(_STEP, size + 1, _STEP), "marks": prompt.marks, "breakpoint": (*prompt.marks, size)}
        return sorted(set(ends[kind]))

    def _held(self, prompt: Prompt, clock: float) -> Iterator[int]:
        """Where this one does: it may also be where an earlier one had a mark. Where caches hit at marks, one in front of its own
        last mark."""
        most = max(prompt.marks, default=0) if self.column.kind == "marks" else len(prompt.tokens)
        places = sorted(at for at in self.lengths if at <= most)
        digests = zip(places, _digests(prompt.tokens, places), strict=True)
        return (at for at, digest in digests if self.known.get(digest, -1.0) >= clock)


def _digests(tokens: list[int], places: list[int]) -> Iterator[bytes]:
    running, start = blake2b(digest_size=12), 0
    for at in places:
        running.update(array("q", tokens[start:at]).tobytes())
        start = at
        yield running.digest()


class Provider:
    """The caches and the bills of every key."""

    def __init__(self) -> None:
        self.bills: dict[str, list[Billed]] = {}
        self._caches: dict[tuple[str, str], KeyCache] = {}
        self._lock = threading.Lock()
        self._stored: dict[str, list[Any]] = {}

    def serve(self, key: str, body: Body, clock: float, told: bool) -> tuple[TokenUse, str]:
        """Take a request, and bill it; its usage, and the id of its response."""
        whole = body
        if "previous_response_id" in body:
            whole = {**body, "input": [*self._stored[body["previous_response_id"]], *body["input"]]}
        prompt = render_body(json.dumps(whole).encode())
        model = body["model"]
        column = next(column for column in COLUMNS.values() if column.model == model or model.startswith(f"{column.model}-"))
        with self._lock:
            use = self._caches.setdefault((key, model), KeyCache(column)).take(body, prompt, clock)
            price = dollars(model, use, time.time()) or 0.0
            self.bills.setdefault(key, []).append(Billed(model, use, told, price))
            name = f"resp_{len(self._stored)}"
            said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So it is."}]}
            if "input" in body:
                self._stored[name] = [*whole["input"], said]
            return use, name


def chat_usage(use: TokenUse) -> Body:
    """As OpenAI tells it."""
    details = {"cached_tokens": use.cached} | ({"cache_write_tokens": use.written} if use.written else {})
    return {"prompt_tokens": use.prompt, "completion_tokens": use.completion, "prompt_tokens_details": details}


def _responses_usage(use: TokenUse) -> Body:
    details = {"cached_tokens": use.cached} | ({"cache_write_tokens": use.written} if use.written else {})
    return {"input_tokens": use.prompt, "output_tokens": use.completion, "input_tokens_details": details}


def _messages_usage(use: TokenUse) -> Body:
    lives = {"ephemeral_5m_input_tokens": use.written - use.written_hour, "ephemeral_1h_input_tokens": use.written_hour}
    read, made = {"cache_read_input_tokens": use.cached}, {"cache_creation_input_tokens": use.written, "cache_creation": lives}
    return {"input_tokens": use.prompt - use.cached - use.written, **read, **made, "output_tokens": use.completion}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    provider: Provider

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Whatever is asked at the start."""
        self._send(200, b"{}")

    def do_POST(self) -> None:
        """A request."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        do, key = self.headers.get("x-do", ""), self.headers.get("x-api-key") or self.headers["authorization"]
        if do.isdigit():
            error = {"type": "rate_limit_error" if do == "429" else "api_error", "message": "Try again later."}
            self._send(int(do), json.dumps({"type": "error", "error": error}).encode())
            return
        wire = self.path.rpartition("/")[2].partition("?")[0]
        streamed = bool(body.get("stream"))
        asked = wire != "completions" or not streamed or bool((body.get("stream_options") or {}).get("include_usage"))
        told = (asked and do not in {"silent", "leave"}) or (do == "leave" and wire == "messages")
        use, name = self.provider.serve(key, body, float(self.headers.get("x-clock") or 0), told)
        answer = _answer(wire, body["model"], name, use if told else None)
        if not streamed:
            self._send(200, json.dumps(answer).encode())
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in _events(wire, answer, told):
            self._event(event)
            if do == "leave":
                self._until_gone()
                return
        if wire == "completions":
            self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, event: Body) -> None:
        name = f"event: {event['type']}\n" if "type" in event else ""
        self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def _until_gone(self) -> None:
        self.connection.settimeout(10)
        try:
            while self.connection.recv(1000):
                pass
        except OSError:
            pass

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _answer(wire: str, model: str, name: str, use: TokenUse | None) -> Body:
    if wire == "completions":
        choice = {"index": 0, "message": {"role": "assistant", "content": "So it is."}, "finish_reason": "stop"}
        body: Body = {"id": "c", "object": "chat.completion", "created": 1, "model": model, "choices": [choice]}
        return body | ({"usage": chat_usage(use)} if use else {})
    if wire == "responses":
        said = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "So it is."}]}
        body = {"id": name, "object": "response", "status": "completed", "model": model, "output": [said]}
        return body | ({"usage": _responses_usage(use)} if use else {})
    body = {"id": "m", "type": "message", "role": "assistant", "model": model, "stop_reason": "end_turn"}
    body["content"] = [{"type": "text", "text": "So it is."}]
    return body | ({"usage": _messages_usage(use)} if use else {})


def _events(wire: str, answer: Body, told: bool) -> Iterator[Body]:
    if wire == "completions":
        head = {**{key: answer[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
        yield {**head, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "So it is."}, "finish_reason": None}]}
        yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        if told:
            yield {**head, "choices": [], "usage": answer["usage"]}
    elif wire == "responses":
        yield {"type": "response.created", "response": {**answer, "status": "in_progress", "output": [], "usage": None}}
        yield {"type": "response.completed", "response": answer}
    else:
        yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "So it is."}}
        yield {"type": "content_block_stop", "index": 0}
        output = {"output_tokens": (answer.get("usage") or {}).get("output_tokens", 0)}
        yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": output}
        yield {"type": "message_stop"}


@contextmanager
def billing(provider: Provider) -> Iterator[str]:
    """The provider on loopback; gives its origin."""
    handler = type("Handler", (_Handler,), {"provider": provider})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    with serve(server):
        yield f"http://127.0.0.1:{server.server_port}"
