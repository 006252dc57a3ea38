"""Whatever a client sends: it goes to the upstream as it came, or is refused clearly; never a 500, never a hang."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import socket
import zlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.proxy.harness import ProxyServer, StartProxy, UpstreamServer, call, call_on, proxy_server, reply, until
from tests.support.effort import draws
from turnfold.compression.fold import Folded
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.proxy.http.headers import REQUEST_HEADERS

BAD = {
    "not json": b"{",
    "a list": b"[]",
    "a number": b"1",
    "null": b"null",
    "no messages": b'{"model":"m"}',
    "messages a string": b'{"model":"m","messages":"hi"}',
    "messages null": b'{"model":"m","messages":null}',
    "elements no objects": b'{"model":"m","messages":[1,"a",null,[],{}]}',
    "no role": b'{"model":"m","messages":[{"content":"x"},{"content":"y"}]}',
    "role a number": b'{"model":"m","messages":[{"role":1,"content":{}},{"role":[],"content":7}]}',
    "model a list": b'{"model":[],"messages":[{"role":"user","content":"x"}]}',
    "tool result of nobody": b'{"messages":[{"role":"tool","tool_call_id":null},{"role":"tool"}]}',
    "nul bytes": b"\x00" * 100,
    "truncated": b'{"model":"m","messages":[{"role":"user","content":"\xe2\x82',
}


@pytest.mark.parametrize("name", BAD)
def test_it_reaches_the_upstream_as_it_came(upstream: UpstreamServer, folding_proxy: ProxyServer, name: str) -> None:
    upstream.handler = reply(b'{"error":{"message":"upstream says no"}}', status=400)
    answer = folding_proxy.chat(BAD[name])
    assert upstream.seen[0].body == BAD[name]
    assert (answer.status, answer.json()["error"]["message"]) == (400, "upstream says no")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", "", "9" * 40, "1e3", "0x10", "١"])
def test_a_senseless_budget_is_named(upstream: UpstreamServer, proxy: ProxyServer, value: str) -> None:
    answer = call(proxy.origin, "POST", "/v1/chat/completions", b"{}", [("x-turnfold-budget", value.encode())])
    error = answer.json()["error"]
    assert (answer.status, error["param"], error["type"]) == (400, "x-turnfold-budget", "invalid_request_error")
    assert upstream.seen == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("x-turnfold-bugdet", "x-turnfold-budget"),
        ("X-Turnfold-Tags", "x-turnfold-tag"),
        ("x-turnfold-conversation-id", "x-turnfold-conversation"),
        ("x-turnfold-kept", "x-turnfold-keep"),
        ("x-turnfold_mode", "x-turnfold-mode"),
        ("x_turnfold_state", "x-turnfold-state"),
        ("turnfold-budget", "x-turnfold-budget"),
        ("x-turnfold-tennant", "x-turnfold-tenant"),
        ("x-turnfold-price", "x-turnfold-mode, "),
        ("x-turnfold", "x-turnfold-mode, "),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/embeddings", "/v1/compress", "/admin/report"])
def test_a_misspelt_header_is_named_with_the_one_that_was_meant(
    upstream: UpstreamServer, proxy: ProxyServer, path: str, name: str, meant: str
) -> None:
    answer = call(proxy.origin, "POST", path, b"{}", [(name, b"1")])
    said = answer.json()["error"]["message"]
    assert answer.status == 400
    assert f"no request header {name.lower()};" in said
    assert meant in said
    assert upstream.seen == []


def test_every_header_of_the_reference_is_known(proxy: ProxyServer) -> None:
    document = call(proxy.origin, "GET", "/openapi.json").json()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    described = {p["name"] for operation in operations for p in operation["parameters"] if p["in"] == "header"}
    described |= {scheme.get("name", "") for scheme in document["components"]["securitySchemes"].values()}
    assert {name for name in described if "turnfold" in name} == REQUEST_HEADERS


def test_a_senseless_mode_and_label_are_named(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    for name, value in (("x-turnfold-mode", "maybe"), ("x-turnfold-conversation", "a" * 600)):
        assert proxy.chat(b"{}", (name, value)).json()["error"]["param"] == name
    assert upstream.seen == []


@pytest.mark.parametrize("value", [b"caf\xe9\x02", b"a\x01b", b"a\x7fb"])
def test_a_header_that_cannot_be_sent_on_is_named(upstream: UpstreamServer, proxy: ProxyServer, value: bytes) -> None:
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\nhost: h\r\nx-odd: " + value + b"\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 400")
    assert upstream.seen == []


@pytest.mark.parametrize(
    "lines", [b"GET %s HTTP/1.1\r\nhost: a\r\nHost: b", b"GET %s HTTP/1.1\r\nhost: a\r\nhost: a", b"GET %s HTTP/1.1"]
)
@pytest.mark.parametrize("path", [b"/v1/models", b"/admin/report", b"/healthz"])
def test_one_host_and_no_other_number(upstream: UpstreamServer, proxy: ProxyServer, lines: bytes, path: bytes) -> None:
    """A server in front may have gone by the other one (RFC 9112 section 3.2)."""
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(lines % path + b"\r\nx-turnfold-admin-token: adm\r\n\r\n")
        answer = client.recv(65536)
    assert answer.startswith(b"HTTP/1.1 400")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["param"] == "host"
    assert upstream.seen == []


def test_http_1_0_knows_no_host(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(b"GET /v1/models HTTP/1.0\r\n\r\n")
        assert b" 200 " in client.recv(65536)


@pytest.mark.parametrize("target", ["/v1/chat/completions", "/v1/realtime?model=m"])
def test_websocket_handshakes_get_a_clear_answer(upstream: UpstreamServer, proxy: ProxyServer, target: str) -> None:
    handshake = (
        f"GET {target} HTTP/1.1\r\nhost: h\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(handshake.encode())
        data = client.recv(65536)
    assert data.startswith(b"HTTP/1.1 501")
    assert b"websocket_unsupported" in data
    assert upstream.seen == []


H2C = [("connection", "Upgrade, HTTP2-Settings"), ("upgrade", "h2c"), ("http2-settings", "AAMAAABkAARAAAAAAAIAAAAA")]


@pytest.mark.parametrize("size", [0, 15, 300_000])
def test_other_upgrades_are_ignored(upstream: UpstreamServer, proxy: ProxyServer, size: int) -> None:
    """Java's client asks for h2c on each first request."""
    body = b"a" * size
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (size, body) if size else b"0\r\n\r\n"
    connection = http.client.HTTPConnection(proxy.origin.removeprefix("http://"), timeout=60)
    with contextlib.closing(connection):
        assert call_on(connection, "POST", "/v1/chat/completions", body, H2C).status == 200
        port = connection.sock.getsockname()[1]
        assert call_on(connection, "POST", "/v1/files", chunked, [*H2C, ("transfer-encoding", "chunked")]).status == 200
        assert call_on(connection, "GET", "/v1/models", None, H2C).status == 200
        assert call_on(connection, "POST", "/v1/x", b"plain").status == 200
        assert connection.sock.getsockname()[1] == port
    assert [seen.body for seen in upstream.seen] == [body, body, b"", b"plain"]
    assert {seen.header("upgrade") for seen in upstream.seen} == {None}


