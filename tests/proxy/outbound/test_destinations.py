"""Which upstream a request goes to, and with whose credential."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from pydantic import SecretStr

from tests.proxy.harness import NO_LOGGING, StartProxy, UpstreamServer, call, running, settings_for
from tests.support.cases import each
from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import AuthSettings
from turnfold.proxy.app import build
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.http.tenancy import Gate
from turnfold.proxy.outbound.destinations import Destinations

VERSION = (b"anthropic-version", b"2023-06-01")
OPENAI = "https://api.openai.com/v1"
CASES: list[tuple[str, str | None, str, list[tuple[bytes, bytes]], str]] = [
    (OPENAI, None, "/v1/chat/completions", [], "https://api.openai.com/v1/chat/completions"),
    (OPENAI, None, "/v1/responses", [], "https://api.openai.com/v1/responses"),
    (OPENAI, None, "/v1/messages", [], "https://api.anthropic.com/v1/messages"),
    (OPENAI, None, "/v1/messages?beta=true", [VERSION], "https://api.anthropic.com/v1/messages?beta=true"),
    (OPENAI, None, "/v1/messages/count_tokens", [], "https://api.anthropic.com/v1/messages/count_tokens"),
    (OPENAI, None, "/v1/models", [], "https://api.openai.com/v1/models"),
    (OPENAI, None, "/v1/models", [VERSION], "https://api.anthropic.com/v1/models"),
    (OPENAI, None, "/anthropic/v1/messages", [], "https://api.anthropic.com/v1/messages"),
    (OPENAI, None, "/anthropic/v1/files/x", [], "https://api.anthropic.com/v1/files/x"),
    (OPENAI, None, "/openai/v1/models", [VERSION], "https://api.openai.com/v1/models"),
    (OPENAI, "https://a.example", "/v1/messages", [], "https://a.example/v1/messages"),
    (OPENAI, "https://a.example/v1", "/v1/messages", [], "https://a.example/v1/messages"),
    (OPENAI, "https://a.example/anthropic/", "/v1/messages", [], "https://a.example/anthropic/v1/messages"),
    # Messages of something of OpenAI's, which would take its key to Anthropic.
    (OPENAI, None, "/v1/threads/thread_1/messages", [], "https://api.openai.com/v1/threads/thread_1/messages"),
    (OPENAI, None, "/v1/threads/thread_1/messages/msg_1", [], "https://api.openai.com/v1/threads/thread_1/messages/msg_1"),
    (OPENAI, None, "/v1/chat/completions/c_1/messages", [], "https://api.openai.com/v1/chat/completions/c_1/messages"),
    (OPENAI, None, "/gateway/v1/messages/batches", [], "https://api.anthropic.com/v1/gateway/v1/messages/batches"),
    # A key of Anthropic's is for nobody else, with any client and header; what is said outright holds.
    (OPENAI, None, "/v1/files", [(b"x-api-key", b"sk-ant-api03-x")], "https://api.anthropic.com/v1/files"),
    (
        OPENAI,
        None,
        "/v1/chat/completions",
        [(b"authorization", b"Bearer sk-ant-x")],
        "https://api.anthropic.com/v1/chat/completions",
    ),
    (OPENAI, None, "/v1/models", [(b"authorization", b"Bearer sk-proj-x")], "https://api.openai.com/v1/models"),
    (OPENAI, None, "/openai/v1/models", [(b"x-api-key", b"sk-ant-x")], "https://api.openai.com/v1/models"),
    (OPENAI, None, "/messages", [], "https://api.anthropic.com/v1/messages"),
    # Whoever sends OpenAI's requests elsewhere means all of them.
    ("https://gw.example/v1", None, "/v1/messages", [VERSION], "https://gw.example/v1/messages"),
    ("http://127.0.0.1:4000", None, "/anthropic/v1/messages", [], "http://127.0.0.1:4000/anthropic/v1/messages"),
    ("https://r.openai.azure.com", None, "/openai/v1/responses", [], "https://r.openai.azure.com/openai/v1/responses"),
    ("https://r.openai.azure.com/openai/v1", None, "/openai/v1/responses", [], "https://r.openai.azure.com/openai/v1/responses"),
    ("https://gw.example/v1", "https://a.example", "/v1/messages", [], "https://a.example/v1/messages"),
]


@each(("openai", "anthropic", "asked", "headers", "url"), CASES)
def test_where_a_request_goes(
    openai: str, anthropic: str | None, asked: str, headers: list[tuple[bytes, bytes]], url: str
) -> None:
    path, _, query = asked.partition("?")
    scope = {"path": path, "raw_path": path.encode(), "query_string": query.encode(), "headers": headers}
    assert str(Destinations(settings_for(openai, anthropic={"url": anthropic} if anthropic else {})).of(scope).url) == url


def admitted(gate: Gate, *headers: tuple[bytes, bytes], keys: Any = "anthropic") -> list[tuple[bytes, bytes]]:
    return gate.admit([(b"host", b"localhost"), *headers], keys).headers[1:]


def test_the_operators_key_of_one_is_never_the_others() -> None:
    both = Gate(SecretStr("sk-o"), AuthSettings(), SecretStr("sk-a"))
    assert admitted(both, (b"x-api-key", b"mine")) == [(b"x-api-key", b"sk-a")]
    assert admitted(both, (b"authorization", b"Bearer mine")) == [(b"x-api-key", b"sk-a")]
    assert admitted(both, (b"authorization", b"Bearer mine"), keys="openai") == [(b"authorization", b"Bearer sk-o")]
    one = Gate(SecretStr("sk-o"), AuthSettings())
    assert admitted(one, (b"x-api-key", b"mine")) == [(b"x-api-key", b"mine")]
    other = Gate(None, AuthSettings(), SecretStr("sk-a"))
    assert admitted(other, (b"authorization", b"Bearer mine"), keys="openai") == [(b"authorization", b"Bearer mine")]


def test_a_token_of_ours_goes_nowhere() -> None:
    gate = Gate(SecretStr("sk-o"), AuthSettings.model_validate({"client_tokens": ("t1",)}))
    with pytest.raises(Refused) as refused:
        admitted(gate, (b"x-api-key", b"t1"))
    assert (refused.value.status, refused.value.code) == (403, "key_missing")
    assert gate.tenant([(b"x-api-key", b"t1")]) == gate.tenant([(b"authorization", b"Bearer t1")])
    keyed = Gate(None, AuthSettings.model_validate({"client_tokens": ("t1",)}), SecretStr("sk-a"))
    assert keyed.tenant([(b"x-api-key", b"t1")])
    with pytest.raises(Refused) as refused:
        keyed.tenant([(b"x-api-key", b"t2")])
    assert refused.value.status == 401


def test_an_open_relay_on_anthropics_key_does_not_start() -> None:
    with pytest.raises(InvalidInput, match=r"auth\.client_tokens"):
        build(settings_for(OPENAI, anthropic={"api_key": "sk-a"}, server={"host": "0.0.0.0"}))  # noqa: S104 - refused


@pytest.fixture
def anthropic() -> Iterator[UpstreamServer]:
    """A second upstream."""
    app = UpstreamServer()
    with running(uvicorn.Config(app, **NO_LOGGING, lifespan="off", ws="none")) as server:
        app.origin = server.origin
        yield app


def test_over_the_wire(upstream: UpstreamServer, anthropic: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(
        upstream.origin + "/v1", upstream={"api_key": "sk-o"}, anthropic={"url": anthropic.origin, "api_key": "sk-a"}
    )
    for path in ("/v1/messages", "/v1/messages/count_tokens", "/anthropic/v1/models"):
        assert call(proxy.origin, "POST", path, b"{}", [("x-api-key", "mine")]).status == 200
    for path in ("/v1/chat/completions", "/v1/embeddings", "/v1/threads/thread_1/messages"):
        answer = call(proxy.origin, "POST", path, b"{}", [("authorization", "Bearer mine")])
        assert answer.status == 200
    assert answer.header("x-turnfold-status") is None  # nothing was read of it
    assert [seen.header("x-api-key") for seen in anthropic.seen] == ["sk-a"] * 3
    assert all(seen.header("authorization") is None for seen in anthropic.seen)
    assert [seen.header("authorization") for seen in upstream.seen] == ["Bearer sk-o"] * 3
    assert all(seen.header("x-api-key") is None for seen in upstream.seen)


def test_errors_have_the_shape_of_the_clients_api(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", upstream={"api_key": "k"}, auth={"client_tokens": ("t1",)})
    refused = call(proxy.origin, "POST", "/v1/messages", b"{}", [("x-api-key", "no"), ("anthropic-version", "2023-06-01")])
    assert (refused.status, refused.json()["type"], refused.json()["error"]["type"]) == (401, "error", "authentication_error")
    for path in ("/v1/messages", "/anthropic/v1/messages"):  # a client that forgot the header is told in the same shape
        refused = call(proxy.origin, "POST", path, b"{}", [("authorization", "Bearer no")])
        assert (refused.status, refused.json()["type"], refused.json()["error"]["type"]) == (401, "error", "authentication_error")
    for path in ("/v1/responses", "/v1/threads/t1/messages", "/v1/messages/compress"):
        refused = call(proxy.origin, "POST", path, b"{}", [("authorization", "Bearer no")])
        assert (refused.status, refused.json()["error"]["code"]) == (401, "invalid_api_key")


def test_a_websocket_of_responses_is_sent_to_http(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1")
    upgrade = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")]
    assert call(proxy.origin, "GET", "/v1/responses", b"", upgrade).status == 426
    assert call(proxy.origin, "GET", "/v1/realtime", b"", upgrade).status == 501
