"""Changing an item that others may change: how long it is tried while others win, and while the store is away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from turnfold.proxy.store import Item, Key, StoreUnavailable
from turnfold.proxy.store.compare_and_set import Contended, Turns, compare_and_set
from turnfold.proxy.store.memory import MemoryStore

KEY = Key("anna", "count", "c")


class Away(MemoryStore):
    """A store that cannot be reached for its first calls."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.left, self.asked = calls, 0

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        self.asked += 1
        if self.left:
            self.left -= 1
            raise StoreUnavailable("away")
        return await super().get(keys)


async def one_more(held: bytes | None) -> tuple[Item | None, int]:
    number = int(held or b"0") + 1
    return Item(KEY, str(number).encode(), 60), number


async def test_a_store_that_is_away_is_not_asked_twice_unless_that_is_asked_for() -> None:
    store = Away(1)
    with pytest.raises(StoreUnavailable, match="away"):
        await compare_and_set(store, KEY, one_more, patience=5.0)
    assert store.asked == 1
    assert await compare_and_set(store, KEY, one_more, patience=5.0) == 1
    store.left = 3
    assert await compare_and_set(store, KEY, one_more, patience=0.0, outlast=5.0) == 2
    assert store.asked == 6


async def test_whoever_keeps_losing_gives_up_when_patience_has_run_out() -> None:
    store, tries = MemoryStore(), list[int]()

    async def beaten(held: bytes | None) -> tuple[Item | None, int]:
        tries.append(0)
        await store.put([Item(KEY, str(len(tries)).encode(), 60)])  # somebody else was quicker
        return await one_more(held)

    with pytest.raises(Contended, match="for 0 s"):
        await compare_and_set(store, KEY, beaten, patience=0.0)
    assert len(tries) == 1
    with pytest.raises(Contended):
        await compare_and_set(store, KEY, beaten, patience=0.05)
    assert 4 < len(tries) < 20  # it waits longer each time


async def test_what_is_left_as_it_is_is_not_written() -> None:
    store = MemoryStore()

    async def nothing(held: bytes | None) -> tuple[Item | None, str]:
        return None, str(held)

    assert await compare_and_set(store, KEY, nothing, patience=1.0) == "None"
    assert await store.get([KEY]) == [None]


async def test_turns_come_in_order_of_arrival_and_none_is_left_behind() -> None:
    turns, order = Turns(), list[int]()

    async def take(number: int) -> None:
        async with turns.of(KEY):
            await asyncio.sleep(0)
            order.append(number)

    await asyncio.gather(*map(take, range(5)))
    assert order == [0, 1, 2, 3, 4]
    async with turns.of(KEY), turns.of(Key("anna", "count", "other")):
        pass
    assert not turns._locks
