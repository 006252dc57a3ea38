"""Deleting by tenant and by conversation: gone from every store, its files, every process's memory, and what still waits."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.harness import unhurried
from tests.proxy.receipts import NOON, receipt
from tests.proxy.redis_keys import dump
from turnfold.compression.budgeted import HistoryMessage, HistorySettings
from turnfold.compression.fold import Section
from turnfold.config.prices import dollars
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import receipts_between
from turnfold.proxy.deletion.deletions import Deletion, Deletions
from turnfold.proxy.deletion.forgetting import BookKeeping, Forgetting
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.window_records import UpstreamModel, tenants
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.store import Batch, Item, Key, OpenStore, Scope, Store, StoreUnavailable, open_store
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.sqlite import SqliteStore


class Process:
    """What one process of Turnfold holds over a store."""

    def __init__(self, settings: StoreSettings, store: OpenStore | None = None) -> None:
        self.store = store or open_store(unhurried(settings))
        deletions = Deletions(self.store.patient)
        self.ledger = Ledger(self.store, settings, dollars, erasures=BookKeeping(deletions, self.store.patient))
        self.forgetting = Forgetting(self.store, self.ledger, deletions)
        self.windows = Windows(self.store, patient=self.store.patient)
        self.forgetting.subscribe(lambda deletion: self.windows.forget_in_memory(deletion.is_of))
        self.refresh = deletions.refresh

    async def use(self, tenant: str, conversation: str, text: str) -> None:
        """A folded request, and an item of a kind that is cached."""
        section = Section(f"s-{text[:8]}", "facts", (f'{{"role":"user","content":"{text}"}}',), 10)
        self.ledger.record(receipt(tenant=tenant, conversation=conversation, at=time.time()), (section,))
        await self.ledger.flush()
        await self.store.put([Item(Key(tenant, "section", f"plain-{text[:8]}"), text.encode(), 600, conversation)])

    async def receipts(self, tenant: str) -> list[dict[str, Any]]:
        now = time.time()
        return [one async for one in receipts_between(self.store, now - 3600, now + 60) if one["tenant"] == tenant]

    async def sums(self, tenant: str) -> list[str]:
        _, tables = await self.store.names()
        return [field for table in await self.store.counts(tables) for field in table if tenant in field]


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def start(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Callable[[], Process]]:
    """Starts processes over one store."""
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/t.db"
    if request.param == "redis":
        url = request.getfixturevalue("redis_url")
    settings = unhurried(StoreSettings(url=url, patience=30))
    backend = MemoryStore()
    started: list[Process] = []

    def process() -> Process:
        store = OpenStore(backend, settings) if request.param == "memory" else None
        started.append(Process(settings, store))
        return started[-1]

    yield process
    for one in started:
        await one.store.close()


async def left_of(store: Store, tenant: str) -> set[str]:
    return {key.kind for key in await store.keys(Scope(tenant))}


async def test_everything_of_a_tenant_goes_and_nothing_of_another(start: Callable[[], Process]) -> None:
    one = start()
    for tenant in ("anna", "bert"):
        await one.use(tenant, "c/1", f"text-of-{tenant}")
        await one.windows.learn_from_usage(UpstreamModel(tenant, "http://u", "m"), 100, 120)
    gone = await one.forgetting.forget("anna")
    assert (gone.receipts, gone.items > 3, gone.sums > 5) == (1, True, True)
    assert await left_of(one.store, "anna") <= {"window-forgotten"}
    assert (await one.receipts("anna"), await one.sums("anna"), await tenants(one.store)) == ([], [], ["bert"])
    assert len(await one.receipts("bert")) == 1
    assert await one.sums("bert")
    assert "section" in await left_of(one.store, "bert")
    assert await one.windows.records("anna") == []
    assert len(await one.windows.records("bert")) == 1
    again = await one.forgetting.forget("anna")
    assert (again.receipts, again.sums) == (0, 0)


async def test_a_conversation_goes_and_the_others_stay(start: Callable[[], Process]) -> None:
    one = start()
    for name in ("c/1", "c/2"):
        await one.use("anna", name, f"{name}-text-of-anna")
    gone = await one.forgetting.forget("anna", "c/1")
    assert gone.receipts == 1
    assert await one.store.keys(Scope("anna", conversation="c/1")) == []
    assert [found["conversation"] for found in await one.receipts("anna")] == ["c/2"]
    assert not [field for field in await one.sums("anna") if "c/1" in field]
    assert [field for field in await one.sums("anna") if "c/2" in field]
    assert await one.store.get([Key("anna", "section", "plain-c/2-text")]) == [b"c/2-text-of-anna"]


async def test_a_tenant_deletes_its_text_but_not_the_books(start: Callable[[], Process]) -> None:
    one = start()
    await one.use("anna", "c", "text-of-anna")
    gone = await one.forgetting.forget("anna", books=False)
    assert (gone.receipts, gone.sums) == (0, 0)
    assert await left_of(one.store, "anna") <= {"window-forgotten"}
    assert len(await one.receipts("anna")) == 1


async def test_other_processes_forget_what_they_hold_and_write_nothing_of_it_anew(start: Callable[[], Process]) -> None:
    here, there = start(), start()
    await there.use("anna", "c", "text-of-anna")
    spot = UpstreamModel("anna", "http://u", "m")
    await there.windows.learn_from_refusal(spot, 5000, 6000)
    for tenant in ("anna", "bert"):  # waits in the other process's queue
        there.ledger.record(receipt(tenant=tenant, conversation="c", at=time.time()), (Section("s-2", "facts", ("{}",), 5),))
    await here.forgetting.forget("anna")
    await there.ledger.flush()
    assert (await here.receipts("anna"), await here.sums("anna")) == ([], [])
    assert len(await here.receipts("bert")) == 1
    assert await left_of(here.store, "anna") <= {"window-forgotten"}
    assert await there.store.get([Key("anna", "section", "plain-text-of-")]) == [None]
    assert (await there.windows.learned(spot)).limit is None
    # What comes later is kept, the same originals too.
    await there.use("anna", "c", "text-of-anna")
    assert len(await here.receipts("anna")) == 1
    assert await here.store.get([Key("anna", "section", "s-text-of-")]) != [None]


async def test_what_was_being_written_meanwhile_is_taken_back(tmp_path: Path) -> None:
    """The deletion by one process falls between another's look and its write."""
    url = unhurried(StoreSettings(url=f"sqlite:///{tmp_path}/t.db", patience=30))
    here = Process(url)

    class Interrupted(SqliteStore):
        async def record(self, batch: Batch) -> None:
            if batch.items and not interrupted:
                interrupted.append(batch)
                await here.forgetting.forget("anna")
            await super().record(batch)

    interrupted: list[Batch] = []
    there = Process(url, OpenStore(Interrupted(tmp_path / "t.db"), url))
    await there.use("anna", "c", "text-of-anna")
    assert interrupted
    assert (await here.receipts("anna"), await here.sums("anna")) == ([], [])
    assert await here.store.get([Key("anna", "section", "s-text-of-")]) == [None]
    await here.store.close()
    await there.store.close()


