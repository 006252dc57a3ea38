"""Deleting the data of a tenant or of one of its conversations.

This module knows every place where such data is kept, the order in which to delete it, and what a ledger may no longer write. How
processes learn of a deletion is in ``deletions``; the routes check who may ask for one.

The deletion is announced first, so that no process writes the data again. Items, receipts and sums follow, and finally the
remains in the store's own files. If another process is writing a batch at that moment, it takes that batch back.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import RECEIPTS, read_line
from turnfold.proxy.books.rollups import BY_TAG, CONVERSATIONS, DAY, HOUR, SumRow
from turnfold.proxy.deletion.deletions import NOTICED_WITHIN, Deletion, Deletions
from turnfold.proxy.learning.window_records import forget_tenant
from turnfold.proxy.store import Batch, OpenStore, Scope, Store, StoreError
from turnfold.proxy.store.base import lines_of

_SKEW: Final = 60.0  # seconds by which clocks may differ
_SUMS: Final = (HOUR, DAY, BY_TAG + HOUR, BY_TAG + DAY, CONVERSATIONS)


@dataclass(frozen=True, slots=True)
class DeletionCounts:
    """How much was deleted: items of the store, receipts, and figures of the report's sums."""

    items: int
    receipts: int
    sums: int


class BookKeeping:
    """What of a ledger's batches was deleted before they were written (``ledger.Erasures``)."""

    def __init__(self, deletions: Deletions, store: Store) -> None:
        self._deletions = deletions
        self._store = store

    async def refresh(self) -> None:
        """Learn what other processes deleted.

        Raises:
            StoreError: the store does not answer.
        """
        await self._deletions.refresh()

    def of_receipt(self, tenant: str, conversation: str | None, at: float) -> tuple[bool, bool]:
        """Of what was recorded at a Unix time: whether its text was deleted, and whether its receipt was."""
        found = self._deletions.covering(tenant, conversation, at)
        return bool(found), any(one.books for one in found)

    def without_deleted(self, batch: Batch, built: float) -> Batch:
        """The batch without what was deleted since it was built."""
        if not self._deletions.any_since(built - _SKEW):
            return batch
        items = [one for one in batch.items if not self._deletions.covering(one.key.tenant, one.conversation, built)]
        lines = {name: [line for line in found if not self._is_deleted(line)] for name, found in batch.lines.items()}
        sums = {name: self._remaining(name, fields, built) for name, fields in batch.additions.items()}
        return replace(batch, items=items, lines=lines, additions=sums)

    async def take_back(self, batch: Batch, built: float) -> None:
        """Delete again what was deleted while the batch was being written.

        Raises:
            StoreError: the store does not answer.
        """
        await self._deletions.refresh()
        left = self.without_deleted(batch, built)
        if left is batch:
            return
        kept = {item.key for item in left.items}
        if gone := [item.key for item in batch.items if item.key not in kept]:
            await self._store.discard(gone)
        lines = {name: sorted(set(found) - set(left.lines[name])) for name, found in batch.lines.items()}
        fields = {name: sorted(found.keys() - left.additions[name].keys()) for name, found in batch.additions.items()}
        if any(lines.values()) or any(fields.values()):
            await self._store.erase(lines, fields)

    def _is_deleted(self, line: bytes) -> bool:
        receipt = read_line(line)
        return receipt is not None and self.of_receipt(receipt["tenant"], receipt["conversation"], receipt["at"])[1]

    def _remaining(self, name: str, fields: Mapping[str, int], built: float) -> dict[str, int]:
        return {field: number for field, number in fields.items() if not self._is_sum_deleted(name, field, built)}

    def _is_sum_deleted(self, name: str, field: str, built: float) -> bool:
        row = SumRow.from_stem(field.partition(":")[2])
        named = row.conversation if row and name.startswith(CONVERSATIONS) else None
        return row is not None and self.of_receipt(row.tenant, named, built)[1]


class Forgetting:
    """Deletes by tenant and by conversation, in this process at once, in others within `deletions.NOTICED_WITHIN` seconds."""

    def __init__(self, store: OpenStore, ledger: Ledger, deletions: Deletions) -> None:
        self._store = store
        self._ledger = ledger
        self._deletions = deletions
        deletions.subscribe(self._forget_in_memory)

    def _forget_in_memory(self, deletion: Deletion) -> None:
        self._ledger.forget(deletion.is_of)
        for tenant in self._store.recent_tenants():
            if deletion.is_of(tenant):
                self._store.forget_recent(tenant)

    def subscribe(self, forget: Callable[[Deletion], None]) -> None:
        """Register a function that forgets a part's memory, whichever process deletes."""
        self._deletions.subscribe(forget)

    async def forget(self, tenant: str, conversation: str | None = None, *, books: bool = True) -> DeletionCounts:
        """Delete everything that is kept of a tenant, or of one of its conversations.

        What other requests of the tenant store meanwhile may stay.

        Args:
            books: receipts and the report's sums too; of a conversation, those that name it.

        Raises:
            StoreError: the store does not answer; what is left goes when this is called again.
        """
        store = self._store.deleting
        await self._deletions.announce(Deletion.of(tenant, conversation, time.time(), books=books))
        await self._ledger.flush()
        items = await store.delete(Scope(tenant, conversation=conversation))
        if conversation is None:
            await forget_tenant(store, tenant)
        receipts = await _erase_receipts(store, tenant, conversation) if books else 0
        sums = await _erase_sums(store, tenant, conversation) if books else 0
        await store.scrub()
        return DeletionCounts(items, receipts, sums)

    async def watch(self) -> None:
        """Notice what other processes delete, until cancelled."""
        while True:
            await asyncio.sleep(NOTICED_WITHIN)
            with contextlib.suppress(StoreError):
                await self._deletions.refresh()


async def _erase_receipts(store: Store, tenant: str, conversation: str | None) -> int:
    logs, _ = await store.names()
    gone, sought = 0, orjson.dumps(tenant)
    for name in logs:
        if name.startswith(RECEIPTS):
            lines = [line async for line in lines_of(store, name) if _is_receipt_of(line, sought, tenant, conversation)]
            gone += await store.erase({name: lines}, {}) if lines else 0
    return gone


def _is_receipt_of(line: bytes, sought: bytes, tenant: str, conversation: str | None) -> bool:
    receipt = read_line(line) if sought in line else None
    return receipt is not None and receipt["tenant"] == tenant and conversation in (None, receipt["conversation"])


async def _erase_sums(store: Store, tenant: str, conversation: str | None) -> int:
    _, tables = await store.names()
    prefixes = _SUMS if conversation is None else (CONVERSATIONS,)
    gone = 0
    for name in tables:
        if name.startswith(prefixes):
            (table,) = await store.counts([name])
            fields = _fields_of(table, tenant, conversation)
            gone += await store.erase({}, {name: fields}) if fields else 0
    return gone


def _fields_of(fields: Iterable[str], tenant: str, conversation: str | None) -> Sequence[str]:
    sought = orjson.dumps(tenant).decode()
    rows = ((field, SumRow.from_stem(field.partition(":")[2])) for field in fields if sought in field)
    return [field for field, row in rows if row and row.tenant == tenant and conversation in (None, row.conversation)]
