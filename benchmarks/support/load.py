"""Requests at a chosen concurrency, and an upstream that answers them at once; both so cheap that they hardly count.

It has a client of kept connections, with one request at a time on each, and the upstream's process. What is sent, and what the
figures mean, is up to the caller.

Neither parses more of HTTP than it needs: they speak to each other through proxies of which it is known that they are sound.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import uvloop

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_STREAMED: Final = re.compile(rb'"stream": ?true')
_ANSWER: Final = (
    b'{"id":"c1","object":"chat.completion","created":1,"model":"gpt-4o","choices":[{"index":0,"finish_reason":"stop",'
    b'"message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":13,"completion_tokens":2,"total_tokens":15}}'
)
_WHOLE: Final = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(_ANSWER), _ANSWER)
_EVENT: Final = (
    b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-4o",'
    b'"choices":[{"index":0,"delta":{"content":"ok "},"finish_reason":null}]}\n\n'
)
_DONE: Final = b"data: [DONE]\n\n"
_EVENTS: Final = 20


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


_STREAM_HEAD: Final = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LAST: Final = _chunk(_DONE) + b"0\r\n\r\n"


class _Answering(asyncio.Protocol):
    """Reads a request and answers it: at once, or as a stream of events with a turn of the loop between them."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._data = bytearray()
        self._end = 0

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._end:
            head = self._data.find(b"\r\n\r\n")
            if head < 0:
                return
            length = _LENGTH.search(self._data, 0, head)
            self._end = head + 4 + (int(length[1]) if length else 0)
        if len(self._data) < self._end:
            return
        streamed = _STREAMED.search(self._data) is not None
        self._data.clear()
        self._end = 0
        if not streamed:
            self._transport.write(_WHOLE)
            return
        self._transport.write(_STREAM_HEAD)
        self._next_event(_EVENTS)

    def _next_event(self, left: int) -> None:
        if not left:
            self._transport.write(_LAST)
            return
        self._transport.write(_chunk(_EVENT))
        asyncio.get_running_loop().call_soon(self._next_event, left - 1)


def _serve_upstream(listener: socket.socket) -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(_Answering, sock=listener)
        await server.serve_forever()

    uvloop.run(serve())


@contextmanager
def quick_upstream() -> Iterator[int]:
    """An upstream in a process of its own; gives its port."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        process = multiprocessing.get_context("spawn").Process(target=_serve_upstream, args=(listener,), daemon=True)
        process.start()
        try:
            yield listener.getsockname()[1]
        finally:
            process.kill()
            process.join()


@dataclass
class Taken:
    """What a load took.

    Attributes:
        first: seconds to the first byte of each answer's body.
        whole: seconds to its end.
        seconds: from the first request to the last answer.
        failed: answers with another status than 200, and connections that were lost.
    """

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    seconds: float = 0.0
    failed: int = 0


class _Asking(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, draw: Callable[[], bytes | None], taken: Taken, ended: asyncio.Future[None]) -> None:
        self._draw, self._taken, self._ended = draw, taken, ended

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def _ask(self) -> None:
        request = self._draw()
        if request is None:
            self._end()
            return
        self._data = bytearray()
        self._first = 0.0
        self._asked = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0 or len(self._data) == head + 4:
            return
        if not self._first:
            self._first = time.perf_counter()
        length = _LENGTH.search(self._data, 0, head)
        ended = len(self._data) >= head + 4 + int(length[1]) if length else self._data.endswith(b"\r\n0\r\n\r\n")
        if not ended:
            return
        self._taken.whole.append(time.perf_counter() - self._asked)
        self._taken.first.append(self._first - self._asked)
        self._taken.failed += not self._data.startswith(b"HTTP/1.1 200")
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._ended.done():
            self._taken.failed += 1
            self._end()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)
        self._transport.close()


def post(port: int, path: str, body: bytes, **headers: str) -> bytes:
    """A request as bytes."""
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + more.encode() + b"\r\n" + body


def load(port: int, requests: Sequence[bytes], concurrency: int) -> Taken:
    """Send the requests, each once, over so many connections."""
    return uvloop.run(_load(port, iter(requests), concurrency))


async def _load(port: int, requests: Iterator[bytes], concurrency: int) -> Taken:
    taken, loop = Taken(), asyncio.get_running_loop()
    ends = [loop.create_future() for _ in range(concurrency)]

    def draw() -> bytes | None:
        return next(requests, None)

    begun = time.perf_counter()
    for end in ends:
        await loop.create_connection(partial(_Asking, draw, taken, end), "127.0.0.1", port)
    await asyncio.gather(*ends)
    taken.seconds = time.perf_counter() - begun
    return taken
