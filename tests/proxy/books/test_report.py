"""The report and the routes that give it, over a real ledger."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from tests.proxy.harness import unhurried
from tests.proxy.receipts import NOON, SECTION, receipt
from turnfold.compression.errors import InvalidInput
from turnfold.config.fold import fold_options
from turnfold.config.prices import dollars
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.asking.asker import ModelAsker
from turnfold.proxy.asking.operations import OperationModels
from turnfold.proxy.books.csv_rows import as_csv
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.pacing import pacing
from turnfold.proxy.books.pricing import RequestPricing
from turnfold.proxy.books.receipt_log import line_of, read_line
from turnfold.proxy.books.report import GROUPINGS, Query, moment, report
from turnfold.proxy.books.rollups import UNPRICED, SumRow
from turnfold.proxy.books.section_records import find_section
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.deletion.deletions import Deletions
from turnfold.proxy.deletion.forgetting import Forgetting
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.routes.admin import admin_routes
from turnfold.proxy.routes.api import api_routes
from turnfold.proxy.store import Batch, Item, Key, OpenStore, Scope, Store, StoreUnavailable, open_store
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.telemetry.metrics import Metrics

HOUR, DAY = 3600, 86400
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


async def fill(store: Store) -> Ledger:
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(), (SECTION,))
    book.record(receipt(model="mine", tenant="bert", conversation="d", at=NOON + HOUR), ())
    book.record(receipt(status="observed", at=NOON + DAY, conversation=None), ())
    book.record(receipt(status="bypassed", reason="off", tokens_before=0, tokens_after=0, at=NOON + 2 * DAY), ())
    book.record(receipt(status="failed-open", reason="slow", upstream_status=400, usage=(), at=NOON + 2 * DAY), ())
    await book.flush()
    return book


EVERYTHING = (NOON - 5 * DAY, NOON + 5 * DAY)


async def test_figures(store: Store) -> None:
    await fill(store)
    result = await report(store, Query(*EVERYTHING))
    totals = result["totals"]
    assert (totals["requests"], totals["failed"], totals["served"]) == (5, 1, 4)
    tokens = totals["tokens"]
    # Two folded (1000 -> 400), one observed (sent as it was), one that nobody counted; the failure counts nowhere.
    assert (tokens["before"], tokens["after"], tokens["saved"]) == (3000, 1800, 1200)
    assert (tokens["observed_before"], tokens["observed_after"], tokens["uncounted_requests"]) == (1000, 400, 1)
    assert totals["usage"]["cached_tokens"] == 400
    assert totals["dollars"]["unknown_requests"] == 1
    assert totals["ms"]["overhead_mean"] == 1.5
    assert [group["model"] for group in result["groups"]] == ["gpt-4o", "mine"]
    assert result["groups"][1]["dollars"]["paid"] is None
    json.dumps(result)


async def test_every_grouping_adds_up(store: Store) -> None:
    await fill(store)
    expected = {
        "day": ["2025-10-09", "2025-10-10", "2025-10-11"],
        "hour": ["2025-10-09T12:00Z", "2025-10-09T13:00Z", "2025-10-10T12:00Z", "2025-10-11T12:00Z"],
        "tenant": ["anna", "bert"],
        "conversation": ["c", "d"],
        "status": ["bypassed", "failed-open", "folded", "observed"],
    }
    for grouping in GROUPINGS:
        groups = (await report(store, Query(*EVERYTHING, grouping)))["groups"]
        assert sum(group["requests"] for group in groups) == (4 if grouping == "conversation" else 5), grouping
        assert all(grouping in group for group in groups), grouping
        if grouping in expected:
            assert sorted(group[grouping] for group in groups) == expected[grouping]


@pytest.mark.parametrize(
    ("start", "end", "only", "requests"),
    [
        (NOON, NOON + 1, {}, 1),
        (NOON + HOUR, NOON + 2 * HOUR, {}, 1),
        (NOON - 10 * HOUR, NOON + DAY + HOUR, {}, 3),
        (*EVERYTHING, {"tenant": "bert"}, 1),
        (*EVERYTHING, {"status": "folded", "model": "gpt-4o"}, 1),
        (*EVERYTHING, {"conversation": "c"}, 3),
        (*EVERYTHING, {"model": "no such"}, 0),
    ],
)
async def test_ranges_and_filters(start: float, end: float, only: dict[str, str], requests: int) -> None:
    store = MemoryStore()
    await fill(store)
    assert (await report(store, Query(start, end, only=only)))["totals"]["requests"] == requests


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (Query(1, 2, "colour"), "group_by"),
        (Query(2, 1), "from"),
        (Query(0, 1e10), "from"),
        (Query(1, 2, only={"colour": "x"}), "colour"),
    ],
)
async def test_queries_that_make_no_sense(query: Query, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await report(MemoryStore(), query)
    assert caught.value.field == field


def test_moments() -> None:
    assert moment("24h", "from", NOON) == NOON - DAY
    assert moment("7d", "from", NOON) == NOON - 7 * DAY
    assert moment(str(NOON), "from", 0) == NOON
    assert moment("2025-10-09T12:00:00Z", "from", 0) == moment("2025-10-09T14:00+02:00", "from", 0) == NOON
    assert moment("2025-10-09", "from", 0) == NOON - 12 * HOUR
    for wrong in ("", "yesterday", "1" * 400, "-5", "nan", "99999999999999", "²h", "5x"):
        with pytest.raises(InvalidInput):
            moment(wrong, "from", NOON)


async def test_held_out_conversations_are_compared() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    for number in range(50):
        for _ in range(4):  # the requests of a conversation are alike: they are worth one
            book.record(receipt(usage=(390 + number % 20, 50, 0, 0), conversation=str(number)), ())
        plain = {"status": "bypassed", "reason": "held-out", "tokens_after": 1000, "conversation": f"h{number}"}
        book.record(receipt(usage=(990 + number % 20, 50, 0, 0), **plain), ())
    book.record(receipt(status="bypassed", reason="off", conversation="off", usage=(9000, 1, 0, 0)), ())
    book.record(receipt(conversation="bad", upstream_status=500, usage=()), ())
    await book.flush()
    compared = (await report(store, Query(*EVERYTHING)))["held_out"]
    assert (compared["held_out"]["conversations"], compared["held_out"]["requests"]) == (50, 50)
    assert (compared["others"]["conversations"], compared["others"]["requests"]) == (51, 201)
    assert compared["held_out"]["prompt_tokens"]["mean"] == pytest.approx(999, abs=1)
    assert compared["others"]["prompt_tokens"]["mean"] == pytest.approx(399, abs=1)
    # Uniform over 20 values: standard deviation 5.8, so 1.96 * 5.8 / sqrt(50) = 1.6, whichever way a conversation is cut up.
    assert compared["others"]["prompt_tokens"]["plus_minus"] == pytest.approx(1.6, abs=0.1)
    assert compared["held_out"]["prompt_tokens"]["plus_minus"] == pytest.approx(1.6, abs=0.1)
    assert compared["others"]["completion_tokens"]["plus_minus"] == 0
    assert compared["others"]["dollars"]["mean"] == pytest.approx((399 * 2.5 + 500) / 1e6, rel=0.01)
    assert compared["others"]["failed_share"]["mean"] == pytest.approx(1 / 201)
    assert compared["held_out"]["failed_share"] == {"mean": 0, "plus_minus": 0}
    assert compared["others"]["first_byte_ms"]["mean"] == 200


async def test_a_mean_of_few_says_so() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(status="bypassed", reason="held-out", usage=()), ())
    await book.flush()
    compared = (await report(store, Query(*EVERYTHING)))["held_out"]
    assert compared["held_out"]["requests"] == 1
    assert all(compared["held_out"][name] is None for name in ("prompt_tokens", "dollars", "total_ms", "failed_share"))
    assert compared["others"]["conversations"] == 0


async def test_a_conversation_says_why_it_folds_as_often_as_it_does() -> None:
    """Claude reads a cached token at a tenth and writes it at 1.25; a model without a cache has to wait for nothing."""
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    for model in ("claude-sonnet-4-5", "my-local-model"):
        for turn in range(1, 41):
            changes: dict[str, Any] = {"model": model, "conversation": model, "tokens_before": 1000 * turn}
            book.record(receipt(at=NOON + turn, **changes), (SECTION,) if turn > 20 else ())
    await book.flush()
    result = await report(store, Query(*EVERYTHING, "conversation"), partial(fold_options, Settings()))
    paces = {group["conversation"]: group["pacing"] for group in result["groups"]}
    claude, local = paces["claude-sonnet-4-5"], paces["my-local-model"]
    assert (claude["read"], claude["write"], claude["turn"], claude["events"]) == (0.1, 1.25, 1000, 1)
    assert claude["turns"] > local["turns"] > 0
    assert claude["start"] > local["start"]
    assert claude["turns"] == pytest.approx((claude["fold_at"] - claude["keep_recent"]) / 1000, abs=0.1)
    assert f"folds every {claude['turns']:.0f} turns at these prices" in claude["words"]
    assert len(list(csv.DictReader(io.StringIO(as_csv(result["groups"]))))) == 2
    assert "pacing" not in (await report(store, Query(*EVERYTHING, "conversation")))["groups"][0]


async def test_a_conversation_that_only_repeats_has_a_pace_of_nothing() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    for at in (NOON, NOON + DAY, NOON + DAY + 60):
        book.record(receipt(at=at, tokens_before=5000), ())
        await book.flush()
    result = await report(store, Query(NOON + DAY, NOON + DAY + HOUR, "conversation"), partial(fold_options, Settings()))
    (group,) = result["groups"]
    assert group["requests"] == 2
    assert (group["pacing"]["turns"], group["pacing"]["words"], group["pacing"]["events"]) == (None, None, 0)


@pytest.mark.parametrize(("turns", "tokens"), [(0, 900), (3, 0), (0, 0), (-1, 900)])
def test_no_turns_or_no_growth_is_no_pace(turns: int, tokens: int) -> None:
    assert pacing("gpt-4o", fold_options(Settings(), "gpt-4o"), turns, tokens) is None


async def test_a_conversation_of_which_nothing_was_served_has_no_pace() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(upstream_status=500, usage=()), ())
    await book.flush()
    result = await report(store, Query(*EVERYTHING, "conversation"), partial(fold_options, Settings()))
    assert result["groups"][0]["pacing"]["turn"] is None
    assert result["totals"]["tokens"]["saved_share"] is None


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
    [("from=x", "from"), ("group_by=x", "group_by"), ("format=x", "format"), ("colour=x", "colour"), ("to=1&from=2", "from")],
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
    assert told == ["No requests yet. Not counted, since the store takes no receipts now: 5 requests."] * 3
    assert "over 4 requests" in until
    assert "takes no receipts" not in until
    waiting, _ = caplog.messages
    assert "kept in this process's memory and written when it takes them again" in waiting
    assert "10 s after a stop begins, or when the process is killed, are lost: database or disk is full" in waiting


async def test_deletion_wants_a_tenant(client: httpx.AsyncClient) -> None:
    response = await client.delete("/admin/data", headers=ADMIN)
    assert response.status_code == 400
    assert error_of(response)["param"] == "x-turnfold-tenant"


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


async def named(store: Store) -> None:
    """Requests on three wires, of sessions that clients named, and one from before there were either."""
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(wire="chat", session="s-1"), ())
    book.record(receipt(wire="responses", session="s-1", conversation="d"), ())
    book.record(receipt(wire="messages", session="=cmd", at=NOON + DAY), ())
    book.record(receipt(at=NOON + DAY, conversation=None), ())
    await book.flush()


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [("wire", {"chat": 1, "responses": 1, "messages": 1, "": 1}), ("session", {"s-1": 2, "=cmd": 1, "": 1})],
)
async def test_wires_and_sessions_are_told_apart(store: Store, grouping: str, expected: dict[str, int]) -> None:
    await named(store)
    result = await report(store, Query(*EVERYTHING, grouping))
    assert {group[grouping]: group["requests"] for group in result["groups"]} == expected
    lines = as_csv(result["groups"]).splitlines()
    assert lines[0].startswith(f"{grouping},requests,")
    assert ("\n'=cmd,1," in "\n".join(lines)) == (grouping == "session")
    only = await report(store, Query(*EVERYTHING, grouping, {"session": "s-1", "conversation": "d"}))
    assert only["totals"]["requests"] == 1
    by_conversation = await report(store, Query(*EVERYTHING, "conversation", {"session": "s-1"}))
    assert sorted(group["conversation"] for group in by_conversation["groups"]) == ["c", "d"]


def test_a_receipt_of_an_older_release_has_the_plain_value_of_every_field_that_it_lacks() -> None:
    new = json.loads(line_of(receipt(), UNPRICED))
    needed = {field.name for field in fields(Receipt) if field.default is MISSING}
    old = {name: value for name, value in new.items() if name in {*needed, "v"}}
    assert len(old) < len(new) - 5
    read = read_line(json.dumps(old).encode())
    assert read is not None
    assert {name: value for name, value in read.items() if name not in old} == {
        **{field.name: field.default for field in fields(Receipt) if field.name in read and field.name not in old},
        "sections": [],
        "tags": [],
        "paid": None,
        "paid_own": 0.0,
        "without": None,
    }


async def test_receipts_and_rows_from_before_wires_are_read(store: Store) -> None:
    await fill(store)
    old = b'{"v":1,' + b",".join(
        part for part in line_of(receipt(), UNPRICED)[1:-1].split(b",") if not part.startswith((b'"v"', b'"wire"', b'"session"'))
    )
    read = read_line(old + b"}")
    assert read is not None
    assert (read["wire"], read["session"], read["request_id"]) == ("", "", "r")
    for stem in ('["anna","gpt-4o","folded","","c"]', '{"tenant":"anna","model":"gpt-4o","status":"folded","conversation":"c"}'):
        row = SumRow.from_stem(stem)
        assert row == SumRow("anna", "gpt-4o", "folded", "", "c", "", "")
