"""Written summaries, and who writes one, as records of the store.

Lives here: their keys and form. Does not belong here: when one is written or adopted (``blocks``, ``compression.fold.adoption``).

A record is a claim (somebody writes it now, or it was refused) or a text. The first to claim writes; a text is never changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import orjson

from turnfold.compression.options import WrittenSummary
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.store.base import Item, Key, Store
from turnfold.proxy.store.records import VERSION, decode_record

_KIND: Final = "summary"


@dataclass(frozen=True, slots=True)
class SummaryRecord:
    """What the store has of a block: its text; "" while it is being written, or where it was refused."""

    text: str

    @classmethod
    def from_json(cls, value: Any) -> SummaryRecord:
        """From the JSON value.

        Raises:
            ValueError, LookupError, TypeError: it is none.
        """
        return cls(str(value["text"]))


class SummaryRecords:
    """The records of one store. Every method may raise StoreError."""

    def __init__(self, store: Store, ttl: float) -> None:
        self._store = store
        self._ttl = ttl

    async def find(self, place: Place, start: int, end: int, prefix: str) -> SummaryRecord | None:
        """What is kept of a block; None for nothing."""
        (held,) = await self._store.get([_key(place, start, end, prefix)])
        return None if held is None else decode_record(_KIND, held, SummaryRecord.from_json)

    async def claim(self, place: Place, start: int, end: int, prefix: str, seconds: float) -> bool:
        """Say that it is being written here. Returns whether nobody else does, or has."""
        item = Item(_key(place, start, end, prefix), _to_bytes(""), seconds, place.label)
        return await self._store.swap(None, item)

    async def keep(self, place: Place, summary: WrittenSummary) -> None:
        """Keep a text, or with "" that there will be none."""
        key = _key(place, summary.start, summary.end, summary.prefix)
        await self._store.put([Item(key, _to_bytes(summary.text), self._ttl, place.label)])


def _key(place: Place, start: int, end: int, prefix: str) -> Key:
    return place.spot.key_of(_KIND, start, end, prefix)


def _to_bytes(text: str) -> bytes:
    return orjson.dumps({VERSION: 1, "text": text}) if _is_plain(text) else json.dumps({VERSION: 1, "text": text}).encode()


def _is_plain(text: str) -> bool:
    """Whether it has no lone surrogate, which orjson does not write."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