@pytest.mark.parametrize("target", ["/v1/chat/completions", "/v1/files"])
def test_a_client_that_waits_to_be_told_to_go_on(upstream: UpstreamServer, proxy: ProxyServer, target: str) -> None:
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(f"POST {target} HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\nexpect: 100-continue\r\n\r\n".encode())
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"body")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
    assert (upstream.seen[0].body, upstream.seen[0].header("expect")) == (b"body", None)


@pytest.mark.parametrize("header", ["expect: nothing", "x-note: 100-continue"])
def test_nobody_else_is_told_to_go_on(proxy: ProxyServer, header: str) -> None:
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(f"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 4\r\n{header}\r\n\r\n".encode())
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(60)
        client.sendall(b"body")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")


def test_a_client_of_http_1_0_is_not_told_to_go_on(upstream: UpstreamServer, proxy: ProxyServer) -> None:
    """It knows no interim responses, and would take one for the answer (RFC 9110 section 10.1.1)."""
    lines = b"POST /v1/chat/completions HTTP/1.0\r\ncontent-length: 4\r\nexpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(lines + b"body")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
    assert upstream.seen[0].body == b"body"


def test_a_bomb_is_refused(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", limits={"max_body_bytes": 1_000_000})
    for coding, bomb in (("gzip", gzip.compress(bytes(5_000_000))), ("deflate", zlib.compress(bytes(5_000_000)))):
        assert proxy.chat(bomb, ("content-encoding", coding)).status == 413
    assert upstream.seen == []
    until(lambda: len(proxy.recorder.so_far) == 2)
    assert {(r.reason, r.upstream_status) for r in proxy.recorder.receipts} == {("body_too_large", None)}


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "nonsense"])
def test_coded_bodies_that_we_cannot_read_go_out_as_they_came(upstream: UpstreamServer, proxy: ProxyServer, coding: str) -> None:
    body = b"\x1f\x8b\x08not really"
    answer = proxy.chat(body, ("content-encoding", coding))
    assert (answer.status, answer.header("x-turnfold-status")) == (200, "passthrough")
    assert (upstream.seen[0].body, upstream.seen[0].header("content-encoding")) == (body, coding)


