"""Records of conversations' states in the store.

Their keys, their time to live, and updates without lost changes. The content of a record is up to ``compression.state.record``,
access control to the routes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from turnfold.compression.state import Record, read_record
from turnfold.proxy.store.base import Item, Key, Store, StoreFailed

KIND: Final = "state"
_TRIES: Final = 16  # each lost attempt means that another change was stored


class StateRecords:
    """Records by tenant and conversation; they live for `ttl` seconds after their last change.

    Attributes:
        patient: the same records for a caller that can wait for a busy store.
    """

    def __init__(self, store: Store, ttl: float, patient: Store | None = None) -> None:
        self._store = store
        self._ttl = ttl
        self.patient = self if patient is None else StateRecords(patient, ttl)

    async def get(self, tenant: str, conversation: str) -> bytes | None:
        """The record's bytes; None if there is no record.

        Raises:
            StoreError: the store does not answer.
        """
        return (await self._store.get([Key(tenant, KIND, conversation)]))[0]

    async def swap(self, tenant: str, conversation: str, held: bytes | None, record: Record) -> bool:
        """Store a record if `held` is what is stored now. Returns whether it was stored.

        Raises:
            StoreError: the store does not answer.
        """
        item = Item(Key(tenant, KIND, conversation), record.redacted().to_bytes(), self._ttl, conversation)
        return await self._store.swap(held, item)

    async def update(self, tenant: str, conversation: str, change: Callable[[Record], Record]) -> Record:
        """Change a record (an empty one if there is none). Returns the result of the change.

        Raises:
            StoreError: the store does not answer.
            InvalidInput: the stored record has another version.
        """
        for _ in range(_TRIES):
            held = await self.get(tenant, conversation)
            record = change(Record() if held is None else read_record(held))
            if await self.swap(tenant, conversation, held, record):
                return record
        raise StoreFailed("the record changes faster than it can be written")

    async def delete(self, tenant: str, conversation: str) -> bool:
        """Delete a record. Returns whether there was one.

        Raises:
            StoreError: the store does not answer.
        """
        return await self._store.discard([Key(tenant, KIND, conversation)]) > 0
