"""What was decided of folds, as records of the store, each under the beginning of the conversation that it was decided for.

Lives here: their keys, their form, and that the first writer wins. Does not belong here: memory in front of them
(``learning.deciding``), what is decided (``compression.fold.decisions``).

A record is never changed, and is found by content: conversations that begin alike share the decisions of their common beginning,
and part where they part. It holds shares and switches, and the text of summaries that were adopted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, Final

from turnfold.compression.options import FoldDecision, Precedent, Warmth, WrittenSummary
from turnfold.proxy.learning.window_records import Spot
from turnfold.proxy.store.base import Item, Key, Store
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

KIND: Final = "decision"
_REST: Final = "rest"
_RESTS: Final = 64  # in a conversation's list, the newest


async def keep_first(
    store: Store, spot: Spot, precedents: Sequence[Precedent], ttl: float, conversation: str
) -> tuple[Precedent, ...]:
    """Keep what was decided where nothing is kept yet; what is kept now of each, in the same order.

    Raises:
        StoreError: the store does not answer.
    """
    keys = [_key(spot, one) for one in precedents]
    held = await store.get(keys)
    missing = [i for i, value in enumerate(held) if value is None]
    items = [Item(keys[i], _to_bytes(precedents[i]), ttl, conversation) for i in missing]
    written = await asyncio.gather(*(store.swap(None, item) for item in items))
    lost = [i for i, won in zip(missing, written, strict=True) if not won]
    later = dict(zip(lost, await store.get([keys[i] for i in lost]), strict=True)) if lost else {}
    return tuple(_held(one, later.get(i, held[i])) for i, one in enumerate(precedents))


async def add_rests(store: Store, spot: Spot, precedents: Sequence[Precedent], ttl: float, conversation: str) -> None:
    """Add those that were decided behind a long rest to the conversation's list, by which a replica finds them that served no
    request since: no message says where they are.

    Raises:
        StoreError: the store does not answer.
    """
    known = {(one.at, one.prefix): one for one in (*await read_rests(store, spot, conversation), *precedents)}
    value = [{"at": one.at, "prefix": one.prefix, **_to_json(one.decision)} for one in [*known.values()][-_RESTS:]]
    await store.put([Item(_rests_key(spot, conversation), encode_record({VERSION: 1, "rests": value}), ttl, conversation)])


async def read_rests(store: Store, spot: Spot, conversation: str) -> tuple[Precedent, ...]:
    """That list.

    Raises:
        StoreError: the store does not answer.
    """
    (value,) = await store.get([_rests_key(spot, conversation)])
    found = None if value is None else decode_record(_REST, value, _build_rests)
    return found or ()


def _rests_key(spot: Spot, conversation: str) -> Key:
    return spot.key_of(_REST, conversation)


def _build_rests(value: Any) -> tuple[Precedent, ...]:
    return tuple(Precedent(int(one["at"]), str(one["prefix"]), _build(one)) for one in value["rests"])


def _held(own: Precedent, value: bytes | None) -> Precedent:
    """What is kept; our own where it was written now, or where this release cannot read it."""
    decision = None if value is None else decode_record(KIND, value, _build)
    return own if decision is None else Precedent(own.at, own.prefix, decision)


def _key(spot: Spot, precedent: Precedent) -> Key:
    return spot.key_of(KIND, precedent.at, precedent.prefix)


def _to_bytes(precedent: Precedent) -> bytes:
    return json.dumps({VERSION: 1, **_to_json(precedent.decision)}, separators=(",", ":")).encode("ascii")


def _to_json(decision: FoldDecision) -> dict[str, Any]:
    value: dict[str, Any] = {"turns": decision.warmth.turns, "loops": decision.warmth.loops, "brake": decision.brake}
    if decision.caches:
        value["caches"] = True
    if decision.cold:
        value["cold"] = True
    if decision.summaries:
        value["summaries"] = [[one.start, one.end, one.prefix, one.text] for one in decision.summaries]
    return value


def _build(value: Any) -> FoldDecision:
    shares = [float(value[name]) for name in ("turns", "loops")]
    if not all(0 <= share <= 1 for share in shares):
        raise ValueError("a share beyond 0 to 1")
    written = tuple(
        WrittenSummary(int(start), int(end), str(prefix), str(text)) for start, end, prefix, text in value.get("summaries", ())
    )
    brake, caches, cold = (bool(value.get(name, False)) for name in ("brake", "caches", "cold"))
    return FoldDecision(Warmth(*shares), brake, written, caches, cold)
