"""The tokens that a request would have been billed for: unfolded, or folded if it was only observed.

Dollars follow from them in ``books.pricing``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turnfold.config.prices import TokenUse, least_cached
from turnfold.proxy.cache_model.evidence import TELLS, evidence, hits_at_marks, is_folded, reusable_prefix
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.chat.receipts import Receipt

_STEP: Final = 128  # cached prefixes are reported in such steps (OpenAI)
_FOLLOWS: Final = 0.9  # share of a request that must be repeated: clients change the end of their last message
_HOUR: Final = 3600  # seconds: the longer of the two lifetimes of Anthropic's marks


def with_fold(receipt: Receipt, used: TokenUse, past: PastRequest | None) -> TokenUse | None:
    """The tokens that an observed request would have been billed for folded; None where nobody counted it.

    The model is that of the unfolded conversation, turned round: the cache is as warm as the request that went out found it, and
    holds what the fold repeats of the fold before it.
    """
    if receipt.status != "observed" or not (receipt.tokens_before and receipt.tokens_after):
        return None
    share = min(1.0, receipt.tokens_after / receipt.tokens_before)
    prompt, writes = round(used.prompt * share), used.written > 0 or bool(past and past.writes)
    if past is None or past.trails is None or receipt.trails is None:
        cached = round(used.cached * share)
    else:
        prefix, now, before = reusable_prefix(receipt, past, ""), receipt.trails.sent, past.trails.sent
        repeated = now.entries.found(before.entries) if prefix.marked else now.repeats(before)
        tokens = min(prompt, round(repeated * (past.folded_tokens or past.sent)))
        whole = _cacheable(receipt, tokens, in_steps=not (writes or prefix.marked))
        cached = whole if 2 * used.cached >= prefix.unfolded else min(whole, used.cached)
    written = prompt - cached if writes else 0
    hours = round(written * used.written_hour / used.written) if used.written else 0
    return _with_prompt(used, prompt, cached, written, hours)


def _cacheable(receipt: Receipt, tokens: int, *, in_steps: bool) -> int:
    """The cacheable tokens of a prefix."""
    return 0 if tokens < least_cached(receipt.model) else tokens - tokens % _STEP * in_steps


def _unfolded_tokens(receipt: Receipt, used: TokenUse, past: PastRequest | None) -> int:
    if not is_folded(receipt):
        return used.prompt
    if past is None or not past.scale:
        return round(receipt.tokens_before * used.prompt / receipt.tokens_after)
    return round(past.upstream_count(receipt.tokens_before))


def without_turnfold(receipt: Receipt, used: TokenUse, past: PastRequest | None, sections: str) -> TokenUse:
    """The tokens that the same request would have been billed for unfolded.

    Args:
        past: the conversation's last request; None if there was none, or the conversation has no label.
        sections: fingerprint of the sections folded in this one.
    """
    if not is_folded(receipt) and not (past and past.folded):
        return used
    unknown = past is not None and _follows_a_dropped_one(receipt, past)
    if unknown and not is_folded(receipt):
        return used
    prompt = _unfolded_tokens(receipt, used, past)
    if past is None:
        cached = round(prompt * used.cached / used.prompt) if used.prompt else 0
        written = _written(receipt, used, None, prompt, cached)
        if written is None:
            written = min(prompt - cached, round(prompt * used.written / used.prompt) if used.prompt else 0)
        return _with_prompt(used, prompt, cached, written, _written_for_an_hour(receipt, used, prompt, cached, written))
    prefix = reusable_prefix(receipt, past, sections)
    warm = evidence(receipt, used, past, prefix, sections).warm_share(past, receipt.at - past.at)
    writes = past.writes or used.written > 0
    whole = prompt if unknown else min(prompt, round(prefix.unfolded * _count_ratio(receipt, prompt, past)))
    whole = _cacheable(receipt, whole, in_steps=not (writes or prefix.marked))
    whole = max(whole, min(prompt, used.cached))  # shared tools, or requests that begin alike
    cached = round(warm * whole + (1 - warm) * min(whole, used.cached))
    written = _written(receipt, used, past, prompt, cached)
    if written is None:
        written = prompt - cached if writes else 0
    return _with_prompt(used, prompt, cached, written, _written_for_an_hour(receipt, used, prompt, cached, written))


def _count_ratio(receipt: Receipt, prompt: int, past: PastRequest) -> float:
    """By how much what is known of the last request is to be scaled to count as this one does: how a short prompt, as both may
    have been sent, was counted says little of a long one."""
    if past.scale or not (is_folded(receipt) and past.received and past.unfolded):
        return 1.0
    return prompt / receipt.tokens_before * past.received / past.unfolded


def _written(receipt: Receipt, used: TokenUse, past: PastRequest | None, prompt: int, cached: int) -> int | None:
    """Tokens that the client asks to have written to the cache, unfolded; as sent it may be too short for that. None where it
    asks for nothing, or nobody heeds it."""
    trails, least = receipt.trails, least_cached(receipt.model)
    if trails is None or not trails.received.entries.left or not hits_at_marks(receipt, past):
        return None
    if not (used.written or used.cached) and trails.sent.entries.last * used.prompt >= TELLS * least:
        return None
    asked = round(trails.received.entries.last * prompt)
    return max(0, asked - cached) if asked >= least else 0


def _written_for_an_hour(receipt: Receipt, used: TokenUse, prompt: int, cached: int, written: int) -> int:
    """Those of them that are to be kept for an hour: the client asks for the same lifetimes, folded or not."""
    share = receipt.trails.received.entries.last_for(_HOUR) if receipt.trails else 0.0
    if share and (used.written_hour or not used.written):
        return min(written, max(0, round(share * prompt) - cached))
    return round(written * used.written_hour / used.written) if used.written else 0


def _follows_a_dropped_one(receipt: Receipt, past: PastRequest) -> bool:
    if not past.crowded or receipt.trails is None:
        return False
    return past.trails is None or receipt.trails.received.repeats(past.trails.received) < _FOLLOWS


def _with_prompt(used: TokenUse, prompt: int, cached: int, written: int, hours: int) -> TokenUse:
    """A copy of the request with another prompt."""
    return replace(used, prompt=prompt, cached=cached, written=written, written_hour=hours)
