"""Streams as they happen: no bursts, no ends that were not there, nobody left running."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Handler, ProxyServer, StartProxy, UpstreamServer, call, call_on, reply, until
from turnfold.compression.fold import fold

BODY = json.dumps({"model": "gpt-4o", "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()
EVENTS = ((b"content-type", b"text/event-stream"),)
TARGETS = ["/v1/chat/completions", "/v1/responses", "/v1/embeddings"]


@contextlib.contextmanager
def opened(origin: str, target: str, body: bytes = BODY, receive_buffer: int | None = None) -> Iterator[socket.socket]:
    """A raw connection on which a POST was sent."""
    host, port = origin.removeprefix("http://").split(":")
    with socket.socket() as client:
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(60)
        client.connect((host, int(port)))
        head = f"POST {target} HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        client.sendall(head.encode() + body)
        yield client


class Stepwise:
    """An upstream that sends one more chunk whenever the test says so, and knows when its client left."""

    def __init__(self) -> None:
        self.step = threading.Semaphore(0)
        self.left = threading.Event()
        self.started = threading.Event()
        self.head_at_once = True
        self.status = 200

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        self.started.set()
        watcher = asyncio.create_task(self._watch(receive))
        if self.head_at_once:
            await send({"type": "http.response.start", "status": self.status, "headers": EVENTS})
        number = 0
        while not self.left.is_set():
            if self.step.acquire(blocking=False):
                await send({"type": "http.response.body", "body": b"data: %d\n\n" % number, "more_body": True})
                number += 1
            await asyncio.sleep(0.002)
        await watcher

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.left.set()


@pytest.mark.parametrize("target", TARGETS)
def test_chunks_come_one_by_one(upstream: UpstreamServer, proxy: ProxyServer, target: str) -> None:
    upstream.handler = steps = Stepwise()
    with opened(proxy.origin, target) as client:
        received = b""
        for number in range(5):
            steps.step.release()  # the next chunk exists only once the last one has arrived
            while b"data: %d\n\n" % number not in received:
                received += client.recv(65536)
    assert steps.left.wait(60)


def test_an_error_that_nothing_can_be_done_about_is_not_held_back(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnfold.proxy.chat.recovering._PATIENCE", 3600.0)  # for so long it would be
    upstream.handler = steps = Stepwise()
    steps.status = 400
    proxy = start_proxy(upstream.origin + "/v1", folding={"mode": "off"})
    with opened(proxy.origin, TARGETS[0]) as client:
        steps.step.release()
        received = b""
        while b"data: 0" not in received:
            received += client.recv(65536)
    assert steps.left.wait(60)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("head_at_once", [True, False])
def test_leaving_cancels_the_upstream(upstream: UpstreamServer, proxy: ProxyServer, target: str, head_at_once: bool) -> None:
    upstream.handler = steps = Stepwise()
    steps.head_at_once = head_at_once
    with opened(proxy.origin, target) as client:
        assert steps.started.wait(60)
        if head_at_once:
            client.recv(65536)
    assert steps.left.wait(60)
    if target == TARGETS[0]:
        receipt = proxy.recorder.one()
        assert (receipt.complete, receipt.upstream_status) == (False, 200 if head_at_once else None)


DONE = b"data: [DONE]\n\n"
RESPONSE_END = b'event: response.completed\ndata: {"type": "response.completed", "response": {"usage": null, "text": "x"}}\n\n'
ENDS = {
    ("/v1/chat/completions", DONE): True,
    ("/v1/chat/completions", DONE.replace(b"\n", b"\r\n")): True,
    ("/v1/chat/completions", b'data: {"choices": [{"delta": {"content": "data: [DONE]"}}]}\n\n'): False,
    ("/v1/chat/completions", DONE[:-4]): False,
    ("/v1/responses", RESPONSE_END): True,
    ("/v1/responses", RESPONSE_END.replace(b"completed", b"incomplete")): True,
    ("/v1/responses", RESPONSE_END.replace(b"completed", b"in_progress")): False,
    ("/v1/responses", RESPONSE_END[:-8]): False,
    ("/v1/messages", b'event: message_stop\ndata: {"type":"message_stop"   }\n\n'): True,
    ("/v1/messages", b'event: message_delta\ndata: {"type":"message_delta"}\n\n'): False,
}


class Late:
    """An upstream that sends the end of a body once it is told to, and knows its connections."""

    def __init__(self, last: bytes) -> None:
        self.last = last
        self.ends: list[threading.Event] = []
        self.ports: list[int] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        del receive
        self.ports.append(scope["client"][1])
        await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
        for event in (b"data: {}\n\n", self.last):
            await send({"type": "http.response.body", "body": event, "more_body": True})
        self.ends.append(threading.Event())
        await asyncio.to_thread(self.ends[-1].wait, 60)
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(("target", "last", "complete"), [(*pair, whole) for pair, whole in ENDS.items()])
def test_a_client_that_leaves_behind_the_last_event_has_all(
    upstream: UpstreamServer, proxy: ProxyServer, target: str, last: bytes, complete: bool
) -> None:
    upstream.handler = late = Late(last)
    with opened(proxy.origin, target) as client:
        received = b""
        while last not in received:
            received += client.recv(65536)
    receipt = proxy.recorder.one()
    late.ends[0].set()
    assert (receipt.complete, receipt.upstream_status) == (complete, 200)


def test_what_such_a_stream_reported_is_learned_from(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", fold=fold)
    upstream.handler = late = Late(b'data: {"choices": [], "usage": {"prompt_tokens": 4096, "completion_tokens": 1}}\n\n' + DONE)
    words = json.dumps([{"role": "user", "content": "so many words " * 20_000}]).encode()
    with opened(proxy.origin, TARGETS[0], b'{"model": "cuts-off", "stream": true, "messages": %s}' % words) as client:
        received = b""
        while DONE not in received:
            received += client.recv(65536)
    assert proxy.recorder.one().reason == "upstream-truncated"
    late.ends[0].set()


def test_the_connection_upstream_outlives_a_client_that_leaves_behind_the_last_event(
    upstream: UpstreamServer, proxy: ProxyServer
) -> None:
    upstream.handler = late = Late(DONE)

    def is_used_again() -> bool:
        asked = len(proxy.recorder.so_far)
        with opened(proxy.origin, TARGETS[0]) as client:
            received = b""
            while DONE not in received:
                received += client.recv(65536)
        until(lambda: len(proxy.recorder.so_far) > asked)
        late.ends[-1].set()
        return late.ports[-1] in late.ports[:-1]

    until(is_used_again)


def test_leaving_during_the_fold_never_reaches_the_upstream(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    folding, go_on = threading.Event(), threading.Event()

    def slow(body: bytes, *_: object) -> None:
        folding.set()
        go_on.wait(60)

    proxy = start_proxy(upstream.origin + "/v1", fold=slow)
    with opened(proxy.origin, TARGETS[0], BODY.replace(b'"x"', b'"%s"' % (b"x" * 5000))):
        assert folding.wait(60)
    receipt = proxy.recorder.one()
    go_on.set()
    assert (receipt.complete, receipt.reason, receipt.upstream_status) == (False, "client-left", None)
    assert upstream.seen == []


@pytest.mark.parametrize("target", TARGETS)
def test_a_client_that_does_not_read_stops_the_upstream(upstream: UpstreamServer, proxy: ProxyServer, target: str) -> None:
    sent, left = [0], threading.Event()

    async def flood(scope: Scope, receive: Receive, send: Send) -> None:
        del scope
        gone = asyncio.ensure_future(receive())
        await send({"type": "http.response.start", "status": 200, "headers": EVENTS})
        while not gone.done() and sent[0] < 2**28:
            await send({"type": "http.response.body", "body": bytes(2**16), "more_body": True})
            sent[0] += 2**16
            await asyncio.sleep(0)
        left.set()

    upstream.handler = flood
    with opened(proxy.origin, target, receive_buffer=4096) as client:
        client.recv(100)
        until(lambda: sent[0])
        before = -1
        for _ in range(100):
            threading.Event().wait(0.1)
            if (now := sent[0]) == before:
                break
            before = now
        assert before < 2**26
    assert left.wait(60)


def test_an_upstream_that_does_not_read_stops_the_client(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.read_bodies = False
    release = threading.Event()

    async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.to_thread(release.wait, 60)
        await reply(b"{}")(scope, receive, send)

    upstream.handler = deaf
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1]))) as client:
        client.sendall(b"PUT /v1/x HTTP/1.1\r\nhost: h\r\ncontent-length: 1000000000\r\n\r\n")
        client.settimeout(0.5)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < 2**27:
                sent += client.send(bytes(2**16))
    release.set()
    assert sent < 2**26


def _broken(chunks: int, headers: tuple[tuple[bytes, bytes], ...]) -> Handler:
    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for _ in range(chunks):
            await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
            await asyncio.sleep(0.01)
        # returning here makes the server cut the connection

    return handler


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("headers", [EVENTS, (*EVENTS, (b"content-length", b"1000"))])
@pytest.mark.parametrize("chunks", [0, 1, 3])
def test_a_broken_stream_arrives_broken(
    upstream: UpstreamServer, proxy: ProxyServer, target: str, headers: tuple[tuple[bytes, bytes], ...], chunks: int
) -> None:
    upstream.handler = _broken(chunks, headers)
    with pytest.raises(http.client.IncompleteRead) as broken:
        call(proxy.origin, "POST", target, BODY)
    assert broken.value.partial == b"data: 1\n\n" * chunks
    if target == TARGETS[0]:
        receipt = proxy.recorder.one()
        assert (receipt.complete, receipt.upstream_status) == (False, 200)
        assert (receipt.first_byte_ms is None) == (chunks == 0)


@pytest.mark.parametrize("target", TARGETS)
def test_an_upstream_that_is_down_is_a_502(start_proxy: StartProxy, target: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        proxy = start_proxy(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        answer = call(proxy.origin, "POST", target, BODY)
    assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_unreachable")
    assert answer.header("x-should-retry") is None
    if target == TARGETS[0]:
        assert (proxy.recorder.one().upstream_status, proxy.recorder.one().complete) == (None, False)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 2", b"SSH-2.0-x\r\n", b"HTTP/1.1 999 x\r\ncontent-length: 0\r\n\r\n"])
def test_an_upstream_that_does_not_speak_http_is_a_502(start_proxy: StartProxy, target: str, said: bytes) -> None:
    with saying(said) as origin:
        answer = call(start_proxy(origin).origin, "POST", target, BODY)
    answered = said.endswith(b"\r\n")
    assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_invalid" if answered else "upstream_unreachable")


def test_a_304_that_tells_the_length_it_would_have_had(start_proxy: StartProxy) -> None:
    with saying(b'HTTP/1.1 304 Not Modified\r\netag: "a"\r\ncontent-length: 10\r\nconnection: close\r\n\r\n') as origin:
        proxy = start_proxy(origin)
        for _ in range(2):
            answer = call(proxy.origin, "GET", "/v1/files/f/content")
            assert (answer.status, answer.header("etag"), answer.body) == (304, '"a"', b"")


def test_a_head_that_tells_the_length_of_the_body(start_proxy: StartProxy) -> None:
    with saying(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\n") as origin:
        answer = call(start_proxy(origin).origin, "HEAD", "/v1/files/f/content")
    assert (answer.status, answer.header("content-length"), answer.body) == (200, "10", b"")


@contextlib.contextmanager
def saying(data: bytes) -> Iterator[str]:
    """A server that answers each connection with these bytes and hangs up."""

    def talk() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=talk)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("target", TARGETS)
def test_silence_is_a_504(upstream: UpstreamServer, start_proxy: StartProxy, target: str) -> None:
    upstream.handler = steps = Stepwise()
    steps.head_at_once = False
    proxy = start_proxy(upstream.origin + "/v1", upstream={"read_timeout": 0.2})
    answer = call(proxy.origin, "POST", target, BODY)
    assert (answer.status, answer.json()["error"]["code"]) == (504, "upstream_timeout")
    assert steps.left.wait(60)


def test_silence_in_mid_stream_is_a_broken_stream(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    upstream.handler = steps = Stepwise()
    steps.step.release()
    proxy = start_proxy(upstream.origin + "/v1", upstream={"read_timeout": 0.3})
    with pytest.raises(http.client.IncompleteRead):
        call(proxy.origin, "POST", TARGETS[0], BODY)
    assert steps.left.wait(60)
    assert proxy.recorder.one().complete is False


@pytest.mark.parametrize("target", TARGETS)
def test_a_connection_is_kept_over_errors(upstream: UpstreamServer, start_proxy: StartProxy, target: str) -> None:
    proxy = start_proxy(upstream.origin + "/v1", limits={"max_body_bytes": 100_000, "max_header_bytes": 1000})
    connection = http.client.HTTPConnection(proxy.origin.removeprefix("http://"), timeout=60)
    with contextlib.closing(connection):
        assert call_on(connection, "POST", target, BODY).status == 200
        port = connection.sock.getsockname()[1]
        assert call_on(connection, "POST", target, BODY, [("x-long", "a" * 2000)]).status == 431
        assert call_on(connection, "POST", TARGETS[0], b"a" * 2_000_000).status == 413
        assert call_on(connection, "POST", "/v1/a/../b", BODY).status == 400
        refused = call_on(connection, "POST", target, BODY, [("upgrade", "websocket")])
        assert refused.status == (426 if target == "/v1/responses" else 501)
        assert call_on(connection, "POST", target, BODY).status == 200
        assert connection.sock.getsockname()[1] == port


def test_a_large_chunked_body_is_refused_while_it_comes(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", limits={"max_body_bytes": 1000})
    chunked = b"7d0\r\n" + b"a" * 2000 + b"\r\n0\r\n\r\n"
    answer = call(proxy.origin, "POST", TARGETS[0], chunked, [("transfer-encoding", "chunked")])
    assert (answer.status, answer.json()["error"]["code"]) == (413, "body_too_large")
    assert upstream.seen == []


def test_an_early_answer_to_an_upload_arrives(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.read_bodies = False
    upstream.handler = reply(b'{"error":1}', status=413)
    with opened(proxy.origin, "/v1/files", b"a" * 100_000) as client:
        assert client.recv(65536).startswith(b"HTTP/1.1 413")


def test_streams_ask_nginx_not_to_gather(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    upstream.handler = reply(b"data: 1\n\n", headers=EVENTS)
    assert proxy.chat(BODY).header("x-accel-buffering") == "no"
    upstream.handler = reply(b"data: 1\n\n", headers=(*EVENTS, (b"X-Accel-Buffering", b"yes")))
    assert proxy.chat(BODY).header("x-accel-buffering") == "yes"
    upstream.handler = reply(b"{}")
    assert proxy.chat(BODY).header("x-accel-buffering") is None
    until(lambda: len(proxy.recorder.so_far) == 3)


def test_an_answer_to_http_1_0_ends_with_its_connection(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    """A client of HTTP/1.0 knows no chunks (RFC 9112, section 6.1)."""
    upstream.handler = reply(b"data: 1\n\n", b"data: 2\n\n", headers=((b"content-type", b"text/event-stream"),))
    body = b'{"messages":[{"role":"user","content":"hi"}]}'
    host, port = proxy.origin.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(b"POST /v1/chat/completions HTTP/1.0\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        received = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, rest = received.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower()
    assert rest == b"data: 1\n\ndata: 2\n\n"


def test_an_answer_that_breaks_off_is_told_of(
    upstream: UpstreamServer, proxy: ProxyServer, caplog: pytest.LogCaptureFixture
) -> None:
    upstream.handler = reply(b"1", headers=((b"content-length", b"9"),))
    with pytest.raises(http.client.IncompleteRead):
        call(proxy.origin, "POST", "/v1/chat/completions", b'{"model": "m", "messages": []}')
    request = proxy.recorder.one().request_id
    said = f"{request}: {upstream.origin}: it closed the connection in the middle of its answer"
    assert [one.getMessage() for one in caplog.records if one.name.endswith("chat.service")] == [said]
