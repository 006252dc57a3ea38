"""Deletion over HTTP and on the command line; a Turnfold that keeps nothing; what browsers and caches are told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from tests.proxy.cli.conftest import run as run  # noqa: PLC0414 - the fixture
from tests.proxy.harness import RunCommand, UpstreamServer, api_server, call, reply, until
from tests.proxy.redis_keys import dump
from tests.support.warm import warm_fold
from turnfold.config.settings import AuthSettings

ADMIN = {"x-turnfold-admin-token": "adm"}
TEXT = "The pump in hall 7 leaks since Tuesday. Nobody has looked at the valve. " * 40
COMPLETION = b'{"model":"gpt-4o","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}'


def bearer(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


@pytest.fixture
def http(upstream: UpstreamServer, tmp_path: Path) -> Iterator[httpx.Client]:
    upstream.handler = reply(COMPLETION)
    auth = AuthSettings(admin_token=SecretStr("adm"))
    with (
        api_server(f"sqlite:///{tmp_path}/t.db", upstream.origin + "/v1", engine=warm_fold, auth=auth) as origin,
        httpx.Client(base_url=origin, timeout=60) as client,
    ):
        yield client


def talk(http: httpx.Client, key: str, conversation: str = "c/1") -> None:
    body = {"conversation_id": conversation, "message": {"role": "user", "content": f"{key}: {TEXT}"}}
    assert http.post("/v1/conversation", json=body, headers=bearer(key)).status_code == 200


def chat(http: httpx.Client, key: str, conversation: str = "c/1") -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    headers = bearer(key) | {"x-turnfold-conversation": conversation}
    assert http.post("/v1/chat/completions", json=body, headers=headers).status_code == 200


def has(http: httpx.Client, key: str, conversation: str = "c/1") -> bool:
    return http.get(f"/v1/conversation/{conversation}", headers=bearer(key)).status_code == 200


def tenants(http: httpx.Client) -> dict[str, int]:
    groups = http.get("/admin/report?group_by=tenant", headers=ADMIN).json()["groups"]
    return {group["tenant"]: group["requests"] for group in groups}


def test_a_tenant_deletes_its_own(http: httpx.Client) -> None:
    for key in ("anna", "bert"):
        talk(http, key)
        talk(http, key, "c/2")
        chat(http, key)
    assert http.delete("/v1/data?conversation=c/1", headers=bearer("anna")).json()["deleted"] >= 1
    assert [has(http, key, name) for key in ("anna", "bert") for name in ("c/1", "c/2")] == [False, True, True, True]
    for wrong in ("?conversation=", "?tenant=bert"):
        assert http.delete(f"/v1/data{wrong}", headers=bearer("anna")).status_code == 400
    assert http.delete("/v1/data", headers=bearer("anna")).json()["deleted"] >= 1
    assert [has(http, key, "c/2") for key in ("anna", "bert")] == [False, True]
    assert sorted(tenants(http).values()) == [1, 1]  # the books are the operator's


@pytest.mark.parametrize("grouping", ["conversation", "session"])
def test_two_tenants_with_one_name_for_two_conversations_have_a_line_each(http: httpx.Client, grouping: str) -> None:
    for key in ("anna", "bert", "bert"):
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}], "prompt_cache_key": "main"}
        assert http.post("/v1/chat/completions", json=body, headers=bearer(key)).status_code == 200
    whole = http.get(f"/admin/report?group_by={grouping}", headers=ADMIN).json()
    assert whole["totals"]["requests"] == 3
    assert [group["requests"] for group in whole["groups"]] == [2, 1]
    assert len({group[grouping] for group in whole["groups"]}) == 1
    assert {group["tenant"]: group["requests"] for group in whole["groups"]} == tenants(http)
    lines = http.get(f"/admin/report?group_by={grouping}&format=csv", headers=ADMIN).text.splitlines()
    assert len(lines) == 3


def test_an_administrator_deletes_a_tenants_and_a_conversations(http: httpx.Client) -> None:
    chat(http, "anna", "a/b?c")
    (anna,) = tenants(http)
    chat(http, "anna", "other")
    chat(http, "bert")
    talk(http, "anna", "a/b?c")
    for headers in ({}, bearer("anna"), {"x-turnfold-admin-token": "ad"}):
        refused = http.delete(f"/admin/tenants/{anna}", headers=headers)
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    gone = http.delete(f"/admin/tenants/{anna}/conversations/a%2Fb%3Fc", headers=bearer("adm")).json()
    assert (gone["receipts"], gone["deleted"] >= 1, gone["sums"] >= 1) == (1, True, True)
    assert not has(http, "anna", "a/b?c")
    receipts = [json.loads(line) for line in http.get("/admin/receipts", headers=bearer("adm")).text.splitlines()]
    assert sorted(one["conversation"] for one in receipts) == ["c/1", "other"]
    assert http.delete(f"/admin/tenants/{anna}?conversation=other", headers=ADMIN).status_code == 400
    assert http.delete(f"/admin/tenants/{anna}", headers=ADMIN).json()["receipts"] == 1
    assert list(tenants(http).values()) == [1]


def test_the_command_asks_first(http: httpx.Client, run: RunCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    chat(http, "anna")
    (anna,) = tenants(http)
    url = ("--url", str(http.base_url))
    assert run("forget", "--yes", *url)[0] == 2
    assert run("forget", "--tenant", anna, "--key", "anna", "--yes", *url)[0] == 2
    code, _, err = run("forget", "--tenant", anna, "--yes", *url)
    assert (code, "TURNFOLD_ADMIN_TOKEN" in err) == (1, True)
    monkeypatch.setenv("TURNFOLD_ADMIN_TOKEN", "adm")
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    code, _, err = run("forget", "--tenant", anna, *url)
    assert (code, "nothing was deleted" in err, len(tenants(http))) == (1, True, 1)
    talk(http, "anna")
    code, out, _ = run("forget", "--key", "anna", "--conversation", "c/1", "--yes", *url)
    assert (code, out.startswith("Deleted: "), has(http, "anna")) == (0, True, False)
    code, out, _ = run("forget", "--tenant", anna, "--yes", "--json", *url)
    assert (code, json.loads(out)["receipts"], tenants(http)) == (0, 1, {})


def test_the_admin_token_goes_nowhere(http: httpx.Client, upstream: UpstreamServer) -> None:
    for path in ("/v1/chat/completions", "/v1/models", "/v1/files/x"):
        refused = http.post(path, json={"model": "m", "messages": []}, headers=bearer("adm"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "admin_token_misplaced")
    assert not upstream.seen


OWN = (
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/openapi.json"),
    ("GET", "/v1/windows"),
    ("GET", "/v1/conversation/x"),
    ("GET", "/v1/state/x"),
    ("GET", "/metrics"),
    ("GET", "/admin/report"),
    ("GET", "/admin/nowhere"),
    ("DELETE", "/admin/tenants/x"),
    ("OPTIONS", "/admin/report"),
    ("OPTIONS", "/admin/tenants/x"),
    ("OPTIONS", "/v1/conversation"),
    ("OPTIONS", "/v1/data"),
    ("OPTIONS", "/v1/state/x"),
)


@pytest.mark.parametrize(("method", "path"), OWN)
def test_no_page_of_another_origin_may_read_or_change_anything(http: httpx.Client, method: str, path: str) -> None:
    asking = {"origin": "https://evil.example", "access-control-request-method": "DELETE"}
    for headers in (asking, asking | ADMIN):
        answer = http.request(method, path, headers=headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert method != "OPTIONS" or answer.status_code in {404, 405}


def test_the_upstreams_answers_get_none_of_these(http: httpx.Client, upstream: UpstreamServer) -> None:
    upstream.handler = reply(b"{}", headers=((b"content-type", b"application/json"), (b"access-control-allow-origin", b"*")))
    answer = http.get("/v1/models", headers=bearer("anna"))
    assert answer.headers["access-control-allow-origin"] == "*"
    assert not {"x-content-type-options", "cache-control"} & set(answer.headers)


@pytest.mark.parametrize("receipts", [True, False])
def test_a_turnfold_that_keeps_nothing(upstream: UpstreamServer, receipts: bool) -> None:
    upstream.handler = reply(COMPLETION)
    auth = AuthSettings(admin_token=SecretStr("adm"))
    store = {"save_receipts": receipts}
    with (
        api_server("none://", upstream.origin + "/v1", engine=warm_fold, auth=auth, store_settings=store) as origin,
        httpx.Client(base_url=origin, timeout=60) as http,
    ):
        chat(http, "anna")
        made = http.post("/v1/compress", json={"text": TEXT}, headers=bearer("anna")).json()
        again = http.post("/v1/compress", json={"text": TEXT}, headers=bearer("anna")).json()
        assert not any(one["metadata"]["cached"] or one["metadata"]["sections_stored"] for one in (made, again))
        section = made["sections"][0]["id"]
        assert http.post("/v1/drill-down", json={"section_id": section}, headers=bearer("anna")).status_code == 404
        body = {"conversation_id": "c", "message": {"role": "user", "content": "hello"}}
        refused = http.post("/v1/conversation", json=body, headers=bearer("anna"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (501, "store_off")
        kept = http.put("/v1/state/c", json={"premise": None}, headers=bearer("anna"))
        assert kept.status_code in {422, 501}
        assert http.get("/readyz").json()["checks"]["store"] == "ok"
        until(lambda: http.get("/admin/ledger", headers=ADMIN).json()["ledger"]["queued"] == 0)
        state = http.get("/admin/ledger", headers=ADMIN).json()["store"]
        assert (state["problem"], state["failures"]) == ("", 0)
        assert (list(tenants(http).values()) == [1]) is receipts
        assert http.delete("/v1/data", headers=bearer("anna")).json() == {"deleted": 0}


def test_every_key_of_a_redis_expires(upstream: UpstreamServer, valkey: Any, redis_url: str) -> None:
    upstream.handler = reply(COMPLETION)
    auth = AuthSettings(admin_token=SecretStr("adm"))
    with (
        api_server(redis_url, upstream.origin + "/v1", engine=warm_fold, auth=auth) as origin,
        httpx.Client(base_url=origin, timeout=60) as http,
    ):
        for number in range(3):
            talk(http, "anna", f"c/{number}")
            chat(http, "anna", "c/0")
        http.post("/v1/compress", json={"text": TEXT}, headers=bearer("anna")).raise_for_status()
        messages = [{"role": "user", "content": TEXT}, {"role": "user", "content": "and now?"}]
        http.post("/v1/messages/compress", json={"messages": messages}, headers=bearer("anna"))
        http.put("/v1/state/c", json={"premise": None}, headers=bearer("anna"))
        http.delete("/v1/windows", headers=bearer("anna"))
        http.delete("/v1/data?conversation=c/1", headers=bearer("anna"))
        tenants(http)
    kinds = {key.split(b":")[3] for key in dump(valkey, redis_url) if b":i:" in key}
    assert {b"section", b"conversation", b"compression", b"deletion", b"cache-model", b"window-forgotten"} <= kinds


def test_doctor_says_what_is_missing(run: RunCommand, monkeypatch: pytest.MonkeyPatch, upstream: UpstreamServer) -> None:
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", upstream.origin + "/v1")
    monkeypatch.setenv("TURNFOLD_STORE_URL", "none://")
    _, out, _ = run("doctor")
    assert "keeps nothing: no drill-down" in out
    assert "until a restart" in out
    monkeypatch.setenv("TURNFOLD_STORE_SAVE_RECEIPTS", "false")
    assert "no receipts, no report" in run("doctor")[1]


def test_a_forwarded_address_changes_nothing(http: httpx.Client, upstream: UpstreamServer) -> None:
    """It passes upstream as it came, and is not looked at."""
    call(str(http.base_url), "GET", "/v1/models", None, [("x-forwarded-for", "10.0.0.9"), ("x-forwarded-proto", "https")])
    assert upstream.seen[-1].header("x-forwarded-for") == "10.0.0.9"
