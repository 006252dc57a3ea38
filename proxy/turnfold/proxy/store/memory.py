"""A store in the memory of this process, and one that stores nothing.

The smallest back-ends, for one process, bounded by bytes. Nothing here outlives the process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from turnfold.proxy.store.base import Batch, Item, Key, Room, Scope, StoreOff
from turnfold.proxy.store.fair import FairMemory
from turnfold.proxy.store.records import MODELS, TAGS

# Approximate bytes of a key, a label and bookkeeping per value.
_OVERHEAD = 300
_ENTRY: Final = 100  # bytes of a line or a count besides its text


@dataclass(slots=True)
class _StoredItem:
    value: bytes
    expires: float
    conversations: tuple[str, ...] = ()  # usually one: a set would take more memory than most values

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


_Expiring = TypeVar("_Expiring", _Log, _Table)


def _unexpired(one: _Expiring | None, now: float) -> _Expiring | None:
    """A log or a table; None if it has expired, since expired ones are only removed occasionally."""
    return one if one is not None and one.expires > now else None


class MemoryStore:
    """Evicts the least recently used items of the largest tenants above `capacity` bytes. Logs and counts have half as much
    again, which whoever writes them sees to (`room`).

    Args:
        share: maximum part of the capacity that one tenant may take.
    """

    def __init__(self, capacity: int = 32 * 2**20, share: float = 1.0) -> None:
        self._items: FairMemory[Key, _StoredItem] = FairMemory(capacity, share)
        self._logs: dict[str, _Log] = {}
        self._tables: dict[str, _Table] = {}
        self._batches: dict[str, float] = {}
        self._next_purge = 0.0
        self._room_for_books = capacity // 2

    def _live(self, key: Key) -> _StoredItem | None:
        kept = self._items.peek(key.tenant, key)
        if kept is not None and kept.expires <= time.time():
            self._items.drop(key.tenant, key)
            return None
        return kept

    def _keep(self, item: Item) -> None:
        old = self._live(item.key)
        kept = _StoredItem(item.value, time.time() + item.ttl, old.conversations if old else ())
        if item.conversation is not None and item.conversation not in kept.conversations:
            kept.conversations += (item.conversation,)
        self._items.put(item.key.tenant, item.key, kept, kept.weight())

    def _purge(self) -> None:
        now = time.time()
        if now >= self._next_purge:
            self._next_purge = now + 60
            for tenant, key, kept in self._items.items():
                if kept.expires <= now:
                    self._items.drop(tenant, key)
            self._logs = {name: log for name, log in self._logs.items() if log.expires > now}
            self._tables = {name: table for name, table in self._tables.items() if table.expires > now}
            self._batches = {name: expires for name, expires in self._batches.items() if expires > now}

    def _within(self, scope: Scope) -> list[Key]:
        return [
            key
            for key in self._items.keys(scope.tenant)
            if scope.kind in {None, key.kind}
            and (kept := self._live(key))
            and (scope.conversation is None or scope.conversation in kept.conversations)
        ]

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        found = [self._items.get(key.tenant, key) if self._live(key) else None for key in keys]
        return [kept.value if kept else None for kept in found]

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
            self._items.drop(key.tenant, key)
        return len(live)

    async def record(self, batch: Batch) -> None:
        now = time.time()
        expires = now + batch.ttl
        if self._batches.get(batch.id, 0.0) > now:
            return
        self._batches[batch.id] = now + batch.life_of_mark()
        for item in batch.items:
            self._keep(item)
        for name, lines in batch.lines.items():
            log = self._logs[name] = _unexpired(self._logs.get(name), now) or _Log()
            log.lines.extend(lines)
            log.expires = max(log.expires, now + batch.life_of_lines())
        for name, additions in batch.additions.items():
            table = self._tables[name] = _unexpired(self._tables.get(name), now) or _Table()
            table.expires = max(table.expires, expires)
            for counter, number in additions.items():
                table.counts[counter] = table.counts.get(counter, 0) + number
        self._purge()

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        log = _unexpired(self._logs.get(name), time.time())
        if log is None:
            return [], None
        end = position + limit
        return log.lines[position:end], end if end < len(log.lines) else None

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        log = _unexpired(self._logs.get(name), time.time())
        if log is None:
            return []
        end = max(0, len(log.lines) - skip)
        return log.lines[max(0, end - limit) : end][::-1]

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        tables = (_unexpired(self._tables.get(name), time.time()) for name in names)
        return [dict(table.counts) if table else {} for table in tables]

    async def names(self) -> tuple[list[str], list[str]]:
        now = time.time()
        logs = [name for name, log in self._logs.items() if _unexpired(log, now)]
        return sorted(logs), sorted(name for name, table in self._tables.items() if _unexpired(table, now))

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        gone = 0
        for name in lines.keys() & self._logs.keys():
            log, going = self._logs[name], set(lines[name])
            left = [line for line in log.lines if line not in going]
            gone += len(log.lines) - len(left)
            log.lines[:] = left
        for name in fields.keys() & self._tables.keys():
            gone += sum(self._tables[name].counts.pop(counter, None) is not None for counter in fields[name])
            if not self._tables[name].counts:
                del self._tables[name]
        return gone

    async def merge(self, name: str, into: Mapping[str, str]) -> None:
        table = self._tables.get(name) or _Table()
        for counter, other in into.items():
            if (number := table.counts.pop(counter, None)) is not None:
                table.counts[other] = table.counts.get(other, 0) + number

    async def trim(self, name: str, share: float) -> None:
        if name in self._logs:
            lines = self._logs[name].lines
            del lines[: math.ceil(share * len(lines))]

    async def room(self) -> Room | None:
        lines = sum(len(line) + _ENTRY for log in self._logs.values() for line in log.lines)
        counts = sum(len(counter) + _ENTRY for table in self._tables.values() for counter in table.counts)
        return Room(lines + counts, self._room_for_books)

    async def scrub(self) -> None:
        return

    async def sweep(self) -> None:
        self._purge()

    async def ping(self) -> None:
        return

    async def close(self) -> None:
        return


#: Kinds of items without text that bound the sums, and are stored like these.
_OF_THE_BOOKS: Final = frozenset({TAGS, MODELS})


class NothingStore(MemoryStore):
    """``none://``: keeps receipts and sums, which contain no text, until the process ends, and nothing else.

    Items are never found. Data that must not be lost silently (a stateful conversation, a state) is refused.
    """

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        held = await super().get(keys)
        return [value if key.kind in _OF_THE_BOOKS else None for key, value in zip(keys, held, strict=True)]

    async def put(self, items: Sequence[Item]) -> None:
        return

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        raise StoreOff("nothing is kept (TURNFOLD_STORE_URL is none://)")

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        return []

    async def delete(self, scope: Scope) -> int:
        await super().delete(scope)
        return 0

    async def record(self, batch: Batch) -> None:
        await super().record(replace(batch, items=[item for item in batch.items if item.key.kind in _OF_THE_BOOKS]))
