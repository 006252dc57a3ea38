"""The way to the upstream through a proxy, with authorities of one's own, with a client's certificate.

They do so with a real proxy and real TLS on loopback. They leave out Unix sockets (``proxy.test_listening``).
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import trustme
import uvicorn
from starlette.types import Receive, Scope, Send

from benchmarks.support.ports import free_port
from tests.proxy.harness import NO_LOGGING, RunCommand, StartProxy, UpstreamServer, call, reply, running
from tests.proxy.outbound.ways import USER, ForwardProxy, forward_proxy
from tests.support.cases import each
from turnfold.config.outbound import is_excepted, proxy_for
from turnfold.config.settings import UpstreamSettings
from turnfold.config.sources import SettingsError
from turnfold.proxy.outbound.trust import tls_context
from turnfold.proxy.outbound.upstream import (
    ProxyRefused,
    UpstreamFailed,
    UpstreamGarbled,
    UpstreamSilent,
    UpstreamTlsFailed,
    UpstreamUnreachable,
    UpstreamUntrusted,
    _unreachable,
    refusal,
)

BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}
SECURE = "https://upstream.test/v1"


class World:
    """An authority, upstreams behind names that only the proxy knows, and the proxy."""

    def __init__(self, directory: Path, upstream: UpstreamServer, way: ForwardProxy) -> None:
        self.directory = directory
        self.upstream = upstream
        self.way = way
        self.ca = str(directory / "ca.pem")
        self.client = str(directory / "client.pem")


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(directory / "ca.pem"))
    authority.issue_cert("turnfold@client.test").private_key_and_cert_chain_pem.write_to_path(str(directory / "client.pem"))
    authority.issue_cert("upstream.test", "strict.test").private_key_and_cert_chain_pem.write_to_path(
        str(directory / "server.pem")
    )
    app = UpstreamServer()
    flags: dict[str, Any] = {**NO_LOGGING, "lifespan": "off", "timeout_graceful_shutdown": 1}
    tls = flags | {"ssl_certfile": str(directory / "server.pem")}
    strict = tls | {"ssl_ca_certs": str(directory / "ca.pem"), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    with (
        running(uvicorn.Config(app, **flags)) as plain,
        running(uvicorn.Config(app, **tls)) as secure,
        running(uvicorn.Config(app, **strict)) as asking,
    ):
        names = {"plain.test": plain, "upstream.test": secure, "strict.test": asking}
        ports = {name: int(server.origin.rpartition(":")[2]) for name, server in names.items()}
        with forward_proxy(ports) as way:
            yield World(directory, app, way)


@pytest.fixture
def world(shared_world: World) -> Iterator[World]:
    yield shared_world
    shared_world.upstream.reset()
    shared_world.way.reset()


def test_a_tunnel_is_kept_and_its_credentials_stay_with_the_proxy(world: World, start_proxy: StartProxy) -> None:
    world.way.credentials = USER
    by = world.way.url.replace("://", "://ann:s%3Acret@")
    proxy = start_proxy(SECURE, upstream={"proxy": by, "ca_bundle": world.ca})
    assert [proxy.chat(BODY).status for _ in range(3)] == [200] * 3
    assert call(proxy.origin, "GET", "/v1/models").status == 200
    assert world.way.tunnels == len(world.way.heads) == 1
    assert world.way.heads[0][0].startswith("CONNECT upstream.test:443")
    assert len(world.upstream.seen) == 4
    assert not [key for seen in world.upstream.seen for key, _ in seen.headers if key.startswith(b"proxy-")]


def test_streams_stream_through_a_tunnel(world: World, start_proxy: StartProxy) -> None:
    go_on = threading.Event()

    async def halting(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: one\n\n", "more_body": True})
        await asyncio.to_thread(go_on.wait, 60)
        await send({"type": "http.response.body", "body": b"data: two\n\n"})

    world.upstream.handler = halting
    proxy = start_proxy(SECURE, upstream={"proxy": world.way.url, "ca_bundle": world.ca})
    connection = http.client.HTTPConnection(proxy.origin.removeprefix("http://"), timeout=60)
    connection.request("POST", "/v1/chat/completions", b'{"model":"m","messages":[],"stream":true}')
    response = connection.getresponse()
    assert response.read1() == b"data: one\n\n"  # and the upstream has not gone on
    go_on.set()
    assert response.read() == b"data: two\n\n"
    connection.close()


def test_the_environment_names_the_proxy(world: World, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = world.directory / "netrc"
    netrc.write_text("machine upstream.test login eve password secret\nmachine plain.test login eve password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTPS_PROXY", world.way.url)
    monkeypatch.setenv("http_proxy", world.way.url)
    monkeypatch.setenv("NO_PROXY", "other.test")
    assert start_proxy(SECURE, upstream={"ca_bundle": world.ca}).chat(BODY).status == 200
    assert start_proxy("http://plain.test/v1").chat(BODY).status == 200
    assert [line for line, _ in world.way.heads] == [
        "CONNECT upstream.test:443 HTTP/1.1",
        "POST http://plain.test/v1/chat/completions HTTP/1.1",
    ]
    assert not [key for seen in world.upstream.seen for key, _ in seen.headers if key == b"authorization"]
    assert (
        start_proxy(SECURE, upstream={"ca_bundle": world.ca, "proxy": "none"}).chat(BODY).status == 502
    )  # nobody knows the name
    monkeypatch.setenv("NO_PROXY", ".test")
    assert start_proxy(SECURE, upstream={"ca_bundle": world.ca}).chat(BODY).status == 502
    assert len(world.way.heads) == 2


@pytest.mark.parametrize("url", [SECURE, "http://plain.test/v1"])
def test_a_proxy_that_refuses_is_named(world: World, start_proxy: StartProxy, url: str) -> None:
    world.way.credentials = USER
    answer = start_proxy(url, upstream={"proxy": world.way.url, "ca_bundle": world.ca}).chat(BODY)
    assert (answer.status, answer.json()["error"]["code"]) == (502, "proxy_refused")
    assert "407" in answer.json()["error"]["message"]
    assert not world.upstream.seen


def test_credentials_reach_a_proxy_of_plain_requests(world: World, start_proxy: StartProxy) -> None:
    world.way.credentials = USER
    by = world.way.url.replace("://", "://ann:s%3Acret@")
    assert start_proxy("http://plain.test/v1", upstream={"proxy": by}).chat(BODY).status == 200


def test_an_unknown_authority_is_not_trusted(world: World, start_proxy: StartProxy) -> None:
    answer = start_proxy(SECURE, upstream={"proxy": world.way.url}).chat(BODY)
    assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_untrusted")
    assert "TURNFOLD_UPSTREAM_CA_BUNDLE" in answer.json()["error"]["message"]


def test_what_is_no_tls_is_not_called_a_certificate(start_proxy: StartProxy, upstream: UpstreamServer) -> None:
    answer = start_proxy(upstream.origin.replace("http:", "https:") + "/v1", upstream={"connect_timeout": 5}).chat(BODY)
    error = answer.json()["error"]
    assert (answer.status, error["code"], answer.header("x-should-retry")) == (502, "upstream_untrusted", "false")
    assert "the TLS handshake failed: " in error["message"]
    assert "certificate" not in error["message"]


def test_a_proxy_that_is_not_there_is_not_called_the_upstream(start_proxy: StartProxy) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    answer = start_proxy(SECURE, upstream={"proxy": nowhere}).chat(BODY)
    assert (answer.status, answer.json()["error"]["code"]) == (502, "upstream_unreachable")
    assert "its outbound proxy does not answer: connection refused" in answer.json()["error"]["message"]


def test_a_name_that_leads_elsewhere_by_now_is_looked_up_again(
    start_proxy: StartProxy, upstream: UpstreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover: nothing listens at the old address, which would count for a minute more."""
    addresses = iter(["127.0.0.9", "127.0.0.1"])

    async def resolve(_: object, host: str, port: int = 0, **__: Any) -> list[dict[str, Any]]:
        family, found = socket.AF_INET, next(addresses)
        return [{"hostname": host, "host": found, "port": port, "family": family, "proto": 0, "flags": socket.AI_NUMERICHOST}]

    monkeypatch.setattr(aiohttp.DefaultResolver, "resolve", resolve)
    proxy = start_proxy(f"http://moving.test:{upstream.origin.rpartition(':')[2]}/v1")
    assert [proxy.chat(BODY).status for _ in range(3)] == [502, 200, 200]


