"""What was decided of folds, as records of the store, each under the beginning of the conversation that it was decided for.

Their keys and form; the first writer wins. Caching them is up to ``learning.deciding``, deciding to
``compression.fold.decisions``.

A record is never changed, and is found by content: conversations with a common beginning share its decisions. It holds shares and
switches, and the text of adopted summaries.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from turnfold.compression.options import FoldDecision, Precedent, Warmth, WrittenSummary
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.store.base import Item, Store
from turnfold.proxy.store.records import VERSION, decode_record

KIND: Final = "decision"


class KeptDecisions(NamedTuple):
    """The store's decisions on a conversation.

    Attributes:
        held: the decisions that apply now, in the order given; () if `elsewhere` is not empty, since nothing was stored then.
        elsewhere: decisions made after a long pause that this process did not know.
    """

    held: tuple[Precedent, ...] = ()
    elsewhere: tuple[Precedent, ...] = ()


async def keep_first(
    store: Store, spot: UpstreamModel, precedents: Sequence[Precedent], requests: Mapping[int, str], ttl: float, conversation: str
) -> KeptDecisions:
    """Store decisions where there are none yet, unless an unknown decision was made after a pause.

    Args:
        requests: other requests of the conversation, by number of messages, since no message shows that one came after a pause.

    Raises:
        StoreError: the store does not answer.
    """
    keys = [spot.key_of(KIND, one.at, one.prefix) for one in precedents]
    others = [(at, prefix, spot.key_of(KIND, at, prefix)) for at, prefix in requests.items()]
    found = await store.get([*keys, *(key for _, _, key in others)])
    held, values = found[: len(keys)], found[len(keys) :]
    read = [None if value is None else decode_record(KIND, value, _build) for value in values]
    at_rests = [(at, prefix, one) for (at, prefix, _), one in zip(others, read, strict=True) if one is not None and one.cold]
    if at_rests:
        return KeptDecisions(elsewhere=tuple([Precedent(*one) for one in at_rests]))
    missing = [i for i, value in enumerate(held) if value is None]
    items = [Item(keys[i], _to_bytes(precedents[i]), ttl, conversation) for i in missing]
    written = await asyncio.gather(*(store.swap(None, item) for item in items))
    lost = [i for i, won in zip(missing, written, strict=True) if not won]
    later = dict(zip(lost, await store.get([keys[i] for i in lost]), strict=True)) if lost else {}
    return KeptDecisions(tuple(_stored_decision(one, later.get(i, held[i])) for i, one in enumerate(precedents)))


def _stored_decision(own: Precedent, value: bytes | None) -> Precedent:
    """The stored decision, or our own if it was just written or this release cannot read the stored one."""
    decision = None if value is None else decode_record(KIND, value, _build)
    return own if decision is None else Precedent(own.at, own.prefix, decision)


def _to_bytes(precedent: Precedent) -> bytes:
    decision = precedent.decision
    shares = {"turns": decision.warmth.turns, "loops": decision.warmth.loops}
    value: dict[str, Any] = {VERSION: 1, **shares, "brake": decision.brake}
    if decision.caches:
        value["caches"] = True
    if decision.cold:
        value["cold"] = True
    if decision.hour:
        value["hour"] = True
    if decision.summaries:
        value["summaries"] = [[one.start, one.end, one.prefix, one.text] for one in decision.summaries]
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _build(value: Any) -> FoldDecision:
    shares = [float(value[name]) for name in ("turns", "loops")]
    if not all(0 <= share <= 1 for share in shares):
        raise ValueError("a share beyond 0 to 1")
    written = tuple(
        WrittenSummary(int(start), int(end), str(prefix), str(text)) for start, end, prefix, text in value.get("summaries", ())
    )
    brake, caches, cold, hour = (bool(value.get(name, False)) for name in ("brake", "caches", "cold", "hour"))
    return FoldDecision(Warmth(*shares), brake, written, caches, cold, hour)