NONSENSE = [
    b"\x16\x03\x01\x02\x00",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nhost: h\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nhost: h\r\n\r\n",
    b"GET /v1/x?q=\xc3\xa9 HTTP/1.1\r\nhost: h\r\n\r\n",
    b"GET /v1/\xe9 HTTP/1.1\r\nhost: h\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
]


def test_nonsense_instead_of_http(proxy: ProxyServer) -> None:
    for nonsense in NONSENSE:
        with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
            client.sendall(nonsense)
            assert b" 500 " not in client.recv(65536)


def test_an_endless_head_is_cut_off(proxy: ProxyServer) -> None:
    with socket.create_connection(("127.0.0.1", int(proxy.origin.rsplit(":", 1)[1])), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: h\r\nx-a: ")
        with pytest.raises(ConnectionError):  # noqa: PT012 - the cut shows in whichever send comes after it
            for _ in range(1000):
                client.sendall(b"a" * 65536)


def _picky(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
    """An engine that trusts its input, as ours must not be able to hurt."""
    messages = conversation.messages
    kept = [i for i, m in enumerate(messages) if m.role != "assistant" or m.texts[0].text.strip()][: options.budget]
    changes = Changes(dropped=tuple((i, i + 1) for i in range(len(messages) - 1) if i not in kept))
    forwarded = conversation.with_changes(changes, memo)
    before, after = len(conversation.text), len(forwarded.text)
    return Folded(conversation, forwarded, changes, after < before, "", before, after)


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
BODIES = st.binary(max_size=200) | st.builds(
    lambda model, messages: json.dumps({"model": model, "messages": messages}).encode(),
    st.text(max_size=10) | JSON_VALUES,
    JSON_VALUES
    | st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": JSON_VALUES})),
)
OUR_NAMES = ["x-turnfold-mode", "x-turnfold-budget", "x-turnfold-conversation", "x-turnfold-x"]
OTHER_NAMES = ["content-encoding", "accept-encoding", "authorization", "api-key", "expect", "te", "trailer", "upgrade", "range"]
NAMES = st.sampled_from(OUR_NAMES) | st.sampled_from(OTHER_NAMES)
VALUES = st.sampled_from(
    ["on", "off", "observe", "gzip", "deflate", "websocket", "100-continue", "1", "5", "Bearer", ""]
) | st.binary(max_size=12).map(lambda raw: raw.translate(None, b"\r\n\x00").decode("latin-1"))


@pytest.fixture(scope="module")
def picky_proxy(shared_upstream: Any) -> Any:
    with proxy_server(shared_upstream[0].origin + "/v1", fold=_picky) as (client, _):
        yield client


@settings(draws(80), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=BODIES, headers=st.lists(st.tuples(NAMES, VALUES), max_size=4), path=st.sampled_from(["/v1/chat/completions", "/v1/x"])
)
def test_never_a_500(
    upstream: UpstreamServer, picky_proxy: ProxyServer, body: bytes, headers: list[tuple[str, str]], path: str
) -> None:
    connection = http.client.HTTPConnection(picky_proxy.origin.removeprefix("http://"), timeout=60)
    connection.putrequest("POST", path, skip_accept_encoding=True)
    raw = b"".join(b"%s: %s\r\n" % (key.encode(), value.encode("latin-1")) for key, value in headers)
    connection._buffer.append(raw.removesuffix(b"\r\n")) if raw else None  # type: ignore[attr-defined]
    connection.putheader("content-length", str(len(body)))
    connection.endheaders(body)
    response = connection.getresponse()
    response.read()
    connection.close()
    assert response.status in {200, 400, 413, 431, 501}, response.status
    if response.status == 200 and response.headers.get("x-turnfold-status", "passthrough") in {"passthrough", "bypassed"}:
        assert upstream.seen[-1].body == body


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        (b"GET /%s HTTP/1.1\r\nhost: x\r\n\r\n" % (b"a" * 70_000), 414, "URL is longer"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "HTTP/2 without TLS"),
        (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na", 400, "Duplicate Content-Length"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 0, ""),  # a client that speaks TLS could not read anything
    ],
)
def test_what_is_no_request_is_told_why(proxy: ProxyServer, sent: bytes, status: int, said: str) -> None:
    host, _, port = proxy.origin.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(sent)
        head, _, body = b"".join(iter(lambda: connection.recv(65536), b"")).partition(b"\r\n\r\n")
    if status:
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert said in json.loads(body)["error"]["message"]
    else:
        assert not head
