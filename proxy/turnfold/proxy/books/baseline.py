"""What a request would have cost without Turnfold: a model of the provider's prompt cache over the unfolded conversation.

Lives here: that model, and the little that it remembers of a conversation. Does not belong here: prices, storage.

The model, for requests of one conversation in their order:

- Unfolded, a request would have had ``before`` tokens of ours, times what the upstream counted for one of ours in the last
  request of the conversation that went out whole; where none did, times what it counted in this one.
- Of these, as many could have come from the cache as repeat the last request as it was received (by their trails).
- Whether they would have is read off what happened to the request that was sent. As far as it repeats the last one that was
  sent, a warm cache had it: where the upstream reports at least half of that as cached, the cache was warm and would have
  held the unfolded prefix too; where it reports less, it was cold, and would have held no more of the one than of the other.
  So an idle user's miss is never booked as a saving, and what folding itself makes the cache miss is never booked as a miss.
- A request that repeats too little cannot tell: the share of the conversation's others that found the cache warm is taken;
  before there are any it counts as warm, which makes our saving smaller, not larger.
- Where caches hit at marks only, a fold event without a hit may be a cold cache, or no mark may stand in what is repeated: how
  likely the one is and the other follows from the conversation's earlier events and from the requests between them.
- Prefixes are cached in steps of 128 tokens, but where the upstream reports tokens written to the cache: there all that is not
  read would have been written.
- A request that was not folded, in a conversation that never was, costs the same with and without.

Without a label for the conversation only the share of cached tokens in the request itself is known, and taken for both.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import orjson

from turnfold.config.prices import TokenUse
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.chat.trail import Trails
from turnfold.proxy.store.records import VERSION, decode_record

_SMALLEST: Final = 1024  # no provider caches a shorter prefix
_STEP: Final = 128  # cached prefixes are reported in such steps (OpenAI)
_TELLS: Final = 3 * _SMALLEST // 2  # a repeated prefix of so many tokens is over the smallest however roughly it was counted


@dataclass(frozen=True, slots=True)
class PastRequest:
    """The last request of a conversation.

    Attributes:
        unfolded: tokens that it would have had, by the upstream's count.
        sent: tokens that it had.
        sections: which folded sections it carried, as a fingerprint; "" for none.
        seen: requests of the conversation that could tell whether the cache was warm.
        warm: how many of them found it so.
        events: requests that could have told but for a fold event with a cache that hits at marks only.
        silent: how many of them found nothing in the cache.
        writes: whether it ever reported tokens written to the cache.
        folded: whether any request of it was folded.
        scale: the upstream's tokens for one of ours, in the last request that went out whole; 0: none did.
        trails: how it began; None where that is not known.
        received: our count of it as it came in; 0 where nobody counted.
    """

    unfolded: int
    sent: int
    sections: str = ""
    seen: int = 0
    warm: int = 0
    events: int = 0
    silent: int = 0
    writes: bool = False
    folded: bool = False
    scale: float = 0.0
    trails: Trails | None = None
    received: int = 0

    def missing_marks(self, usual: float) -> float:
        """How often a fold event finds nothing in a warm cache, 0 to 1: what the share of cold ones leaves unexplained."""
        if not self.events or not usual:
            return 1.0
        return min(1.0, max(0.0, (self.silent - (1 - usual) * self.events) / (usual * self.events)))

    def to_bytes(self) -> bytes:
        """For the store."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return orjson.dumps({VERSION: 1, **named, "trails": self.trails and self.trails.to_json()})

    @classmethod
    def from_bytes(cls, value: bytes) -> PastRequest | None:
        """From the store; None where this release cannot read it."""
        return decode_record("cache model", value, cls._build)

    @classmethod
    def _build(cls, value: Any) -> PastRequest:
        """From the JSON value; a field that is not there has its default."""
        named = {field.name: value[field.name] for field in fields(cls) if field.name in value}
        trails = named.pop("trails", None)
        return cls(**named, trails=Trails.from_json(trails) if trails else None)


def token_use(usage: Usage) -> TokenUse | None:
    """What the upstream says it was paid for; None where it said nothing."""
    if usage.prompt_tokens is None:
        return None
    return TokenUse(usage.prompt_tokens, usage.completion_tokens or 0, usage.cached_tokens or 0, usage.cache_write_tokens or 0)


