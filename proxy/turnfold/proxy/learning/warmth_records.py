"""What was learned of prompt caches, as records of the store.

Their keys and form, adding to one, and listing them. The memory in front of them is ``learning.warming``; what counts say is in
``compression.warmth``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from turnfold.compression.warmth import WarmthCounts, merge
from turnfold.proxy.learning.window_records import UpstreamModel, storable_name
from turnfold.proxy.store.base import Item, Key, Scope, Store, key_pages
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

_KIND: Final = "warmth"
_TTL: Final = 30 * 86_400.0
_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class WarmthRecord:
    """The observations of an upstream's and model's cache; names as in `UpstreamModel`, at most 200 characters."""

    upstream: str
    model: str
    counts: WarmthCounts

    def to_bytes(self) -> bytes:
        """The record's bytes for the store."""
        return encode_record({VERSION: 1, "upstream": self.upstream, "model": self.model, **self.counts.to_json()})

    @classmethod
    def from_json(cls, value: Any) -> WarmthRecord:
        """The record from its JSON value.

        Raises:
            ValueError, LookupError, TypeError: the value is invalid.
        """
        return cls(str(value["upstream"]), str(value["model"]), WarmthCounts.from_json(value))


def _key(spot: UpstreamModel) -> Key:
    return spot.key_of(_KIND)


async def read_counts(store: Store, spot: UpstreamModel) -> WarmthCounts:
    """The counts of all processes.

    Raises:
        StoreError: the store does not answer.
    """
    return _counts((await store.get([_key(spot)]))[0])


def _counts(value: bytes | None) -> WarmthCounts:
    record = None if value is None else decode_record(_KIND, value, WarmthRecord.from_json)
    return WarmthCounts() if record is None else record.counts


async def add_counts(store: Store, spot: UpstreamModel, seen: WarmthCounts) -> WarmthCounts:
    """Add one process's counts. Returns those of all.

    Raises:
        StoreError: the store does not answer.
    """
    counts = seen
    for _ in range(_TRIES):
        (held,) = await store.get([_key(spot)])
        counts = merge(_counts(held), seen)
        record = WarmthRecord(storable_name(spot.upstream), storable_name(spot.model), counts)
        if await store.swap(held, Item(_key(spot), record.to_bytes(), _TTL)):
            break
    return counts


async def discard_counts(store: Store, spot: UpstreamModel) -> None:
    """Delete the counts of a spot.

    Raises:
        StoreError: the store does not answer.
    """
    await store.discard([_key(spot)])


async def list_warmth(store: Store, tenant: str) -> list[WarmthRecord]:
    """A tenant's records, by upstream and model.

    Raises:
        StoreError: the store does not answer.
    """
    found = [
        record
        async for page in key_pages(store, Scope(tenant, _KIND))
        for value in await store.get(page)
        if value is not None and (record := decode_record(_KIND, value, WarmthRecord.from_json)) is not None
    ]
    return sorted(found, key=lambda one: (one.upstream, one.model))
