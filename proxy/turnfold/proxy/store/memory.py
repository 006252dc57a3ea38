"""A store in this process's memory.

Lives here: the smallest back-end, for one process, bounded by bytes. Does not belong here: anything that outlives the process.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from turnfold.proxy.store.base import Batch, Item, Key, Scope

# What a key, a label and the bookkeeping weigh beside the value, roughly.
_OVERHEAD = 300


@dataclass(slots=True)
class _StoredItem:
    value: bytes
    expires: float
    conversations: set[str] = field(default_factory=set)

    def weight(self) -> int:
        return len(self.value) + _OVERHEAD


@dataclass(slots=True)
class _Log:
    lines: list[bytes] = field(default_factory=list)
    expires: float = 0.0


@dataclass(slots=True)
class _Table:
    counts: dict[str, int] = field(default_factory=dict)
    expires: float = 0.0


class MemoryStore:
    """Evicts the least recently used items above `capacity` bytes; logs and counts only expire."""

    def __init__(self, capacity: int = 32 * 2**20) -> None:
        self._capacity = capacity
        self._weight = 0
        self._items: OrderedDict[Key, _StoredItem] = OrderedDict()
        self._logs: dict[str, _Log] = {}
        self._tables: dict[str, _Table] = {}
        self._batches: dict[str, float] = {}
        self._next_purge = 0.0

    def _live(self, key: Key) -> _StoredItem | None:
        kept = self._items.get(key)
        if kept is not None and kept.expires <= time.time():
            self._drop(key)
            return None
        return kept

    def _drop(self, key: Key) -> None:
        self._weight -= self._items.pop(key).weight()

    def _keep(self, item: Item) -> None:
        old = self._live(item.key)
        kept = _StoredItem(item.value, time.time() + item.ttl, old.conversations if old else set())
        if item.conversation is not None:
            kept.conversations.add(item.conversation)
        if old:
            self._drop(item.key)
        self._items[item.key] = kept
        self._weight += kept.weight()

    def _purge(self) -> None:
        now = time.time()
        if now >= self._next_purge:
            self._next_purge = now + 60
            for key in [key for key, kept in self._items.items() if kept.expires <= now]:
                self._drop(key)
            self._forget_expired()
        while self._weight > self._capacity and self._items:
            self._drop(next(iter(self._items)))

    def _forget_expired(self) -> None:
        now = time.time()
        self._logs = {name: log for name, log in self._logs.items() if log.expires > now}
        self._tables = {name: table for name, table in self._tables.items() if table.expires > now}
        self._batches = {name: expires for name, expires in self._batches.items() if expires > now}

    def _within(self, scope: Scope) -> list[Key]:
        now = time.time()
        return [
            key
            for key, kept in self._items.items()
            if key.tenant == scope.tenant
            and kept.expires > now
            and scope.kind in {None, key.kind}
            and (scope.conversation is None or scope.conversation in kept.conversations)
        ]

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        values: list[bytes | None] = []
        for key in keys:
            kept = self._live(key)
            if kept:
                self._items.move_to_end(key)
            values.append(kept.value if kept else None)
        return values

    async def put(self, items: Sequence[Item]) -> None:
        for item in items:
            self._keep(item)
        self._purge()

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        kept = self._live(item.key)
        if (kept.value if kept else None) != expected:
            return False
        await self.put([item])
        return True

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        return sorted(self._within(scope))[offset : offset + limit]

    async def delete(self, scope: Scope) -> int:
        return await self.discard(self._within(scope))

    async def discard(self, keys: Sequence[Key]) -> int:
        live = [key for key in dict.fromkeys(keys) if self._live(key)]
        for key in live:
            self._drop(key)
        return len(live)

    async def record(self, batch: Batch) -> None:
        expires = time.time() + batch.ttl
        if batch.id in self._batches:
            return
        self._batches[batch.id] = expires
        for item in batch.items:
            self._keep(item)
        self._forget_expired()
        for name, lines in batch.lines.items():
            log = self._logs.setdefault(name, _Log())
            log.lines.extend(lines)
            log.expires = max(log.expires, time.time() + batch.life_of_lines())
        for name, additions in batch.additions.items():
            table = self._tables.setdefault(name, _Table())
            table.expires = max(table.expires, expires)
            for counter, number in additions.items():
                table.counts[counter] = table.counts.get(counter, 0) + number
        self._purge()

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        log = self._logs.get(name)
        if log is None or log.expires <= time.time():
            return [], None
        end = position + limit
        return log.lines[position:end], end if end < len(log.lines) else None

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        tables = (self._tables.get(name) for name in names)
        return [dict(table.counts) if table and table.expires > time.time() else {} for table in tables]

    async def ping(self) -> None:
        return

    async def close(self) -> None:
        return
