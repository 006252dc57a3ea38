"""A small cache in front of a store.

An LRU cache for kinds whose values never change under their id. Kinds that are swapped are not cached.

A value is served from here for at most `max_age` seconds, so a deletion by another process takes effect within that time; one by
this process takes effect at once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from turnfold.proxy.store.base import Batch, BooksOf, Item, Key, Scope, Store
from turnfold.proxy.store.fair import FairMemory

_MAX_AGE: Final = 5.0


class _RecentValues:
    """Values that were read or written recently, by tenant and key."""

    def __init__(self, kinds: frozenset[str], capacity: int, max_age: float, share: float) -> None:
        self._kinds = kinds
        self._capacity = capacity
        self._max_age = max_age
        self._kept: FairMemory[Key, tuple[bytes, float]] = FairMemory(capacity, share)

    @property
    def weight(self) -> int:
        """Bytes of all values."""
        return self._kept.weight

    def drop(self, key: Key) -> None:
        """Forget one value."""
        self._kept.drop(key.tenant, key)

    def remember(self, key: Key, value: bytes, life: float = _MAX_AGE) -> None:
        """Keep a value for `life` seconds at most."""
        if key.kind in self._kinds and len(value) <= self._capacity // 4:
            self._kept.put(key.tenant, key, (value, time.monotonic() + min(life, self._max_age)), len(value))

    def recall(self, key: Key) -> bytes | None:
        """The value; None if unknown or too old."""
        kept = self._kept.get(key.tenant, key)
        if kept is None:
            return None
        if kept[1] <= time.monotonic():
            self.drop(key)
            return None
        return kept[0]

    def forget(self, scope: Scope) -> None:
        """Forget a tenant's values; only those of one kind if the scope names one."""
        for key in self._kept.keys(scope.tenant):
            if scope.kind in {None, key.kind}:
                self.drop(key)

    def tenants(self) -> list[str]:
        """The tenants with cached values."""
        return self._kept.tenants()

    def sweep(self) -> None:
        """Forget expired values."""
        now = time.monotonic()
        for tenant, key, (_, until) in self._kept.items():
            if until <= now:
                self._kept.drop(tenant, key)

    def clear(self) -> None:
        """Forget all values."""
        self._kept.clear()


class CachedStore(BooksOf):
    """A store with a cache of recently read values.

    Args:
        kinds: kinds whose items never change.
        capacity: maximum size of the cached values in bytes.
        share: maximum part of the capacity that one tenant may take.
    """

    def __init__(
        self,
        store: Store,
        kinds: frozenset[str],
        capacity: int = 16 * 2**20,
        max_age: float = _MAX_AGE,
        share: float = 1.0,
    ) -> None:
        self._store = store
        self._recent = _RecentValues(kinds, capacity, max_age, share)

    def beside(self, store: Store) -> CachedStore:
        """A cache in front of another store for the same back-end, sharing the cached values: a deletion through one affects
        both.
        """
        other = CachedStore(store, frozenset())
        other._recent = self._recent
        return other

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        known = {key: value for key in keys if (value := self._recent.recall(key)) is not None}
        missing = [key for key in keys if key not in known]
        if missing:
            for key, value in zip(missing, await self._store.get(missing), strict=True):
                if value is not None:
                    known[key] = value
                    self._recent.remember(key, value)
        return [known.get(key) for key in keys]

    async def put(self, items: Sequence[Item]) -> None:
        await self._store.put(items)
        for item in items:
            self._recent.remember(item.key, item.value, item.ttl)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        self._recent.drop(item.key)
        return await self._store.swap(expected, item)

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        return await self._store.keys(scope, offset, limit)

    async def delete(self, scope: Scope) -> int:
        # Before and after: in between, a reader may have cached a value that is being deleted.
        self._recent.forget(scope)
        gone = await self._store.delete(scope)
        self._recent.forget(scope)
        return gone

    async def discard(self, keys: Sequence[Key]) -> int:
        gone = await self._store.discard(keys)
        for key in keys:
            self._recent.drop(key)
        return gone

    async def record(self, batch: Batch) -> None:
        await self._store.record(batch)

    def forget_recent(self, tenant: str) -> None:
        """Drop a tenant's values after a deletion by another process."""
        self._recent.forget(Scope(tenant))

    def recent_tenants(self) -> list[str]:
        """Tenants with cached values."""
        return self._recent.tenants()

    async def sweep(self) -> None:
        self._recent.sweep()
        await self._store.sweep()

    async def ping(self) -> None:
        await self._store.ping()

    async def close(self) -> None:
        self._recent.clear()
        await self._store.close()
