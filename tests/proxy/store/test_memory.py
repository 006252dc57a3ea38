"""The store in memory: what has expired is gone at once, though it is removed only now and then."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from turnfold.proxy.store.base import Batch, Item, Key, Scope, key_pages
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.sweeping import sweep_from_time_to_time


async def test_what_has_expired_is_neither_named_nor_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1.8e9]
    monkeypatch.setattr("turnfold.proxy.store.memory.time", SimpleNamespace(time=lambda: now[0]))
    store = MemoryStore()
    await store.record(Batch("b", {"log": [b"1"]}, {"t": {"x": 1}}, ttl=5))
    now[0] += 4.9
    assert await store.names() == (["log"], ["t"])
    now[0] += 0.1
    assert await store.names() == ([], [])
    await store.record(Batch("b", {"log": [b"2"]}, {"t": {"x": 5}}, ttl=60))
    assert await store.log("log") == ([b"2"], None)
    assert await store.counts(["t"]) == [{"x": 5}]


async def test_keys_are_listed_in_pages_of_500() -> None:
    store = MemoryStore()
    await store.put([Item(Key("anna", "section", f"{number:03}"), b"v", 60) for number in range(501)])
    pages = [[key.id for key in page] async for page in key_pages(store, Scope("anna"))]
    assert [len(page) for page in pages] == [500, 1]
    assert len({name for page in pages for name in page}) == 501


async def test_what_has_expired_goes_although_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1.8e9]
    monkeypatch.setattr("turnfold.proxy.store.memory.time", SimpleNamespace(time=lambda: now[0]))
    swept = asyncio.Event()

    class Noting(MemoryStore):
        async def sweep(self) -> None:
            await super().sweep()
            swept.set()

    store = Noting()
    await store.put([Item(Key("anna", "section", "1"), b"v", 5)])
    now[0] += 60
    sweeping = asyncio.create_task(sweep_from_time_to_time(store, 0.001))
    await asyncio.wait_for(swept.wait(), 60)
    sweeping.cancel()
    assert len(store._items) == 0
