"""The ledger: receipts and originals on their way into the store, off the request path.

Lives here: the bounded queue, batches, repetition after a failure, the last flush at an orderly stop. Does not belong here: what
is summed (``rollups``), the cache model (``baseline``), reading back (``report``).

`record` only queues. A task writes a batch every quarter of a second, so a crash costs less than a second's worth. While the
store is away batches wait; a batch that may or may not have arrived is sent again under its name, and counts once.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import orjson

from turnfold.compression.fold import Section
from turnfold.compression.memo import digest
from turnfold.config.prices import PriceOf
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books import rollups
from turnfold.proxy.books.baseline import PastRequest, next_past, token_use, without_turnfold
from turnfold.proxy.books.rollups import UNPRICED, RequestCost
from turnfold.proxy.books.section_records import section_items
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.store import Batch, Item, Key, Store, StoreError
from turnfold.proxy.store.records import VERSION, decode_record

_INTERVAL: Final = 0.25
_MOST_QUEUED: Final = 20_000
_MOST_QUEUED_BYTES: Final = 64 * 2**20
_AT_ONCE: Final = 2_000
_STOP_PATIENCE: Final = 10.0
_MOST_REMEMBERED: Final = 50_000
# An original in use is written again this often, so that it does not expire under a conversation that goes on.
_WRITE_AGAIN: Final = 3600.0
_PAST_TTL: Final = 86_400.0
_MOST_MODELS: Final = 500
_LONGEST_NAME: Final = 200

_FIELDS: Final = tuple(field for field in fields(Receipt) if field.name != "trails")
_USAGE: Final = tuple(field.name for field in fields(Usage))

_log = logging.getLogger(__name__)


class Watcher(Protocol):
    """Sees every receipt with its price, once, off the request path."""

    def observe(self, receipt: Receipt, priced: RequestCost) -> None:
        """Take note; returns at once."""
        ...

    def tick(self) -> None:
        """Called some times a second."""
        ...


@dataclass(frozen=True, slots=True)
class _QueuedReceipt:
    receipt: Receipt
    carried: tuple[str, ...]
    fingerprint: str
    sections: tuple[Section, ...]
    size: int


def _log_name(at: float) -> str:
    return f"receipts:{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H}"


def _past_key(receipt: Receipt) -> Key | None:
    return None if receipt.conversation is None else Key(receipt.tenant, "cache-model", receipt.conversation)


def line_of(receipt: Receipt, priced: RequestCost, sections: Sequence[str] = ()) -> bytes:
    """A receipt as a line of the log.

    Args:
        sections: ids of what is folded in the request.
    """
    named = {field.name: getattr(receipt, field.name) for field in _FIELDS}
    sums = {"paid": priced.paid, "paid_own": priced.own, "without": priced.without}
    return orjson.dumps({VERSION: 1, **named, "sections": sections, **sums})


def read_line(line: bytes) -> dict[str, Any] | None:
    """A logged receipt, always with the same fields in the same order; None where this release cannot read it."""
    return decode_record("receipt", line, _receipt)


def _receipt(value: Any) -> dict[str, Any]:
    """From the JSON value: unknown fields are left out, missing ones have their default."""
    named = {
        field.name: value[field.name] if field.default is MISSING else value.get(field.name, field.default) for field in _FIELDS
    }
    usage = {name: named["usage"].get(name) for name in _USAGE}
    own = {"sections": value.get("sections", []), "paid_own": value.get("paid_own", 0.0)}
    return {**named, "usage": usage, **own, "paid": value.get("paid"), "without": value.get("without")}


class Ledger:
    """Implements ``Recorder``. Belongs to the event loop that starts it.

    Args:
        price: what a request cost.
        watcher: also sees every receipt (metrics).

    Attributes:
        dropped: receipts that found the queue full, or were left when the stop's patience ended.
        dropped_originals: requests whose originals found it full.
        written: receipts that are in the store.
    """

    def __init__(self, store: Store, settings: StoreSettings, price: PriceOf, watcher: Watcher | None = None) -> None:
        self.dropped = 0
        self.dropped_originals = 0
        self.written = 0
        self._store = store
        self._settings = settings
        self._price = price
        self._watcher = watcher
        self._queue: deque[_QueuedReceipt] = deque()
        self._bytes = 0
        self._kept: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._models: set[str] = set()
        self._waiting: tuple[Batch, int] | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._lock = asyncio.Lock()

    @property
    def queued(self) -> int:
        """Receipts that are not in the store yet."""
        return len(self._queue) + (self._waiting[1] if self._waiting else 0)

    def record(self, receipt: Receipt, sections: tuple[Section, ...]) -> None:
        """Queue both for storing; returns at once, never raises, drops (and counts) when its bounded queue is full."""
        if self.queued >= _MOST_QUEUED:
            self.dropped += 1
            return
        carried = tuple(section.id for section in sections)
        fingerprint = digest(*carried).hex() if carried else ""
        fresh = self._fresh(receipt.tenant, sections) if self._settings.save_originals else ()
        size = sum(len(message) for section in fresh for message in section.messages)
        if self._bytes + size > _MOST_QUEUED_BYTES:
            self.dropped_originals += 1
            self._forget(receipt.tenant, fresh)
            fresh, size = (), 0
        self._bytes += size
        self._queue.append(_QueuedReceipt(receipt, carried, fingerprint, fresh, size))

    def _fresh(self, tenant: str, sections: tuple[Section, ...]) -> tuple[Section, ...]:
        now = time.monotonic()
        again = min(self._settings.ttl / 4, _WRITE_AGAIN)
        fresh = tuple(one for one in sections if self._kept.get((tenant, one.id), -again) <= now - again)
        for section in fresh:
            self._kept[(tenant, section.id)] = now
            self._kept.move_to_end((tenant, section.id))
        while len(self._kept) > _MOST_REMEMBERED:
            self._kept.popitem(last=False)
        return fresh

    def _forget(self, tenant: str, sections: tuple[Section, ...]) -> None:
        for section in sections:
            self._kept.pop((tenant, section.id), None)

    def forget(self, tenant: str) -> None:
        """A tenant's originals were deleted: those that are used again are to be written again."""
        for key in [key for key in self._kept if key[0] == tenant]:
            del self._kept[key]

    async def start(self) -> None:
        """Begin to write."""
        if self._task is None:
            self._stopping.clear()
            self._task = asyncio.create_task(self._run(), name="turnfold-ledger")

    async def stop(self) -> None:
        """Write what is queued, as far as the store takes it within some seconds, and end."""
        if self._task is not None:
            self._stopping.set()
            await self._task
            self._task = None
        try:
            async with asyncio.timeout(_STOP_PATIENCE):
                while self.queued and not await self.flush():  # noqa: ASYNC110 - the store gives no sign when it is back
                    await asyncio.sleep(_INTERVAL)
        except TimeoutError:
            self.dropped += self.queued
            _log.warning("%d receipts lost: the store did not take them before the stop", self.queued)

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                async with asyncio.timeout(_INTERVAL):
                    await self._stopping.wait()
            except TimeoutError:
                await self.flush()
                if self._watcher:
                    self._watcher.tick()

    async def flush(self) -> bool:
        """Write everything that is queued now; False when the store does not take it (it is kept, and tried again)."""
        async with self._lock:
            try:
                while self._queue or self._waiting:
                    if self._waiting is None:
                        self._waiting = await self._next_batch()
                    await self._store.record(self._waiting[0])
                    self.written += self._waiting[1]
                    self._waiting = None
            except StoreError as exc:
                _log.info("the ledger waits for the store: %s", exc)
                return False
        return True

    async def _next_batch(self) -> tuple[Batch, int]:
        entries = [self._queue[i] for i in range(min(_AT_ONCE, len(self._queue)))]
        keys = list(dict.fromkeys(key for entry in entries if (key := _past_key(entry.receipt))))
        held = await self._store.get(keys) if keys else []
        found = ((key, PastRequest.from_bytes(value)) for key, value in zip(keys, held, strict=True) if value is not None)
        pasts = {key: past for key, past in found if past is not None}
        # In a thread, since a large batch takes its time; the entries leave the queue only when they are in the batch.
        batch = await asyncio.to_thread(self._batch, entries, pasts)
        for _ in entries:
            self._bytes -= self._queue.popleft().size
        return batch, len(entries)

    def _originals(self, entry: _QueuedReceipt) -> Iterator[Item]:
        for section in entry.sections:
            yield from section_items(entry.receipt.tenant, section, float(self._settings.ttl), entry.receipt.conversation)

    def _batch(self, entries: list[_QueuedReceipt], pasts: dict[Key, PastRequest]) -> Batch:
        originals = [item for entry in entries for item in self._originals(entry)]
        lines: dict[str, list[bytes]] = {}
        sums: dict[str, dict[str, int]] = {}
        touched: dict[Key, PastRequest] = {}
        for entry in entries:
            receipt = replace(entry.receipt, model=self._bounded_model(entry.receipt.model))
            key = _past_key(receipt)
            priced, past = self._price_request(receipt, pasts.get(key) if key else None, entry.fingerprint)
            if key and past:
                pasts[key] = touched[key] = past
            lines.setdefault(_log_name(receipt.at), []).append(line_of(receipt, priced, entry.carried))
            rollups.add(sums, receipt, priced)
            if self._watcher:
                self._watcher.observe(receipt, priced)
        kept = [Item(key, past.to_bytes(), _PAST_TTL, key.id) for key, past in touched.items()]
        return Batch(
            id=uuid.uuid4().hex,
            lines=lines,
            additions=sums,
            ttl=float(self._settings.report_ttl),
            items=[*originals, *kept],
            lines_ttl=float(self._settings.receipts_ttl),
        )

    def _bounded_model(self, model: str) -> str:
        """Names come from clients: a table must not grow with every name that somebody makes up."""
        name = model[:_LONGEST_NAME].encode("utf-8", "replace").decode()
        if name not in self._models and len(self._models) >= _MOST_MODELS:
            return "(other)"
        self._models.add(name)
        return name

    def _price_request(
        self, receipt: Receipt, past: PastRequest | None, fingerprint: str
    ) -> tuple[RequestCost, PastRequest | None]:
        own = self._own_cost(receipt)
        used = token_use(receipt.usage)
        if not rollups.is_served(receipt):
            return (RequestCost(own, 0.0, own or 0.0) if receipt.calls else UNPRICED), past
        if used is None:
            return UNPRICED, past
        without = without_turnfold(receipt, used, past, fingerprint)
        paid = self._price(receipt.model, used, receipt.at)
        priced = RequestCost(
            paid=None if paid is None or own is None else paid + own,
            without=self._price(receipt.model, without, receipt.at),
            own=own or 0.0,
            fold_event=receipt.conversation is not None and fingerprint not in {"", past.sections if past else ""},
            grown=max(0, receipt.tokens_before - past.received if past else receipt.tokens_before),
        )
        return priced, next_past(receipt, used, without, past, fingerprint)

    def _own_cost(self, receipt: Receipt) -> float | None:
        """Dollars for our own calls; a call whose usage or price is unknown makes it unknown."""
        uses = [(call.model or receipt.model, token_use(call.usage)) for call in receipt.calls]
        prices = [None if use is None else self._price(model, use, receipt.at) for model, use in uses]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None


