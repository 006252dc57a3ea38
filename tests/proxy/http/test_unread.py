"""Clients that stay connected and read nothing of their answer, and those that read it slowly."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import StartProxy, UpstreamServer, proxy_server, until
from tests.proxy.http.test_edges import CHAT, head
from turnfold.proxy.http import http11
from turnfold.proxy.http.unread import unread_bytes

PIECE = b"data: " + b"x" * 65_000 + b"\n\n"
LENGTH = 400 * len(PIECE)  # more than the system takes for a client that does not read


class Stream:
    """As much as the client takes, up to `LENGTH` bytes, and whether it was still there in the end."""

    def __init__(self) -> None:
        self.left, self.ended = threading.Event(), threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def wait_until_gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            self.left.set()

        gone = asyncio.ensure_future(wait_until_gone())
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        for _ in range(LENGTH // len(PIECE)):
            if gone.done():
                return
            await send({"type": "http.response.body", "body": PIECE, "more_body": True})
        gone.cancel()
        await send({"type": "http.response.body", "body": b""})
        self.ended.set()


def small_window(origin: str) -> socket.socket:
    """A connection whose client has room for little that it has not read."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    connection.settimeout(60)
    host, _, port = origin.removeprefix("http://").partition(":")
    connection.connect((host, int(port)))
    return connection


REQUEST = head("/v1/chat/completions", b"content-length: %d" % len(CHAT)) + CHAT


def test_a_client_that_reads_nothing_gives_its_upstream_connection_back(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http11, "_UNREAD_SECONDS", 0.3)
    stream = upstream.handler = Stream()
    proxy = start_proxy(upstream.origin + "/v1")
    with small_window(proxy.origin) as connection:
        connection.sendall(REQUEST)
        until(stream.left.is_set)
        assert not stream.ended.is_set()


def test_a_client_that_reads_slowly_gets_all_of_it(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However little it reads between two looks at it, and however much waits for it."""
    received = list[int]()
    with small_window(start_proxy(upstream.origin + "/v1").origin) as connection:
        connection.settimeout(0.2)

        def read_some() -> int:
            with contextlib.suppress(TimeoutError):  # nothing is there
                for _ in range(4):
                    piece = connection.recv(65_536)
                    assert piece, "it was cut"
                    received.append(len(piece))
            return sum(received)

        def look(transport: Any) -> int:
            """Whatever time has passed: in the meantime it has read something."""
            read_some()
            return unread_bytes(transport)

        monkeypatch.setattr(http11, "_UNREAD_SECONDS", 0.01)
        monkeypatch.setattr(http11, "unread_bytes", look)
        stream = upstream.handler = Stream()
        connection.sendall(REQUEST)
        until(lambda: stream.ended.is_set() or stream.left.is_set())
        assert sum(received) > LENGTH // 2
        until(lambda: read_some() >= LENGTH)
    assert not stream.left.is_set()


def test_an_answer_whose_end_is_never_read_does_not_hold_its_connection(
    upstream: UpstreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the server has of it whole waits for the client too."""
    monkeypatch.setattr(http11, "_UNREAD_SECONDS", 0.3)
    upstream.handler = Stream()
    request = head("/v1/chat/completions", b"content-length: %d" % len(CHAT), b"connection: close") + CHAT
    with proxy_server(upstream.origin + "/v1") as (proxy, running), small_window(proxy.origin) as connection:
        state = running.server.server_state
        connection.sendall(request)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        with contextlib.suppress(ConnectionError):  # a busy machine may read too late
            while state.tasks and connection.recv(65_536):  # nearly all of it; the rest waits in the server and the system
                pass
        until(lambda: not state.connections)
