"""What the model remembers once a request is done, for the conversation's next one.

Choosing which request that one follows is up to ``predecessor``; storing the record, to ``books``.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import Final

from turnfold.compression.warmth import TIMES
from turnfold.config.prices import TokenUse
from turnfold.proxy.cache_model.evidence import evidence, has_other_tools, is_folded, reusable_prefix
from turnfold.proxy.cache_model.past_request import LEAST_SCALED, NO_TIMES, PastRequest
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.trails.trail import Trails

_OTHERS: Final = 63  # requests besides the last one that a new one may follow; fewer if they are long (_MOST_SUMS)
_MOST_SUMS: Final = 48 * 1024  # bytes of their fingerprints: eight conversations of 100,000 to 200,000 tokens have 10 to 40 kB
_READ: Final = 0.5  # seconds during which the prompt of an unstreamed request counts as still being read


def next_past(receipt: Receipt, used: TokenUse, without: TokenUse, past: PastRequest | None, sections: str) -> PastRequest:
    """What the model remembers for the conversation's next request."""
    before = past or PastRequest(0, 0)
    prefix = reusable_prefix(receipt, before, sections)
    seen = evidence(receipt, used, before, prefix, sections)
    clear, doubtful = seen.tells and not seen.doubtful, seen.tells and seen.doubtful
    observed = receipt.status == "observed" and receipt.tokens_before > 0
    others, crowded = _candidates(receipt, past)
    tells_scale = not is_folded(receipt) and receipt.tokens_before >= LEAST_SCALED
    now = (receipt.tokens_before, used.prompt)
    first = now if has_other_tools(receipt, before) or not before.counted else before.counted[:2]
    return PastRequest(
        unfolded=without.prompt,
        sent=used.prompt,
        sections=sections,
        seen=before.seen + clear,
        warm=before.warm + (clear and seen.hit),
        events=before.events + doubtful,
        silent=before.silent + (doubtful and not seen.hit),
        writes=before.writes or used.written > 0,
        folded=before.folded or is_folded(receipt),
        scale=used.prompt / receipt.tokens_before if tells_scale else before.scale,
        trails=_with_earlier_entries(receipt, used, without, past),
        received=receipt.tokens_before,
        at=receipt.at,
        foldable=receipt.foldable or 0,
        folded_tokens=round(used.prompt * receipt.tokens_after / receipt.tokens_before) if observed else 0,
        paid=before.paid,
        without=before.without,
        since=1 if sections not in ("", before.sections) else before.since + (before.since > 0),
        others=others,
        crowded=crowded,
        model=receipt.model,
        schema=receipt.schema,
        times=_with_observation(before.times, receipt.at - before.at, seen.hit) if clear else before.times,
        answered=_answered(receipt),
        counted=(*first, *now) if tells_scale else before.counted,
        stood=min(without.prompt, round(prefix.unfolded)),
        stood_sent=min(used.prompt, round(prefix.sent)),
    )


def _with_earlier_entries(receipt: Receipt, used: TokenUse, without: TokenUse, past: PastRequest | None) -> Trails | None:
    """The request's trails, with what the cache still holds of what those before it had marked."""
    now = receipt.trails
    if now is None or past is None or past.trails is None or not now.received.entries.sums:
        return now
    since = receipt.at - past.at
    whole, sent = past.unfolded / (without.prompt or 1), past.sent / (used.prompt or 1)
    received = now.received.with_earlier(past.trails.received, whole, since)
    return replace(now, received=received, sent=now.sent.with_earlier(past.trails.sent, sent, since))


def _answered(receipt: Receipt) -> float:
    seconds = (receipt.total_ms if receipt.first_byte_ms is None else receipt.first_byte_ms) / 1000
    return receipt.at + (seconds if receipt.streamed else min(seconds, _READ))


def _with_observation(times: tuple[tuple[int, int], ...], elapsed: float, hit: bool) -> tuple[tuple[int, int], ...]:
    times, place = times or NO_TIMES, bisect_right(TIMES, elapsed)
    seen, warm = times[place]
    return (*times[:place], (seen + 1, warm + hit), *times[place + 1 :])


def unreported(receipt: Receipt, past: PastRequest | None, sections: str) -> PastRequest | None:
    """The same behind a request that was served, and of which the upstream reported no usage."""
    if receipt.tokens_before <= 0:
        return past
    before = past or PastRequest(0, 0)
    scale = before.scale or 1.0
    whole, sent = (round(scale * tokens) for tokens in (receipt.tokens_before, receipt.tokens_after))
    sent = sent if is_folded(receipt) else whole
    after = next_past(receipt, TokenUse(sent), TokenUse(whole), past, sections)
    known = before._asdict()
    return after._replace(**{name: known[name] for name in ("seen", "warm", "times", "events", "silent", "scale", "counted")})


def _candidates(receipt: Receipt, past: PastRequest | None) -> tuple[tuple[PastRequest, ...], bool]:
    """The requests that a later one may follow beside this one: not that which this one repeats as a whole. And whether the name
    is crowded."""
    if past is None:
        return (), False
    found = past.others
    if past.trails and not (receipt.trails and receipt.trails.received.repeats(past.trails.received) == 1.0):
        found = (past.alone(), *found)
    sizes = accumulate(one.trails.received.bytes + one.trails.sent.bytes if one.trails else 0 for one in found)
    kept = tuple(one for one, size in zip(found[:_OTHERS], sizes, strict=False) if size <= _MOST_SUMS)
    return kept, past.crowded or len(kept) < len(found)


def with_dollars(past: PastRequest, paid: float | None, without: float | None) -> PastRequest:
    """A copy with the cost of a request added; unchanged if a price is unknown."""
    if paid is None or without is None:
        return past
    return past._replace(paid=past.paid + paid, without=past.without + without)
