"""The compression cache in every store: least recently used, time to live, counts."""

from __future__ import annotations

import asyncio
import time

import pytest

from turnfold.compression.layers import CompressRequest
from turnfold.config.settings import CacheSettings, StoreSettings
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.compressions import Compressions
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.store import Batch, Key, Store
from turnfold.proxy.store.memory import MemoryStore


async def keep(cache: CompressionCache, store: Store, key: str, value: bytes = b"x" * 100, tenant: str = "anna") -> bool:
    item = cache.item(tenant, key, value)
    if item is not None:
        await store.put([item])
    await cache.count_miss(tenant, key, None if item is None else len(value))
    return item is not None


async def test_the_least_recently_used_goes(store: Store) -> None:
    cache = CompressionCache(store, CacheSettings(max_entries=3))
    for key in "abc":
        await keep(cache, store, key)
    assert await cache.get("anna", "a") == b"x" * 100
    await keep(cache, store, "d")
    assert [await cache.get("anna", key) is not None for key in "abcd"] == [True, False, True, True]
    stats = await cache.stats("anna")
    assert (list(stats.entries), stats.evictions, stats.hits, stats.misses) == (["a", "c", "d"], 1, 4, 4)
    assert stats.bytes == 300
    assert await store.get([Key("anna", "compression", "b")]) == [None]


async def test_the_size_is_bounded(store: Store) -> None:
    cache = CompressionCache(store, CacheSettings(max_bytes=2**16))
    for n in range(10):
        assert await keep(cache, store, str(n), b"x" * 10_000)
    stats = await cache.stats("anna")
    assert list(stats.entries) == ["4", "5", "6", "7", "8", "9"]
    for size in (2**15, 2**14 + 1):  # a quarter at most
        assert not await keep(cache, store, "giant", b"x" * size)
    assert cache.item("anna", "large", b"x" * 2**14) is not None
    assert (await cache.stats("anna")).entries == stats.entries


async def test_entries_expire(store: Store) -> None:
    settings = CacheSettings().model_copy(update={"ttl": 0.3})  # as a setting it is in whole seconds
    cache, begin = CompressionCache(store, settings), time.monotonic()
    await keep(cache, store, "a")
    seen = (await cache.stats("anna")).entries
    assert seen or time.monotonic() - begin >= 0.3
    await asyncio.sleep(0.35)
    assert await cache.get("anna", "a") is None
    assert not (await cache.stats("anna")).entries


async def test_nothing_is_kept_for_no_time(store: Store) -> None:
    cache = CompressionCache(store, CacheSettings(ttl=0))
    assert not await keep(cache, store, "a")
    assert (await cache.stats("anna")).misses == 1


async def test_clearing_is_for_one_tenant(store: Store) -> None:
    cache = CompressionCache(store, CacheSettings())
    for tenant in ("anna", "bert"):
        await keep(cache, store, "a", tenant=tenant)
    assert await cache.clear("anna") == 1
    assert await cache.get("anna", "a") is None
    assert (await cache.stats("anna")).misses == 0
    assert await cache.get("bert", "a") is not None


async def test_another_process_finds_what_one_kept(store: Store) -> None:
    one, other = (CompressionCache(store, CacheSettings(max_entries=2)) for _ in range(2))
    await keep(one, store, "a")
    await keep(other, store, "b")
    await keep(one, store, "c")
    assert list((await other.stats("anna")).entries) == ["b", "c"]


class Slow(MemoryStore):
    """A store that takes batches in its own time, as a SQLite file does that another process has locked."""

    async def record(self, batch: Batch) -> None:
        await asyncio.sleep(30)
        await super().record(batch)


async def test_a_compressed_text_waits_for_its_sections_no_longer_than_calls_may(caplog: pytest.LogCaptureFixture) -> None:
    store, settings, workshop = Slow(), StoreSettings(patience=0.05), Workshop(1)
    try:
        compressions = Compressions(store, settings, CompressionCache(store, CacheSettings()), workshop)
        async with asyncio.timeout(60):
            made = await compressions.compress("anna", CompressRequest("The pump leaks. Nobody has looked at it."))
    finally:
        workshop.close()
    assert not made.stored
    assert made.result.layers[0].text.startswith("The pump leaks.")
    assert [one.getMessage() for one in caplog.records] == ["sections of a compressed text are not stored: no answer in time"]
