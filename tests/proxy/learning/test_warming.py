"""What is believed of a cache is each tenant's, upstream's and model's own, and shared by replicas in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from turnfold.compression.options import FoldDecision, Warmth
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.warmth_records import list_warmth
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.store.base import Item, Key, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

SPOT = UpstreamModel("t1", "https://api.example", "m")
USUAL = FoldDecision(Warmth(1.0, 1.0))


class Failing(MemoryStore):
    """A store that may be away."""

    away = False

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        if self.away:
            raise StoreUnavailable
        return await super().get(keys)


def cold(memory: WarmthMemory, spot: UpstreamModel, number: int = 40) -> None:
    for _ in range(number):
        memory.observe(spot, 5.0, loop=False, warm=False)


def test_nobody_else_learns_of_it() -> None:
    memory = WarmthMemory()
    cold(memory, SPOT)
    assert memory.decision(SPOT, "c", USUAL).warmth.turns < 0.3
    for other in (
        UpstreamModel("t2", "https://api.example", "m"),
        UpstreamModel("t1", "https://b.example", "m"),
        UpstreamModel("t1", SPOT.upstream, "n"),
    ):
        assert memory.decision(other, "c", USUAL) == USUAL


def test_one_warm_request_shows_that_an_upstream_caches_for_all_models_of_its_tenant() -> None:
    memory, other = WarmthMemory(), SPOT._replace(model="n")
    assert not memory.decision(other, "c", USUAL).caches
    memory.observe(SPOT, 5.0, loop=False, warm=True)
    assert memory.decision(other, "c", USUAL).caches
    assert not memory.decision(SPOT._replace(tenant="t2"), "c", USUAL).caches
    memory.forget_in_memory(lambda tenant, _: tenant == SPOT.tenant)
    assert not memory.decision(other, "c", USUAL).caches


async def test_replicas_learn_from_each_other() -> None:
    store = MemoryStore()
    one, two = WarmthMemory(store), WarmthMemory(store)
    cold(one, SPOT, 30)
    cold(two, SPOT, 30)
    for memory in (one, two, one):
        memory.decision(SPOT, "c", USUAL)
        await memory.sync()
    late = WarmthMemory(store)
    late.decision(SPOT, "c", USUAL)
    await late.sync()
    assert one.decision(SPOT, "c", USUAL) == late.decision(SPOT, "c", USUAL)
    (record,) = await list_warmth(store, "t1")
    assert 54 < record.counts.seen <= 60
    assert (record.upstream, record.model) == (SPOT.upstream, SPOT.model)


async def test_a_process_that_starts_asks_without_waiting_for_its_turn() -> None:
    store = MemoryStore()
    before = WarmthMemory(store)
    cold(before, SPOT)
    await before.sync()
    after = WarmthMemory(store)
    task = asyncio.create_task(after.run())
    assert after.decision(SPOT, "c", USUAL) == USUAL
    for _ in range(50):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert after.decision(SPOT, "c", USUAL).warmth.turns < 0.3


async def test_nothing_is_lost_or_counted_twice_while_the_store_is_away() -> None:
    store = Failing()
    memory = WarmthMemory(store)
    cold(memory, SPOT, 20)
    store.away = True
    before = memory.decision(SPOT, "c", USUAL)
    await memory.sync()
    assert memory.decision(SPOT, "c", USUAL) == before
    cold(memory, SPOT, 20)
    store.away = False
    await memory.sync()
    (record,) = await list_warmth(store, "t1")
    assert 38 < record.counts.seen <= 40


def test_a_brake_holds_for_one_conversation_of_one_tenant() -> None:
    memory = WarmthMemory()
    memory.set_brake("t1", "c", on=True)
    assert memory.decision(SPOT, "c", USUAL).brake
    assert not memory.decision(SPOT, "d", USUAL).brake
    assert not memory.decision(UpstreamModel("t2", SPOT.upstream, "m"), "c", USUAL).brake
    memory.set_brake("t1", "c", on=False)
    assert not memory.decision(SPOT, "c", USUAL).brake


async def test_what_was_deleted_is_neither_believed_nor_written_again() -> None:
    store, other = MemoryStore(), SPOT._replace(tenant="t2")
    memory = WarmthMemory(store)
    for spot in (SPOT, other):
        cold(memory, spot)
        memory.set_brake(spot.tenant, "c1", on=True)
        memory.set_brake(spot.tenant, "c2", on=True)

    def brakes() -> list[bool]:
        return [memory.decision(spot, name, USUAL).brake for spot in (SPOT, other) for name in ("c1", "c2")]

    memory.forget_in_memory(lambda tenant, conversation: (tenant, conversation) == (SPOT.tenant, "c2"))
    assert brakes() == [True, False, True, True]
    memory.forget_in_memory(lambda tenant, _: tenant == SPOT.tenant)
    assert brakes() == [False, False, True, True]
    await memory.sync()
    assert (await list_warmth(store, SPOT.tenant), len(await list_warmth(store, other.tenant))) == ([], 1)


async def test_what_is_deleted_while_it_is_written_is_taken_back() -> None:
    class Deleting(MemoryStore):
        async def swap(self, expected: bytes | None, item: Item) -> bool:
            memory.forget_in_memory(lambda tenant, _: tenant == SPOT.tenant)
            return await super().swap(expected, item)

    store = Deleting()
    memory = WarmthMemory(store)
    cold(memory, SPOT)
    await memory.sync()
    assert await list_warmth(store, SPOT.tenant) == []
