"""Announcing deletions, so that every process forgets the data.

This module announces a deletion in the store and notices those of other processes. ``forgetting`` deletes; each part of a process
clears its own memory.

Every process holds data in memory that it would serve or write again. So a deletion is announced before it begins: as a line of a
log, and by a random name under one key. A process that finds another name there reads the log. The log contains hashes of tenants
and conversations, not their names.
"""

from __future__ import annotations

import json
import secrets
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from turnfold.proxy.store.base import Batch, Item, Key, Store, lines_of
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

#: Seconds within which a process notices a deletion by another one.
NOTICED_WITHIN: Final = 10.0

_LATEST: Final = Key("", "deletion", "latest")
_TTL: Final = 86_400.0  # longer than receipts wait for an unavailable store
_HOUR: Final = timedelta(hours=1)


@lru_cache(maxsize=4096)
def _digest(tenant: str, conversation: str | None = None) -> str:
    named = [tenant] if conversation is None else [tenant, conversation]
    return blake2b(json.dumps(named).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion of all data of a tenant, or of one of its conversations, up to a Unix time.

    Attributes:
        tenant: hash of the tenant.
        conversation: hash of tenant and conversation; None: all of them.
        books: whether receipts and sums were deleted too.
    """

    tenant: str
    conversation: str | None
    until: float
    books: bool

    @classmethod
    def of(cls, tenant: str, conversation: str | None, until: float, *, books: bool) -> Deletion:
        """The deletion of a tenant or of its conversation, by name."""
        return cls(_digest(tenant), None if conversation is None else _digest(tenant, conversation), until, books)

    def is_of(self, tenant: str) -> bool:
        """Whether it is about this tenant, or one of its conversations."""
        return self.tenant == _digest(tenant)

    def covers(self, tenant: str, conversation: str | None, at: float) -> bool:
        """Whether what was recorded at a Unix time went."""
        return at <= self.until and self.takes(tenant, conversation)

    def takes(self, tenant: str, conversation: str | None) -> bool:
        """Whether it covers this tenant, or this conversation of it (None: all of the tenant's data)."""
        if not self.is_of(tenant):
            return False
        return self.conversation is None or (conversation is not None and self.conversation == _digest(tenant, conversation))


def _build(value: Any) -> Deletion:
    return Deletion(value["tenant"], value["conversation"], float(value["until"]), value["books"] is True)


def _log_names(start: float, end: float) -> Iterator[str]:
    at = datetime.fromtimestamp(start, UTC).replace(minute=0, second=0, microsecond=0)
    while at.timestamp() <= end:
        yield f"deletions:{at:%Y-%m-%dT%H}"
        at += _HOUR


class Deletions:
    """The deletions of the last day that this process knows of."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._latest: bytes | None = None
        self._read_until = 0.0
        self._known: dict[bytes, Deletion] = {}
        self._subscribers: list[Callable[[Deletion], None]] = []

    def subscribe(self, forget: Callable[[Deletion], None]) -> None:
        """Have a function called with every deletion, once."""
        self._subscribers.append(forget)

    async def announce(self, deletion: Deletion) -> None:
        """Tell every process, this one before the call returns.

        Raises:
            StoreError: the store does not answer.
        """
        line = encode_record({VERSION: 1, "id": secrets.token_hex(8), **asdict(deletion)})
        (name,) = _log_names(deletion.until, deletion.until)
        await self._store.record(Batch(uuid.uuid4().hex, {name: [line]}, {}, _TTL))
        # After the line: a process that finds the new name must find the line too.
        await self._store.put([Item(_LATEST, secrets.token_bytes(16), _TTL)])
        await self.refresh()

    async def refresh(self) -> None:
        """Notice what was announced since the last time.

        Raises:
            StoreError: the store does not answer.
        """
        (latest,) = await self._store.get([_LATEST])
        if latest in (None, self._latest):
            return
        now = time.time()
        for name in _log_names(max(self._read_until - 3600, now - _TTL), now + 3600):
            await self._read(name)
        self._latest, self._read_until = latest, now
        self._known = {line: one for line, one in self._known.items() if one.until > now - _TTL}

    async def _read(self, name: str) -> None:
        async for line in lines_of(self._store, name):
            found = None if line in self._known else decode_record("deletion", line, _build)
            if found is not None:
                self._known[line] = found
                for forget in self._subscribers:
                    forget(found)

    def any_since(self, start: float) -> bool:
        """Whether anything was deleted since a Unix time."""
        return any(one.until >= start for one in self._known.values())

    def covering(self, tenant: str, conversation: str | None, at: float) -> list[Deletion]:
        """The deletions that cover what was recorded at a Unix time."""
        return [one for one in self._known.values() if one.covers(tenant, conversation, at)] if self._known else []
