"""Requests that are sent before earlier ones are answered, and bytes behind a request that are none."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import socket
import threading
from collections.abc import Sequence

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import ProxyServer, UpstreamServer, reply, until
from tests.proxy.http.test_edges import connect, head, read_all
from turnfold.proxy.http import http11

EVENTS = [(b"content-type", b"text/event-stream")]


def post(said: str) -> bytes:
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": said}]}).encode()
    return head("/v1/chat/completions", b"content-length: %d" % len(body)) + body


class Held:
    """A stream whose second event comes when a test says so, then the answers to other requests."""

    def __init__(self) -> None:
        self.began, self.go_on, self.left = threading.Event(), threading.Event(), threading.Event()
        self.served = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.served += 1
        if self.served > 1:
            await reply(b'{"answer": %d}' % self.served)(scope, receive, send)
            return
        gone = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        self.began.set()
        while not (self.go_on.is_set() or gone.done()):  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.005)
        if gone.done():
            self.left.set()
            return
        gone.cancel()
        await send({"type": "http.response.body", "body": b"data: 2\n\n"})


def received(connection: socket.socket, until_seen: bytes) -> bytes:
    data = b""
    while until_seen not in data:
        piece = connection.recv(65536)
        assert piece, data
        data += piece
    return data


def bodies(data: bytes) -> list[bytes]:
    """The bodies of answers in a row; nothing stands between them."""
    found = []
    while data:
        said, _, data = data.partition(b"\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 200 OK\r\n"), said
        if length := re.search(rb"\r\ncontent-length: (\d+)", said):
            found.append(data[: int(length[1])])
            data = data[int(length[1]) :]
            continue
        found.append(b"")
        while (size := int(data.partition(b"\r\n")[0], 16)) or not data.startswith(b"0\r\n\r\n"):
            data = data.partition(b"\r\n")[2]
            found[-1] += data[:size]
            assert data[size : size + 2] == b"\r\n"
            data = data[size + 2 :]
        data = data[5:]
    return found


@pytest.mark.parametrize("sizes", [(3, 3, 3), (90_000, 3, 90_000), (300_000, 300_000, 3)])
def test_answers_come_in_the_order_of_their_requests(sizes: Sequence[int], upstream: UpstreamServer, proxy: ProxyServer) -> None:
    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        size = len(json.loads(upstream.seen[-1].body)["messages"][0]["content"])
        await reply(b'{"size": %d}' % size)(scope, receive, send)

    upstream.handler = echo
    with connect(proxy.origin) as connection:
        sending = threading.Thread(target=connection.sendall, args=(b"".join(post("x" * size) for size in sizes),))
        sending.start()
        data = received(connection, b'{"size": %d}' % sizes[0])
        while data.count(b'{"size"') < len(sizes) or not data.endswith((b"}", b"\r\n0\r\n\r\n")):
            data += connection.recv(65536)
        sending.join()
    assert bodies(data) == [b'{"size": %d}' % size for size in sizes]


@pytest.mark.usefixtures("old_objects_are_frozen")
def test_whoever_sent_several_requests_and_leaves_is_missed_by_none(
    upstream: UpstreamServer, proxy: ProxyServer, caplog: pytest.LogCaptureFixture
) -> None:
    began, left = threading.Event(), threading.Event()

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        began.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    upstream.handler = never
    with connect(proxy.origin) as connection:
        connection.sendall(post("first") + post("second") + post("third"))
        assert began.wait(60)
    assert left.wait(60), "the upstream works on for nobody"
    assert proxy.recorder.one().reason == "short"
    gc.collect()  # a task that failed unheard is told of when it goes
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
    assert len(upstream.seen) == 1


def test_whoever_closes_its_side_in_the_middle_of_an_answer_is_taken_to_be_gone(
    upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    """Whether a client has gone is asked with an answer of its own, which must not come in the middle of another one."""
    upstream.handler = held = Held()
    with connect(proxy.origin) as connection:
        connection.sendall(post("first") + post("second"))
        data = received(connection, b"data: 1\n\n")
        connection.shutdown(socket.SHUT_WR)
        data += read_all(connection)
    assert b"100 Continue" not in data
    assert held.left.wait(60)


def test_a_client_that_closes_its_side_behind_several_requests_gets_all_answers(
    upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    shut = threading.Event()

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        while not shut.is_set():  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.005)
        await reply(b'{"number": %d}' % len(upstream.seen))(scope, receive, send)

    upstream.handler = later
    with connect(proxy.origin) as connection:
        connection.sendall(post("first") + post("second") + post("third"))
        connection.shutdown(socket.SHUT_WR)
        until(lambda: upstream.seen)
        shut.set()
        data = read_all(connection)
    assert bodies(data.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")) == [b'{"number": %d}' % number for number in (1, 2, 3)]


NO_REQUESTS = (b"!", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"}" * 70_000)


@pytest.mark.parametrize("rest", NO_REQUESTS, ids=lambda rest: repr(rest[:8]))
@pytest.mark.parametrize("in_stream", [False, True])
def test_what_follows_a_request_and_is_none_ends_the_connection_behind_the_answer(
    rest: bytes, in_stream: bool, upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    """As after a body that is longer than its length says."""
    upstream.handler = held = Held()
    with connect(proxy.origin) as connection:
        connection.sendall(post("first") + (b"" if in_stream else rest))
        data = received(connection, b"data: 1\n\n")
        if in_stream:
            connection.sendall(rest)
        held.go_on.set()
        data += read_all(connection)
    assert bodies(data) == [b"data: 1\n\ndata: 2\n\n"]


def test_what_is_no_request_is_told_so_where_nothing_is_due(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    with connect(proxy.origin) as connection:
        connection.sendall(post("first"))
        first = received(connection, b"{}")
        connection.sendall(b"!")
        said = read_all(connection).removeprefix(b"\r\n0\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 200")
    assert said.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert said.endswith(b',"param":null,"code":"invalid_http"}}')


def test_a_head_that_never_ends_leaves_the_answer_before_it_whole(
    upstream: UpstreamServer, proxy: ProxyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http11, "_HEAD_SECONDS", 0.05)
    upstream.handler = held = Held()
    with connect(proxy.origin) as connection:
        connection.sendall(post("first") + b"POST /v1/chat/comp")
        data = received(connection, b"data: 1\n\n")
        threading.Event().wait(0.3)
        held.go_on.set()
        data += read_all(connection)
    assert bodies(data) == [b"data: 1\n\ndata: 2\n\n"]


@pytest.mark.parametrize("before", [0, 1])
def test_a_body_that_is_no_body_ends_the_connection(before: int, upstream: UpstreamServer, proxy: ProxyServer) -> None:
    """Its request waits for the rest; what is due before it has to fail with it, and is not given another answer's bytes."""
    upstream.handler = held = Held()
    broken = head("/v1/chat/completions", b"transfer-encoding: chunked") + b"zz\r\n"
    with connect(proxy.origin) as connection:
        connection.sendall(post("first") * before + broken)
        data = read_all(connection)
    held.go_on.set()
    assert data.startswith(b"HTTP/1.1 400") is (before == 0)
    assert b"HTTP/1.1" not in data[1:]
