"""Edges of HTTP: trailers, half-closed connections, odd paths and headers, bodies without an end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import itertools
import json
import logging
import select
import socket
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.server import ServerState

from tests.proxy.harness import NO_LOGGING, ProxyServer, StartProxy, UpstreamServer, call, reply, running, until
from tests.support.no_time import in_no_time, now
from turnfold.proxy.http.http11 import _HEAD_SECONDS, Http11
from turnfold.proxy.http.inbound import ARRIVAL, STALL, ClientGone, ClientStalled, Inbound, while_present
from turnfold.proxy.http.limits import UnfinishedBodies

CHAT = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).encode()


@contextlib.contextmanager
def connect(origin: str) -> Iterator[socket.socket]:
    host, _, port = origin.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        yield connection


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            data += piece
    return data


def head(path: str = "/v1/chat/completions", *more: bytes) -> bytes:
    lines = [b"POST %s HTTP/1.1" % path.encode(), b"host: x", b"content-type: application/json", *more]
    return b"\r\n".join(lines) + b"\r\n\r\n"


def chunked(body: bytes, *trailers: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, b"".join(line + b"\r\n" for line in trailers))


TRAILERS = (b"authorization: Bearer stolen", b"x-turnfold-mode: off", b"x-forwarded-for: 1.2.3.4", b"x-turnfold-admin-token: adm")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
@pytest.mark.parametrize("cuts", [(), (1,), (40,), range(0, 220, 7), range(220)], ids=str)
def test_trailers_are_dropped_however_packets_fall(path: str, cuts: Any, upstream: UpstreamServer, proxy: ProxyServer) -> None:
    close = (b"transfer-encoding: chunked", b"connection: close")
    end = chunked(CHAT, *TRAILERS)
    places = [0, *cuts, len(end)]
    with connect(proxy.origin) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(head(path, *close))
        for start, stop in itertools.pairwise(places):
            connection.sendall(end[start:stop])
        assert read_all(connection).startswith(b"HTTP/1.1 200")
    (seen,) = upstream.seen
    assert seen.body == CHAT
    assert {name for name, _ in seen.headers} & {line.split(b":")[0] for line in TRAILERS} == set()


@pytest.mark.parametrize("line", [b"a: b\r\n", b"x" * 65536, b"x-y: " + b"z" * 4000 + b"\r\n"], ids=["many", "no end", "long"])
def test_trailers_without_an_end_are_not_taken(line: bytes, upstream: UpstreamServer, proxy: ProxyServer) -> None:
    del upstream
    most = 3 * 2**20
    with connect(proxy.origin) as connection:
        connection.sendall(head("/v1/chat/completions", b"transfer-encoding: chunked") + b"%x\r\n%s\r\n0\r\n" % (len(CHAT), CHAT))
        sent = 0
        with contextlib.suppress(OSError):
            while sent < most:
                sent += connection.send(line * max(1, 65536 // len(line)))
        assert sent < most or not connection.recv(65536).startswith(b"HTTP/1.1 200")
    assert call(proxy.origin, "GET", "/healthz").status == 200


def in_chunks(body: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(body[i : i + 9]), body[i : i + 9]) for i in range(0, len(body), 9)) + b"0\r\n\r\n"


def test_that_a_client_left_is_told_to_the_request_that_it_waits_for_alone() -> None:
    """And to one that asks only once it has gone."""
    told: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        inbound, path = Inbound(scope, receive), scope["path"]
        end = inbound.on_departure(lambda: told.append(path))
        if path == "/waits":
            await inbound.wait_until_gone()
            inbound.on_departure(lambda: told.append("late"))
            return
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
        end()

    with running(uvicorn.Config(app, http=Http11, lifespan="off", **NO_LOGGING)) as server, connect(server.origin) as connection:
        for path in (b"/one", b"/two"):
            connection.sendall(b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n" % path)
            assert connection.recv(65536).startswith(b"HTTP/1.1 204")
        connection.sendall(b"GET /waits HTTP/1.1\r\nhost: x\r\n\r\n")
        connection.close()
        until(lambda: len(told) > 1)
    assert told == ["/waits", "late"]


@pytest.mark.usefixtures("old_objects_are_frozen")
def test_a_connection_that_stays_holds_no_task_of_a_request_that_has_ended() -> None:
    tasks: list[weakref.ref[Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        tasks.append(weakref.ref(asyncio.current_task()))

        async def work() -> None:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body"})

        await while_present(Inbound(scope, receive), work())

    def is_gone() -> bool:
        gc.collect()
        return tasks[0]() is None

    config = uvicorn.Config(app, http=Http11, lifespan="off", timeout_keep_alive=300, **NO_LOGGING)
    with running(config) as server, connect(server.origin) as connection:
        for path in (b"/one", b"/two"):
            connection.sendall(b"GET %s HTTP/1.1\r\nhost: x\r\n\r\n" % path)
            assert connection.recv(65536).startswith(b"HTTP/1.1 204")
        until(is_gone)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
def test_a_transfer_coding_becomes_a_content_coding_on_the_way_up(
    path: str, upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    coded = gzip.compress(CHAT)
    with connect(proxy.origin) as connection:
        connection.sendall(head(path, b"transfer-encoding: gzip, chunked", b"connection: close") + in_chunks(coded))
        answer = read_all(connection)
    assert answer.startswith(b"HTTP/1.1 200")
    (seen,) = upstream.seen
    assert (seen.header("content-encoding"), seen.body) == ("gzip", coded)
    assert (path == "/v1/files") or b"x-turnfold-reason: short" in answer


def test_our_own_api_undoes_a_transfer_coding(proxy: ProxyServer) -> None:
    text = gzip.compress(json.dumps({"text": "Pump 4 failed at 3:10. The valve held."}).encode())
    with connect(proxy.origin) as connection:
        coding = (b"transfer-encoding: gzip, chunked", b"authorization: Bearer k", b"connection: close")
        connection.sendall(head("/v1/compress", *coding) + in_chunks(text))
        assert read_all(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
@pytest.mark.parametrize("said", [b"gzip, chunked", b"GZIP , Chunked"])
def test_a_transfer_coding_becomes_a_content_coding_on_the_way_back(path: str, said: bytes, start_proxy: StartProxy) -> None:
    answer = b'{"id": "1", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}'
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = start_proxy(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                data = b""
                while CHAT not in data:
                    data += connection.recv(65536)
                coded = b"\r\n".join(
                    [b"HTTP/1.1 200 OK", b"transfer-encoding: " + said, b"content-type: application/json", b"", b""]
                )
                connection.sendall(coded + in_chunks(gzip.compress(answer)))

        serving = threading.Thread(target=serve)
        serving.start()
        given = call(proxy.origin, "POST", path, CHAT, [("content-type", "application/json")])
        serving.join()
    assert [value.lower() for name, value in given.headers if name.lower() == "content-encoding"] == ["gzip"]
    assert gzip.decompress(given.body) == answer


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/compress", "/v1/state/preview", "/admin/session"])
def test_a_client_that_leaves_inside_its_body_is_no_fault_of_ours(
    path: str, start_proxy: StartProxy, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = threading.Event()
    chunk = Inbound.next_chunk

    async def next_chunk(inbound: Inbound) -> bytes | None:
        try:
            return await chunk(inbound)
        except ClientGone:
            left.set()
            raise

    monkeypatch.setattr(Inbound, "next_chunk", next_chunk)
    proxy = start_proxy("http://127.0.0.1:9/v1")
    with caplog.at_level(logging.INFO), connect(proxy.origin) as connection:
        connection.sendall(head(path, b"content-length: 5000", b"sec-fetch-site: same-origin") + b'{"a": ')
        connection.close()
        assert left.wait(60)
        assert call(proxy.origin, "GET", "/healthz").status == 200
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_half_closed_client_gets_its_answer(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    asked = threading.Event()
    shut = threading.Event()

    async def later(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        while not shut.is_set():  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.01)
        await reply(b'{"late": true}')(scope, receive, send)

    upstream.handler = later
    for path in ("/v1/chat/completions", "/v1/embeddings"):
        asked.clear()
        shut.clear()
        with connect(proxy.origin) as connection:
            connection.sendall(head(path, b"content-length: %d" % len(CHAT)) + CHAT)
            assert asked.wait(60)
            connection.shutdown(socket.SHUT_WR)
            assert call(proxy.origin, "GET", "/healthz").status == 200  # by now the proxy has seen that
            shut.set()
            answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 100"), "it is asked at once whether it is gone"
        assert answer.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"").startswith(b"HTTP/1.1 200")
        assert answer.endswith((b'{"late": true}', b'{"late": true}\r\n0\r\n\r\n'))


@pytest.mark.parametrize("framing", [b"content-length: 5000", b"transfer-encoding: chunked"])
def test_a_client_that_leaves_inside_its_body_is_no_fault_of_the_upstream(
    framing: bytes, start_proxy: StartProxy, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = start_proxy(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
        with caplog.at_level(logging.INFO), connect(proxy.origin) as connection:
            connection.sendall(head("/v1/files", framing) + b"5\r\nhello\r\n")
            reading, _ = listening.accept()
            with reading:
                assert reading.recv(65536)
                connection.close()
                read_all(reading)
            until(lambda: "passed through, the client left" in caplog.text)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_client_that_is_gone_is_noticed(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    left = threading.Event()
    asked = threading.Event()

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, send
        asked.set()
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    upstream.handler = never
    with connect(proxy.origin) as connection:
        connection.sendall(head("/v1/chat/completions", b"content-length: %d" % len(CHAT)) + CHAT)
        assert asked.wait(60)
    assert left.wait(60), "the upstream works on for nobody"


@pytest.mark.parametrize("size", [90_000, 130_000, 200_000])
def test_a_client_with_a_large_body_that_is_gone_is_noticed(size: int, upstream: UpstreamServer, proxy: ProxyServer) -> None:
    """The server reads no more while much of a body waits for the app; once it is whole, what comes is that the client leaves."""
    left, asked, most = threading.Semaphore(0), threading.Semaphore(0), 6
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "x" * size}]}).encode()

    async def begins(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b": it thinks\n\n", "more_body": True})
        asked.release()
        while (await receive())["type"] != "http.disconnect":
            pass
        left.release()

    upstream.handler = begins
    for _ in range(most):
        with connect(proxy.origin) as connection:
            connection.sendall(head("/v1/chat/completions", b"content-length: %d" % len(body)))
            time.sleep(0.02)  # the app waits for the body, which then comes at once
            connection.sendall(body)
            assert asked.acquire(timeout=60)
            assert connection.recv(100)
    assert all(left.acquire(timeout=60) for _ in range(most)), "the upstream works on for nobody"


DOTS = ("..", ".", "%2e%2e", "%2E.", ".%2e", "%2e")
AROUND = (
    ("/", "/x"),
    ("/", ""),
    ("/", "\\x"),
    ("\\", "/x"),
    ("%2f", "%2fx"),
    ("%5c", "%5Cx"),
    ("/", ";a/x"),
    ("/", "%2Fx"),
    ("%2F", ""),
)


@pytest.mark.parametrize("around", AROUND, ids=str)
def test_dot_segments_are_refused_everywhere(around: tuple[str, str], upstream: UpstreamServer, proxy: ProxyServer) -> None:
    for beginning, dots in itertools.product(("/v1/files", "/v1", "/v1/conversation", "/v1/state"), DOTS):
        answer = call(proxy.origin, "GET", beginning + around[0] + dots + around[1])
        assert (answer.status, answer.json()["error"]["code"]) == (400, "invalid_path")
    assert upstream.seen == []


@pytest.mark.parametrize("path", ["/v1/a..b", "/v1/...", "/v1/.x", "/v1/x.", "/v1/files/a%2eb", "/v1/%2e%2e%2e", "/v1/a.;b"])
def test_dots_of_names_pass(path: str, upstream: UpstreamServer, proxy: ProxyServer) -> None:
    assert call(proxy.origin, "GET", path).status == 200
    assert [seen.target for seen in upstream.seen] == [path]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b"x-big: " + b"y" * 200_000, "answered, but with headers larger"),
        (b"\r\n".join(b"x-%d: y" % i for i in range(1500)), "answered, but with headers larger"),
        (b"no colon here", "answered, but with a head"),
        (b"content-length: 3", "content-length headers that differ"),
        (b"content-length: 2, 3", "answered, but with a head"),
        (b"transfer-encoding: chunked", "both content-length and transfer-encoding"),
        (b"content-length: 2\r\n\r\n{}", "more bytes than its content-length says"),
        (b"transfer-encoding: chunked\r\n\r\nzz", "chunks that are not HTTP"),
        (b"transfer-encoding: chunked\r\n\r\n" + b"f" * 18, "chunks that are not HTTP"),
        (None, "could not be reached"),
    ],
    ids=["long", "many", "none", "differ", "list", "both", "longer", "chunk", "huge chunk", "hangs up"],
)
def test_what_an_upstream_answers_is_told_from_no_answer(lines: bytes | None, said: str, start_proxy: StartProxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            for _ in range(2):
                connection = listener.accept()[0]
                with connection:
                    connection.recv(65536)
                    if lines is not None:
                        connection.sendall(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\ncontent-length: 2\r\n\r\n{}")

        thread = threading.Thread(target=serve)
        thread.start()
        proxy = start_proxy(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        answers = [proxy.chat(CHAT), call(proxy.origin, "POST", "/v1/embeddings", b"{}")]
        thread.join(60)
    assert [answer.status for answer in answers] == [502, 502]
    for answer in answers:
        assert said in answer.json()["error"]["message"]


@pytest.mark.parametrize("repeated", [b"content-length: 2", b"Content-Length: 2, 2", b"x-a: b\r\ncontent-length:2\r\nx-c: d"])
def test_an_upstream_may_repeat_the_same_length(repeated: bytes, start_proxy: StartProxy) -> None:
    """RFC 9110 section 8.6; what goes on to the client has one of them. A body that looks like such an answer is passed on."""
    like_one = b"HTTP/1.1 200 OK\r\n" + repeated + b"\r\ncontent-length: 2\r\n\r\n{}"
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection = listener.accept()[0]
            with connection:
                for _ in range(2):
                    connection.recv(65536)
                    connection.sendall(like_one)
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(like_one))
                time.sleep(0.05)  # so that it comes alone
                connection.sendall(like_one)

        thread = threading.Thread(target=serve)
        thread.start()
        proxy = start_proxy(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        answers = [proxy.chat(CHAT), call(proxy.origin, "PUT", "/v1/files/f", b"{}")]  # on one connection
        assert proxy.chat(CHAT).body == like_one
        thread.join(60)
    for answer in answers:
        assert (answer.status, answer.body) == (200, b"{}")
        assert [value for name, value in answer.headers if name.lower() == "content-length"] == ["2"]


def test_bodies_that_never_finish_are_bounded_in_sum(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", limits={"max_unfinished_bytes": 1_000_000})
    start = head("/v1/chat/completions", b"content-length: 10000000", b"authorization: Bearer greedy") + b"[" * 200_000
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(proxy.origin)) for _ in range(5)]
        for connection in held[:4]:
            connection.sendall(start)
        (first, *_), _, _ = select.select(held, [], [], 60)
        refused = first.recv(65536)
        assert refused.startswith(b"HTTP/1.1 503")
        assert b"too_many_bodies" in refused
        assert b"retry-after: 1" in refused
        assert proxy.chat(CHAT, ("authorization", "Bearer patient")).status == 200, "others have their half"
    greedy = ("authorization", "Bearer greedy")
    until(lambda: proxy.chat(CHAT.ljust(300_000), greedy).status == 200)


def test_a_body_that_stalls_gives_its_room_back(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tenants with made-up keys take all of the room, and send nothing more."""
    monkeypatch.setattr("turnfold.proxy.http.inbound.STALL", 1.0)
    sizes, add = list[int](), UnfinishedBodies.add

    def count(bodies: UnfinishedBodies, tenant: str, size: int) -> None:
        add(bodies, tenant, size)
        sizes.append(size)

    monkeypatch.setattr(UnfinishedBodies, "add", count)
    proxy = start_proxy(upstream.origin + "/v1", limits={"max_unfinished_bytes": 400_000})
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(proxy.origin)) for _ in range(2)]
        for number, connection in enumerate(held):
            key = b"authorization: Bearer made-up-%d" % number
            connection.sendall(head("/v1/chat/completions", b"content-length: 10000000", key) + b"[" * 190_000)
        until(lambda: sum(sizes) == 2 * 190_000)  # or the third would be in before one of them, which then is refused
        patient = ("authorization", "Bearer patient")
        until(lambda: proxy.chat(CHAT.ljust(150_000), patient).status == 200, pause=0.1)
        for connection in held:
            refused = read_all(connection)
            assert refused.startswith(b"HTTP/1.1 408"), refused
            assert b"body_stalled" in refused