@each("proxy", ["http://u:hunter2/x@p:9", "u:hunter2@p:abc", "socks5://u:hunter2@p:1"])
def test_a_variable_that_names_no_proxy_is_refused_without_its_password(proxy: str) -> None:
    with pytest.raises(SettingsError, match="HTTP_PROXY") as refused:
        proxy_for("http://a.test/v1", "environment", {"http": proxy})
    assert "hunter2" not in str(refused.value)


def test_an_upstream_that_asks_for_a_certificate_gets_it(world: World, start_proxy: StartProxy) -> None:
    way = {"proxy": world.way.url, "ca_bundle": world.ca}
    world.upstream.handler = reply(b'{"ok":1}')
    assert start_proxy("https://strict.test/v1", upstream=way).chat(BODY).status == 502
    assert not world.upstream.seen
    shown = start_proxy("https://strict.test/v1", upstream=way | {"client_certificate": world.client}).chat(BODY)
    assert (shown.status, shown.body) == (200, b'{"ok":1}')


def test_a_directory_of_authorities(world: World, start_proxy: StartProxy, tmp_path: Path) -> None:
    (tmp_path / "any name").write_bytes(Path(world.ca).read_bytes())
    assert start_proxy(SECURE, upstream={"proxy": world.way.url, "ca_bundle": str(tmp_path)}).chat(BODY).status == 200


