"""Routes over a real ledger: the report, receipts, drill-down, deletion by kind, metrics."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from tests.proxy.harness import unhurried
from tests.proxy.receipts import NOON, SECTION, fill, receipt
from turnfold.config.fold import fold_options
from turnfold.config.prices import dollars
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.asking.asker import ModelAsker
from turnfold.proxy.asking.operations import OperationModels
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.pricing import RequestPricing
from turnfold.proxy.books.section_records import find_section
from turnfold.proxy.deletion.deletions import Deletions
from turnfold.proxy.deletion.forgetting import Forgetting
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.routes.admin import admin_routes
from turnfold.proxy.routes.api import api_routes
from turnfold.proxy.store import Batch, Item, Key, OpenStore, Scope, StoreUnavailable, open_store
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.telemetry.metrics import Metrics

ADMIN = {"x-turnfold-admin-token": "letmein"}
WORKSHOP = Workshop(1)


@dataclass
class Gate:
    """The tenant is what the credential says."""

    def tenant(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        named = dict(headers)
        return named.get(b"x-turnfold-tenant" if self.is_admin(headers) else b"authorization", b"").decode()

    def is_admin(self, headers: Sequence[tuple[bytes, bytes]], method: str = "") -> bool:
        named = dict(headers)
        return b"letmein" in (named.get(b"x-turnfold-admin-token"), named.get(b"authorization", b"").removeprefix(b"Bearer "))


def admin_of(store: OpenStore, book: Ledger, metrics: Metrics | None = None) -> list[Route]:
    forgetting, render = Forgetting(store, book, Deletions(store)), (metrics or Metrics()).render
    return admin_routes(store, book, forgetting, Gate(), render, partial(fold_options, Settings()), Incidents(), {})


def api_of(store: OpenStore, book: Ledger) -> list[Route]:
    forgetting = Forgetting(store, book, Deletions(store))
    models = OperationModels(ModelAsker(Settings(), None), book, Settings())
    return api_routes(store, Settings(), Gate(), WORKSHOP, forgetting, Windows(store.patient), models)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    store = OpenStore(MemoryStore(), unhurried(StoreSettings()))
    book = await fill(store)
    metrics = Metrics()
    metrics.observe(receipt(), RequestPricing(dollars).price(receipt(), None, "")[0])
    routes = [*admin_of(store, book, metrics), *api_of(store, book)]
    transport = httpx.ASGITransport(Starlette(routes=routes))
    async with httpx.AsyncClient(transport=transport, base_url="http://t") as made:
        yield made


def error_of(response: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error


@pytest.mark.parametrize("path", ["/admin/report", "/admin/receipts", "/admin/ledger", "/metrics"])
async def test_strangers_are_turned_away(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path, headers={"x-turnfold-admin-token": "guess"})
    assert response.status_code == 401
    assert error_of(response)["code"] == "invalid_admin_token"
    assert (await client.delete("/admin/data", headers={"x-turnfold-tenant": "anna"})).status_code == 401


async def test_the_report_over_http(client: httpx.AsyncClient) -> None:
    url = "/admin/report?from=2025-10-01&to=2025-11-01&group_by=status"
    assert (await client.get(url, headers=ADMIN)).json()["totals"]["requests"] == 5
    assert (await client.get(url + "&status=folded", headers=ADMIN)).json()["totals"]["requests"] == 2
    one = (await client.get(url, headers={**ADMIN, "x-turnfold-tenant": "bert"})).json()
    assert one["totals"]["requests"] == 1
    rows = list(csv.DictReader(io.StringIO((await client.get(url + "&format=csv", headers=ADMIN)).text)))
    assert {row["status"]: row["requests"] for row in rows}["folded"] == "2"
    assert rows[0]["tokens.saved"]


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ("from=x", "from"),
        ("group_by=x", "group_by"),
        ("format=x", "format"),
        ("colour=x", "colour"),
        ("to=1&from=2", "from"),
        ("from=2d&to=1d&from=3d", "from"),
    ],
)
async def test_wrong_parameters_are_named(client: httpx.AsyncClient, parameters: str, field: str) -> None:
    response = await client.get(f"/admin/report?{parameters}", headers=ADMIN)
    assert response.status_code == 400
    assert error_of(response)["param"] == field


async def test_receipts_are_exported(client: httpx.AsyncClient) -> None:
    url = "/admin/receipts?from=2025-10-01&to=2025-11-01"
    lines = [json.loads(line) for line in (await client.get(url, headers=ADMIN)).text.splitlines()]
    assert len(lines) == 5
    assert lines[0]["usage"]["prompt_tokens"] == 400
    rows = list(csv.DictReader(io.StringIO((await client.get(url + "&format=csv&tenant=anna", headers=ADMIN)).text)))
    assert len(rows) == 4
    assert rows[0]["usage.prompt_tokens"] == "400"


async def test_drill_down(client: httpx.AsyncClient) -> None:
    anna = {"authorization": "anna"}
    response = await client.post("/v1/drill-down", json={"section_id": SECTION.id}, headers=anna)
    assert response.status_code == 200, response.text
    body = response.json()
    assert set(body) == {"section_id", "layer", "text", "tokens"}
    assert body["tokens"] == 12
    assert json.loads(body["text"].split("\n")[0])["content"] == json.loads(SECTION.messages[0])["content"]
    for tenant, section in [("bert", SECTION.id), ("anna", "s-2")]:
        gone = await client.post("/v1/drill-down", json={"section_id": section}, headers={"authorization": tenant})
        assert gone.status_code == 404
        assert error_of(gone)["code"] == "section_unknown"
    deleted = await client.delete("/admin/data?conversation=c", headers={**ADMIN, "x-turnfold-tenant": "anna"})
    assert deleted.json()["deleted"] >= 1
    gone = await client.post("/v1/drill-down", json={"section_id": SECTION.id}, headers=anna)
    assert gone.status_code == 410
    assert error_of(gone)["code"] == "section_expired"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("{", "body"),
        ("[]", "body"),
        ("{}", "section_id"),
        ('{"section_id": ""}', "section_id"),
        ('{"section_id": 3}', "section_id"),
        ('{"section_id": "s", "target_layer": 7}', "target_layer"),
        ('{"section_id": "s", "colour": 7}', "colour"),
    ],
)
async def test_wrong_drill_downs_are_named(client: httpx.AsyncClient, body: str, field: str) -> None:
    response = await client.post("/v1/drill-down", content=body, headers={"authorization": "anna"})
    assert response.status_code == 422
    assert error_of(response)["param"] == field
    assert (await client.post("/v1/drill-down", content=b"x" * 20_000)).status_code == 413


async def test_originals_that_still_wait_to_be_written_are_deleted_by_kind_too() -> None:
    store = OpenStore(MemoryStore(), unhurried(StoreSettings()))
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(), (SECTION,))
    routes = admin_of(store, book)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url="http://t") as admin:
        deleted = await admin.delete("/admin/data?kind=section", headers={**ADMIN, "x-turnfold-tenant": "anna"})
    await book.flush()
    assert (deleted.json()["deleted"], await store.keys(Scope("anna", "section"))) == (1, [])


async def test_originals_that_were_deleted_by_kind_are_kept_again_when_they_are_sent_again() -> None:
    store = OpenStore(MemoryStore(), unhurried(StoreSettings()))
    book = await fill(store)
    routes = admin_of(store, book)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url="http://t") as admin:
        deleted = await admin.delete("/admin/data?kind=section", headers={**ADMIN, "x-turnfold-tenant": "anna"})
    assert deleted.json()["deleted"] >= 1
    assert await store.keys(Scope("anna", "section")) == []
    book.record(receipt(at=NOON + 60), (SECTION,))
    await book.flush()
    assert await find_section(store, "anna", SECTION.id)


def _bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_what_is_deleted_by_kind_is_gone_from_the_file(tmp_path: Path) -> None:
    settings = unhurried(StoreSettings(url=f"sqlite:///{tmp_path}/t.db"))
    store = open_store(settings)
    book = Ledger(store, settings, dollars)
    secret = Item(Key("anna", "note", "1"), b"zanzibarwombat" * 9, 600)
    await store.patient.put([secret])
    routes = admin_of(store, book)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url="http://t") as admin:
        deleted = await admin.delete("/admin/data?kind=note", headers={**ADMIN, "x-turnfold-tenant": "anna"})
    assert deleted.json()["deleted"] == 1
    assert b"zanzibarwombat" not in _bytes_of(tmp_path)
    await store.close()


async def test_a_report_says_what_the_store_does_not_take_and_the_log_says_it_once(caplog: pytest.LogCaptureFixture) -> None:
    class Full(MemoryStore):
        full = True

        async def record(self, batch: Batch) -> None:
            if self.full:
                raise StoreUnavailable("database or disk is full")
            await super().record(batch)

    disk = Full()
    store = OpenStore(disk, unhurried(StoreSettings()))
    book = await fill(store)
    routes = admin_of(store, book)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url="http://t") as admin:
        told = [(await admin.get(f"/admin/report?from={NOON}", headers=ADMIN)).json()["headline"] for _ in range(3)]
        disk.full = False
        while not await book.flush():  # noqa: ASYNC110 - the store gives no sign when it is back
            await asyncio.sleep(0.02)
        until = (await admin.get(f"/admin/report?from={NOON}", headers=ADMIN)).json()["headline"]
    waits = "No requests yet. Not counted, because the store does not accept receipts now: 5 requests."
    causes = [headline.removeprefix(f"{waits} Why: ").removeprefix("not used until it answers again: ") for headline in told]
    assert causes == ["database or disk is full."] * 3
    assert "over 4 requests" in until
    assert "takes no receipts" not in until
    waiting, _ = caplog.messages
    assert "they stay in this process's memory and are written once it does" in waiting
    assert "still waiting 10 s after shutdown begins, or when the process is killed, are lost: " in waiting
    assert waiting.endswith(": database or disk is full")


async def test_deletion_wants_a_tenant(client: httpx.AsyncClient) -> None:
    response = await client.delete("/admin/data", headers=ADMIN)
    assert response.status_code == 400
    assert error_of(response)["param"] == "x-turnfold-tenant"
    for name in ("conversation", "kind"):
        response = await client.delete(f"/admin/data?{name}=", headers={**ADMIN, "x-turnfold-tenant": "anna"})
        assert (response.status_code, response.json()["error"]["param"]) == (400, name)


async def test_metrics_are_for_administrators(client: httpx.AsyncClient) -> None:
    for headers in (ADMIN, {"authorization": "Bearer letmein"}):
        response = await client.get("/metrics", headers=headers)
        assert response.status_code == 200
        assert 'turnfold_requests_total{model="gpt-4o",status="folded"} 1.0' in response.text


async def test_a_store_that_is_away_is_said() -> None:
    class Away(MemoryStore):
        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            raise StoreUnavailable("away")

        async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
            raise StoreUnavailable("away")

    store = OpenStore(Away(), unhurried(StoreSettings()))
    book = Ledger(store, StoreSettings(), dollars)
    routes = [*admin_of(store, book), *api_of(store, book)]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(Starlette(routes=routes)), base_url="http://t") as http:
        report_ = await http.get("/admin/report", headers=ADMIN)
        section = await http.post("/v1/drill-down", json={"section_id": "s"})
        with pytest.raises(StoreUnavailable):  # as a chat request would ask it
            await store.get([Key("anna", "cache", "x")])
        state = (await http.get("/admin/ledger", headers=ADMIN)).json()["store"]
    assert (report_.status_code, section.status_code) == (503, 503)
    assert error_of(section)["code"] == "store_unavailable"
    assert "away" in state["problem"]
    await store.close()
