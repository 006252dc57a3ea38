"""The compression cache: results by a hash of their input (row C11).

The cache decides which results of a tenant are kept (LRU) and counts hits and misses. To it a result is just bytes; it neither
knows their form nor computes them.

Entries are items of the store with a time to live, so they survive a restart and serve every replica. Each tenant has one index,
changed by compare-and-set: the order of use, sizes, counts. If the index is lost, entries are still found and still expire; they
just no longer count towards the limits.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from turnfold.config.settings import CacheSettings
from turnfold.proxy.store import Item, Key, Scope, Store, StoreError
from turnfold.proxy.store.compare_and_set import Turns, compare_and_set
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

_KIND: Final = "compression"
_INDEX: Final = "compression-index"
_INDEX_TTL: Final = 30 * 86400.0
_PATIENCE: Final = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CacheIndex:
    """The index of a tenant's cache.

    Attributes:
        entries: key -> (bytes, Unix time of expiry), the least recently used first.
    """

    hits: int = 0
    misses: int = 0
    evictions: int = 0
    entries: dict[str, tuple[int, float]] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Size of all entries."""
        return sum(size for size, _ in self.entries.values())


def _read(value: bytes | None) -> CacheIndex | None:
    """The index; an empty one if there is none, None if this release cannot read it."""
    return CacheIndex() if value is None else decode_record("index of the compression cache", value, _build)


def _build(value: Any) -> CacheIndex:
    """From the JSON value; in the first release it was a list, its entries too."""
    if isinstance(value, list):
        hits, misses, evictions, rows = value
        entries = {key: (size, expires) for key, size, expires in rows}
    else:
        hits, misses, evictions = value["hits"], value["misses"], value["evictions"]
        entries = {key: (entry["bytes"], entry["expires"]) for key, entry in value["entries"].items()}
    now = time.time()
    return CacheIndex(hits, misses, evictions, {key: entry for key, entry in entries.items() if entry[1] > now})


def _to_bytes(index: CacheIndex) -> bytes:
    entries = {key: {"bytes": size, "expires": expires} for key, (size, expires) in index.entries.items()}
    counts = {"hits": index.hits, "misses": index.misses, "evictions": index.evictions}
    return encode_record({VERSION: 1, **counts, "entries": entries})


class CompressionCache:
    """Results of a tenant's requests; other tenants never hit them.

    Every method may raise `StoreError`; the caller then does without the cache.
    """

    def __init__(self, store: Store, settings: CacheSettings) -> None:
        self._store = store
        self._settings = settings
        self._turns = Turns()

    @property
    def ttl(self) -> float:
        """Seconds to keep an entry; 0 disables the cache."""
        return float(self._settings.ttl)

    async def get(self, tenant: str, key: str) -> bytes | None:
        """An entry; it becomes the most recently used."""
        (value,) = await self._store.get([Key(tenant, _KIND, key)])
        if value is not None:
            try:
                await self._change(tenant, lambda index: (_with_hit(index, key), []))
            except StoreError as exc:  # a store that only reads has the value all the same
                _log.info("the use of a cached result is not counted: %s", exc)
        return value

    def item(self, tenant: str, key: str, value: bytes) -> Item | None:
        """An entry for the store, None if it must not be cached. The caller stores it, then calls `count_miss`."""
        if not self._settings.ttl or len(value) > self._settings.max_bytes // 4:
            return None
        return Item(Key(tenant, _KIND, key), value, self.ttl)

    async def count_miss(self, tenant: str, key: str, size: int | None) -> None:
        """Count a miss and, given a size, a new entry; evict entries beyond the limits."""
        gone = await self._change(tenant, lambda index: self._with_entry(index, key, size))
        if gone:
            await self._store.discard([Key(tenant, _KIND, old) for old in gone])

    def _with_entry(self, index: CacheIndex, key: str, size: int | None) -> tuple[CacheIndex, list[str]]:
        entries = {name: row for name, row in index.entries.items() if name != key}
        if size is not None:
            entries[key] = (size, time.time() + self.ttl)
        total = sum(size for size, _ in entries.values())
        gone: list[str] = []
        for name, (old, _) in index.entries.items():
            if len(entries) <= self._settings.max_entries and total <= self._settings.max_bytes:
                break
            if name in entries and name != key:
                del entries[name]
                total -= old
                gone.append(name)
        return replace(index, misses=index.misses + 1, evictions=index.evictions + len(gone), entries=entries), gone

    async def stats(self, tenant: str) -> CacheIndex:
        """Counts and current entries."""
        (value,) = await self._store.get([Key(tenant, _INDEX, "")])
        return _read(value) or CacheIndex()

    async def clear(self, tenant: str) -> int:
        """Delete all entries and counts. Returns the number of deleted entries."""
        gone = await self._store.delete(Scope(tenant, _KIND))
        await self._store.discard([Key(tenant, _INDEX, "")])
        return gone

    async def _change(self, tenant: str, change: Callable[[CacheIndex], tuple[CacheIndex, list[str]]]) -> list[str]:
        key = Key(tenant, _INDEX, "")

        async def update(held: bytes | None) -> tuple[Item | None, list[str]]:
            before = _read(held)
            if before is None:  # left to the release that wrote it: entries expire by themselves
                return None, []
            index, gone = change(before)
            return Item(key, _to_bytes(index), max(_INDEX_TTL, self.ttl)), gone

        async with self._turns.of(key):
            return await compare_and_set(self._store, key, update, patience=_PATIENCE)


def _with_hit(index: CacheIndex, key: str) -> CacheIndex:
    entries = {name: row for name, row in index.entries.items() if name != key}
    if key in index.entries:
        entries[key] = index.entries[key]
    return replace(index, hits=index.hits + 1, entries=entries)