WRONG = [
    ({"ca_bundle": "gone.pem"}, "TURNFOLD_UPSTREAM_CA_BUNDLE: cannot read 'gone.pem': no such file or directory"),
    ({"ca_bundle": "junk.pem"}, "TURNFOLD_UPSTREAM_CA_BUNDLE: 'junk.pem' holds no certificates in PEM"),
    ({"ca_bundle": "empty"}, "TURNFOLD_UPSTREAM_CA_BUNDLE: there is no file in 'empty'"),
    (
        {"client_certificate": "gone.pem"},
        "TURNFOLD_UPSTREAM_CLIENT_CERTIFICATE: cannot read 'gone.pem': no such",
    ),
    ({"client_certificate": "client.pem", "client_key": "gone.key"}, "TURNFOLD_UPSTREAM_CLIENT_KEY: cannot read 'gone.key': no "),
    (
        {"client_certificate": "junk.pem"},
        "CERTIFICATE: 'junk.pem' and its key cannot be used: not valid",
    ),
    ({"client_certificate": "client.pem", "client_key": "server.pem"}, "the key does not belong to the certificate"),
    ({"client_key": "client.pem"}, "TURNFOLD_UPSTREAM_CLIENT_KEY: needs TURNFOLD_UPSTREAM_CLIENT_CERTIFICATE too"),
]


@pytest.mark.parametrize(("files", "said"), WRONG)
def test_a_wrong_file_is_named(world: World, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], said: str) -> None:
    monkeypatch.chdir(world.directory)
    Path("junk.pem").write_text("junk")
    Path("empty").mkdir(exist_ok=True)
    with pytest.raises(SettingsError) as caught:
        tls_context(UpstreamSettings.model_validate(files))
    assert said in str(caught.value)


def test_an_encrypted_key_asks_nobody(world: World, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives import serialization as ser  # noqa: PLC0415 - heavy, and for this test alone

    pem = Path(world.client).read_bytes()
    key = ser.load_pem_private_key(pem, None)
    locked = key.private_bytes(ser.Encoding.PEM, ser.PrivateFormat.PKCS8, ser.BestAvailableEncryption(b"pw"))
    (tmp_path / "locked.pem").write_bytes(locked)
    files = {"client_certificate": world.client, "client_key": str(tmp_path / "locked.pem")}
    with pytest.raises(SettingsError, match="PASSWORD is missing or wrong"):
        tls_context(UpstreamSettings.model_validate(files))
    assert tls_context(UpstreamSettings.model_validate(files | {"client_key_password": "pw"})) is not None


def test_an_upstream_that_takes_no_connection_is_waited_for_as_long_as_is_set(start_proxy: StartProxy) -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):  # nobody takes them, so there is no place for another one
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        answer = start_proxy(url, upstream={"connect_timeout": 0.2}).chat(BODY)
    assert (answer.status, answer.json()["error"]["code"]) == (504, "upstream_timeout")
    said = "no connection within 0.2 s (TURNFOLD_UPSTREAM_CONNECT_TIMEOUT)"
    assert answer.json()["error"]["message"] == f"The upstream did not answer in time: {said}."


