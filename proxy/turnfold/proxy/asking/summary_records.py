"""Written summaries, and who writes one, as records of the store.

Only their keys and form are defined here. ``blocks`` and ``compression.fold.adoption`` decide when a summary is written or
adopted.

A record is a claim (somebody writes it now, or it was refused) or a text. The first to claim writes; a text is never changed.
"""

from __future__ import annotations

import json
from typing import Final

from turnfold.compression.options import WrittenSummary
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.store.base import Item, Key, Store
from turnfold.proxy.store.records import VERSION, decode_record

_KIND: Final = "summary"


class SummaryRecords:
    """The records of one store. Every method may raise StoreError."""

    def __init__(self, store: Store, ttl: float) -> None:
        self._store = store
        self._ttl = ttl

    async def find(self, place: Place, start: int, end: int, prefix: str) -> str | None:
        """The stored text of a block, "" while it is being written or if it was refused; None if nothing is stored."""
        (held,) = await self._store.get([_key(place, start, end, prefix)])
        return None if held is None else decode_record(_KIND, held, lambda value: str(value["text"]))

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
    # The standard library's JSON writes a lone surrogate as an escape; orjson writes none.
    return json.dumps({VERSION: 1, "text": text}).encode("ascii")
