"""When a deletion is noticed, for how long it is remembered, and what of a batch it takes away: on a clock that a test moves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from tests.proxy.receipts import NOON, receipt
from tests.support.no_time import in_no_time, now
from turnfold.config.prices import dollars
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import line_of
from turnfold.proxy.books.rollups import UNPRICED, SumRow
from turnfold.proxy.deletion import deletions as module
from turnfold.proxy.deletion.deletions import Deletion, Deletions
from turnfold.proxy.deletion.forgetting import BookKeeping, Forgetting
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.store import Batch, Item, Key, OpenStore, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

DAY = 86_400.0


class Noting(MemoryStore):
    """A store that notes what it is asked for and told."""

    away = False

    def __init__(self) -> None:
        super().__init__()
        self.logs: list[str] = []
        self.lives: list[float] = []
        self.asked: list[float] = []
        self.erased: list[tuple[dict[str, Sequence[bytes]], dict[str, Sequence[str]]]] = []
        self.gone: list[Key] = []

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        self.asked.append(now())
        if self.away:
            raise StoreUnavailable
        return await super().get(keys)

    async def put(self, items: Sequence[Item]) -> None:
        self.lives += [one.ttl for one in items]
        await super().put([replace(one, ttl=1e9) for one in items])

    async def record(self, batch: Batch) -> None:
        self.lives.append(batch.ttl)
        await super().record(replace(batch, ttl=1e9))

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        self.logs.append(name)
        return await super().log(name, position, limit)

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        self.erased.append((dict(lines), dict(fields)))
        return 0

    async def discard(self, keys: Sequence[Key]) -> int:
        self.gone += keys
        return 0


class Clock:
    at = NOON + 1800

    def time(self) -> float:
        return self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


async def test_the_logs_of_a_day_are_read_once_and_then_those_of_the_last_hours(clock: Clock) -> None:
    store = Noting()
    here, there = Deletions(store), Deletions(store)
    await there.refresh()
    assert store.logs == [], "nothing was ever announced"
    heard: list[Deletion] = []
    there.subscribe(heard.append)
    await here.announce(one := Deletion.of("anna", None, clock.at, books=True))
    assert store.lives == [DAY, DAY]
    store.logs.clear()
    await there.refresh()
    assert (len(store.logs), store.logs[0], store.logs[-1]) == (26, "deletions:2025-10-08T12", "deletions:2025-10-09T13")
    await there.refresh()
    assert (len(store.logs), heard) == (26, [one])
    clock.at += 3 * 3600
    await here.announce(two := Deletion.of("bert", "c", clock.at, books=False))
    store.logs.clear()
    await there.refresh()
    assert store.logs == [f"deletions:2025-10-09T{hour}" for hour in range(11, 17)]
    assert heard == [one, two]
    assert there.covering("anna", "any", one.until) == [one]
    clock.at = one.until + DAY
    await here.announce(Deletion.of("carl", None, clock.at, books=False))
    await there.refresh()
    assert there.covering("anna", "any", one.until) == [], "that was a day ago"
    assert there.covering("bert", "c", two.until) == [two]
    assert [there.any_since(two.until + DAY + late) for late in (-3 * 3600, 1)] == [True, False]


async def test_a_deletion_on_the_hour_is_noticed(clock: Clock) -> None:
    store, heard = Noting(), list[Deletion]()
    deletions = Deletions(store)
    deletions.subscribe(heard.append)
    clock.at = NOON
    await deletions.announce(one := Deletion.of("anna", None, NOON, books=True))
    assert heard == [one]


def test_what_others_delete_is_noticed_within_ten_seconds() -> None:
    async def work() -> None:
        store = Noting()
        opened = OpenStore(store, StoreSettings())
        forgetting = Forgetting(opened, Ledger(opened, StoreSettings(), dollars), Deletions(opened.patient))
        task = asyncio.create_task(forgetting.watch())
        await asyncio.sleep(15)
        store.away = True
        await asyncio.sleep(10)
        store.away = False
        await asyncio.sleep(10)
        assert store.asked == [10.0, 20.0, 30.0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await opened.close()

    in_no_time(work())


def batch() -> Batch:
    """Of two tenants and two conversations: items, receipts and sums."""
    lines, items = [], []
    for tenant, conversation in (("anna", "c"), ("anna", "d"), ("bert", "c")):
        lines.append(line_of(receipt(tenant=tenant, conversation=conversation), UNPRICED))
        items.append(Item(Key(tenant, "section", f"{tenant}-{conversation}"), b"v", 60, conversation))
    rows = {tenant: SumRow(tenant, "m", "folded", "", "").to_stem() for tenant in ("anna", "bert")}
    named = SumRow("anna", "m", "folded", "", "c").to_stem()
    sums = {"hour:x": {f"requests:{row}": 1 for row in rows.values()}, "conversations:x": {f"requests:{named}": 1, "odd": 1}}
    return Batch("b", {"receipts:x": lines, "empty": []}, sums, 60.0, items)


@pytest.mark.parametrize(
    ("tenant", "conversation", "books", "items", "lines", "sums"),
    [
        ("anna", None, True, ["anna-c", "anna-d"], 2, [1, 1]),
        ("anna", None, False, ["anna-c", "anna-d"], 0, [0, 0]),
        ("anna", "c", True, ["anna-c"], 1, [0, 1]),
        ("anna", "d", True, ["anna-d"], 1, [0, 0]),
        ("anna", "e", True, [], 0, [0, 0]),
        ("carl", None, True, [], 0, [0, 0]),
    ],
)
async def test_what_was_deleted_while_it_was_written_is_taken_back(
    clock: Clock, tenant: str, conversation: str | None, books: bool, items: list[str], lines: int, sums: list[int]
) -> None:
    store, whole = Noting(), batch()
    deletions = Deletions(store)
    keeping = BookKeeping(deletions, store)
    await deletions.announce(Deletion.of(tenant, conversation, clock.at, books=books))
    await keeping.take_back(whole, clock.at)
    assert [key.id for key in store.gone] == items
    taken = [(len(found["receipts:x"]), [len(named) for named in fields.values()]) for found, fields in store.erased]
    assert taken == ([(lines, sums)] if lines or any(sums) else [])
    left = keeping.without_deleted(whole, clock.at)
    assert [len(found) for found in left.lines.values()] == [3 - lines, 0]
    assert [len(fields) for fields in left.additions.values()] == [2 - sums[0], 2 - sums[1]]
    assert len(left.items) == 3 - len(items)
    assert left.additions["conversations:x"]["odd"] == 1


async def test_sums_alone_and_lines_alone_are_taken_back(clock: Clock) -> None:
    store = Noting()
    deletions = Deletions(store)
    keeping = BookKeeping(deletions, store)
    await deletions.announce(Deletion.of("anna", None, clock.at, books=True))
    whole = batch()
    await keeping.take_back(replace(whole, lines={}), clock.at)
    await keeping.take_back(replace(whole, additions={}), clock.at)
    assert [(bool(lines), bool(fields)) for lines, fields in store.erased] == [(False, True), (True, False)]


async def test_a_batch_that_waits_is_offered_again_without_what_was_deleted(clock: Clock) -> None:
    class Full(Noting):
        full = True

        async def record(self, batch: Batch) -> None:
            if self.full and batch.items:
                raise StoreUnavailable
            await super().record(batch)

    store, incidents = Full(), Incidents()
    deletions = Deletions(store)
    book = Ledger(store, StoreSettings(), dollars, incidents=incidents, erasures=BookKeeping(deletions, store))
    book.record(receipt(at=clock.at), ())
    assert not await book.flush()
    await deletions.announce(Deletion.of("bert", None, time.time(), books=True))
    store.full = False
    assert await book.flush()
    assert (book.written, book.dropped, dict(incidents.counts)) == (1, 0, {})


async def test_clocks_may_differ_by_a_minute(clock: Clock) -> None:
    store = Noting()
    deletions = Deletions(store)
    keeping = BookKeeping(deletions, store)
    whole = batch()
    await deletions.announce(Deletion.of("anna", None, clock.at, books=True))
    assert keeping.without_deleted(whole, clock.at + 60.0) is not whole
    assert keeping.without_deleted(whole, clock.at + 60.1) is whole
    assert keeping.of_receipt("anna", "c", clock.at) == (True, True)
    assert keeping.of_receipt("anna", "c", clock.at + 0.1) == (False, False)
    assert keeping.without_deleted(replace(whole, lines={"receipts:x": [b"{}"]}), clock.at).lines == {"receipts:x": [b"{}"]}
    assert cast("Any", store).erased == []
