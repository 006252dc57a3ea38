"""The ledger: writes receipts and originals to the store, off the request path.

The ledger has the bounded queue, batches, retries, and the last flush at an orderly stop. It leaves pricing to ``pricing``, the
form of a logged receipt to ``receipt_log``, sums to ``rollups`` and reports to ``report``. Which batches a server that takes over
may lack is known to ``NewestWrites``.

`record` only queues. A task writes a batch every quarter of a second, so a crash loses less than a second of receipts. While the
store is unavailable batches wait. A batch that may have arrived is sent again under its id, and counts once.

A batch that cannot be written although the store works is split until the entry on which it fails is alone. That entry is written
without its originals, then without the figures that came from outside; if it still fails, it is dropped. Each step is reported
with the request's id (``incidents``).
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol, TypeVar

from turnfold.compression.fold import Section
from turnfold.compression.memo import digest
from turnfold.config.prices import PriceOf
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books import rollups
from turnfold.proxy.books.pricing import RequestPricing
from turnfold.proxy.books.receipt_log import line_of, log_name
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.books.section_records import section_items
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.chat.receipts import Originals, PackedSection, Receipt, Usage
from turnfold.proxy.incidents import Incidents, outcome, supervise
from turnfold.proxy.learning.places import SummedNames
from turnfold.proxy.learning.window_records import storable_name
from turnfold.proxy.store import Batch, Item, Key, NewestWrites, Store, StoreError, StoreRefused
from turnfold.proxy.store.records import MODELS, TAGS, left_out

T = TypeVar("T")

_INTERVAL: Final = 0.25
_MOST_QUEUED: Final = 20_000
_MOST_QUEUED_BYTES: Final = 64 * 2**20
_AT_ONCE: Final = 2_000
_AT_HAND: Final = 4  # most entries processed in the event loop: a tenth of a millisecond each
_BYTES_AT_HAND: Final = 2**15  # most bytes of their originals: packing takes some 10 ns per byte
_STOP_PATIENCE: Final = 10.0
#: Seconds for which a report waits for receipts that are still queued.
REPORT_PATIENCE: Final = 1.0
_MOST_REMEMBERED: Final = 50_000
# An original in use is written again this often, so that it does not expire while its conversation continues.
_WRITE_AGAIN: Final = 3600.0
_PAST_TTL: Final = 86_400.0
# Other processes write these too, and may have written newer ones to a server that took over: they are not repeated.
_PAST: Final = "cache-model"
_CHANGING: Final = frozenset({_PAST, TAGS, MODELS})

_log = logging.getLogger(__name__)
_WAITING: Final = (
    "the store does not accept receipts now: they stay in this process's memory and are written once it does; those still waiting"
    " %g s after shutdown begins, or when the process is killed, are lost: %s"
)


class Watcher(Protocol):
    """Observes every receipt with its cost, once, off the request path."""

    def observe(self, receipt: Receipt, priced: RequestCost) -> None:
        """Observe a receipt; returns at once."""
        ...

    def tick(self) -> None:
        """Called several times a second."""
        ...


class Erasures(Protocol):
    """Knows the deletions by this and other processes. `refresh` and `take_back` may raise StoreError."""

    async def refresh(self) -> None:
        """Learn what other processes deleted."""
        ...

    def of_receipt(self, tenant: str, conversation: str | None, at: float) -> tuple[bool, bool]:
        """Of what was recorded at a Unix time: whether its text was deleted, and whether its receipt was."""
        ...

    def without_deleted(self, batch: Batch, built: float) -> Batch:
        """The batch without what was deleted since it was built, in Unix time."""
        ...

    async def take_back(self, batch: Batch, built: float) -> None:
        """Delete again what was deleted while the batch was being written."""
        ...


@dataclass(frozen=True, slots=True)
class _QueuedReceipt:
    receipt: Receipt
    carried: tuple[str, ...]
    fingerprint: str
    sections: Originals
    size: int

    def without_originals(self) -> _QueuedReceipt:
        """The receipt alone."""
        return replace(self, sections=(), size=0)

    def without_figures(self) -> _QueuedReceipt:
        """The receipt reduced to what the proxy itself measured, without data of the upstream, the client or the store."""
        receipt = replace(self.receipt, model="", conversation=None, usage=Usage(), calls=(), trails=None, tags=())
        return replace(self, receipt=receipt, sections=(), size=0)


@dataclass(frozen=True, slots=True)
class _PendingWrite:
    """A batch made of the first entries of the queue.

    Attributes:
        priced: its receipts.
        entries: how many of the queue it stands for.
        built: Unix time up to which it heeds deletions.
    """

    batch: Batch
    priced: tuple[tuple[Receipt, RequestCost], ...]
    entries: int
    built: float


def _size(section: Section | PackedSection) -> int:
    return section.size if isinstance(section, PackedSection) else sum(map(len, section.messages))


class _QueueShares:
    """The tenants' shares of the queue.

    A tenant may take as much as is still free for others (dynamic thresholds; Choudhury and Hahne, 1998): a single one half of
    the whole, two a third each. So there is always room for one more.
    """

    def __init__(self) -> None:
        self._all = [0, 0]  # receipts, bytes of originals
        self._own: dict[str, list[int]] = {}

    def has_room(self, tenant: str) -> bool:
        """Whether another receipt of a tenant may be queued."""
        return self._own.get(tenant, [0, 0])[0] + 1 <= 2 * _MOST_QUEUED - self._all[0] - 1

    def has_room_for(self, tenant: str, size: int) -> bool:
        """Whether so many bytes of its originals may."""
        return self._own.get(tenant, [0, 0])[1] + size <= 2 * _MOST_QUEUED_BYTES - self._all[1] - size

    def add(self, tenant: str, receipts: int, size: int) -> None:
        """Count an entry that was queued, or has left the queue."""
        own = self._own.setdefault(tenant, [0, 0])
        for counts in (self._all, own):
            counts[0] += receipts
            counts[1] += size
        if not any(own):
            del self._own[tenant]


def _past_key(receipt: Receipt) -> Key | None:
    return None if receipt.conversation is None else Key(receipt.tenant, _PAST, receipt.conversation)


async def newest_at(store: Store, tenant: str, conversation: str) -> float | None:
    """Unix time of the newest request that was recorded of a conversation. Raises StoreError: the store does not answer."""
    value = (await store.get([Key(tenant, _PAST, conversation)]))[0]
    past = PastRequest.from_bytes(value) if value is not None else None
    return past.at if past is not None and past.at else None


class Ledger:
    """Implements ``Recorder``. Belongs to the event loop that starts it.

    Args:
        price: what a request cost.
        watchers: observe every receipt, in order.
        incidents: is told what could not be written.
        erasures: what must not be written any more; None: nothing.
        newest: keeps the last batches for a server that may take over; None: there is one server.

    Attributes:
        dropped: receipts that were dropped because the queue was full or they could not be written, or because the store did not
            take them before the stop timed out.
        dropped_originals: requests whose originals were dropped because the queue was full, or because they could not be written.
        written: receipts written to the store.
        problem: why the store did not take what was last offered; "" while it does.
    """

    def __init__(
        self,
        store: Store,
        settings: StoreSettings,
        price: PriceOf,
        watchers: Sequence[Watcher] = (),
        incidents: Incidents | None = None,
        erasures: Erasures | None = None,
        newest: NewestWrites | None = None,
    ) -> None:
        self.dropped = 0
        self.dropped_originals = 0
        self.written = 0
        self._store = store
        self._settings = settings
        self._pricing = RequestPricing(price)
        self._watchers = watchers
        self._incidents = incidents or Incidents()
        self._erasures = erasures
        self._newest = newest
        self._heeded = 0.0  # Unix time of the last check for deletions
        self._shares = _QueueShares()
        self._queue: deque[_QueuedReceipt] = deque()
        self._kept: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._waiting: _PendingWrite | None = None
        self._at_once = _AT_ONCE
        self._task: asyncio.Task[None] | None = None
        self.problem = ""
        self._lost_files = left_out["store file"]
        self._stopping = asyncio.Event()
        self._lock = asyncio.Lock()

    @property
    def queued(self) -> int:
        """Receipts that are not in the store yet."""
        return len(self._queue)

    def record(self, receipt: Receipt, sections: Originals) -> None:
        """Queue both for storing; returns at once, never raises, drops (and counts) when its bounded queue is full."""
        if not self._shares.has_room(receipt.tenant):
            self.dropped += 1
            return
        carried = tuple(section.id for section in sections)
        fingerprint = digest(*carried).hex() if carried else ""
        fresh = self._fresh(receipt.tenant, sections) if sections and self._settings.keeps_originals else ()
        size = sum(map(_size, fresh))
        if fresh and not self._shares.has_room_for(receipt.tenant, size):
            self.dropped_originals += 1
            self._forget(receipt.tenant, fresh)
            fresh, size = (), 0
        self._shares.add(receipt.tenant, 1, size)
        self._queue.append(_QueuedReceipt(receipt, carried, fingerprint, fresh, size))

    def _fresh(self, tenant: str, sections: Originals) -> Originals:
        if left_out["store file"] != self._lost_files:  # what was written was in a file that is gone
            self._lost_files = left_out["store file"]
            self._kept.clear()
        now = time.monotonic()
        again = min(self._settings.ttl / 4, _WRITE_AGAIN)
        tenant = sys.intern(tenant)  # shared strings: otherwise each of thousands of keys would hold its own
        fresh = tuple(one for one in sections if self._kept.get((tenant, one.id), -again) <= now - again)
        for section in fresh:
            self._kept[(tenant, section.id)] = now
            self._kept.move_to_end((tenant, section.id))
        while len(self._kept) > _MOST_REMEMBERED:
            self._kept.popitem(last=False)
        return fresh

    def _forget(self, tenant: str, sections: Originals) -> None:
        for section in sections:
            self._kept.pop((tenant, section.id), None)

    def forget(self, is_of: Callable[[str], bool]) -> None:
        """Originals of these tenants were deleted: write them again when they are used again."""
        tenants = {tenant for tenant, _ in self._kept}
        going = {tenant for tenant in tenants if is_of(tenant)}
        for key in [key for key in self._kept if key[0] in going]:
            del self._kept[key]

    async def start(self) -> None:
        """Start writing."""
        if self._task is None:
            self._stopping.clear()
            self._task = asyncio.create_task(supervise("ledger", self._run, self._incidents), name="turnfold-ledger")

    async def stop(self) -> None:
        """Write what is queued, as far as the store accepts it within some seconds, and stop."""
        if self._task is not None:
            self._stopping.set()
            if "ledger" in self._incidents.waiting:  # its supervisor would start it again
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        try:
            async with asyncio.timeout(_STOP_PATIENCE):
                while self.queued and not await self.flush():  # noqa: ASYNC110 - the store gives no sign when it is back
                    await asyncio.sleep(_INTERVAL)
        except TimeoutError:
            self.dropped += self.queued
            _log.warning("receipts lost: %d, which the store did not accept before shutdown", self.queued)

    async def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                async with asyncio.timeout(_INTERVAL):
                    await self._stopping.wait()
            except TimeoutError:
                await self.flush()
                for watcher in self._watchers:
                    watcher.tick()

    async def flush(self, within: float | None = None) -> bool:
        """Write everything that is queued now. Returns False if the store does not accept it (it stays queued and is retried).

        Args:
            within: seconds to wait for the store; None: as long as it takes.
        """
        try:
            async with asyncio.timeout(within):
                return await self._flush()
        except TimeoutError:  # a batch in progress may still be written; if offered again, it counts once
            return False

    async def _flush(self) -> bool:
        async with self._lock:
            if _may_pass(await outcome(self._write_again())):
                return False
            while self._queue:
                failure = await outcome(self._write_some())
                if _may_pass(failure):
                    if not self.problem:  # it is offered again several times a second
                        _log.warning(_WAITING, _STOP_PATIENCE, failure)
                    self.problem = str(failure) or "it does not answer"
                    return False
                if isinstance(failure, Exception):
                    self._isolate(failure)
            if self.problem:
                _log.warning("the store accepts receipts again")
            self.problem = ""
        return True

    async def _write_some(self) -> None:
        await self._heed_deletions()
        if self._waiting is None:
            self._waiting = await self._next_attempt()
        pending = self._waiting
        await self._store.record(pending.batch)
        await self._take_back(pending.batch, pending.built)
        self._waiting = None
        if self._newest is not None:
            items = [item for item in pending.batch.items if item.key.kind not in _CHANGING]
            self._newest.add(replace(pending.batch, items=items), pending.built)
        for _ in range(pending.entries):
            self._take()
        self.written += len(pending.priced)
        self._at_once = min(2 * self._at_once, _AT_ONCE)
        failure = await outcome(_apart(len(pending.priced), partial(self._show, pending.priced)))
        if isinstance(failure, Exception):
            self._incidents.add("metrics", failure)

    async def _write_again(self) -> None:
        """The newest batches, where another server has taken over: it may lack them."""
        if self._newest is None or not (batches := self._newest.to_repeat()):
            return
        if self._erasures is not None:
            await self._erasures.refresh()
        for batch, built in batches:
            left = batch if self._erasures is None else self._erasures.without_deleted(batch, built)
            await self._store.record(left)
            await self._take_back(left, built)
        self._newest.repeated()

    async def _take_back(self, batch: Batch, built: float) -> None:
        """What was deleted while it was written. The batch is in the store: no failure here makes it another one."""
        if self._erasures is None:
            return
        failure = await outcome(self._erasures.take_back(batch, built))
        if isinstance(failure, StoreError) and _may_pass(failure):
            raise failure
        if isinstance(failure, Exception):
            self._incidents.add("deletions", failure)

    def _take(self) -> _QueuedReceipt:
        """Remove and return the first entry of the queue."""
        entry = self._queue.popleft()
        self._shares.add(entry.receipt.tenant, -1, -entry.size)
        return entry

    def _show(self, written: Sequence[tuple[Receipt, RequestCost]]) -> None:
        for receipt, priced in written:
            for watcher in self._watchers:
                watcher.observe(receipt, priced)

    async def _heed_deletions(self) -> None:
        self._heeded = time.time()  # before it is asked: what is announced meanwhile counts as later
        if self._erasures is None:
            return
        await self._erasures.refresh()
        if self._waiting is not None:
            batch = self._erasures.without_deleted(self._waiting.batch, self._waiting.built)
            self._waiting = replace(self._waiting, batch=batch)

    def _without_deleted(self, entry: _QueuedReceipt) -> _QueuedReceipt | None:
        """What of an entry was not deleted while it waited."""
        receipt = entry.receipt
        if self._erasures is None:
            return entry
        text, all_of_it = self._erasures.of_receipt(receipt.tenant, receipt.conversation, receipt.at)
        return None if all_of_it else replace(entry, sections=()) if text else entry

    async def _next_attempt(self) -> _PendingWrite:
        taken, built = [self._queue[i] for i in range(min(self._at_once, len(self._queue)))], self._heeded
        entries = [left for entry in taken if (left := self._without_deleted(entry)) is not None]
        keys = list(dict.fromkeys(key for entry in entries if (key := _past_key(entry.receipt))))
        held = await self._store.get(keys) if keys else []
        found = ((key, PastRequest.from_bytes(value)) for key, value in zip(keys, held, strict=True) if value is not None)
        pasts = {key: past for key, past in found if past is not None}
        # The entries leave the queue only when the batch is written.
        tagging = [entry.receipt.tenant for entry in entries if entry.receipt.tags]
        names = await SummedNames.read(self._store, [entry.receipt.tenant for entry in entries], tagging, self._settings)
        work = partial(self._attempt, entries, pasts, names)
        pending = await _apart(len(entries), work, sum(entry.size for entry in entries))
        return replace(pending, entries=len(taken), built=built)

    def _isolate(self, failure: Exception) -> None:
        """Of a batch that cannot be written, try the first half; of a single entry, what is left without its parts."""
        size = min(self._at_once, len(self._queue))
        self._waiting = None
        self._at_once = max(1, size // 2)
        if size > 1:
            return
        entry = self._take()
        reduced, kept = entry.without_originals(), "the receipt, without originals"
        if not entry.sections:
            reduced, kept = entry.without_figures(), "the receipt, without figures"
        self.dropped_originals += bool(entry.sections)
        if reduced == entry:
            self.dropped += 1
            kept = "nothing"
        else:
            self._queue.appendleft(reduced)
            self._shares.add(reduced.receipt.tenant, 1, reduced.size)
        self._incidents.add("ledger", failure, entry.receipt.request_id, kept)

    def _originals(self, entry: _QueuedReceipt) -> Iterator[Item]:
        for section in entry.sections:
            yield from section_items(entry.receipt.tenant, section, float(self._settings.ttl), entry.receipt.conversation)

    def _attempt(self, entries: list[_QueuedReceipt], pasts: dict[Key, PastRequest], names: SummedNames) -> _PendingWrite:
        originals = [item for entry in entries for item in self._originals(entry)]
        lines: dict[str, list[bytes]] = {}
        sums = rollups.Additions()
        touched: dict[Key, PastRequest] = {}
        done: list[tuple[Receipt, RequestCost]] = []
        for entry in entries:
            receipt = _with_storable_model(entry.receipt)
            key = _past_key(receipt)
            priced, past = self._pricing.price(receipt, pasts.get(key) if key else None, entry.fingerprint)
            if key and past:
                pasts[key] = touched[key] = past
            if self._settings.save_receipts:
                lines.setdefault(log_name(receipt.at), []).append(line_of(receipt, priced, entry.carried))
                if receipt.tags:
                    receipt = replace(receipt, tags=names.tags.placed(receipt.tenant, receipt.tags, receipt.at))
                sums.add(_summed(receipt, names), priced)
            done.append((receipt, priced))
        kept = [Item(key, past.to_bytes(), _PAST_TTL, key.id) for key, past in touched.items()]
        batch = Batch(
            id=uuid.uuid4().hex,
            lines=lines,
            additions=sums.tables(),
            ttl=float(self._settings.report_ttl),
            items=[*originals, *kept, *names.items(float(self._settings.report_ttl))],
            lines_ttl=float(self._settings.receipts_ttl),
        )
        return _PendingWrite(batch, tuple(done), len(entries), 0.0)


async def _apart(entries: int, work: Callable[[], T], originals: int = 0) -> T:
    """Work on so many entries and bytes of originals: in a thread, since much takes its time, unless it takes less than going
    there."""
    at_hand = entries <= _AT_HAND and originals <= _BYTES_AT_HAND
    return work() if at_hand else await asyncio.to_thread(work)


def _with_storable_model(receipt: Receipt) -> Receipt:
    name = storable_name(receipt.model)
    return receipt if name == receipt.model else replace(receipt, model=name)


def _summed(receipt: Receipt, names: SummedNames) -> Receipt:
    """The receipt under the name that its model has in the sums."""
    name = names.placed_model(receipt.tenant, receipt.model, receipt.at, served=rollups.is_served(receipt))
    return receipt if name == receipt.model else replace(receipt, model=name)


def _may_pass(failure: object) -> bool:
    """Whether a step failed because of the store, which may do it later."""
    return isinstance(failure, StoreError) and not isinstance(failure, StoreRefused)