@pytest.mark.parametrize(
    ("request_line", "first_bytes"),
    [
        (b"POST /v1/files", b"--x\r\n"),
        (b"POST /v1/embeddings", b""),
        (b"PUT /v1/anything/else", b"{"),
        (b"POST /v1/compress", b'{"text": "'),
        (b"PUT /v1/state/one", b"{"),
    ],
)
@pytest.mark.parametrize("framing", [b"content-length: 5000", b"transfer-encoding: chunked"])
def test_a_body_that_stalls_ends_on_every_path(
    request_line: bytes,
    first_bytes: bytes,
    framing: bytes,
    upstream: UpstreamServer,
    start_proxy: StartProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnfold.proxy.http.inbound.STALL", 0.1)
    proxy = start_proxy(upstream.origin + "/v1")
    sent = b"%x\r\n%s\r\n" % (len(first_bytes), first_bytes) if b"chunked" in framing and first_bytes else first_bytes
    with connect(proxy.origin) as connection:
        key = b"authorization: Bearer k"
        connection.sendall(b"\r\n".join([request_line + b" HTTP/1.1", b"host: x", key, framing, b"", sent]))
        refused = read_all(connection)
        assert refused.startswith(b"HTTP/1.1 408"), refused
        assert b"body_stalled" in refused


@pytest.mark.parametrize("knows", [False, True], ids=["any server", "ours"])
def test_a_slow_body_is_waited_for(knows: bool) -> None:
    """What counts is the time without a byte, not the time in all."""

    async def read(pause: float) -> tuple[bytes | None, float]:
        pieces = [b"%d," % number for number in range(15)]

        async def receive() -> Message:
            await asyncio.sleep(pause)
            piece = pieces.pop(0)
            return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

        scope = {"type": "http", "headers": [], "extensions": {ARRIVAL: {"is_here": lambda: False}} if knows else {}}
        return await Inbound(scope, receive).body(1000), now()

    whole = b"".join(b"%d," % number for number in range(15))
    assert in_no_time(read(STALL - 1)) == (whole, 15 * (STALL - 1))
    with pytest.raises(ClientStalled):
        in_no_time(read(STALL + 1))


def test_a_head_that_never_ends_is_cut(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnfold.proxy.http.http11._HEAD_SECONDS", 1.0)
    proxy = start_proxy(upstream.origin + "/v1")
    begun = (b"P", b"POST /v1/models HTTP/1.1\r\nhost: x\r\nx-slow: ", b"\r\n")

    def is_cut(sent: bytes, connection: socket.socket) -> bool:
        """A byte now and then does not help."""
        with contextlib.suppress(OSError):
            connection.sendall(b"" if sent == b"\r\n" else b"x")
        return _is_closed(connection)

    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(proxy.origin)) for _ in begun]
        for sent, connection in zip(begun, connections, strict=True):
            connection.sendall(sent)
        until(lambda: {is_cut(*one) for one in zip(begun, connections, strict=True)} == {True}, pause=0.1)  # each has its byte