def test_a_request_that_finds_no_free_connection_says_so(
    upstream: UpstreamServer, start_proxy: StartProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnfold.proxy.outbound.upstream._POOL_WAIT", 0.2)
    asked, over = threading.Event(), threading.Event()

    async def busy(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        while not over.is_set():  # noqa: ASYNC110 - set from another thread
            await asyncio.sleep(0.01)
        await reply(b"{}")(scope, receive, send)

    upstream.handler = busy
    proxy = start_proxy(upstream.origin + "/v1", upstream={"max_connections": 1, "connect_timeout": 0.1})
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(proxy.chat, BODY)
        assert asked.wait(60)
        answer = proxy.chat(BODY)
        over.set()
    assert first.result().status == 200
    said = "no free connection within 0.2 s (TURNFOLD_UPSTREAM_MAX_CONNECTIONS)"
    assert answer.json()["error"]["message"] == f"The upstream did not answer in time: {said}."


REFUSALS = {
    UpstreamSilent("no answer within 9 s"): (
        504,
        "upstream_timeout",
        "The upstream did not answer in time: no answer within 9 s.",
    ),
    UpstreamGarbled("with status 700"): (502, "upstream_invalid", "The upstream answered, but with status 700."),
    UpstreamUntrusted("expired"): (
        502,
        "upstream_untrusted",
        "The upstream's certificate could not be verified: expired.",
        "false",
    ),
    UpstreamTlsFailed("no tls"): (
        502,
        "upstream_untrusted",
        "The upstream could not be reached: the TLS handshake failed: no tls.",
        "false",
    ),
    ProxyRefused("with status 407"): (
        502,
        "proxy_refused",
        "The outbound proxy refused the connection to the upstream with status 407.",
    ),
    UpstreamUnreachable("no route to host"): (
        502,
        "upstream_unreachable",
        "The upstream could not be reached: no route to host.",
    ),
}


@each("failure", REFUSALS)
def test_what_a_client_is_told(failure: UpstreamFailed) -> None:
    found = refusal(failure)
    never = [value.decode() for name, value in found.headers if name == b"x-should-retry"]
    assert (found.status, found.code, found.message, *never) == REFUSALS[failure]


@each(
    ("failure", "said"),
    [
        (aiohttp.ServerDisconnectedError(), "it closed the connection before it answered"),
        (ConnectionResetError(104, "Connection reset by peer"), "it closed the connection before it answered"),
        (aiohttp.ClientOSError(111, "Connection refused"), "connection refused"),
        (ConnectionRefusedError(111, "Connection refused"), "connection refused (nothing listens there)"),
        (aiohttp.ClientOSError(113, "No route to host"), "no route to host"),
        (aiohttp.ClientPayloadError("text of an answer"), "clientpayloaderror"),
    ],
)
def test_why_nobody_was_reached(failure: Exception, said: str) -> None:
    assert _unreachable(failure) == said


EXCEPTIONS = [
    ("api.corp.test", 443, "corp.test", True),
    ("api.corp.test", 443, ".corp.test", True),
    ("api.corp.test", 443, "*.corp.test", True),
    ("corp.test", 443, "CORP.test.", True),
    ("notcorp.test", 443, "corp.test", False),
    ("api.corp.test", 443, "corp.test:8443, corp.test:443", True),
    ("api.corp.test", 443, "corp.test:8443", False),
    ("10.1.2.3", 80, "10.0.0.0/8", True),
    ("11.1.2.3", 80, "10.0.0.0/8 10.1.2.3/bad", False),
    ("10.1.2.3", 80, "10.1.2.3", True),
    ("fd00::1", 80, "fd00::/8", True),
    ("fd00::1", 80, "[fd00::1]:80", True),
    ("anything", 80, "a, *", True),
    ("anything", 80, " , ", False),
]


@each(("host", "port", "exceptions", "is_one"), EXCEPTIONS)
def test_who_goes_past_the_proxy(host: str, port: int, exceptions: str, is_one: bool) -> None:
    assert is_excepted(host, port, exceptions) is is_one


def test_which_variable_counts() -> None:
    def url(of: str, choice: str = "environment", **variables: str) -> str | None:
        found = proxy_for(of, choice, variables)
        return None if found is None else f"{found.url} {found.source}"

    assert url("https://a.test/v1", https="p:3128", http="http://q") == "http://p:3128 HTTPS_PROXY"
    assert url("http://a.test/v1", https="p:3128", http="http://q") == "http://q:80 HTTP_PROXY"
    assert url("https://a.test/v1", all="https://p") == "https://p:443 ALL_PROXY"
    assert url("https://a.test/v1", all="https://p", no="a.test") is None
    assert url("https://localhost/v1", https="p:3128") is None
    assert url("https://a.test/v1", "http://r:1", https="p:3128", no="*") == "http://r:1 TURNFOLD_UPSTREAM_PROXY"
    assert url("https://a.test/v1", "none", https="p:3128") is None
    with pytest.raises(SettingsError, match=r"HTTPS_PROXY: only .* not 'socks5://\*+@p:1'"):
        url("https://a.test/v1", https="socks5://u:secret@p:1")


def test_serve_and_doctor_name_a_missing_file(run: RunCommand, monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_CA_BUNDLE", "gone.pem")
    code, _, err = run("serve", "--port", "0")
    assert (code, err.count("\n")) == (2, 1)
    assert "TURNFOLD_UPSTREAM_CA_BUNDLE: cannot read 'gone.pem'" in err
    code, out, _ = run("doctor")
    assert code == 1
    assert "TURNFOLD_UPSTREAM_CA_BUNDLE: cannot read 'gone.pem'" in out
    monkeypatch.setenv("TURNFOLD_UPSTREAM_CA_BUNDLE", world.ca)
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", SECURE)
    monkeypatch.setenv("TURNFOLD_UPSTREAM_PROXY", world.way.url.replace("://", "://ann:hush@"))
    out = run("doctor")[1]
    assert f"upstreams are reached through {world.way.url} (TURNFOLD_UPSTREAM_PROXY)" in out
    assert f"{SECURE} answers (200" in out
    assert "hush" not in out + run("config")[1]
