"""A store whose values are sealed before they reach the back-end.

This module seals values on the way in, opens them on the way out, and checks that the keys fit the stored values. The cipher is
in ``sealing``.

Every item's value is sealed; keys of items, logs (receipts) and counts are not: they hold ids, names and figures, no text. A
value stored before there were keys is read unencrypted until it expires. A value that no key opens is skipped,
told once, and never replaced by `swap`.

One item says that the store is sealed, and with which key. A process without a matching key is refused every call: it would write
in plain what the operator wants sealed, or find nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from turnfold.proxy.sealing.marks import is_sealed
from turnfold.proxy.store.base import Batch, BooksOf, Item, Key, Scope, Store, StoreFailed, blob
from turnfold.proxy.store.records import report_unreadable

_WITNESS: Final = Key("", "sealing", "witness")
_WORD: Final = b"these keys open what is stored"
_SETTING: Final = "TURNFOLD_STORE_ENCRYPTION_KEYS"


def _place(key: Key) -> bytes:
    """The context that a value is bound to: tenant, kind and id, encoded so that no two keys are equal."""
    parts = [blob(part) for part in (key.tenant, key.kind, key.id)]
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


class Seals(Protocol):
    """See ``cipher.Cipher``."""

    def seal(self, place: bytes, value: bytes) -> bytes:
        """The value in sealed form."""
        ...

    def open(self, place: bytes, sealed: bytes) -> bytes | None:
        """The value; None if it cannot be opened."""
        ...


class SealedStore(BooksOf):
    """A store over a back-end that sees only encrypted values.

    Args:
        cipher: None: nothing is encrypted, and an encrypted back-end is refused.
        ttl: seconds for which the back-end remembers that it is encrypted, renewed at each start.
    """

    def __init__(self, store: Store, cipher: Seals | None, ttl: float) -> None:
        self._store = store
        self._cipher = cipher
        self._ttl = ttl
        self._fits = False

    async def _check(self) -> None:
        """Check once that the keys fit the stored data.

        Raises:
            StoreFailed: they do not; the message says what to do.
        """
        if self._fits:
            return
        (held,) = await self._store.get([_WITNESS])
        if self._cipher is None:
            if held is not None:
                raise StoreFailed(f"what is stored is encrypted, and {_SETTING} is not set")
        else:
            if held is not None and self._cipher.open(_place(_WITNESS), held) != _WORD:
                raise StoreFailed(f"no key in {_SETTING} decrypts the stored data: add the key that it was encrypted with")
            await self._store.put([Item(_WITNESS, self._cipher.seal(_place(_WITNESS), _WORD), self._ttl)])
        self._fits = True

    def _opened(self, key: Key, value: bytes | None) -> bytes | None:
        if value is None or self._cipher is None or not is_sealed(value):
            return value
        plain = self._cipher.open(_place(key), value)
        if plain is None:
            report_unreadable(key.kind, f"no key in {_SETTING} decrypts it, or it was stored under another key")
        return plain

    def _sealed(self, items: Sequence[Item]) -> list[Item]:
        cipher = self._cipher
        return (
            list(items) if cipher is None else [replace(item, value=cipher.seal(_place(item.key), item.value)) for item in items]
        )

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        await self._check()
        return [self._opened(key, value) for key, value in zip(keys, await self._store.get(keys), strict=True)]

    async def put(self, items: Sequence[Item]) -> None:
        await self._check()
        await self._store.put(self._sealed(items))

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        await self._check()
        if self._cipher is None:
            return await self._store.swap(expected, item)
        (held,) = await self._store.get([item.key])
        plain = self._opened(item.key, held)
        if held is not None and plain is None:
            raise StoreFailed(f"a value that no key in {_SETTING} decrypts is not replaced")
        # Stored values are compared in sealed form, since sealing the same value again gives different bytes.
        return plain == expected and await self._store.swap(held, *self._sealed([item]))

    async def record(self, batch: Batch) -> None:
        await self._check()
        await self._store.record(replace(batch, items=self._sealed(batch.items)))

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        await self._check()
        return await self._store.keys(scope, offset, limit)

    async def delete(self, scope: Scope) -> int:
        return await self._store.delete(scope)

    async def discard(self, keys: Sequence[Key]) -> int:
        return await self._store.discard(keys)

    async def ping(self) -> None:
        await self._store.ping()
        await self._check()

    async def close(self) -> None:
        await self._store.close()
