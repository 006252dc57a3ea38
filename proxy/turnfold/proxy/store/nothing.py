"""A store that keeps nothing.

Lives here: ``none://``. Does not belong here: what is missing without a store (``checkup`` and the documentation say so).

Items are never there. What must not get lost in silence (a stateful conversation, a state) is refused. Receipts and sums have no
text in them: they are held in this process's memory, if they are wanted at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from turnfold.proxy.store.base import Batch, Item, Key, Scope, StoreOff
from turnfold.proxy.store.memory import MemoryStore

#: Kinds of items without text that bound the sums, and are held as these are.
_OF_THE_BOOKS: Final = frozenset({"tags"})


class NothingStore(MemoryStore):
    """Holds receipts and sums until the process ends, and nothing else."""

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        held = await super().get(keys)
        return [value if key.kind in _OF_THE_BOOKS else None for key, value in zip(keys, held, strict=True)]

    async def put(self, items: Sequence[Item]) -> None:
        return

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        raise StoreOff("nothing is kept (TURNFOLD_STORE_URL is none://)")

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        return []

    async def record(self, batch: Batch) -> None:
        await super().record(replace(batch, items=[item for item in batch.items if item.key.kind in _OF_THE_BOOKS]))
