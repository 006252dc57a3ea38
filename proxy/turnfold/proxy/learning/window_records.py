"""What was learned of upstreams and models, as records of the store.

The form of a record, listing records, and having them forgotten everywhere. The memory in front of them is ``learning.windows``;
what a figure means is in ``compression.calibration``.

Every process holds what it knows in memory, and would write back what another one forgot. So forgetting leaves a mark with a
random name, and a record says under which marks it was learned. If a mark has changed since, the record counts for nothing,
whoever wrote it and when. There is a mark for each upstream and model, and one for each tenant.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from turnfold.compression.calibration import Hidden, Learned, with_fresh_hidden
from turnfold.proxy.store.base import Item, Key, Scope, Store, key_pages
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

#: Seconds for which a record is kept; models are replaced under the same name about that often.
TTL: Final = 7 * 86_400

_KIND: Final = "window"
_FORGOTTEN: Final = "window-forgotten"
_TENANTS: Final = "window-tenant"  # belongs to the installation: the tenants that have records
_MARK_TTL: Final = TTL + 3600.0  # longer than any record written before every process knows of the mark
_LONGEST: Final = 200  # characters of a name in a record; clients choose the model's name

#: The marks of a record: its tenant's and its own; "" for one that was never set.
Marks = tuple[str, str]


class UpstreamModel(NamedTuple):
    """The subject of a record: the credential's tenant, the upstream's origin, and the model's name."""

    tenant: str
    upstream: str
    model: str

    @property
    def key(self) -> Key:
        """The key of its window's record."""
        return self.key_of(_KIND)

    def key_of(self, kind: str, *parts: str | int) -> Key:
        """The key of one of its records: of bounded size, and collision-free.

        Args:
            parts: what distinguishes its records of one kind.
        """
        named = json.dumps([self.upstream, self.model, *parts]).encode()
        return Key(self.tenant, kind, blake2b(named, digest_size=16).hexdigest())


@dataclass(frozen=True, slots=True)
class WindowRecord:
    """What was learned about an upstream and model.

    Attributes:
        until: Unix time at which it expires.
        retry_at: Unix time from which the learned window is tested again.
        tries: how often the test was postponed.
        marks: the marks in force when it was learned.
        upstream, model: as in `UpstreamModel`, at most 200 characters each; "" in records of the first release, which named none.
    """

    known: Learned
    until: float
    retry_at: float = 0.0
    tries: int = 0
    marks: Marks = ("", "")
    upstream: str = ""
    model: str = ""

    @property
    def learned_at(self) -> float:
        """Unix time when the window was last confirmed."""
        return self.until - TTL

    def at(self, now: float) -> Learned:
        """What was learned, as it applies at a Unix time."""
        trusted = not self.tries or now < self.retry_at
        known = with_fresh_hidden(self.known, now)
        return known if trusted else replace(known, trusted=False)

    def is_forgotten(self, now: Marks) -> bool:
        """Whether it was learned before one of these marks was set."""
        return any(mark and mark != own for mark, own in zip(now, self.marks, strict=True))


async def read_record(store: Store, spot: UpstreamModel) -> tuple[WindowRecord | None, Marks]:
    """The valid record of an upstream and model, or None; and the current marks.

    Raises:
        StoreError: the store does not answer.
    """
    value, *held = await store.get([spot.key, *_mark_keys(spot.key)])
    marks = _marks(*held)
    record = None if value is None else decode_record(_KIND, value, _build)
    return (None if record is None or record.is_forgotten(marks) else record), marks


async def write_record(store: Store, spot: UpstreamModel, record: WindowRecord, ttl: float) -> None:
    """Store a record for `ttl` seconds.

    Raises:
        StoreError: the store does not answer.
    """
    own = Item(spot.key, _to_bytes(record, spot), max(1.0, ttl))
    await store.put([own, Item(Key("", _TENANTS, spot.tenant), b"1", max(1.0, ttl))])


async def tenants(store: Store) -> list[str]:
    """The tenants that have records.

    Raises:
        StoreError: the store does not answer.
    """
    return [key.id async for page in key_pages(store, Scope("", _TENANTS)) for key in page]


