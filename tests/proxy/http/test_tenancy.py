"""Credentials, tenants, and the operator's key."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from tests.proxy.harness import StartProxy, UpstreamServer, call, settings_for
from tests.support.cases import each
from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import AuthSettings
from turnfold.proxy.app import build
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.http.tenancy import Gate

OPEN = Gate(None, AuthSettings())


def _locked(**auth: object) -> Gate:
    return Gate(SecretStr("sk-op"), AuthSettings.model_validate({"client_tokens": ("t1", "t2"), **auth}))


def test_one_credential_one_tenant_however_it_is_sent() -> None:
    ways = [
        (b"authorization", b"Bearer k1"),
        (b"authorization", b"bearer  k1"),
        (b"authorization", b"k1"),
        (b"api-key", b"k1"),
        (b"x-api-key", b" k1 "),
    ]
    tenants = {OPEN.admit([way]).tenant for way in ways}
    assert len(tenants) == 1
    assert "k1" not in tenants.pop()
    assert OPEN.admit([(b"authorization", b"Bearer k2")]).tenant not in tenants
    assert OPEN.admit([]).tenant == OPEN.admit([(b"x-a", b"k1")]).tenant


@each(
    "name",
    [
        *(b"ocp-apim-subscription-key", b"x-litellm-api-key", b"x-portkey-api-key", b"helicone-auth", b"cf-aig-authorization"),
        *(b"apikey", b"x-goog-api-key"),
    ],
)
def test_people_with_different_keys_of_a_gateway_are_different_tenants(name: bytes) -> None:
    shared = (b"authorization", b"Bearer dummy")

    def tenant(*headers: tuple[bytes, bytes]) -> str:
        assert OPEN.admit(list(headers)).headers == list(headers)
        assert OPEN.tenant(list(headers)) == OPEN.admit(list(headers)).tenant
        return OPEN.admit(list(headers)).tenant

    assert tenant((name, b"k1")) == tenant((b"authorization", b"Bearer k1"))
    found = [tenant((name, b"k1")), tenant((name, b"k2")), tenant(shared, (name, b"k1")), tenant(shared, (name, b"k2")), tenant()]
    assert len(set(found)) == 5
    assert tenant(shared, (name, b"k1")) == tenant((name, b"k1"), shared)
    assert tenant(shared, (name, b"dummy")) == tenant(shared)


def test_a_key_in_the_query_is_one_too() -> None:
    def tenant(query: bytes) -> str:
        return OPEN.admit([], query=query).tenant

    assert tenant(b"api-version=1&api-key=k%311") == OPEN.admit([(b"authorization", b"Bearer k11")]).tenant
    assert len({tenant(b"key=a"), tenant(b"key=b"), tenant(b"beta=true")}) == 3
    assert tenant(b"beta=true") == tenant(b"") == OPEN.admit([]).tenant


def test_a_token_of_ours_is_the_tenant_alone() -> None:
    ours = (b"authorization", b"Bearer t1")
    assert len({_locked().admit([ours, other]).tenant for other in (ours, (b"apikey", b"a"), (b"x-api-key", b"b"))}) == 1


def test_the_secret_keys_the_hash() -> None:
    headers = [(b"authorization", b"Bearer k1")]
    keyed = [Gate(None, AuthSettings(secret=SecretStr(secret))).admit(headers).tenant for secret in ("a", "b", "a" * 500)]
    assert len({*keyed, OPEN.admit(headers).tenant}) == 4


def test_without_a_key_of_ours_the_credentials_pass() -> None:
    headers = [(b"x-a", b"1"), (b"authorization", b"Bearer k1"), (b"api-key", b"k2")]
    assert OPEN.admit(headers).headers == headers


@each(
    ("sent", "outgoing"),
    [
        ([(b"authorization", b"Bearer t1")], (b"authorization", b"Bearer sk-op")),
        ([(b"api-key", b"t2")], (b"api-key", b"sk-op")),
        ([(b"authorization", b"Bearer other"), (b"api-key", b"t2")], (b"api-key", b"sk-op")),
    ],
)
def test_a_token_of_ours_becomes_the_operators_key(sent: list[tuple[bytes, bytes]], outgoing: tuple[bytes, bytes]) -> None:
    assert _locked().admit([(b"x-a", b"1"), *sent]).headers == [(b"x-a", b"1"), outgoing]


@each("sent", [[], [(b"authorization", b"Bearer t3")], [(b"authorization", b"")], [(b"x-a", b"t1")]])
def test_others_are_turned_away(sent: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(Refused) as refused:
        _locked().admit(sent)
    assert refused.value.status == 401


def test_the_admin_token() -> None:
    admin = _locked(admin_token="adm")
    assert admin.is_admin([(b"x-turnfold-admin-token", b"adm")])
    assert admin.is_admin([(b"x-turnfold-admin-token", b"adm ")])  # which is no part of a header's value (RFC 9110 section 5.5)
    assert not admin.is_admin([(b"x-turnfold-admin-token", b"ad")])
    assert admin.is_admin([(b"authorization", b"Bearer adm")])
    assert admin.is_admin([(b"authorization", b"bearer  adm"), (b"x-turnfold-admin-token", b"wrong")])
    for key in (b"sk-op", b"t1", b"ad", b"", b"adm2"):
        assert not admin.is_admin([(b"authorization", b"Bearer " + key)])
    assert not admin.is_admin([(b"authorization", b"adm")])
    assert not admin.is_admin([(b"api-key", b"adm")])
    assert not OPEN.is_admin([(b"authorization", b"Bearer ")])
    assert not OPEN.is_admin([])
    assert not OPEN.is_admin([(b"x-turnfold-admin-token", b"")])


@each("name", [b"authorization", b"api-key", b"x-api-key"])
def test_the_admin_token_never_goes_upstream(name: bytes) -> None:
    for gate in (Gate(None, AuthSettings(admin_token=SecretStr("adm"))), _locked(admin_token="adm")):
        with pytest.raises(Refused) as refused:
            gate.admit([(name, b"Bearer adm")])
        assert refused.value.status in {401, 403}
        assert "adm" not in refused.value.message.replace("admin", "")
    assert _locked(admin_token="t1").admit([(name, b"Bearer t1")]).headers[-1][1].endswith(b"sk-op")


def test_a_request_that_was_passed_on_is_not_from_this_machine() -> None:
    spending = Gate(SecretStr("sk-op"), AuthSettings())
    assert spending.admit([(b"host", b"localhost")]).headers
    for name in (b"x-forwarded-for", b"forwarded", b"x-real-ip"):
        with pytest.raises(Refused) as refused:
            spending.admit([(b"host", b"localhost"), (name, b"127.0.0.1")])
        assert refused.value.status == 403


def test_only_an_admin_chooses_a_tenant() -> None:
    admin = _locked(admin_token="adm")
    chosen = (b"x-turnfold-tenant", b"0123")
    assert admin.tenant([(b"x-turnfold-admin-token", b"adm"), chosen]) == "0123"
    own = admin.tenant([(b"authorization", b"Bearer t1")])
    with pytest.raises(Refused):  # a bearer token is a client's here
        admin.tenant([(b"authorization", b"Bearer adm"), chosen])
    assert admin.tenant([(b"authorization", b"Bearer t1"), chosen]) == own != "0123"
    with pytest.raises(Refused):
        admin.tenant([(b"x-turnfold-admin-token", b"no"), chosen])


@each("host", ["0.0.0.0", "::", "192.168.1.2", "proxy.example"])  # noqa: S104 - that is what is refused
def test_an_open_relay_on_the_operators_key_does_not_start(host: str) -> None:
    settings = settings_for("http://h/v1", upstream={"api_key": "sk-op"}, server={"host": host})
    with pytest.raises(InvalidInput, match=r"auth\.client_tokens"):
        build(settings)
    build(settings_for("http://h/v1", server={"host": host}))
    with_tokens = settings_for("http://h/v1", upstream={"api_key": "k"}, server={"host": host}, auth={"client_tokens": ("t",)})
    build(with_tokens)


@each("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_on_loopback_it_does(host: str) -> None:
    build(settings_for("http://h/v1", upstream={"api_key": "sk-op"}, server={"host": host}))


def test_over_the_wire(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", upstream={"api_key": "sk-op"}, auth={"client_tokens": ("t1", "t2")})
    for target in ("/v1/chat/completions", "/v1/models"):
        refused = call(proxy.origin, "POST", target, b"{}", [("authorization", "Bearer sk-op")])
        assert (refused.status, refused.json()["error"]["code"]) == (401, "invalid_api_key")
        assert call(proxy.origin, "POST", target, b"{}", [("authorization", "Bearer t1")]).status == 200
    call(proxy.origin, "POST", "/v1/chat/completions", b"{}", [("authorization", "Bearer t2")])
    assert {seen.header("authorization") for seen in upstream.seen} == {"Bearer sk-op"}
    assert len(upstream.seen) == 3
    tenants = [receipt.tenant for receipt in proxy.recorder.receipts]
    assert len(set(tenants)) == len(tenants) == 2


def test_keys_of_a_gateway_and_of_a_query_over_the_wire(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1")
    path, ours = "/v1/chat/completions", ("authorization", "Bearer gateway")
    for key in ("a", "b"):
        call(proxy.origin, "POST", path, b"{}", [ours, ("ocp-apim-subscription-key", key)])
        call(proxy.origin, "POST", f"{path}?api-key={key}", b"{}", [ours])
        assert [seen.header("ocp-apim-subscription-key") for seen in upstream.seen[-2:]] == [key, None]
    tenants = [receipt.tenant for receipt in proxy.recorder.receipts]
    assert len(tenants) == 4
    assert tenants[::2] == tenants[1::2]
    assert len(set(tenants)) == 2


def test_a_browsers_preflight_needs_no_token_and_gets_no_key(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", upstream={"api_key": "sk-op"}, auth={"client_tokens": ("t1",)})
    asked = [("origin", "https://a.example"), ("access-control-request-headers", "authorization")]
    assert call(proxy.origin, "OPTIONS", "/v1/chat/completions", None, asked).status == 200
    assert upstream.seen[0].header("authorization") is None
    assert upstream.seen[0].header("origin") == "https://a.example"


def test_a_request_that_is_told_back_carries_no_key(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", upstream={"api_key": "sk-op"}, auth={"client_tokens": ("t1",)})
    for path in ("/v1/models", "/v1/chat/completions"):
        call(proxy.origin, "TRACE", path, None, [("authorization", "Bearer t1"), ("max-forwards", "1")])
    assert [seen.header("authorization") for seen in upstream.seen] == [None, None]
    assert [seen.header("max-forwards") for seen in upstream.seen] == ["1", "1"]


def test_on_loopback_without_tokens_the_operators_key_serves(upstream: UpstreamServer, start_proxy: StartProxy) -> None:
    proxy = start_proxy(upstream.origin + "/v1", upstream={"api_key": "sk-op"})
    call(proxy.origin, "GET", "/v1/models")
    call(proxy.origin, "GET", "/v1/models", None, [("api-key", "unused")])
    assert [seen.header("authorization") for seen in upstream.seen] == ["Bearer sk-op", None]
    assert upstream.seen[1].header("api-key") == "sk-op"


@each(
    ("headers", "let_in"),
    [
        ([(b"host", b"localhost:8420")], True),
        ([(b"host", b"127.0.0.1:8420"), (b"origin", b"http://localhost:3000")], True),
        ([(b"host", b"[::1]:8420")], True),
        ([], True),
        ([(b"host", b"127.0.0.1:8420"), (b"origin", b"https://evil.example")], False),
        ([(b"host", b"127.0.0.1:8420"), (b"origin", b"null")], False),
        ([(b"host", b"evil.example:8420")], False),
        ([(b"host", b"localhost.evil.example")], False),
        ([(b"host", b"[::1")], False),
    ],
)
def test_web_pages_cannot_spend_the_operators_key(headers: list[tuple[bytes, bytes]], let_in: bool) -> None:
    unlocked = Gate(SecretStr("sk-op"), AuthSettings())
    if let_in:
        assert unlocked.admit(headers).headers[-1] == (b"authorization", b"Bearer sk-op")
    else:
        with pytest.raises(Refused) as refused:
            unlocked.admit(headers)
        assert refused.value.status == 403
    assert OPEN.admit(headers).headers == headers
    assert _locked().admit([*headers, (b"authorization", b"Bearer t1")]).tenant
