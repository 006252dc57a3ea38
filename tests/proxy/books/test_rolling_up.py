"""A full store keeps every total of the report, and gives up the oldest details."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.receipts import DAY, NOON, price, receipt
from turnfold.compression.options import FoldOptions
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books import rolling_up as rolling_up_module
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.report import GROUPINGS, Query, report, report_csv
from turnfold.proxy.books.rolling_up import hours_since, roll_up, roll_up_hours
from turnfold.proxy.store import Batch, Key, Room, Store, StoreFailed
from turnfold.proxy.store import sqlite as sqlite_module
from turnfold.proxy.store.memory import MemoryStore, NothingStore
from turnfold.proxy.store.redis_store import RedisStore
from turnfold.proxy.store.sqlite import SqliteStore

_LIMIT = 2**20


def options_of(model: str) -> FoldOptions:
    return FoldOptions(model=model)


async def talk(store: Store, names: Iterator[int], many: int, at: float) -> None:
    """Short conversations of two tenants, of one request or two each."""
    book = Ledger(store, StoreSettings(), price)
    for second, number in enumerate(itertools.islice(names, many)):
        common: dict[str, Any] = {"tenant": ("anna", "bert")[number % 2], "conversation": f"c{number:05}", "wire": "chat"}
        common |= {"session": ("", f"s{number}")[number % 3 == 0], "tags": (("team",), ())[number % 5 > 0]}
        book.record(receipt(**common, at=at + second, usage=(400 + number, 50, number % 100, 0)), ())
        if number % 4 == 0:
            book.record(receipt(**common, at=at + second, status="passthrough", model="mine", reason="held-out"), ())
    assert await book.flush()


async def totals(store: Store) -> dict[str, Any]:
    """The totals of every report, and what does not depend on conversations in full."""
    found = {}
    for by in GROUPINGS:
        said = await report(store, Query(NOON - 9 * DAY, NOON + 9 * DAY, by), options_of)
        assert report_csv(said)
        said["held_out"] = None  # compares conversations, one by one
        found[by] = said["totals"] if by in ("conversation", "session") else said
    return found


async def conversations(store: Store) -> list[str]:
    said = await report(store, Query(NOON - 9 * DAY, NOON + 9 * DAY, "conversation"), options_of)
    return sorted(group["conversation"] for group in said["groups"])


class SmallStore(MemoryStore):
    """Says that it has so much room."""

    limit = 10**9

    async def room(self) -> Room | None:
        found = await super().room()
        return found and Room(found.used, self.limit)


async def test_the_oldest_conversations_are_rolled_up_and_no_total_changes() -> None:
    store, names = SmallStore(), itertools.count()
    for day in range(4):
        await talk(store, names, 40, NOON + day * DAY)
    before, room = await totals(store), await store.room()
    assert room is not None
    assert await roll_up(store) == 0
    assert len(await conversations(store)) == 160
    SmallStore.limit = int(room.used * 0.7)
    try:
        gone = await roll_up(store)
        assert 40 < gone < 120
        assert await totals(store) == before
        left = [name for name in await conversations(store) if name != "(other)"]
        assert left == [f"c{number:05}" for number in range(gone, 160)]
        logs, _ = await store.names()
        lines = [line for name in logs for line in (await store.log(name))[0]]
        assert b'"c00000"' not in b"".join(lines)
        assert b'"c00159"' in lines[-1]
        room = await store.room()
        assert room is not None
        assert room.used <= 0.9 * SmallStore.limit
    finally:
        SmallStore.limit = 10**9


async def test_within_a_day_the_newest_stay_whatever_they_are_called() -> None:
    store = SmallStore()
    await talk(store, iter(range(99, -1, -1)), 100, NOON)
    room = await store.room()
    assert room is not None
    SmallStore.limit = int(room.used * 0.8)
    try:
        gone = await roll_up(store)
        assert 10 < gone < 60
        assert [name for name in await conversations(store) if name != "(other)"] == [f"c{n:05}" for n in range(100 - gone)]
    finally:
        SmallStore.limit = 10**9


async def test_of_a_day_with_many_receipts_only_the_newest_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Read(MemoryStore):
        lines = 0

        async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
            found = await super().newest(name, skip, limit)
            self.lines += len(found)
            return found

    monkeypatch.setattr(rolling_up_module, "_MOST_READ", 6)
    monkeypatch.setattr(rolling_up_module, "_PAGE", 2)
    store = Read(capacity=10_000)
    await talk(store, itertools.count(), 20, NOON)
    assert await roll_up(store) == 20
    assert store.lines == 6


async def test_a_conversation_that_goes_on_has_what_came_later_as_its_own() -> None:
    store = MemoryStore(capacity=10_000)
    await talk(store, itertools.count(), 20, NOON)
    before = await totals(store)
    assert await roll_up(store) == 20
    assert await conversations(store) == ["(other)", "(other)"]  # of two tenants
    assert await totals(store) == before
    await talk(store, itertools.count(), 1, NOON + 60)
    assert await conversations(store) == ["(other)", "(other)", "c00000"]


async def test_a_store_that_keeps_nothing_else_is_bounded_too() -> None:
    store = NothingStore(capacity=10_000)
    await talk(store, itertools.count(), 20, NOON)
    before = await totals(store)
    assert await roll_up(store) == 20
    assert await totals(store) == before


async def test_one_process_rolls_up_at_a_time(tmp_path: Path) -> None:
    one, other = SqliteStore(tmp_path / "t.db", 2 * _LIMIT), SqliteStore(tmp_path / "t.db", 2 * _LIMIT)
    await talk(one, itertools.count(), 400, NOON)
    assert await roll_up(one) > 0
    await talk(one, itertools.count(1000), 400, NOON)
    assert await roll_up(other) == 0
    for store in (one, other):
        await store.close()


class Clock:
    at = NOON

    def time(self) -> float:
        return self.at

    monotonic = time


async def test_a_file_stays_within_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, names = Clock(), itertools.count()
    monkeypatch.setattr(sqlite_module, "time", clock)
    file = tmp_path / "t.db"
    store, roomy = SqliteStore(file, _LIMIT), MemoryStore(10**9)
    for _ in range(12):
        clock.at += 61
        start = next(names)
        for one in (store, roomy):
            await talk(one, itertools.count(start), 60, clock.at)
        names = itertools.count(start + 60)
        await roll_up(store)
    for _ in range(2):  # what was given up is released with the next sweep
        clock.at += 61
        await store.sweep()
        await roll_up(store)
    assert file.stat().st_size <= _LIMIT
    assert file.with_name("t.db-wal").stat().st_size <= 4 * _LIMIT
    assert await totals(store) == await totals(roomy)
    left = await conversations(store)
    assert "c00719" in left
    assert len(left) > 20
    await store.close()


async def test_a_file_returns_its_free_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(sqlite_module, "time", clock)
    file = tmp_path / "t.db"
    store = SqliteStore(file)
    await store.record(Batch("b", {"log": [bytes(4000)] * 900}, {}, ttl=600))
    await store.scrub()
    before = file.stat().st_size
    await store.trim("log", 1.0)
    clock.at += 61
    await store.sweep()
    await store.ping()
    await store.scrub()
    assert before > 3_500_000
    assert file.stat().st_size < 200_000
    await store.close()


async def test_a_full_redis_gets_room(redis_url: str) -> None:
    store = RedisStore(redis_url, connect_timeout=10)
    await talk(store, itertools.count(), 300, NOON)
    room, machine = await store.room(), (await store._do("INFO", "memory"))["total_system_memory"]
    assert room is not None
    assert room.used < room.limit  # without a limit of its own, it may take most of the machine's memory
    assert machine / 2 < room.limit < machine
    before = await totals(store)
    used = (await store._do("INFO", "memory"))["used_memory"]
    await store._do("CONFIG", "SET", "maxmemory-policy", "noeviction")
    await store._do("CONFIG", "SET", "maxmemory", used + 20_000)
    try:
        assert await roll_up(store) > 0
        assert await totals(store) == before
        assert "(other)" in await conversations(store)
        await store.discard([Key("", "rolling-up", "")])
        used = (await store._do("INFO", "memory"))["used_memory"]
        await store._do("CONFIG", "SET", "maxmemory", used - 20_000)  # where a server refuses even to add
        with pytest.raises(StoreFailed):
            await store.record(Batch("b", {}, {"t": {"x": 1}}, 60.0))
        await roll_up(store)
        await store.record(Batch("c", {}, {"t": {"x": 1}}, 60.0))
        assert await totals(store) == before
    finally:
        await store._do("CONFIG", "SET", "maxmemory", 0)
        await store.close()


async def test_marks_of_batches_do_not_stay_as_long_as_the_sums() -> None:
    batch = Batch("b", {}, {}, ttl=400.0 * DAY, lines_ttl=30.0 * DAY)
    assert batch.life_of_mark() == DAY
    assert Batch("b", {}, {}, ttl=60.0).life_of_mark() == 60.0


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    if request.param == "redis":
        store: Store = RedisStore(request.getfixturevalue("redis_url"), connect_timeout=10)
    else:
        store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "t.db", 64 * _LIMIT)
    yield store
    await store.close()


_NOW = NOON + 60 * DAY
_HOUR = 3600


async def _months(store: Store) -> None:
    """Requests of three hours of an old day, of the day after it, and of two hours today."""
    for number, at in enumerate((NOON - 2 * _HOUR, NOON, NOON + 3 * _HOUR, NOON + DAY, _NOW - _HOUR, _NOW)):
        await talk(store, itertools.count(100 * number), 10, at)


async def _hours(store: Store) -> list[tuple[str, int]]:
    said = await report(store, Query(NOON - DAY, _NOW + DAY, "hour"), options_of)
    return [(group["hour"], group["requests"]) for group in said["groups"]]


async def test_hours_of_weeks_ago_become_days_and_no_total_changes(any_store: Store) -> None:
    await _months(any_store)

    async def told() -> dict[str, Any]:
        found = {}
        for by in (name for name in GROUPINGS if name != "hour"):
            said = await report(any_store, Query(NOON - 5 * DAY, _NOW + DAY, by), options_of)
            found[by] = {name: value for name, value in said.items() if name not in ("from", "to")}
        return found

    before, hours = await told(), await _hours(any_store)
    tables = (await any_store.names())[1]
    assert await roll_up_hours(any_store, _NOW) == 8  # four hours, and the same by tag
    assert await told() == before
    now = await _hours(any_store)
    assert len(hours) == 6
    assert now[2:] == hours[4:]
    assert [number for _, number in now[:2]] == [sum(number for _, number in hours[:3]), hours[3][1]]
    assert [hour[10:] for hour, _ in now[:2]] == ["T00:00Z"] * 2
    left = (await any_store.names())[1]
    assert set(tables) - set(left) == {name for name in tables if "hour:" in name and name.split("hour:")[1] < "2025-11"}


async def test_a_part_of_an_old_day_is_told_as_all_of_it(any_store: Store) -> None:
    await _months(any_store)
    part, today = Query(NOON, NOON + _HOUR), Query(_NOW, _NOW + _HOUR)
    before, newest = await report(any_store, part), await report(any_store, today)
    await roll_up_hours(any_store, _NOW)
    after = await report(any_store, part)
    assert (before["from"][11:13], before["to"][11:13]) == ("12", "13")
    assert (after["from"][11:], after["to"][11:]) == ("00:00:00Z", "00:00:00Z")
    assert after["totals"]["requests"] == 3 * before["totals"]["requests"]
    assert await report(any_store, today) == newest


async def test_only_hours_of_weeks_ago_roll_up_and_once(any_store: Store) -> None:
    await _months(any_store)
    assert await roll_up_hours(any_store, NOON) == 0
    assert await hours_since(any_store) == 0
    assert await roll_up_hours(any_store, _NOW) == 8
    assert await roll_up_hours(any_store, _NOW) == 0
    assert await hours_since(any_store) == _NOW - 35 * DAY - NOON % DAY