async def list_records(store: Store, tenant: str, now: float) -> list[tuple[Key, WindowRecord]]:
    """A tenant's valid records at a Unix time, by upstream and model.

    Raises:
        StoreError: the store does not answer.
    """
    found = []
    async for page in key_pages(store, Scope(tenant, _KIND)):
        everybody, *own = await store.get([_mark_key(tenant), *(_mark_key(tenant, key.id) for key in page)])
        for key, value, mark in zip(page, await store.get(page), own, strict=True):
            record = None if value is None else decode_record(_KIND, value, _build)
            if record is not None and record.until > now and not record.is_forgotten(_marks(everybody, mark)):
                found.append((key, record))
    return sorted(found, key=lambda one: (one[1].upstream, one[1].model, one[0].id))


async def forget_records(store: Store, tenant: str, keys: Sequence[Key] | None) -> None:
    """Forget some of a tenant's records, whether they exist or not; None: all of them.

    Raises:
        StoreError: the store does not answer.
    """
    name = secrets.token_hex(8).encode()
    marks = [_mark_key(tenant)] if keys is None else [_mark_key(tenant, key.id) for key in keys]
    await store.put([Item(mark, name, _MARK_TTL) for mark in marks])
    if keys is None:
        await store.delete(Scope(tenant, _KIND))
    else:
        await store.discard(keys)


async def forget_tenant(store: Store, tenant: str) -> None:
    """Forget all records of a tenant, and that it had any.

    Its mark, a random name, stays for as long as a record could.
    """
    await forget_records(store, tenant, None)
    await store.discard([Key("", _TENANTS, tenant)])


def _mark_key(tenant: str, record: str = "") -> Key:
    return Key(tenant, _FORGOTTEN, record)


def _mark_keys(key: Key) -> tuple[Key, Key]:
    return _mark_key(key.tenant), _mark_key(key.tenant, key.id)


def _marks(everybody: bytes | None, own: bytes | None) -> Marks:
    return (everybody or b"").decode("utf-8", "replace"), (own or b"").decode("utf-8", "replace")


def storable_name(name: str) -> str:
    """A name as stored in a record: of bounded length, without the lone surrogates that a client's JSON may contain."""
    return name[:_LONGEST].encode("utf-8", "replace").decode("utf-8")


def _to_bytes(record: WindowRecord, spot: UpstreamModel) -> bytes:
    known = record.known
    return encode_record(
        {
            VERSION: 1,
            "upstream": storable_name(spot.upstream),
            "model": storable_name(spot.model),
            "marks": {"tenant": record.marks[0], "own": record.marks[1]},
            "until": record.until,
            "retry_at": record.retry_at,
            "tries": record.tries,
            "ratios": known.ratios,
            "planned": known.planned,
            "limit": known.limit,
            "claims": known.claims,
            "over": known.over,
            "fits": known.fits,
            "fails": known.fails,
            "top": known.top,
            "binds_thinking": known.binds_thinking,
            "hidden": [one._asdict() for one in known.hidden],
            "quiet": [{"ours": ours, "reported": reported} for ours, reported in known.quiet],
        }
    )


def _build(data: Any) -> WindowRecord:
    """The record from its JSON value.

    The first release had pairs, records without names, one claim for each limit, and beliefs without an age.
    """
    pairs = ((one["ours"], one["reported"]) if isinstance(one, dict) else one for one in data["quiet"])
    limit = None if data["limit"] is None else int(data["limit"])
    known = Learned(
        ratios=tuple(float(ratio) for ratio in data["ratios"]),
        planned=max(0.0, float(data.get("planned", 0))),
        limit=limit,
        claims=int(data.get("claims", 2 * (limit is not None))),  # the first release believed one claim
        over=tuple(bool(taken) for taken in data.get("over", [False] if limit is not None else [])),
        fits=int(data["fits"]),
        fails=None if data["fails"] is None else int(data["fails"]),
        top=(int(data["top"][0]), int(data["top"][1])) if "top" in data else (0, 0),
        quiet=tuple((int(ours), int(reported)) for ours, reported in pairs),
        binds_thinking=data.get("binds_thinking") is True,
        hidden=tuple(Hidden(str(one["source"]), int(one["tokens"]), float(one["at"])) for one in data.get("hidden", [])),
    )
    until = float(data["until"])
    marks = data.get("marks", {})
    return WindowRecord(
        known,
        until,
        float(data.get("retry_at", until)),
        int(data.get("tries", limit is not None)),
        (str(marks.get("tenant", "")), str(marks.get("own", ""))),
        str(data.get("upstream", "")),
        str(data.get("model", "")),
    )
