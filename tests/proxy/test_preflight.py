"""Settings that are wrong or doubtful, before the first request and at the first one that shows it."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from tests.proxy.harness import Handler, Seen, UpstreamServer, call, proxy_server, reply, settings_for
from tests.support.cases import each
from turnfold.config.serving import ServerSettings
from turnfold.config.sources import SettingsError, load
from turnfold.proxy import preflight
from turnfold.proxy.checkup import examine
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.outbound.hops import check_hops, with_hop

CHAT = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}).encode()


def only_at(path: str) -> Handler:
    async def handler(scope: Scope, receive: Receive, send: Send) -> None:
        await reply(b"{}", status=200 if scope["path"] == path else 404)(scope, receive, send)

    return handler


def _refusal(**groups: dict[str, Any]) -> str:
    url = str(groups.pop("upstream", {}).get("url", "http://127.0.0.1:9/v1"))
    groups.setdefault("server", {"port": 0})
    with pytest.raises(SettingsError) as caught:
        preflight.check_start(settings_for(url, **groups))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@each(
    ("url", "host"),
    [
        ("http://127.0.0.1:8420/v1", "127.0.0.1"),
        ("http://localhost:8420", "127.0.0.1"),
        ("http://[::1]:8420/v1", "::1"),
        ("http://127.0.0.1:8420/v1", "0.0.0.0"),  # noqa: S104
        ("http://gateway:8420/v1", "gateway"),
    ],
)
def test_an_upstream_that_is_ourselves_is_refused(url: str, host: str) -> None:
    problem = _refusal(upstream={"url": url}, server={"host": host, "port": 8420})
    assert problem.startswith(f"TURNFOLD_UPSTREAM_URL: {url}")
    assert "itself" in problem


@each(
    ("url", "host", "here"),
    [
        ("http://0.0.0.0:8420/v1", "::", True),
        ("http://192.0.2.1:8420/v1", "0.0.0.0", False),  # noqa: S104 - nothing listens; the address is one of documents
        ("http://no-such-name.invalid:8420/v1", "0.0.0.0", False),  # noqa: S104
        ("http://0.0.0.0:8420/v1", "127.0.0.1", False),
        ("http://127.0.0.1/v1", "127.0.0.1", False),
    ],
)
def test_a_server_on_every_address_is_at_each_of_this_machine(url: str, host: str, here: bool) -> None:
    assert preflight.leads_here(url, ServerSettings(host=host)) is here


def test_a_url_without_a_port_names_the_usual_one() -> None:
    assert preflight.leads_here("http://127.0.0.1/v1", ServerSettings(port=80))


@each("url", ["https://127.0.0.1:8420/v1", "http://127.0.0.1:8421/v1", "http://192.0.2.1:8420/v1"])
def test_another_server_is_none_of_ours(url: str) -> None:
    assert not preflight.leads_here(url, ServerSettings())


def test_the_upstream_for_messages_is_looked_at_too() -> None:
    assert _refusal(anthropic={"url": "http://127.0.0.1:8420"}, server={"port": 8420}).startswith("TURNFOLD_ANTHROPIC_URL")


def test_a_port_in_use_and_a_lexicon_that_is_missing_are_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        problem = _refusal(server={"port": taken.getsockname()[1]})
    assert problem.startswith("TURNFOLD_PORT: cannot listen")
    assert "choose another port" in problem
    assert _refusal(server={"host": "::ffff:127.0.0.1", "port": 0}).startswith("TURNFOLD_HOST: cannot listen")
    assert "TURNFOLD_PROSE_LEXICON" in _refusal(folding={"prose_lexicon": tmp_path / "none.toml"})


def test_several_workers_do_not_share_a_store_in_memory() -> None:
    assert not preflight.doubts(settings_for("http://u/v1", server={"workers": 1}))
    (doubt,) = preflight.doubts(settings_for("http://u/v1", server={"workers": 3}))
    assert "memory://" in doubt
    assert "3 workers" in doubt


@pytest.mark.parametrize(
    ("path", "advice"), [("/gateway", "/gateway/v1"), ("/gateway/v1", None), ("", None), ("/v1beta", None), ("/elsewhere", None)]
)
def test_a_url_without_v1_is_noticed(upstream: UpstreamServer, path: str, advice: str | None) -> None:
    upstream.handler = only_at("/gateway/v1/models")
    said = preflight.look_for_v1(upstream.origin + path)
    assert said == (None if advice is None else f"{upstream.origin}/gateway answers 404, and {upstream.origin}{advice} does not:"
                    f" set it to {upstream.origin}{advice}")  # fmt: skip


def test_a_request_that_comes_back_is_answered_with_an_error(upstream: UpstreamServer) -> None:
    """The upstream is a gateway that forwards to the proxy in front of it."""
    with proxy_server(f"{upstream.origin}/v1") as (proxy, _):

        def send_back(seen: Seen) -> Handler:
            headers = [(key.decode(), value) for key, value in seen.headers if key not in {b"host", b"content-length"}]
            answer = call(proxy.origin, seen.method, seen.target, seen.body or None, headers)
            return reply(answer.body, status=answer.status, headers=[(k.encode(), v.encode()) for k, v in answer.headers])

        async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
            await (await asyncio.to_thread(send_back, upstream.seen[-1]))(scope, receive, send)

        upstream.handler = gateway
        for method, path, body in (("POST", "/v1/chat/completions", CHAT), ("GET", "/v1/models", None)):
            upstream.seen.clear()
            answer = call(proxy.origin, method, path, body)
            assert (answer.status, answer.json()["error"]["code"]) == (508, "loop_detected")
            assert "TURNFOLD_UPSTREAM_URL" in answer.json()["error"]["message"]
            assert len(upstream.seen) == 1


def test_a_chain_of_turnfolds_is_no_loop(upstream: UpstreamServer) -> None:
    with proxy_server(f"{upstream.origin}/v1") as (inner, _), proxy_server(f"{inner.origin}/v1") as (outer, _):
        assert outer.chat(CHAT).status == 200
    (seen,) = upstream.seen
    assert len((seen.header("x-turnfold-via") or "").split(",")) == 2


def test_providers_do_not_see_the_header() -> None:
    assert with_hop([(b"x-turnfold-via", b"a"), (b"k", b"v")], b"b", "api.openai.com") == [(b"k", b"v")]
    assert with_hop([(b"x-turnfold-via", b"a")], b"b", "gateway") == [(b"x-turnfold-via", b"a, b")]
    with pytest.raises(Refused):
        check_hops([(b"x-turnfold-via", b"a, b, c, d, e")], b"f")


async def test_doctor_names_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "TURNFOLD_UPSTREAM_URL": "http://127.0.0.1:8420/v1",
        "TURNFOLD_WORKERS": "2",
        "TURNFOLD_STORE_URL": "memory://",
        "TURNFOLD_PROSE_LEXICON": str(tmp_path / "none.toml"),
    }.items():
        monkeypatch.setenv(name, value)
    findings = await examine(load(directory=tmp_path))
    faults = {finding.part: f"{finding.found} {finding.advice}" for finding in findings if finding.verdict == "fault"}
    assert "itself" in faults["upstream"]
    assert "TURNFOLD_PROSE_LEXICON" in faults["lexicon"]
    assert any(finding.part == "store" and "2 workers" in finding.found for finding in findings)


async def test_doctor_finds_the_missing_v1_and_who_has_the_port(
    upstream: UpstreamServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.handler = only_at("/gateway/v1/models")
    monkeypatch.setenv("TURNFOLD_UPSTREAM_URL", f"{upstream.origin}/gateway")
    monkeypatch.setenv("TURNFOLD_STORE_URL", "memory://")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("TURNFOLD_PORT", str(taken.getsockname()[1]))
        findings = {finding.part: finding for finding in await examine(load(directory=tmp_path))}
    assert (findings["upstream"].verdict, findings["upstream"].advice) == (
        "fault", f"set TURNFOLD_UPSTREAM_URL to {upstream.origin}/gateway/v1",
    )  # fmt: skip
    assert (findings["address"].verdict, "TURNFOLD_PORT" in findings["address"].found) == ("fault", True)
