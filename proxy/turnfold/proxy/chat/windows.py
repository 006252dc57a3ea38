"""What was learned of each upstream and model, remembered.

Lives here: memory with a bound and a time to live, in front of the store that other replicas and later starts share. Does not
belong here: what a figure means (``compression.calibration``), any text of a conversation.

Keys carry the tenant: two credentials may have two windows for one model, and nothing that one tenant's upstream says
reaches another's requests. The store is never waited for on a request's way more than once per key, and its loss only costs
learning anew.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import orjson
from yarl import URL

from turnfold.compression.calibration import Learned, learn_from_refusal, learn_from_usage
from turnfold.proxy.store.base import Item, Key, Store, StoreError
from turnfold.proxy.store.records import VERSION, decode_record

_KEPT: Final = 10_000  # keys in memory: a few MB
_TTL: Final = 7 * 86_400  # seconds; models are replaced under their name about as often
_REPORTS_PER_WRITE: Final = 32


@dataclass(frozen=True, slots=True)
class Spot:
    """Whose view of what: the credential's tenant, the upstream's URL, the model's name."""

    tenant: str
    upstream: str
    model: str

    @classmethod
    def of(cls, tenant: str, url: URL, model: str) -> Spot:
        """Of a request to this URL."""
        return cls(tenant, str(url.origin()), model)

    @property
    def key(self) -> Key:
        """A store key of bounded size, in which no part can be mistaken for another."""
        parts = json.dumps([self.upstream, self.model]).encode()
        return Key(self.tenant, "window", blake2b(parts, digest_size=16).hexdigest())


@dataclass(slots=True)
class _LearnedEntry:
    known: Learned
    until: float
    unwritten: int = 0


class Windows:
    """Learned windows and ratios, least recently used out first.

    Args:
        store: where they are kept beyond this process; None: nowhere.
        ttl: seconds after which what was learned is forgotten.
        clock: Unix time.
    """

    def __init__(self, store: Store | None = None, ttl: int = _TTL, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._ttl = ttl
        self._clock = clock
        self._entries: OrderedDict[Spot, _LearnedEntry] = OrderedDict()

    async def learned(self, spot: Spot) -> Learned:
        """What is known of an upstream and model; asks the store the first time."""
        entry = self._entries.get(spot)
        if entry is not None and entry.until > self._clock():
            self._entries.move_to_end(spot)
            return entry.known
        until, known = _from_bytes(await self._fetch(spot))
        if until <= self._clock():
            known, until = Learned(), self._clock() + self._ttl
        self._keep(spot, _LearnedEntry(known, until))
        return known

    async def learn_from_usage(self, spot: Spot, ours: int, reported: int) -> Learned:
        """Learn from the usage that an upstream reported for a request of `ours` tokens."""
        before = await self.learned(spot)
        return await self._learn(spot, before, learn_from_usage(before, ours, reported))

    async def learn_from_refusal(self, spot: Spot, limit: int | None, theirs: int | None) -> Learned:
        """Learn from a request that overflowed."""
        before = await self.learned(spot)
        return await self._learn(spot, before, learn_from_refusal(before, limit, theirs))

    async def _learn(self, spot: Spot, before: Learned, after: Learned) -> Learned:
        if after == before:
            return after
        told = (after.limit, after.fails, after.quiet) != (before.limit, before.fails, before.quiet)
        entry = self._entries[spot]
        entry.known = after
        entry.unwritten += 1
        if told:
            entry.until = self._clock() + self._ttl
        if self._store is not None and (told or entry.unwritten >= _REPORTS_PER_WRITE or len(before.ratios) < 3):
            entry.unwritten = 0
            with contextlib.suppress(StoreError):
                await self._store.put([Item(spot.key, _to_bytes(entry), max(1.0, entry.until - self._clock()))])
        return after

    async def _fetch(self, spot: Spot) -> bytes | None:
        if self._store is None:
            return None
        try:
            return (await self._store.get([spot.key]))[0]
        except StoreError:
            return None

    def _keep(self, spot: Spot, entry: _LearnedEntry) -> None:
        self._entries[spot] = entry
        self._entries.move_to_end(spot)
        while len(self._entries) > _KEPT:
            self._entries.popitem(last=False)


def _to_bytes(entry: _LearnedEntry) -> bytes:
    known = entry.known
    return orjson.dumps(
        {
            VERSION: 1,
            "until": entry.until,
            "ratios": known.ratios,
            "limit": known.limit,
            "fits": known.fits,
            "fails": known.fails,
            "quiet": [{"ours": ours, "reported": reported} for ours, reported in known.quiet],
        }
    )


def _from_bytes(value: bytes | None) -> tuple[float, Learned]:
    """Until when, and what; nothing where this release cannot read it."""
    found = None if value is None else decode_record("window", value, _build)
    return found or (0.0, Learned())


def _build(data: Any) -> tuple[float, Learned]:
    """From the JSON value; in the first release `quiet` had pairs without names."""
    pairs = ((one["ours"], one["reported"]) if isinstance(one, dict) else one for one in data["quiet"])
    return float(data["until"]), Learned(
        ratios=tuple(float(ratio) for ratio in data["ratios"]),
        limit=None if data["limit"] is None else int(data["limit"]),
        fits=int(data["fits"]),
        fails=None if data["fails"] is None else int(data["fails"]),
        quiet=tuple((int(ours), int(reported)) for ours, reported in pairs),
    )