def test_a_head_of_a_mebibyte_is_refused_in_words(proxy: ProxyServer) -> None:
    with connect(proxy.origin) as connection:
        connection.sendall(head()[:-2] + b"x-large: " + b"y" * 2**20)
        connection.settimeout(0.01)
        answer = b""
        for _ in range(500):  # slowly: what is unread when a connection is closed may cost the answer
            with contextlib.suppress(OSError):
                connection.sendall(b"y" * 2**15)
            with contextlib.suppress(TimeoutError):
                answer = connection.recv(65536)
                break
        until(lambda: _is_closed(connection))
    first, _, body = answer.partition(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert b"\r\ncontent-length: %d" % len(body) in first
    assert json.loads(body)["error"]["code"] == "headers_too_large"
    assert "TURNFOLD_MAX_HEADER_BYTES" in json.loads(body)["error"]["message"]


@contextlib.asynccontextmanager
async def served_here(app: ASGIApp, keep_alive: float) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a server in the same loop, whose clock takes no time; an hour of it is too long."""
    config = uvicorn.Config(app, http=Http11, lifespan="off", timeout_keep_alive=int(keep_alive), **NO_LOGGING)
    config.load()
    ours, theirs = socket.socketpair()
    serving = partial(Http11, config=config, server_state=ServerState(), app_state={})
    await asyncio.get_running_loop().connect_accepted_socket(serving, theirs)
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        async with asyncio.timeout(3600):
            yield reader, writer
    finally:
        writer.close()


def test_connections_go_on_between_requests() -> None:
    """The limit is for a head that has begun: an idle connection keeps, and a long answer too."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await asyncio.sleep(2 * _HEAD_SECONDS)
        await send({"type": "http.response.body", "body": b"done"})

    async def talk() -> list[bytes]:
        answers = []
        async with served_here(app, 3 * _HEAD_SECONDS) as (reader, writer):
            for _ in range(3):
                await asyncio.sleep(2 * _HEAD_SECONDS)
                writer.write(request[:20])  # a head in two packets: its time ends with it
                await asyncio.sleep(_HEAD_SECONDS - 1)
                writer.write(request[20:])
                answers.append(await reader.readuntil(b"0\r\n\r\n"))
            writer.write(request[:20])
            return [*answers, await reader.read()]  # it is cut in the end

    request = head("/v1/chat/completions", b"content-length: %d" % len(CHAT)) + CHAT
    *answers, left = in_no_time(talk())
    assert [(answer[:15], b"done" in answer) for answer in answers] == [(b"HTTP/1.1 200 OK", True)] * 3
    assert left == b""


REST = [
    pytest.param((b"content-length: 900",), [], STALL, id="nothing more"),
    pytest.param((b"content-length: 900",), [b"x" * 100] * 3, STALL, id="more of it"),
    pytest.param((b"content-length: 900",), [b"x" * 100] * 9, 300, id="all of it"),
    pytest.param((b"content-length: 900",), [b"x"], STALL, id="a byte"),
    pytest.param((b"transfer-encoding: chunked",), [b"64\r\n" + b"x" * 100 + b"\r\n"] * 3, STALL, id="more chunks"),
    pytest.param((b"transfer-encoding: chunked",), [b"1\r\nx\r\n", b"0\r\n\r\n"], 300, id="all chunks"),
    pytest.param((b"transfer-encoding: chunked",), [b"64\r\nxx"], STALL, id="part of a chunk"),
    pytest.param((b"transfer-encoding: chunked",), [b"1\r\nx\r\n0\r\nx-trailer: "], STALL, id="part of a trailer"),
]


@pytest.mark.parametrize(("framing", "pieces", "stays"), REST)
def test_a_connection_whose_request_was_refused_does_not_stay_for_the_rest_of_its_body(
    framing: tuple[bytes, ...], pieces: list[bytes], stays: float
) -> None:
    """What comes of it is read, so that the client sees its answer; once it is whole, the connection is as idle as any."""

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def talk() -> tuple[bytes, bytes, float]:
        async with served_here(refuse, 300) as (reader, writer):
            writer.write(head("/v1/chat/completions", *framing))
            answer = await reader.readuntil(b"\r\n\r\n")
            for piece in pieces:
                await asyncio.sleep(STALL - 1)  # for as long as something comes it stays
                writer.write(piece)
            return answer, await reader.read(), now()

    answer, left, end = in_no_time(talk())
    assert answer.startswith(b"HTTP/1.1 503")
    assert (left, end) == (b"", (STALL - 1) * len(pieces) + stays)


def test_a_request_behind_one_that_was_refused_is_answered_in_its_own_time() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/late":
            while (await receive()).get("more_body"):
                pass
            await asyncio.sleep(100)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def talk() -> float:
        async with served_here(app, 300) as (reader, writer):
            writer.write(head("/refused", b"content-length: 9"))
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"x" * 5)
            await asyncio.sleep(20)
            writer.write(b"x" * 4 + head("/late", b"content-length: 4") + b"xx")
            await asyncio.sleep(40)
            writer.write(b"xx")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            answered = now()
            assert await reader.read() == b""
            assert now() == answered + 300
            return answered

    assert in_no_time(talk()) == 160.0


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other side has ended it, whatever it said before."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    finally:
        connection.settimeout(60)
    return True


