"""What is put together around the routes: lifespan, further routes, readiness, the server itself."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.proxy.harness import NO_LOGGING, Answer, Receipts, UpstreamServer, call, proxy_server, running, settings_for
from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import Settings
from turnfold.proxy.app import Parts, build
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.routes.ops import Readiness, ReadinessCheck
from turnfold.proxy.server import configuration, serve

DOWN = "http://127.0.0.1:9/v1"


async def _lifespan(app: Any, during: Any = None) -> list[str]:
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    said: list[str] = []

    async def send(message: Any) -> None:
        said.append(message["type"])
        if message["type"] == "lifespan.startup.complete":
            if during:
                during()
            await inbox.put({"type": "lifespan.shutdown"})

    await inbox.put({"type": "lifespan.startup"})
    await app({"type": "lifespan", "state": {}}, inbox.get, send)
    return said


async def test_the_lifespan_starts_and_stops_what_there_is() -> None:
    warmed: list[Any] = []
    seen: list[bool] = []
    settings = settings_for(DOWN)
    said = await _lifespan(build(settings, warm=warmed.append), lambda: seen.append(gc.get_freeze_count() > 0))
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert (warmed, seen) == ([settings], [True])


async def test_the_start_waits_for_the_store_and_says_when_there_is_none(
    tmp_path: Path, unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "t.db"
    found = list[bool]()
    app = build(settings_for(DOWN, store={"url": f"sqlite:///{file}"}), warm=lambda _: None)
    await _lifespan(app, lambda: found.append(file.exists()))
    assert found == [True]  # or the first request would find it opening, and go without
    assert "without the store" not in caplog.text
    await _lifespan(build(settings_for(DOWN, store={"url": f"redis://127.0.0.1:{unused_tcp_port}"}), warm=lambda _: None))
    assert "Requests are served without the store" in caplog.text


async def test_a_part_that_fails_at_the_stop_is_an_incident_and_keeps_no_other_from_ending(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    parts = Parts(settings_for(DOWN))

    async def fail() -> None:
        raise ValueError

    async with parts.running():
        monkeypatch.setattr(parts.ledger, "stop", fail)
    assert dict(parts.incidents.counts) == {"stop": 1}
    with pytest.raises(RuntimeError, match="after shutdown"):  # the last but one
        await parts.workshop.run("anna", len, "four")
    assert "stop: one step set aside, kept of it: nothing: ValueError" in caplog.text


async def test_every_part_that_remembers_hears_of_a_deletion(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, heard, spot = Parts(settings_for(DOWN)), list[str](), UpstreamModel("anna", DOWN, "own-model")
    for name in ("asker", "blocks", "likenesses"):
        monkeypatch.setattr(getattr(parts, name), "forget_in_memory", partial(heard.append, name))
    async with parts.running():
        await parts.windows.learn_from_refusal(spot, 5000, 6000)
        assert (await parts.windows.learned(spot)).limit == 5000
        await parts.forgetting.forget("anna")
        assert (await parts.windows.learned(spot)).limit is None
    assert heard == ["asker", "blocks", "likenesses"]


def test_a_request_that_comes_before_the_vocabulary_waits_for_it(upstream: UpstreamServer) -> None:
    loaded, waited = threading.Event(), list[bool]()

    def load(_: object) -> None:
        loaded.wait(60)

    def build_slow(settings: Settings) -> ASGIApp:
        return build(settings, recorder=Receipts(), warm=load)

    with running(configuration(settings_for(upstream.origin + "/v1"), build_slow, **NO_LOGGING)) as server:
        assert call(server.origin, "GET", "/readyz").status == 200
        assert call(server.origin, "GET", "/v1/models").status == 200

        def ask() -> Answer:
            answer = call(server.origin, "POST", "/v1/chat/completions", b'{"model": "gpt-4o", "messages": []}')
            waited.append(loaded.is_set())
            return answer

        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(ask)
            time.sleep(0.05)
            assert not asked.done()
            loaded.set()
            assert asked.result(60).status == 200
    assert waited == [True]


def test_without_a_vocabulary_requests_are_served_and_readiness_says_so(upstream: UpstreamServer) -> None:
    def broken(_: object) -> None:
        raise ValueError("the packaged vocabulary is not the one")

    def build_broken(settings: Settings) -> ASGIApp:
        return build(settings, recorder=Receipts(), warm=broken)

    with running(configuration(settings_for(upstream.origin + "/v1"), build_broken, **NO_LOGGING)) as server:
        assert call(server.origin, "POST", "/v1/chat/completions", b'{"model": "gpt-4o", "messages": []}').status == 200
        assert call(server.origin, "GET", "/readyz").json()["failures"] == {"background": 1}


def test_our_routes_come_before_the_upstream(upstream: UpstreamServer) -> None:
    with proxy_server(upstream.origin + "/v1") as (proxy, _):
        assert call(proxy.origin, "POST", "/v1/drill-down", b"{}").json()["error"]["param"] == "section_id"
        assert call(proxy.origin, "GET", "/admin/report").status in (401, 403, 404)
        assert call(proxy.origin, "GET", "/admin/other").status == 404
        assert upstream.seen == []
        assert call(proxy.origin, "GET", "/v1/elsewhere").status == 200
        assert len(upstream.seen) == 1


@pytest.mark.parametrize(("required", "status"), [(False, 200), (True, 503)])
@pytest.mark.parametrize("failure", ["false", "error", "hangs"])
def test_readiness(required: bool, status: int, failure: str) -> None:
    async def works() -> bool:
        return True

    async def fails() -> bool:
        if failure == "error":
            raise ConnectionRefusedError
        if failure == "hangs":
            await asyncio.sleep(60)
        return False

    checks = Readiness([ReadinessCheck("vocabulary", works, True), ReadinessCheck("store", fails, required)])
    app = Starlette(routes=[Route("/readyz", checks)])
    with running(uvicorn.Config(app, **NO_LOGGING)) as server:
        answer = call(server.origin, "GET", "/readyz")
    assert answer.status == status
    assert answer.json()["checks"] == {"vocabulary": "ok", "store": "down"}


def test_websocket_scopes_of_other_servers_are_answered() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    app = build(settings_for(DOWN), recorder=Receipts(), warm=lambda _: None)
    asyncio.run(_call(app, {"type": "websocket", "path": "/v1/realtime", "headers": []}, receive, send))
    assert [message["type"] for message in sent] == ["websocket.http.response.start", "websocket.http.response.body"]
    assert sent[0]["status"] == 501


async def _call(app: Any, *args: Any) -> None:
    await app(*args)


def test_an_open_relay_does_not_start() -> None:
    with pytest.raises(InvalidInput, match=r"auth\.client_tokens"):
        serve(settings_for(DOWN, upstream={"api_key": "sk-op"}, server={"host": "0.0.0.0"}))  # noqa: S104


def test_the_server_adds_no_headers_of_its_own() -> None:
    config = configuration(settings_for(DOWN, server={"port": 1234, "workers": 3}), **NO_LOGGING)
    assert (config.server_header, config.date_header, config.port, config.workers) == (False, False, 1234, 3)
    assert (config.access_log, config.proxy_headers, config.ws, config.factory) == (False, False, "none", True)
    # AWS's load balancers keep idle connections for 60 s, Google's for 600; those who send next must close first.
    assert (config.timeout_keep_alive, config.timeout_graceful_shutdown) == (620, settings_for(DOWN).server.drain_timeout)
    assert configuration(settings_for(DOWN), log_config=None).log_level == "warning"