def receipt_logs(first: datetime, end: datetime) -> Iterator[str]:
    """Names of the logs of whole hours, in order."""
    for _, at in rollups.hours(first, end):
        yield _log_name(at.timestamp())


async def receipts_between(store: Store, start: float, end: float) -> AsyncIterator[dict[str, Any]]:
    """The logged receipts of a range of time as decoded objects, an hour's page at a time.

    Raises:
        StoreError: the store does not answer.
    """
    for name in receipt_logs(*rollups.whole_hours(start, end)):
        position: int | None = 0
        while position is not None:
            page, position = await store.log(name, position)
            for line in page:
                receipt = read_line(line)
                if receipt is not None and start <= receipt["at"] < end:
                    yield receipt


async def find_receipt(store: Store, request_id: str, start: float, end: float) -> dict[str, Any] | None:
    """The logged receipt of a request, sought from the newest hour back; None when there is none in this range.

    Raises:
        StoreError: the store does not answer.
    """
    sought = orjson.dumps(request_id)
    for name in reversed(list(receipt_logs(*rollups.whole_hours(start, end)))):
        position: int | None = 0
        while position is not None:
            page, position = await store.log(name, position)
            for line in page:
                receipt = read_line(line) if sought in line else None
                if receipt is not None and receipt["request_id"] == request_id:
                    return receipt
    return None
