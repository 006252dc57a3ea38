"""The protocol of a store.

The protocol, its values and exceptions, and reading paged results to their end. It knows no back-end and no kind of record:
sections, conversations and receipts know their own form.

Items are small byte strings by key, each with a time to live. Logs and counts are written by the ledger in batches; a batch that
is sent several times counts once.

    StoreError
    ├── StoreUnavailable     down, refused, out of reach, or set aside by the circuit breaker
    │   ├── StoreTimedOut    it did not answer in time (the work may be done all the same)
    │   └── StoreAway        the same for an operator: its address and the cause
    └── StoreFailed          it answered with an error: a full disk, a damaged file, a wrong password
        ├── StoreRefused     this call can never succeed, because of what it brings or finds; others can
        ├── StoreForbidden   its user may not do this; the text says what to grant
        └── StoreOff         it keeps nothing, by setting
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, runtime_checkable

_MARK_TTL: Final = 60.0  # seconds for which a batch of only items is remembered as applied
_LONGEST_MARK: Final = 86_400.0  # four batches a second are 30 MB of marks a day; a batch is repeated from memory only
_PAGE: Final = 500  # keys


class StoreError(Exception):
    """Base class of all exceptions of a store. A store raises no others."""


class StoreUnavailable(StoreError):
    """The store cannot be reached at the moment."""


class StoreTimedOut(StoreUnavailable):
    """The store did not answer in time."""


class StoreAway(StoreUnavailable):
    """The store cannot be reached at the moment; the text is for operators and includes its address."""


class StoreFailed(StoreError):
    """The store reported that it could not perform the operation."""


class StoreRefused(StoreFailed):
    """The store works, but refuses these values."""


class StoreForbidden(StoreFailed):
    """The store's user lacks a permission. Once it is granted, the same call succeeds."""


class StoreOff(StoreFailed):
    """Storing is disabled by setting (``none://``)."""


class Key(NamedTuple):
    """The key of an item. No item can be read without its tenant.

    Attributes:
        tenant: the owner; "" for data of the installation itself.
        kind: a slug such as "section" or "conversation".
        id: the rest, any text.
    """

    tenant: str
    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class Item:
    """A value to store.

    Attributes:
        ttl: seconds to live, above 0; fractions are allowed.
        conversation: a label to find and delete it by. An item stored under several labels is deleted with the first of them.
    """

    key: Key
    value: bytes = field(repr=False)
    ttl: float
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """A selection of a tenant's items; None matches any."""

    tenant: str
    kind: str | None = None
    conversation: str | None = None


class Room(NamedTuple):
    """How much a back-end's logs and counts take, and may take, in bytes."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Batch:
    """One write of the ledger: lines and additions are applied together or not at all, and only once.

    Attributes:
        id: identifies the batch; a batch that was applied before is not applied again.
        lines: log name -> lines to append, in order.
        additions: table name -> field -> number to add.
        ttl: seconds to live for the tables touched.
        lines_ttl: seconds to live for the logs touched; None: the same as the tables.
        items: stored before the rest (storing one again does no harm).
    """

    id: str
    lines: Mapping[str, Sequence[bytes]]
    additions: Mapping[str, Mapping[str, int]]
    ttl: float
    items: Sequence[Item] = ()
    lines_ttl: float | None = None

    @classmethod
    def of_items(cls, items: Sequence[Item]) -> Batch:
        """A batch of only items. Unlike `Store.put`, it may be large, and has the time of background work."""
        return cls(uuid.uuid4().hex, {}, {}, _MARK_TTL, items)

    def life_of_lines(self) -> float:
        """Seconds to live for the logs touched."""
        return self.ttl if self.lines_ttl is None else self.lines_ttl

    def life_of_mark(self) -> float:
        """Seconds for which a back-end remembers that it has applied the batch."""
        return min(max(self.ttl, self.life_of_lines()), _LONGEST_MARK)


class Store(Protocol):
    """Items, logs and counts. Every method may raise StoreError, and nothing else."""

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        """The values in the order of the keys; None for missing or expired ones."""
        ...

    async def put(self, items: Sequence[Item]) -> None:
        """Store all of them or none."""
        ...

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        """Store the item if its key has the expected value (None: no value). Returns whether it did."""
        ...

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        """A page of the keys in a scope, in an order that is stable while nobody writes."""
        ...

    async def delete(self, scope: Scope) -> int:
        """Delete everything in a scope. Returns the number of deleted items."""
        ...

    async def discard(self, keys: Sequence[Key]) -> int:
        """Delete items by key. Returns how many existed."""
        ...

    async def record(self, batch: Batch) -> None:
        """Apply a batch. A batch that was applied before is ignored."""
        ...

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        """A page of a log in order, starting at a position, and the position of the next page (None after the last)."""
        ...

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        """The last lines of a log, newest first, without the first `skip` of them."""
        ...

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        """The tables in the order of the names; an unknown table is empty."""
        ...

    async def names(self) -> tuple[list[str], list[str]]:
        """The names of all logs and of all tables of counts. Slow in a large store."""
        ...

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        """Delete lines of logs and fields of tables of counts, by name. Returns how many existed."""
        ...

    async def merge(self, name: str, into: Mapping[str, str]) -> None:
        """Add fields of a table of counts to others of it, and delete them: all or none. Doing it again changes nothing."""
        ...

    async def trim(self, name: str, share: float) -> None:
        """Delete the oldest lines of a log: this share of them, rounded up."""
        ...

    async def room(self) -> Room | None:
        """How full the back-end is; None if it has no limit."""
        ...

    async def scrub(self) -> None:
        """Remove deleted data from the back-end's own files, as far as it has any."""
        ...

    async def sweep(self) -> None:
        """Remove expired items, if that is due; otherwise the next write does it."""
        ...

    async def ping(self) -> None:
        """Return if the store works."""
        ...

    async def close(self) -> None:
        """Close connections and threads; closing twice is no error."""
        ...


