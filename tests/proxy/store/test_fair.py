"""Room that tenants share: whoever stays below its share loses nothing, whatever the others write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from turnfold.proxy.store import Item, Key, Scope, Store
from turnfold.proxy.store.fair import FairMemory, fair_level
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.sqlite import SqliteStore


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12), st.integers(0, 5000))
def test_the_fair_level_is_the_highest_at_which_all_fit(sizes: list[int], room: int) -> None:
    level = fair_level(sizes, room)
    kept = [min(size, level) for size in sizes]
    if sum(sizes) <= room:
        assert kept == sizes
    else:
        assert sum(kept) <= room
        assert sum(min(size, level + 1) for size in sizes) > room
        assert level >= room // len(sizes)


@given(st.lists(st.tuples(st.sampled_from("aaab"), st.integers(0, 9), st.integers(0, 40)), max_size=200))
def test_a_tenant_within_its_share_loses_nothing(writes: list[tuple[str, int, int]]) -> None:
    memory: FairMemory[int, int] = FairMemory(256)
    alone: FairMemory[int, int] = FairMemory(10**9)
    within = True
    for tenant, key, weight in writes:
        memory.put(tenant, key, weight, weight)
        if tenant == "b":
            alone.put("b", key, weight, weight)
        within = within and alone.weight <= 120
        if within:
            assert memory.keys("b") == alone.keys("b")
        assert memory.weight == sum(value for _, _, value in memory.items()) <= 256


def test_a_share_binds_one_tenant_alone() -> None:
    memory: FairMemory[int, int] = FairMemory(100, share=0.25)
    for key in range(20):
        memory.put("a", key, key, 10)
    assert memory.keys("a") == [18, 19]
    memory.drop_tenant("a")
    assert (len(memory), memory.weight, memory.tenants()) == (0, 0, [])


def test_what_was_used_last_stays_and_a_sixteenth_is_freed_at_once() -> None:
    memory: FairMemory[int, int] = FairMemory(32)
    memory.put("b", 7, 7, 1)
    for key in range(31):
        memory.put("a", key, key, 1)
    assert (memory.get("a", 0), memory.get("a", 99), memory.get("c", 0)) == (0, None, None)
    assert (memory.peek("a", 1), memory.peek("a", 99), memory.peek("c", 1)) == (1, None, None)
    memory.put("a", 2, 22, 1)
    memory.put("a", 31, 31, 1)
    assert memory.keys("a") == [*range(5, 31), 0, 2, 31]
    assert memory.weight == 30
    assert (memory.drop("a", 2), memory.drop("a", 2), memory.drop("c", 2)) == (22, None, None)
    assert sorted(memory.items()) == [*(("a", key, key) for key in (0, *range(5, 32))), ("b", 7, 7)]
    memory.clear()
    assert (memory.weight, memory.tenants(), memory.keys("a")) == (0, [], [])
    memory.put("a", 1, 1, 32)
    memory.put("a", 2, 2, 33)
    assert len(memory) == 0


async def ids(store: Store, tenant: str) -> list[str]:
    return [key.id for key in await store.keys(Scope(tenant))]


async def fill(store: Store, tenant: str, number: int, size: int, settle: Callable[[], Awaitable[None]]) -> None:
    for one in range(number):
        await store.put([Item(Key(tenant, "section", f"{one:03}"), bytes(size), 1000 + one, "c")])
    await settle()


async def nothing() -> None:
    return


async def test_memory_takes_room_from_the_largest() -> None:
    store = MemoryStore(capacity=20_000)
    await fill(store, "bert", 5, 1000, nothing)
    await fill(store, "anna", 100, 1000, nothing)
    assert len(await ids(store, "bert")) == 5
    assert 5 <= len(await ids(store, "anna")) <= 11
    assert (await ids(store, "anna"))[-1] == "099"


async def test_sqlite_takes_room_from_the_largest(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "t.db", max_bytes=2**20)

    async def purge() -> None:
        store._next_purge = 0.0
        await store.put([])

    # Bert's items expire first, and would go first if all were looked at together.
    await fill(store, "bert", 4, 50_000, nothing)
    for number in range(40):
        await store.put([Item(Key("anna", "section", f"{number:03}"), bytes(50_000), 9000 + number)])
    await purge()
    assert len(await ids(store, "bert")) == 4
    kept = await ids(store, "anna")
    assert kept == [f"{number:03}" for number in range(40 - len(kept), 40)]
    assert 8 <= len(kept) <= 17
    # The sums follow overwriting and deletion: what is gone makes room.
    await store.delete(Scope("anna"))
    for number in range(12):
        await store.put([Item(Key("carl", "section", "same"), bytes(50_000 + number), 9000)])
    await purge()
    assert (len(await ids(store, "bert")), await ids(store, "carl")) == (4, ["same"])
    await store.close()


async def test_a_share_binds_in_sqlite(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "t.db", max_bytes=2**20, share=0.25)
    for number in range(10):
        await store.put([Item(Key("anna", "section", str(number)), bytes(100_000), 1000 + number)])
    store._next_purge = 0.0
    await store.put([])
    assert await ids(store, "anna") == ["8", "9"]
    await store.close()
