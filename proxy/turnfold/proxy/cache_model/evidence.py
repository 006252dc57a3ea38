"""What a request's usage shows about the provider's cache: what it repeats of the request before, and whether that was found.

Nothing is concluded from it here: ``bills`` and ``succession`` do that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from turnfold.config.prices import TokenUse, caches_at_marks, least_cached
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.trails.trail import Trails

TELLS: Final = 1.5  # a repeated prefix of so many times the shortest that is cached is over it however roughly it was counted


def token_use(usage: Usage) -> TokenUse | None:
    """The tokens that the upstream billed; None if it reported none."""
    if usage.prompt_tokens is None:
        return None
    return TokenUse(
        usage.prompt_tokens,
        usage.completion_tokens or 0,
        usage.cached_tokens or 0,
        usage.cache_write_tokens or 0,
        usage.cache_write_hour_tokens or 0,
        usage.audio_prompt_tokens or 0,
        usage.audio_completion_tokens or 0,
        usage.service_tier or "",
        usage.inference_geo or "",
    )


def is_folded(receipt: Receipt) -> bool:
    """Whether the upstream received a smaller request than the client sent, by our own counts."""
    return receipt.status in {"folded", "shaped", "recovered"} and 0 < receipt.tokens_after < receipt.tokens_before


@dataclass(frozen=True, slots=True)
class ReusablePrefix:
    """Tokens of the last request that could come from the cache: as it was sent, and unfolded.

    Attributes:
        marked: whether they follow from the client's marks.
        expired: whether all of these marks asked for less time than has passed.
    """

    sent: float
    unfolded: float
    marked: bool = False
    expired: bool = False


def has_other_tools(receipt: Receipt, past: PastRequest) -> bool:
    """Whether the tools changed, so that nothing in front of the messages is what was cached."""
    return past.schema not in (None, receipt.schema)


def reusable_prefix(receipt: Receipt, past: PastRequest, sections: str) -> ReusablePrefix:
    """What of the last request the cache could still hold for this one.

    Without trails, an unfolded conversation is assumed to only grow, and a fold with other sections to repeat nothing.
    """
    if has_other_tools(receipt, past):
        return ReusablePrefix(0.0, 0.0)
    if receipt.trails is None or past.trails is None:
        return ReusablePrefix(past.sent if sections == past.sections else 0.0, past.unfolded)
    now, before = receipt.trails, past.trails
    marked = hits_at_marks(receipt, past) and bool(before.received.entries.left)
    sent, whole = now.sent.repeats(before.sent), now.received.repeats(before.received)
    if marked:
        since = _time_that_counts(receipt, past, now, before)
        sent = now.sent.entries.found(before.sent.entries, since)
        whole = now.received.entries.found(before.received.entries, since)
    expired = marked and not now.received.entries.found(before.received.entries, receipt.at - past.at)
    whole *= past.unfolded
    return ReusablePrefix(whole if receipt.status == "observed" else sent * past.sent, whole, marked, expired)


def _time_that_counts(receipt: Receipt, past: PastRequest, now: Trails, before: Trails) -> float | None:
    """Seconds after which what its mark asked to have kept for less counts as gone. None where the request that was sent shows
    that it is not, and where nothing would be left: whether it was cold, that request tells."""
    since = receipt.at - past.at
    ever, kept = (now.sent.entries.found(before.sent.entries, time) * past.sent for time in (None, since))
    lasts = ever > kept and 2 * (receipt.usage.cached_tokens or 0) > ever + kept
    return None if lasts or not now.received.entries.found(before.received.entries, since) else since


def hits_at_marks(receipt: Receipt, past: PastRequest | None) -> bool:
    """Whether the provider's cache hits only at marks: by its model, or because it ever charged for writing."""
    return caches_at_marks(receipt.model) or bool(past and past.writes) or bool(receipt.usage.cache_write_tokens)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a request reveals about the cache.

    Attributes:
        tells: whether it repeats enough to reveal anything.
        hit: whether the upstream found most of what it repeats in the cache.
        doubtful: whether a miss may have a reason other than a cold cache.
        expired: whether the client asked for less time than has passed.
    """

    tells: bool
    hit: bool
    doubtful: bool
    expired: bool = False

    def warm_share(self, past: PastRequest, elapsed: float) -> float:
        """Probability that the cache was warm, so many seconds behind the request that this one follows."""
        usual = past.warm_after(elapsed, expired=self.expired)
        if not self.tells:
            return usual
        if self.hit or not self.doubtful:
            return float(self.hit)
        missed = usual * past.missing_marks()
        return missed / (missed + 1 - usual) if missed else 0.0


def evidence(receipt: Receipt, used: TokenUse, past: PastRequest, prefix: ReusablePrefix, sections: str) -> Evidence:
    """What the usage of a request reveals, given what it could have found."""
    doubtful = sections != past.sections and (past.writes or used.written > 0) and not prefix.marked
    tells, hit = prefix.sent >= TELLS * least_cached(receipt.model), 2 * used.cached >= prefix.sent
    return Evidence(tells, hit, doubtful, prefix.expired)


def cache_was_warm(receipt: Receipt, used: TokenUse, past: PastRequest | None, sections: str) -> bool | None:
    """Whether the upstream found the request before in its cache; None where this request does not show it. One with tools that
    the provider ran does not: what its first sampling wrote to the cache, the next ones found there."""
    if past is None or receipt.usage.cached_tokens is None or receipt.hosted:
        return None
    seen = evidence(receipt, used, past, reusable_prefix(receipt, past, sections), sections)
    return seen.hit if seen.tells and not seen.doubtful else None
