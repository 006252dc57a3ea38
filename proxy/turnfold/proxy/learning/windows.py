"""Memory of what was learned about each upstream and model.

A bounded memory with a time to live, in front of the store that other replicas and later starts share. What a figure means is in
``compression.calibration``, the form of a record in ``learning.window_records``. It never holds any text of a conversation.

Keys include the tenant: two credentials may have two windows for one model, and nothing that one tenant's upstream says affects
another's requests. A request waits for the store at most once per key in half a minute; that is how long a process may continue
with what another one was told to forget. If the store is lost, only learning starts anew.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression.calibration import (
    Hidden,
    Learned,
    learn_from_growth,
    learn_from_refusal,
    learn_from_usage,
    learn_hidden,
    longest,
)
from turnfold.compression.fit.unpriced import Attached
from turnfold.proxy.learning.window_records import (
    TTL,
    Marks,
    UpstreamModel,
    WindowRecord,
    forget_records,
    list_records,
    read_record,
    storable_name,
    write_record,
)
from turnfold.proxy.store.base import Key, Store, StoreError
from turnfold.proxy.store.fair import FairMemory

#: Seconds within which a process learns that another one was told to forget something.
FORGOTTEN_WITHIN: Final = 30.0

_KEPT: Final = 10_000  # keys in memory: a few MB; tenants share them fairly
_REPORTS_PER_WRITE: Final = 32
_RETRIES: Final = (300.0, 1800.0, 7200.0, 28_800.0, 86_400.0)  # seconds until a learned window is tested again


@dataclass(slots=True)
class _LearnedEntry:
    """A record in memory, when the store was last asked for it, and the number of changes not yet stored."""

    record: WindowRecord
    checked_at: float
    unwritten: int = 0


class Windows:
    """Learned windows and ratios. The least recently used of the tenants with the most are evicted first.

    Args:
        store: where they are kept beyond this process; None: only in memory.
        ttl: seconds after which anything learned is forgotten.
        clock: Unix time.
        patient: the same store for listing and forgetting, which can wait; None: `store`.
    """

    def __init__(
        self, store: Store | None = None, ttl: int = TTL, clock: Callable[[], float] = time.time, patient: Store | None = None
    ) -> None:
        self._store = store
        self._patient = patient or store
        self._ttl = ttl
        self._clock = clock
        self._entries: FairMemory[UpstreamModel, _LearnedEntry] = FairMemory(_KEPT)
        self._longest: FairMemory[tuple[UpstreamModel, str], tuple[int, int]] = FairMemory(_KEPT)  # of each conversation
        self._attached: FairMemory[tuple[UpstreamModel, str], tuple[tuple[Attached, ...], int, int]] = FairMemory(_KEPT)

    async def learned(self, spot: UpstreamModel) -> Learned:
        """What is known of an upstream and model.

        Asks the store the first time, and then occasionally whether it was forgotten.
        """
        return (await self._entry(spot)).record.at(self._clock())

    async def _entry(self, spot: UpstreamModel) -> _LearnedEntry:
        entry, now = self._entries.get(spot.tenant, spot), self._clock()
        if entry is None or entry.record.until <= now:
            entry = await self._load(spot, None)
            self._keep(spot, entry)
        elif self._is_due(entry, now):
            entry.checked_at = now  # concurrent requests do not ask again
            entry = await self._load(spot, entry)
            self._keep(spot, entry)
        return entry

    def _is_due(self, entry: _LearnedEntry, now: float) -> bool:
        """Whether to ask the store for it again."""
        return entry.record.until <= now or (self._store is not None and entry.checked_at + FORGOTTEN_WITHIN <= now)

    async def _load(self, spot: UpstreamModel, known: _LearnedEntry | None) -> _LearnedEntry:
        """The record in memory, unless it was forgotten; else the one in the store; else an empty one."""
        kept, marks = await self._fetch(spot)
        now = self._clock()
        if known is not None and (marks is None or not known.record.is_forgotten(marks)):
            return known
        if kept is None or kept.until <= now:
            kept = WindowRecord(Learned(), now + self._ttl, marks=marks or ("", ""))
        return _LearnedEntry(kept, now)

    async def _fetch(self, spot: UpstreamModel) -> tuple[WindowRecord | None, Marks | None]:
        if self._store is None:
            return None, None
        try:
            return await read_record(self._store, spot)
        except StoreError:
            return None, None

    def longest_report(self, spot: UpstreamModel, conversation: str | None) -> tuple[int, int]:
        """Our count and the upstream's for the longest reported prompt of a conversation; zeros if unknown."""
        return (0, 0) if conversation is None else self._longest.get(spot.tenant, (spot, conversation)) or (0, 0)

    def note_report(self, spot: UpstreamModel, conversation: str | None, ours: int, reported: int) -> None:
        """Note that an upstream reported a prompt of `ours` tokens for a conversation."""
        if conversation is not None:
            before = self.longest_report(spot, conversation)
            self._longest.put(spot.tenant, (spot, conversation), longest(before, ours, reported))

    def learn_at_once(self, spot: UpstreamModel, ours: int, reported: int, own: tuple[int, int] = (0, 0)) -> bool:
        """Call `learn_from_usage` if that needs no store access. Returns whether it did; if not, nothing was learned."""
        entry, now = self._entries.get(spot.tenant, spot), self._clock()
        if entry is None or self._is_due(entry, now):
            return False
        after = learn_from_usage(entry.record.known, ours, reported, own)
        if self._store is not None and self._is_worth_writing(entry, after):
            return False
        self._take_over(spot, entry, after)
        return True

    async def learn_from_usage(self, spot: UpstreamModel, ours: int, reported: int, own: tuple[int, int] = (0, 0)) -> Learned:
        """Learn from the usage reported for a request of `ours` tokens; `own` is the earlier `longest_report`."""
        entry = await self._entry(spot)
        return await self._learn(spot, entry, learn_from_usage(entry.record.known, ours, reported, own))

    async def learn_from_refusal(self, spot: UpstreamModel, limit: int | None, theirs: int | None) -> Learned:
        """Learn from a request that overflowed."""
        entry = await self._entry(spot)
        return await self._learn(spot, entry, learn_from_refusal(entry.record.known, limit, theirs))

    def growth(
        self, spot: UpstreamModel, conversation: str | None, attached: tuple[Attached, ...], ours: int, reported: int
    ) -> tuple[int, int]:
        """How much a conversation's prompt has grown since its last report with the same attachments, by our count and the
        upstream's; zeros if unknown."""
        if conversation is None:
            return 0, 0
        last = self._attached.get(spot.tenant, (spot, conversation))
        self._attached.put(spot.tenant, (spot, conversation), (attached, ours, reported))
        return (0, 0) if last is None or last[0] != attached else (ours - last[1], reported - last[2])

    async def learn_from_growth(self, spot: UpstreamModel, ours: int, reported: int) -> Learned:
        """Learn how text is counted beside attachments."""
        entry = await self._entry(spot)
        return await self._learn(spot, entry, learn_from_growth(entry.record.known, ours, reported))

    async def learn_hidden(self, spot: UpstreamModel, found: Sequence[Hidden]) -> Learned:
        """Learn what attachments weigh."""
        entry, now = await self._entry(spot), self._clock()
        return await self._learn(spot, entry, learn_hidden(entry.record.known, [one._replace(at=now) for one in found]))

    async def learn_binding(self, spot: UpstreamModel) -> Learned:
        """Learn from a request that was refused because the messages before its thinking had changed."""
        entry = await self._entry(spot)
        return await self._learn(spot, entry, replace(entry.record.known, binds_thinking=True))

    async def records(self, tenant: str) -> list[tuple[Key, WindowRecord]]:
        """What was learned from a tenant's requests, by upstream and model, from the store. This process's own records are stored
        first.

        Raises:
            StoreError: the store does not answer.
        """
        if self._patient is None:
            return [(spot.key, entry.record) for spot, entry in self._of(tenant)]
        for spot, entry in self._of(tenant):
            if entry.unwritten:
                await self._write(self._patient, spot, entry)
        return await list_records(self._patient, tenant, self._clock())

    def _of(self, tenant: str) -> list[tuple[UpstreamModel, _LearnedEntry]]:
        found = ((spot, self._entries.peek(tenant, spot)) for spot in self._entries.keys(tenant))
        return [(spot, entry) for spot, entry in found if entry is not None]

    def forget_in_memory(self, is_of: Callable[[str], bool]) -> None:
        """Forget everything about these tenants, after it was deleted."""
        for tenant in self._entries.tenants():
            if is_of(tenant):
                self._entries.drop_tenant(tenant)
        for tenant in self._longest.tenants():
            if is_of(tenant):
                self._longest.drop_tenant(tenant)
        for tenant in self._attached.tenants():
            if is_of(tenant):
                self._attached.drop_tenant(tenant)

    async def forget_matching(self, tenant: str, upstream: str | None = None, model: str | None = None) -> int:
        """Forget what was learned from a tenant's requests, for one upstream, one model or all (None). Returns the number of
        records.

        Takes effect here at once, and in other processes within `FORGOTTEN_WITHIN` seconds.
        """
        everything = upstream is None and model is None
        exact = UpstreamModel(tenant, upstream, model).key if upstream is not None and model is not None else None
        listed = await self.records(tenant)
        keys = [key for key, record in listed if everything or key == exact or _matches(record, upstream, model)]
        for spot in self._entries.keys(tenant):
            if everything or spot.key in keys:
                self._entries.drop(tenant, spot)
        if self._patient is not None and (keys or everything):
            await forget_records(self._patient, tenant, None if everything else keys)
        return len(keys)

    async def _learn(self, spot: UpstreamModel, entry: _LearnedEntry, after: Learned) -> Learned:
        writes = self._is_worth_writing(entry, after)
        self._take_over(spot, entry, after)
        if self._store is not None and writes:
            with contextlib.suppress(StoreError):
                await self._write(self._store, spot, entry)
        return after

    async def _write(self, store: Store, spot: UpstreamModel, entry: _LearnedEntry) -> None:
        """Store the current record; if that fails, it is stored with the next report."""
        entry.unwritten = 0
        try:
            await write_record(store, spot, entry.record, entry.record.until - self._clock())
        except StoreError:
            entry.unwritten = _REPORTS_PER_WRITE
            raise

    def _is_worth_writing(self, entry: _LearnedEntry, after: Learned) -> bool:
        """Whether to store the record after this report rather than with a later one."""
        before = entry.record.known
        if entry.unwritten >= _REPORTS_PER_WRITE:
            return True
        if after == before:
            return False
        told = _telling(after) != _telling(before) or after.hidden != before.hidden
        return told or entry.unwritten + 1 >= _REPORTS_PER_WRITE or len(before.ratios) < 3

    def _take_over(self, spot: UpstreamModel, entry: _LearnedEntry, after: Learned) -> None:
        """Use this record from now on."""
        before = entry.record.known
        if after == before:
            return
        entry.record = replace(entry.record, known=after, upstream=storable_name(spot.upstream), model=storable_name(spot.model))
        entry.unwritten += 1
        if _telling(after) != _telling(before):
            entry.record = self._postpone_test(entry.record)

    def _postpone_test(self, record: WindowRecord) -> WindowRecord:
        """The record with a new age, so that its window is tested again later than the last time."""
        now, known = self._clock(), record.known
        until = now + self._ttl
        if known.claimed is None and known.fails is None and not known.quiet:
            return replace(record, until=until, tries=0, retry_at=0.0)
        tries = min(record.tries + 1, len(_RETRIES))
        return replace(record, until=until, tries=tries, retry_at=now + _RETRIES[tries - 1])

    def _keep(self, spot: UpstreamModel, entry: _LearnedEntry) -> None:
        self._entries.put(spot.tenant, spot, entry)


def _telling(known: Learned) -> tuple[object, ...]:
    """The part of a record whose changes are stored immediately."""
    return known.limit, known.over, known.fails, known.quiet, known.binds_thinking


def _matches(record: WindowRecord, upstream: str | None, model: str | None) -> bool:
    """Whether a record matches an upstream and a model; None matches any."""
    named = bool(record.upstream)
    return named and all(
        wanted is None or storable_name(wanted) == own for wanted, own in ((upstream, record.upstream), (model, record.model))
    )
