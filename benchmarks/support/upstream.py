"""Upstreams that remember what reached them.

They are chat-completions servers on loopback. One keeps bodies; one keeps their hashes, and can refuse what is too long. Neither
judges what it recorded.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, TypeVar

from tests.support.overflow_upstream import DIALECTS

#: Headers for a `Hasher`: the case that a request belongs to, and the window to enforce, as a dialect and a number of bytes.
CASE: Final = "x-case"
TAKES: Final = "x-case-takes"

_BYTES_PER_TOKEN: Final = 4


class RecordingUpstream(ThreadingHTTPServer):
    """The server; `bodies` holds every request body that arrived, in order."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.bodies: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        """The base URL that a proxy is given."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def take(self, headers: Message, data: bytes) -> tuple[int, Any]:
        """Remember a request; the status and JSON value of its answer."""
        del headers
        body = json.loads(data)
        self.bodies.append(body)
        return 200, completion(body.get("model"), {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3})


class Hasher(RecordingUpstream):
    """A server for many requests: `sent` holds the SHA-256 of every body that arrived, in order, by case.

    It reports no usage, so that the proxy learns nothing from it, unless a request names a window: then it counts a token per
    four bytes, reports that as usage, and refuses what is longer in the words of that dialect.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(port)
        self.sent: defaultdict[str, list[str]] = defaultdict(list)

    def take(self, headers: Message, data: bytes) -> tuple[int, Any]:
        self.sent[headers.get(CASE, "")].append(hashlib.sha256(data).hexdigest())
        if TAKES not in headers:
            return 200, completion("m", None)
        dialect, _, size = headers[TAKES].partition(" ")
        window, prompt = int(size) // _BYTES_PER_TOKEN, len(data) // _BYTES_PER_TOKEN
        if prompt > window:
            return DIALECTS[dialect].status, DIALECTS[dialect].render(window, prompt, 0)
        return 200, completion("m", {"prompt_tokens": prompt, "completion_tokens": 2, "total_tokens": prompt + 2})


def completion(model: str | None, usage: dict[str, int] | None) -> dict[str, Any]:
    """A short chat completion."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "ok."}, "finish_reason": "stop"}
    said = {} if usage is None else {"usage": usage}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], **said}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RecordingUpstream

    def do_POST(self) -> None:
        status, answer = self.server.take(self.headers, self._body())
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", "").lower():
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name for it
        """Say nothing."""


_Server = TypeVar("_Server", bound=ThreadingHTTPServer)


@contextmanager
def serve(server: _Server) -> Iterator[_Server]:
    """A server that serves in a thread until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def record_requests(port: int = 0) -> Iterator[RecordingUpstream]:
    """A recorder that serves in a thread until the end of the block."""
    with serve(RecordingUpstream(port)) as server:
        yield server
