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
from dataclasses import dataclass, replace
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
_RETRIES: Final = (300.0, 1800.0, 7200.0, 28_800.0, 86_400.0)  # seconds until what was learned of a window is tested again


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
    """What is known, until when it is kept, and when what it says of the window is put to the test again."""

    known: Learned
    until: float
    retry_at: float = 0.0
    tries: int = 0
    unwritten: int = 0

    def at(self, now: float) -> Learned:
        """What is known, as it is to be acted on at a Unix time."""
        trusted = not self.tries or now < self.retry_at
        return self.known if trusted else replace(self.known, trusted=False)


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
        """What is known of an upstream and model; asks the store the first time.

        A learned window is a belief with an age: it is tested again after minutes, and after longer each time it was right.
        """
        return (await self._entry(spot)).at(self._clock())

    async def _entry(self, spot: Spot) -> _LearnedEntry:
        entry = self._entries.get(spot)
        if entry is None or entry.until <= self._clock():
            entry = _from_bytes(await self._fetch(spot))
            if entry.until <= self._clock():
                entry = _LearnedEntry(Learned(), self._clock() + self._ttl)
            self._keep(spot, entry)
        self._entries.move_to_end(spot)
        return entry

    async def learn_from_usage(self, spot: Spot, ours: int, reported: int) -> Learned:
        """Learn from the usage that an upstream reported for a request of `ours` tokens."""
        entry = await self._entry(spot)
        return await self._learn(spot, entry, learn_from_usage(entry.known, ours, reported))

    async def learn_from_refusal(self, spot: Spot, limit: int | None, theirs: int | None) -> Learned:
        """Learn from a request that overflowed."""
        entry = await self._entry(spot)
        return await self._learn(spot, entry, learn_from_refusal(entry.known, limit, theirs))

    async def forget(self, spot: Spot) -> None:
        """Forget what was learned of an upstream and model.

        Raises:
            StoreError: it is forgotten here, but the store does not answer.
        """
        self._entries.pop(spot, None)
        if self._store is not None:
            await self._store.discard([spot.key])

    async def _learn(self, spot: Spot, entry: _LearnedEntry, after: Learned) -> Learned:
        before = entry.known
        if after == before:
            return after
        told = (after.limit, after.over, after.fails, after.quiet) != (before.limit, before.over, before.fails, before.quiet)
        entry.known = after
        entry.unwritten += 1
        if told:
            entry.until = self._clock() + self._ttl
            believed = after.claimed is not None or after.fails is not None or bool(after.quiet)
            entry.tries = min(entry.tries + 1, len(_RETRIES)) if believed else 0
            entry.retry_at = self._clock() + _RETRIES[entry.tries - 1] if believed else 0.0
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
            "retry_at": entry.retry_at,
            "tries": entry.tries,
            "ratios": known.ratios,
            "limit": known.limit,
            "claims": known.claims,
            "over": known.over,
            "fits": known.fits,
            "fails": known.fails,
            "top": known.top,
            "quiet": [{"ours": ours, "reported": reported} for ours, reported in known.quiet],
        }
    )


def _from_bytes(value: bytes | None) -> _LearnedEntry:
    """An entry; one that is over where there is none, or this release cannot read it."""
    found = None if value is None else decode_record("window", value, _build)
    return found or _LearnedEntry(Learned(), 0.0)


def _build(data: Any) -> _LearnedEntry:
    """From the JSON value. The first release had pairs without names, one claim for each limit, and beliefs without an age."""
    pairs = ((one["ours"], one["reported"]) if isinstance(one, dict) else one for one in data["quiet"])
    limit = None if data["limit"] is None else int(data["limit"])
    known = Learned(
        ratios=tuple(float(ratio) for ratio in data["ratios"]),
        limit=limit,
        claims=int(data.get("claims", limit is not None)),
        over=tuple(bool(taken) for taken in data.get("over", [False] if limit is not None else [])),
        fits=int(data["fits"]),
        fails=None if data["fails"] is None else int(data["fails"]),
        top=(int(data["top"][0]), int(data["top"][1])) if "top" in data else (0, 0),
        quiet=tuple((int(ours), int(reported)) for ours, reported in pairs),
    )
    until = float(data["until"])
    return _LearnedEntry(known, until, float(data.get("retry_at", until)), int(data.get("tries", limit is not None)))