def is_folded(receipt: Receipt) -> bool:
    """Whether what the upstream got was smaller than what came in, by our own counts."""
    return receipt.status in {"folded", "recovered"} and 0 < receipt.tokens_after < receipt.tokens_before


@dataclass(frozen=True, slots=True)
class _Reach:
    """How much of the last request could come from the cache, in tokens: as it was sent, and unfolded."""

    sent: float
    unfolded: float


def _reach(receipt: Receipt, past: PastRequest, sections: str) -> _Reach:
    """Without trails an unfolded conversation is taken to grow only, and a fold with other sections to repeat nothing."""
    if receipt.trails is None or past.trails is None:
        return _Reach(past.sent if sections == past.sections else 0.0, past.unfolded)
    sent = receipt.trails.sent.repeats(past.trails.sent) * past.sent
    return _Reach(sent, receipt.trails.received.repeats(past.trails.received) * past.unfolded)


@dataclass(frozen=True, slots=True)
class _Look:
    """What a request tells of the cache.

    Attributes:
        tells: whether it repeats enough to tell anything.
        hit: whether the upstream found about what it repeats in the cache.
        doubtful: whether a miss may have another reason than a cold cache.
    """

    tells: bool
    hit: bool
    doubtful: bool

    def warm_share(self, past: PastRequest) -> float:
        """How likely the cache was warm, 0 to 1."""
        usual = past.warm / past.seen if past.seen else 1.0
        if not self.tells:
            return usual
        if self.hit or not self.doubtful:
            return float(self.hit)
        missed = usual * past.missing_marks(usual)
        return missed / (missed + 1 - usual) if missed else 0.0


def _look(used: TokenUse, past: PastRequest, reach: _Reach, sections: str) -> _Look:
    doubtful = sections != past.sections and (past.writes or used.written > 0)
    return _Look(reach.sent >= _TELLS, 2 * used.cached >= reach.sent, doubtful)


def _unfolded_tokens(receipt: Receipt, used: TokenUse, scale: float) -> int:
    if not is_folded(receipt):
        return used.prompt
    return round(receipt.tokens_before * (scale or used.prompt / receipt.tokens_after))


def without_turnfold(receipt: Receipt, used: TokenUse, past: PastRequest | None, sections: str) -> TokenUse:
    """The tokens that the same request would have been charged for, unfolded.

    Args:
        past: the conversation's last request; None when there was none, or it has no label.
        sections: fingerprint of the sections folded in this one.
    """
    if not is_folded(receipt) and not (past and past.folded):
        return used
    prompt = _unfolded_tokens(receipt, used, past.scale if past else 0.0)
    if past is None:
        cached = round(prompt * used.cached / used.prompt) if used.prompt else 0
        written = round(prompt * used.written / used.prompt) if used.prompt else 0
        return TokenUse(prompt, used.completion, cached, min(written, prompt - cached))
    reach = _reach(receipt, past, sections)
    warm = _look(used, past, reach, sections).warm_share(past)
    writes = past.writes or used.written > 0
    whole = min(prompt, round(reach.unfolded))
    whole = 0 if whole < _SMALLEST else whole if writes else whole - whole % _STEP
    cached = round(warm * whole + (1 - warm) * min(whole, used.cached))
    return TokenUse(prompt, used.completion, cached, prompt - cached if writes else 0)


def next_past(receipt: Receipt, used: TokenUse, without: TokenUse, past: PastRequest | None, sections: str) -> PastRequest:
    """What the conversation's next request will need to know."""
    before = past or PastRequest(0, 0)
    look = _look(used, before, _reach(receipt, before, sections), sections)
    clear, doubtful = look.tells and not look.doubtful, look.tells and look.doubtful
    went_whole = not is_folded(receipt) and receipt.tokens_before > 0
    return PastRequest(
        unfolded=without.prompt,
        sent=used.prompt,
        sections=sections,
        seen=before.seen + clear,
        warm=before.warm + (clear and look.hit),
        events=before.events + doubtful,
        silent=before.silent + (doubtful and not look.hit),
        writes=before.writes or used.written > 0,
        folded=before.folded or is_folded(receipt),
        scale=used.prompt / receipt.tokens_before if went_whole else before.scale,
        trails=receipt.trails,
        received=receipt.tokens_before,
    )