async def test_a_batch_that_waits_for_the_store_loses_what_is_deleted_meanwhile() -> None:
    backend, settings = MemoryStore(), StoreSettings(url="memory://")

    class Away(MemoryStore):
        away = True

        async def record(self, batch: Batch) -> None:
            if self.away:
                raise StoreUnavailable("away")
            await backend.record(batch)

        async def get(self, keys: Any) -> list[bytes | None]:
            return await backend.get(keys)

        async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
            return await backend.log(name, position, limit)

    store = Away()
    deletions = Deletions(store)
    incidents = Incidents()
    book = Ledger(store, settings, dollars, incidents=incidents, erasures=BookKeeping(deletions, store))
    for tenant in ("anna", "bert"):
        book.record(receipt(tenant=tenant, at=time.time()), (Section("s", "facts", ("{}",), 5),))
    assert not await book.flush()
    other = Process(settings, OpenStore(backend, settings))
    await other.forgetting.forget("anna")
    store.away = False
    assert await book.flush()
    assert (await other.receipts("anna"), await other.sums("anna")) == ([], [])
    assert len(await other.receipts("bert")) == 1
    assert not incidents.counts
    assert await left_of(backend, "anna") <= {"window-forgotten"}
    await other.store.close()


def files(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in place.iterdir()}


async def test_nothing_is_left_in_the_bytes_of_a_sqlite_file(tmp_path: Path) -> None:
    one = Process(StoreSettings(url=f"sqlite:///{tmp_path}/t.db", patience=30))
    conversations = Conversations(one.store.patient, StoreSettings(), Workshop(1))
    for tenant in ("anna", "bert"):
        for number in range(6):
            message = HistoryMessage("user", f"secret-of-{tenant}-{number} " + os.urandom(3000).hex())
            await conversations.add(tenant, f"talk-of-{tenant}", message, HistorySettings(2000, 2))
        for number in range(30):  # small and large values, overwritten by others: cells, overflow pages, free pages
            key = Key(tenant, "roundtrip", str(number % 20))
            value = f"secret-of-{tenant}-{number}".encode() * (1 + number * number)
            await one.store.put([Item(key, value, 600, f"talk-of-{tenant}")])
        await one.use(tenant, f"talk-of-{tenant}", f"secret-of-{tenant}-text")
    assert any(b"secret-of-anna" in data for data in files(tmp_path).values())
    await one.forgetting.forget("anna", "talk-of-anna")
    await one.forgetting.forget("anna")
    for name, data in files(tmp_path).items():
        assert b"secret-of-anna" not in data, name
        assert b"talk-of-anna" not in data, name
    assert any(b"secret-of-bert" in data for data in files(tmp_path).values())
    assert len((await conversations.read("bert", "talk-of-bert")).history.recent) >= 2
    await one.store.close()


