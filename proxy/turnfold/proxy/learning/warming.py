"""Beliefs about prompt caches, and conversations whose folds have not paid off.

A bounded memory of both, in front of the store that other replicas share. What counts say is in ``compression.warmth``; whether a
request found its cache warm and what a fold saved, in ``cache_model``. Nothing is decided here.

Beliefs matter only where a fold is decided, so the store is asked in the background, never while a request waits. A process that
has not heard of a model yet starts with what is usual at its prices.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Final

from turnfold.compression.options import FoldDecision
from turnfold.compression.warmth import WarmthCounts, belief, is_cold_after, merge, observe
from turnfold.proxy.learning.warmth_records import add_counts, discard_counts, read_counts
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.store.base import Store, StoreError

_KEPT: Final = 10_000
_PAUSE: Final = 10.0  # seconds between two exchanges with the store


@dataclass(slots=True)
class _WarmthEntry:
    """The counts of all processes at the last exchange, this process's counts since, and whether anybody needs them."""

    shared: WarmthCounts = WarmthCounts()  # noqa: RUF009 - frozen
    own: WarmthCounts = WarmthCounts()  # noqa: RUF009 - frozen
    wanted: bool = True

    @property
    def seen(self) -> WarmthCounts:
        return merge(self.shared, self.own)


class WarmthMemory:
    """Beliefs; the least recently used are evicted first. Threads may observe; the event loop decides and runs."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._entries: OrderedDict[UpstreamModel, _WarmthEntry] = OrderedDict()
        self._caching: OrderedDict[tuple[str, str], None] = OrderedDict()  # tenants' upstreams that were seen to: for any model
        self._braked: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._unheard = asyncio.Event()
        self._lock = Lock()
        self._forgotten = 0

    def decision(self, spot: UpstreamModel, conversation: str, usual: FoldDecision, pause: float = 0.0) -> FoldDecision:
        """The decision that is due for a conversation now, if any.

        Args:
            pause: seconds since its previous request.
        """
        with self._lock:
            if spot not in self._entries:
                self._unheard.set()
            entry = self._entry(spot)
            entry.wanted = True
            seen = entry.seen
            braked = (spot.tenant, conversation) in self._braked
            caches = sum(seen.warm) > 0 or (spot.tenant, spot.upstream) in self._caching
            return FoldDecision(belief(seen, usual.warmth), braked, caches=caches, cold=is_cold_after(seen, pause))

    def observe(self, spot: UpstreamModel, elapsed: float, *, loop: bool, warm: bool) -> None:
        """Count a request that showed whether the cache was warm, `elapsed` seconds after the previous one."""
        with self._lock:
            entry = self._entry(spot)
            entry.own = observe(entry.own, elapsed, loop=loop, warm=warm)
            if warm:
                _mark(self._caching, (spot.tenant, spot.upstream))

    def set_brake(self, tenant: str, conversation: str, *, on: bool) -> None:
        """Set whether a conversation's folds have not paid off when they should have."""
        with self._lock:
            if on:
                _mark(self._braked, (tenant, conversation))
            else:
                self._braked.pop((tenant, conversation), None)

    def forget_in_memory(self, is_gone: Callable[[str, str | None], bool]) -> None:
        """Forget what was deleted, for a tenant or one of its conversations, including unwritten counts of this process."""
        with self._lock:
            self._forgotten += 1
            for spot in [spot for spot in self._entries if is_gone(spot.tenant, None)]:
                self._caching.pop((spot.tenant, spot.upstream), None)
                del self._entries[spot]
            for place in [place for place in self._braked if is_gone(*place)]:
                del self._braked[place]

    async def run(self) -> None:
        """Exchange counts with the store until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE):
                    await self._unheard.wait()
            self._unheard.clear()
            await self.sync()

    async def sync(self) -> None:
        """One exchange with the store."""
        with self._lock:
            entries = list(self._entries.items())
        for spot, entry in entries:
            if self._store is not None and (entry.wanted or entry.own.seen):
                entry.wanted = False
                await self._sync(self._store, spot, entry)

    async def _sync(self, store: Store, spot: UpstreamModel, entry: _WarmthEntry) -> None:
        with self._lock:
            if self._entries.get(spot) is not entry:  # forgotten in the meantime
                return
            forgotten = self._forgotten
            before, seen = entry.shared, entry.own
            entry.shared, entry.own = merge(before, seen), WarmthCounts()  # later changes go into the next exchange
        try:
            entry.shared = await (add_counts(store, spot, seen) if seen.seen else read_counts(store, spot))
            if forgotten != self._forgotten and self._entries.get(spot) is not entry:  # deleted while it was being written
                await discard_counts(store, spot)
        except StoreError:
            with self._lock:
                entry.shared, entry.own = before, merge(seen, entry.own)

    def _entry(self, spot: UpstreamModel) -> _WarmthEntry:
        entry = self._entries.setdefault(spot, _WarmthEntry())
        self._entries.move_to_end(spot)
        while len(self._entries) > _KEPT:
            self._entries.popitem(last=False)
        return entry


def _mark(known: OrderedDict[tuple[str, str], None], name: tuple[str, str]) -> None:
    """Remember a name as the newest; drop the oldest if there are too many."""
    known[name] = None
    known.move_to_end(name)
    while len(known) > _KEPT:
        known.popitem(last=False)
