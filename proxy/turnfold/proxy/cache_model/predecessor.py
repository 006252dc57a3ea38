"""Which of the remembered requests a new one follows: the one of which it repeats most, and that it may find in the cache."""

from __future__ import annotations

from collections.abc import Iterable

from turnfold.proxy.cache_model.evidence import evidence, reusable_prefix, token_use
from turnfold.proxy.cache_model.past_request import OWN_FIELDS, PastRequest
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.trails.trail import Trail


def with_predecessor(past: PastRequest, receipt: Receipt) -> PastRequest:
    """The same record with the predecessor of a new request first; the newest where several are alike."""
    if receipt.trails is None:
        return past
    received = receipt.trails.received
    left = [one for one in (past, *past.others) if one.model in ("", receipt.model)]
    followed = _most_repeated(left, received)
    if followed and not _may_be_found(followed, receipt) and not _was_found(followed, receipt):
        mine = [one for one in left if one.shares_key_with(receipt)]
        there = (one.inherited if one.is_read_beside(receipt) else one for one in mine)
        followed = _most_repeated(there, received)
        followed = followed if followed and followed.unfolded else None
    if followed is past:
        return past
    others = tuple(one for one in (past.alone(), *past.others) if one is not followed)
    if followed is None:
        return past._replace(unfolded=0, sent=0, folded_tokens=0, trails=None, model=receipt.model, others=others)
    known = followed._asdict()
    own = {name: known[name] for name in OWN_FIELDS} | {"scale": followed.scale or past.scale}
    return past._replace(**own, others=others)


def _most_repeated(left: Iterable[PastRequest], received: Trail) -> PastRequest | None:
    def repeated(one: PastRequest) -> float:
        return received.repeats(one.trails.received) * one.trails.received.size if one.trails else 0.0

    return max(left, key=repeated, default=None)


def _may_be_found(past: PastRequest, receipt: Receipt) -> bool:
    """Whether what it left is where the new request looks, and was there when that came."""
    return past.shares_key_with(receipt) and not past.is_read_beside(receipt)


def _was_found(past: PastRequest, receipt: Receipt) -> bool:
    """Whether the new request found it in the cache."""
    used = token_use(receipt.usage)
    seen = used and evidence(receipt, used, past, reusable_prefix(receipt, past, ""), "")
    return bool(seen and seen.tells and seen.hit)