VALUES = (
    b"caf\xe9",
    b"\xff\xfe\x80",
    "caf\u00e9 \u65e5\u672c".encode(),
    b"\xe9" + "\u65e5".encode(),
    "\uf6a0".encode(),
    b"plain",
    b"\xed\xa0\x80",
)


@pytest.mark.parametrize(("method", "lengths"), [("DELETE", []), ("GET", ["0"])])
def test_only_a_delete_without_a_body_is_not_given_a_length(
    method: str, lengths: list[str], upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    """A client's own is passed on; aiohttp would give a DELETE one that the client did not send."""
    headers = [("content-length", one) for one in lengths]
    assert call(proxy.origin, method, "/v1/files/f-1", None, headers).status == 200
    assert [value for name, value in upstream.seen[0].headers if name == b"content-length"] == [one.encode() for one in lengths]


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
@pytest.mark.parametrize("values", [*((value,) for value in VALUES), VALUES], ids=ascii)
def test_header_values_pass_as_they_came(
    path: str, values: tuple[bytes, ...], upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    back = [(b"x-back-%d" % number, value) for number, value in enumerate(values)]
    upstream.handler = reply(b"{}", headers=[(b"content-type", b"application/json"), *back])
    body = CHAT.replace(b"hi", "\uf6a0 \u00e9".encode())  # what stands for a byte in a header is text like any other here
    for size in (len(body), 300_000):
        mine = [b"x-mine-%d: %s" % pair for pair in enumerate(values)]
        with connect(proxy.origin) as connection:
            connection.sendall(head(path, b"content-length: %d" % size, b"connection: close", *mine) + body.ljust(size))
            answer = read_all(connection)
        assert answer.startswith(b"HTTP/1.1 200")
        assert all(b"%s: %s\r\n" % pair in answer for pair in back)
        seen = upstream.seen.pop()
        assert [value for name, value in seen.headers if name.startswith(b"x-mine-")] == list(values)
        assert seen.body == body.ljust(size)