async def test_a_file_of_an_earlier_release_is_rebuilt_at_the_first_deletion(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    first = sqlite3.connect(path, isolation_level=None)
    first.execute("PRAGMA secure_delete = OFF")
    first.execute("PRAGMA auto_vacuum = INCREMENTAL")
    first.execute("PRAGMA journal_mode = WAL")
    first.execute(
        "CREATE TABLE items (tenant BLOB, kind BLOB, id BLOB, value BLOB NOT NULL, expires REAL NOT NULL,"
        " PRIMARY KEY (tenant, kind, id))"
    )
    rows = [(b"anna", b"section", b"%d" % number, b"long-gone-text" * 50, 1e12) for number in range(100)]
    first.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", rows)
    first.execute("DELETE FROM items WHERE rowid % 2")
    first.execute("UPDATE items SET value = ?", (b"short",))
    first.close()
    assert path.read_bytes().count(b"long-gone-text") > 100
    one = Process(StoreSettings(url=f"sqlite:///{path}", patience=30))
    assert len(await one.store.keys(Scope("anna"))) == 50
    await one.forgetting.forget("bert")
    assert not [name for name, data in files(tmp_path).items() if b"long-gone-text" in data]
    assert await one.store.get([Key("anna", "section", "1")]) == [b"short"]
    await one.store.close()


async def test_nothing_is_left_under_any_key_of_a_redis(valkey: Any, redis_url: str) -> None:
    one = Process(StoreSettings(url=redis_url, patience=30))
    for tenant in ("anna", "bert"):
        await one.use(tenant, f"talk-of-{tenant}", f"secret-of-{tenant}")
        await one.windows.learn_from_usage(UpstreamModel(tenant, "http://u", "m"), 100, 120)
    before = dump(valkey, redis_url)
    assert [key for key in before if b"anna" in key]
    await one.forgetting.forget("anna")
    after = dump(valkey, redis_url)
    marks = {key for key in after if b"window-forgotten" in key or key.endswith(b"{anna}:s")}
    assert {key for key in after if b"anna" in key} <= marks
    assert not [key for key, value in after.items() if b"anna" in value and key not in marks]
    assert [key for key, value in after.items() if b"secret-of-bert" in value]
    await one.store.close()


def test_a_deletion_that_another_release_announced_is_heeded() -> None:
    """Its form in the store, as a store of today has it."""
    written = Deletion.of("anna", "c-1", NOON, books=True)
    stored = {"tenant": "3b7a88499b87ae9a212510bec13b0215", "conversation": "ac906cd15fce8144348620066fafb5b0"}
    assert asdict(written) == {**stored, "until": NOON, "books": True}
    assert written.covers("anna", "c-1", NOON)
    assert not written.covers("anna", "c-1", NOON + 0.1)
    assert not written.covers("anna", "c-2", NOON)
    assert not written.covers("bert", "c-1", NOON)


class TakenOver:
    """Implements ``NewestWrites``: once it is lost, another server lacks everything."""

    def __init__(self) -> None:
        self.held: list[tuple[Batch, float]] = []
        self.lost = False

    def add(self, batch: Batch, built: float) -> None:
        self.held.append((batch, built))

    def to_repeat(self) -> list[tuple[Batch, float]]:
        return self.held if self.lost else []

    def repeated(self) -> None:
        self.lost = False


async def test_what_was_deleted_is_not_written_to_a_server_that_takes_over() -> None:
    class Noting(MemoryStore):
        async def record(self, batch: Batch) -> None:
            written.append(batch)
            await super().record(batch)

    written: list[Batch] = []
    settings = StoreSettings()
    store = OpenStore(Noting(), settings)
    deletions, newest = Deletions(store.patient), TakenOver()
    ledger = Ledger(store, settings, dollars, erasures=BookKeeping(deletions, store.patient), newest=newest)
    for tenant in ("anna", "bert"):
        ledger.record(receipt(tenant=tenant, conversation="c/1", at=time.time()), ())
    assert await ledger.flush()
    first = [*written]
    await Forgetting(store, ledger, deletions).forget("anna")
    written.clear()
    newest.lost = True
    assert await ledger.flush()
    assert not newest.lost
    assert [batch.id for batch in written] == [batch.id for batch in first]
    for batches, left in ((first, {"anna", "bert"}), (written, {"bert"})):
        text = repr([(batch.items, batch.lines, batch.additions) for batch in batches])
        assert {name for name in ("anna", "bert") if name in text} == left
    assert await ledger.flush()
    assert len(written) == len(first)
    await store.close()
