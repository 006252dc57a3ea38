"""When the ledger writes, how much waits for it, how long it tries, and how long what it writes is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.proxy.receipts import NOON, SECTION, price, receipt
from tests.support.no_time import in_no_time, now
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books import ledger as module
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.chat.receipts import PackedSection, Receipt
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.store import Batch, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore


class Noting(MemoryStore):
    """A store that notes its batches and when they came; it may be away."""

    away = False

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Batch] = []
        self.tried: list[float] = []

    async def record(self, batch: Batch) -> None:
        self.tried.append(now())
        if self.away:
            raise StoreUnavailable("away")
        self.batches.append(batch)


class Watching:
    """A watcher that notes its turns, and fails if it is told to."""

    def __init__(self) -> None:
        self.ticks: list[float] = []
        self.fails = False

    def observe(self, receipt: Receipt, priced: RequestCost) -> None:
        if self.fails:
            raise LookupError

    def tick(self) -> None:
        self.ticks.append(now())
        if self.fails:
            raise ZeroDivisionError


def ledger(store: Noting, *watchers: Watching, incidents: Incidents | None = None, **settings: Any) -> Ledger:
    return Ledger(store, StoreSettings(**settings), price, watchers, incidents)


def test_it_writes_four_times_a_second_and_ends_within_ten() -> None:
    async def work() -> None:
        store, watcher = Noting(), Watching()
        book = ledger(store, watcher)
        await book.start()
        book.record(receipt(), ())
        await asyncio.sleep(1.1)
        assert (store.tried, watcher.ticks) == ([0.25], [0.25, 0.5, 0.75, 1.0])
        store.away = True
        book.record(receipt(), ())
        await asyncio.sleep(0.5)
        assert (book.problem, book.queued) == ("away", 1)
        await book.stop()
        assert (now(), book.dropped) == (11.6, 1)
        assert store.tried[1:4] == [1.25, 1.5, 1.6]
        assert len(store.tried) == 43

    in_no_time(work())


def test_it_can_be_started_again() -> None:
    async def work() -> None:
        store = Noting()
        book = ledger(store)
        for number in (1, 2):
            await book.start()
            await book.start()
            book.record(receipt(), ())
            await asyncio.sleep(0.3)
            assert len(store.batches) == number
            await book.stop()

    in_no_time(work())


def test_a_loop_that_waits_to_be_started_again_holds_up_no_stop() -> None:
    async def work() -> None:
        store, watcher, incidents = Noting(), Watching(), Incidents()
        watcher.fails = True
        book = ledger(store, watcher, incidents=incidents)
        await book.start()
        await asyncio.sleep(60)
        assert "ledger" in incidents.waiting
        book.record(receipt(), ())
        await book.stop()
        assert (now(), len(store.batches)) == (60.0, 1)

    in_no_time(work())


async def test_a_watcher_that_fails_is_told_of_and_costs_no_receipt() -> None:
    watcher, incidents, store = Watching(), Incidents(), Noting()
    watcher.fails = True
    book = ledger(store, watcher, incidents=incidents)
    book.record(receipt(), ())
    assert await book.flush()
    assert (book.written, len(store.batches), incidents.counts) == (1, 1, {"metrics": 1})


def test_a_call_may_wait_for_less() -> None:
    async def work() -> None:
        class Hanging(Noting):
            async def record(self, batch: Batch) -> None:
                await asyncio.sleep(5)
                await super().record(batch)

        book = ledger(Hanging())
        book.record(receipt(), ())
        assert not await book.flush(1.0)
        assert now() == 1.0
        assert await book.flush(5.1)
        assert await book.flush(0.1), "nothing waits"

    in_no_time(work())


async def test_twenty_thousand_receipts_wait_and_sixty_four_megabytes() -> None:
    book, one = ledger(Noting()), receipt()
    for _ in range(20_001):
        book.record(one, ())
    assert (book.queued, book.dropped) == (20_000, 1)
    book.record(receipt(tenant="bert"), ())
    assert (book.queued, book.dropped) == (20_001, 1)
    for more, dropped in ((0, 0), (1, 1)):
        book = ledger(Noting())
        book.record(one, (PackedSection("s", bytes(64 * 2**20 + more), None),))
        assert (book.queued, book.dropped_originals) == (1, dropped)


async def test_a_batch_holds_two_thousand_receipts() -> None:
    store = Noting()
    book, one = ledger(store), receipt(conversation=None)
    for _ in range(4001):
        book.record(one, ())
    assert await book.flush()
    assert [sum(map(len, batch.lines.values())) for batch in store.batches] == [2000, 2000, 1]
    assert (book.written, book.queued) == (4001, 0)


async def test_what_a_batch_writes_is_kept_as_long_as_the_settings_say() -> None:
    """Originals, their tombstones, the cache model, names of models and tags, lines and sums, each with a time of its own."""
    store = Noting()
    book = ledger(store, ttl=100, receipts_ttl=2000, report_ttl=30_000)
    book.record(receipt(tags=("team-a",)), (SECTION,))
    await book.flush()
    (batch,) = store.batches
    assert sorted((item.key.kind, item.ttl, item.conversation) for item in batch.items) == [
        ("cache-model", 86_400.0, "c"),
        ("models", 30_000.0, None),
        ("section", 100.0, "c"),
        ("section-seen", 1200.0, None),
        ("tags", 30_000.0, None),
    ]
    assert (batch.ttl, batch.lines_ttl) == (30_000.0, 2000.0)


@pytest.mark.parametrize(("ttl", "again"), [(400, 100.0), (14_400, 3600.0), (86_400, 3600.0)])
async def test_an_original_in_use_is_written_again_in_time(monkeypatch: pytest.MonkeyPatch, ttl: int, again: float) -> None:
    class Clock:
        at = 5.0

        def monotonic(self) -> float:
            return self.at

        def time(self) -> float:
            return NOON

    clock, store = Clock(), Noting()
    monkeypatch.setattr(module, "time", clock)
    book = ledger(store, ttl=ttl)
    for wait in (0.0, again - 1, 1.0, again - 1, 1.0):
        clock.at += wait
        book.record(receipt(), (SECTION,))
        await book.flush()
    assert [any(item.key.kind == "section" for item in batch.items) for batch in store.batches] == [
        *(True, False, True),
        *(False, True),
    ]


def written(store: Noting) -> Sequence[str]:
    return [item.key.id for item in store.batches[-1].items if item.key.kind == "section"]


async def test_fifty_thousand_originals_are_known_to_be_written() -> None:
    store = Noting()
    book = ledger(store)
    many = tuple(PackedSection(f"s{number}", b"", None) for number in range(50_000))
    book.record(receipt(), many)
    book._queue.clear()  # writing them is not what this is about
    for number, fresh in ((0, False), (50_000, True), (0, True), (2, False), (1, True)):
        book.record(receipt(), (replace(SECTION, id=f"s{number}"),))
        await book.flush()
        assert written(store) == ([f"s{number}"] if fresh else []), number


async def test_what_was_written_makes_exactly_its_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_QUEUED", 4)
    monkeypatch.setattr(module, "_MOST_QUEUED_BYTES", 100)
    book, names = ledger(Noting()), iter(range(99))
    for dropped in (0, 1, 2):
        for size in (60, 40, 1, 0):
            book.record(receipt(), (PackedSection(f"s{next(names)}", bytes(size), None),))
        assert (book.queued, book.dropped, book.dropped_originals) == (4, dropped, dropped + 1)
        book.record(receipt(), ())
        assert (book.queued, book.dropped) == (4, dropped + 1)
        assert await book.flush()
