"""Folds that were given up, as records of the store.

Their keys and form; the first writer wins. Caching them, and how requests use them, is up to ``chat.abandoning``.

A record says that a fold of this conversation took longer than a request may wait, and what was sent instead. It holds no text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.store.base import Item, Key, Store
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

KIND: Final = "abandoned"
#: Seconds for which a record is kept: longer than any provider's cache lasts unused, short enough to try again on a less busy
#: machine.
TTL: Final = 3600.0


@dataclass(frozen=True, slots=True)
class AbandonedFold:
    """A fold that was abandoned.

    Attributes:
        raw: whether earlier requests were not sent folded either, so that a cache holds the unfolded conversation.
        events: the conversation's fold events by then; None: not known yet.
    """

    raw: bool
    events: int | None = None

    def to_bytes(self) -> bytes:
        """The record's bytes for the store."""
        return encode_record({VERSION: 1, "raw": self.raw, "events": self.events})

    @classmethod
    def from_json(cls, value: Any) -> AbandonedFold:
        """The record from its JSON value.

        Raises:
            ValueError, LookupError, TypeError: the value is invalid.
        """
        return cls(value["raw"], value["events"])


def _key(place: Place) -> Key:
    return place.spot.key_of(KIND, place.label)


def _read(value: bytes | None) -> AbandonedFold | None:
    return None if value is None else decode_record(KIND, value, AbandonedFold.from_json)


async def read_abandoned(store: Store, place: Place) -> AbandonedFold | None:
    """The record of a conversation, or None.

    Raises:
        StoreError: the store does not answer.
    """
    return _read((await store.get([_key(place)]))[0])


async def keep_abandoned(store: Store, place: Place, fold: AbandonedFold) -> AbandonedFold:
    """Store a record, unless the store has one that says at least as much. Returns the stored one.

    Raises:
        StoreError: the store does not answer.
    """
    (held,) = await store.get([_key(place)])
    before = _read(held)
    if before is not None and (before.events is not None or fold.events is None):
        return before
    made = fold if before is None else AbandonedFold(before.raw, fold.events)
    if await store.swap(held, Item(_key(place), made.to_bytes(), TTL, place.label)):
        return made
    return _read((await store.get([_key(place)]))[0]) or made
