"""What a request would have cost without Turnfold: a model of the provider's prompt cache over the unfolded conversation.

Lives here: that model, and the little that it remembers of a conversation. Must not: prices, storage.

The model, for requests of one conversation in their order:

- Unfolded, a request would have had ``prompt * before / after`` tokens: the upstream's own count of what it got, scaled by
  our counts of the request before and after folding.
- Of these, as many lie in front of the last request's end as that one would have had; that part may come from the cache.
- Whether it does is read off what happened: the share of the last forwarded request that the upstream reported as cached.
  A cold cache is cold in both worlds, so an idle user's miss is never booked as a saving.
- A request with a fold event cannot tell (its own prefix is new): the share that the conversation's other requests found
  cached on average is taken; before there are any the cache counts as warm, which makes our saving smaller, not larger.
- Where the upstream reports tokens written to the cache, all that is not read would have been written.
- A request that was not folded, in a conversation that never was, costs the same with and without.

Without a label for the conversation only the share of cached tokens in the request itself is known, and taken for both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import orjson

from turnfold.config.prices import TokenUse
from turnfold.proxy.receipts import Receipt

_SMALLEST: Final = 1024  # no provider caches a shorter prefix
_STEP: Final = 128  # cached prefixes are reported in such steps (OpenAI)


@dataclass(frozen=True, slots=True)
class Past:
    """The last request of a conversation.

    Attributes:
        unfolded: tokens that it would have had, by the upstream's count.
        sent: tokens that it had.
        sections: which folded sections it carried, as a fingerprint; "" for none.
        seen: requests of the conversation that could tell how warm the cache was.
        warm: the sum of what they told, each 0 to 1.
        writes: whether it ever reported tokens written to the cache.
        folded: whether any request of it was folded.
    """

    unfolded: int
    sent: int
    sections: str = ""
    seen: int = 0
    warm: float = 0.0
    writes: bool = False
    folded: bool = False

    def packed(self) -> bytes:
        """For the store."""
        return orjson.dumps(asdict(self))

    @classmethod
    def unpacked(cls, value: bytes) -> Past:
        """From the store."""
        return cls(**orjson.loads(value))


def token_use(receipt: Receipt) -> TokenUse | None:
    """What the upstream says it was paid for; None where it said nothing."""
    usage = receipt.usage
    if usage.prompt_tokens is None:
        return None
    return TokenUse(usage.prompt_tokens, usage.completion_tokens or 0, usage.cached_tokens or 0, usage.cache_write_tokens or 0)


def is_folded(receipt: Receipt) -> bool:
    """Whether what the upstream got was smaller than what came in, by our own counts."""
    return receipt.status in {"folded", "recovered"} and 0 < receipt.tokens_after < receipt.tokens_before


def _told(used: TokenUse, past: Past, sections: str) -> float | None:
    """How much of the last request the cache held, 0 to 1; None where this request's prefix is not the last one's."""
    if sections != past.sections or past.sent < _SMALLEST:
        return None
    return 1.0 if past.sent - used.cached < _STEP else used.cached / past.sent


def _warm_share(used: TokenUse, past: Past, sections: str) -> float:
    told = _told(used, past, sections)
    if told is not None:
        return told
    return past.warm / past.seen if past.seen else 1.0


def without_turnfold(receipt: Receipt, used: TokenUse, past: Past | None, sections: str) -> TokenUse:
    """The tokens that the same request would have been charged for, unfolded.

    Args:
        past: the conversation's last request; None when there was none, or it has no label.
        sections: fingerprint of the sections folded in this one.
    """
    folded = is_folded(receipt)
    if not folded and not (past and past.folded):
        return used
    prompt = round(used.prompt * receipt.tokens_before / receipt.tokens_after) if folded else used.prompt
    if past is None:
        cached = round(prompt * used.cached / used.prompt) if used.prompt else 0
        written = round(prompt * used.written / used.prompt) if used.prompt else 0
        return TokenUse(prompt, used.completion, cached, min(written, prompt - cached))
    whole = min(prompt, past.unfolded)
    cached = round((whole - whole % _STEP) * _warm_share(used, past, sections)) if whole >= _SMALLEST else 0
    writes = past.writes or used.written > 0
    return TokenUse(prompt, used.completion, cached, prompt - cached if writes else 0)


def remembered(receipt: Receipt, used: TokenUse, without: TokenUse, past: Past | None, sections: str) -> Past:
    """What the conversation's next request will need to know."""
    told = _told(used, past, sections) if past else None
    return Past(
        unfolded=without.prompt,
        sent=used.prompt,
        sections=sections,
        seen=(past.seen if past else 0) + (told is not None),
        warm=(past.warm if past else 0.0) + (told or 0.0),
        writes=used.written > 0 or (past is not None and past.writes),
        folded=is_folded(receipt) or (past is not None and past.folded),
    )
