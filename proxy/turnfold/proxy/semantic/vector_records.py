"""Vectors of messages, and what was decided with them, as records of the store.

Their keys and their form. The memory in front of them is in ``vectors`` and ``likenesses``.

Vectors are found by the content of a message, within its tenant: conversations of a tenant share them. A likeness is found by the
beginning of the conversation that it was decided for, like every decision. The first writer wins; no record is ever changed.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from turnfold.compression.options import Likeness
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.semantic.encoder import Encoder
from turnfold.proxy.store.base import Item, Key, Store
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

_VECTORS: Final = "vectors"
_LIKENESS: Final = "likeness"
_FORM: Final = b"\x01"


class VectorRecords:
    """The vectors of one encoder in one store. Every method may raise StoreError.

    Args:
        encoder: its vectors are never taken for another's.
    """

    def __init__(self, store: Store, ttl: float, encoder: Encoder) -> None:
        self._store = store
        self._ttl = ttl
        self._encoder = encoder

    async def find(self, tenant: str, messages: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors of those messages, by key, of which any are kept; a record in another form counts as none."""
        held = await self._store.get([self._key(tenant, message) for message in messages])
        return {message: value[1:] for message, value in zip(messages, held, strict=True) if value and self._is_whole(value)}

    async def keep_first(self, tenant: str, vectors: Mapping[bytes, bytes], conversation: str) -> dict[bytes, bytes]:
        """Keep vectors by message where none are kept yet. Returns what is kept now."""
        keys = {message: self._key(tenant, message) for message in vectors}
        items = [Item(keys[message], _FORM + value, self._ttl, conversation) for message, value in vectors.items()]
        won = await asyncio.gather(*(self._store.swap(None, item) for item in items))
        lost = [message for message, first in zip(vectors, won, strict=True) if not first]
        return {**vectors, **(await self.find(tenant, lost) if lost else {})}

    async def discard(self, tenant: str, message: bytes) -> None:
        """Take back those of a message."""
        await self._store.discard([self._key(tenant, message)])

    def _key(self, tenant: str, message: bytes) -> Key:
        return Key(tenant, _VECTORS, blake2b(message, digest_size=16, key=self._encoder.name.encode()).hexdigest())

    def _is_whole(self, value: bytes) -> bool:
        return value[:1] == _FORM and (len(value) - 1) % (self._encoder.dimension or 1) == 0


class LikenessRecords:
    """What was decided of user messages, in one store. Every method may raise StoreError."""

    def __init__(self, store: Store, ttl: float) -> None:
        self._store = store
        self._ttl = ttl

    async def find(self, spot: UpstreamModel, wanted: Sequence[Likeness]) -> list[Likeness | None]:
        """What is kept under the beginnings of those given, in their order."""
        held = await self._store.get([_key(spot, one) for one in wanted])
        return [None if value is None else _read(one, value) for one, value in zip(wanted, held, strict=True)]

    async def keep_first(self, spot: UpstreamModel, made: Likeness, conversation: str) -> Likeness:
        """Keep one where none is kept yet. Returns what is kept now."""
        item = Item(_key(spot, made), _to_bytes(made), self._ttl, conversation)
        if await self._store.swap(None, item):
            return made
        (held,) = await self.find(spot, [made])
        return made if held is None else held


def _key(spot: UpstreamModel, one: Likeness) -> Key:
    return spot.key_of(_LIKENESS, one.at, one.prefix)


def _to_bytes(one: Likeness) -> bytes:
    return encode_record({VERSION: 1, "messages": [base64.b64encode(found).decode() for found in one.by_message]})


def _read(wanted: Likeness, value: bytes) -> Likeness | None:
    def build(found: Any) -> Likeness:
        by_message = tuple(base64.b64decode(text, validate=True) for text in found["messages"])
        if by_message and len(by_message) != wanted.at - 1:
            raise ValueError("another number of messages")
        return Likeness(wanted.at, wanted.prefix, by_message)

    return decode_record(_LIKENESS, value, build)
