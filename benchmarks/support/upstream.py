"""An upstream that remembers what reached it.

Lives here: a recording chat-completions server on loopback. Does not belong here: judging what it recorded.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RecordingUpstream

    def do_POST(self) -> None:
        body = json.loads(self._body())
        self.server.bodies.append(body)
        choice = {"index": 0, "message": {"role": "assistant", "content": "ok."}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
        reply = {"id": "c", "object": "chat.completion", "created": 1, "model": body.get("model"), "choices": [choice]}
        data = json.dumps({**reply, "usage": usage}).encode()
        self.send_response(200)
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


@contextmanager
def record_requests(port: int = 0) -> Iterator[RecordingUpstream]:
    """A recorder that serves in a thread until the end of the block."""
    server = RecordingUpstream(port)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