class NewestWrites(Protocol):
    """The most recently written batches, for a server that takes over without them."""

    def add(self, batch: Batch, built: float) -> None:
        """Remember a written batch.

        Args:
            built: Unix time up to which it takes deletions into account.
        """
        ...

    def to_repeat(self) -> list[tuple[Batch, float]]:
        """Batches that the current server may lack, oldest first, with their Unix times. Empty until a takeover."""
        ...

    def repeated(self) -> None:
        """Note that the server in use at the time of `to_repeat` has all of them."""
        ...


@runtime_checkable
class HasReplicas(Protocol):
    """A back-end whose server may be replaced by one that lacks the newest writes."""

    newest_writes: NewestWrites


@runtime_checkable
class MayEvict(Protocol):
    """A back-end whose server may evict data instead of refusing writes."""

    async def eviction(self) -> str:
        """The server's name for its eviction policy; "" if it evicts nothing or does not say."""
        ...


class BooksOf:
    """Passes receipts and sums through to the wrapped store unchanged."""

    _store: Store

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        """See `Store`."""
        return await self._store.log(name, position, limit)

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        """See `Store`."""
        return await self._store.newest(name, skip, limit)

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        """See `Store`."""
        return await self._store.counts(names)

    async def names(self) -> tuple[list[str], list[str]]:
        """See `Store`."""
        return await self._store.names()

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        """See `Store`."""
        return await self._store.erase(lines, fields)

    async def merge(self, name: str, into: Mapping[str, str]) -> None:
        """See `Store`."""
        await self._store.merge(name, into)

    async def trim(self, name: str, share: float) -> None:
        """See `Store`."""
        await self._store.trim(name, share)

    async def room(self) -> Room | None:
        """See `Store`."""
        return await self._store.room()

    async def scrub(self) -> None:
        """See `Store`."""
        await self._store.scrub()

    async def sweep(self) -> None:
        """See `Store`."""
        await self._store.sweep()


def blob(text: str) -> bytes:
    """Any text as bytes, including lone surrogates, which a client's JSON may contain."""
    return text.encode("utf-8", "surrogatepass")


def text_of(data: bytes) -> str:
    """The text encoded by `blob`."""
    return data.decode("utf-8", "surrogatepass")


async def line_pages(store: Store, name: str) -> AsyncIterator[Sequence[bytes]]:
    """All lines of a log in order, a page at a time.

    Raises:
        StoreError: the store does not answer.
    """
    position: int | None = 0
    while position is not None:
        page, position = await store.log(name, position)
        yield page


async def lines_of(store: Store, name: str) -> AsyncIterator[bytes]:
    """All lines of a log in order, read page by page.

    Raises:
        StoreError: the store does not answer.
    """
    async for page in line_pages(store, name):
        for line in page:
            yield line


async def key_pages(store: Store, scope: Scope) -> AsyncIterator[list[Key]]:
    """All keys in a scope, a page at a time.

    Raises:
        StoreError: the store does not answer.
    """
    offset = 0
    while page := await store.keys(scope, offset, _PAGE):
        yield page
        offset += len(page)
