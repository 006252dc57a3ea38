"""What a request would have cost without Turnfold: a model of the provider's prompt cache for the unfolded conversation.

Lives here: that model, and what it remembers of a conversation. Does not belong here: prices, storage.

The model, for requests of one conversation in their order:

- Unfolded, a request would have had ``before`` tokens by our count. They are scaled to the upstream's count by the ratio of the
  conversation's last request that was sent whole and was not tiny, or of this request if there was none.
- Of these, the part that repeats the last received request (by their trails) could have come from the cache.
- Whether the cache would have held it is inferred from the request that was sent. A warm cache holds what that request repeats of
  the last sent one: if the upstream reports at least half of it as cached, the cache was warm and would have held the unfolded
  prefix too; if less, it was cold and would have held no more of the unfolded prefix than of the sent one. So a miss caused by an
  idle user is never booked as a saving, and a miss caused by folding is never booked as a miss of the baseline.
- A request that repeats too little tells nothing: the conversation's share of warm requests is used instead, of those that came
  about as long behind the one before, or 1 if there are none yet, which makes our saving smaller, not larger.
- If caches hit only at marks, what is repeated is what ends at a mark of an earlier request, or with it where providers keep
  that too. The client's marks tell (``trails.cache_entries``), and what is in front of the last one would have been written.
- Where such a provider gets no mark of the client's, a fold event without a hit has two possible reasons: a cold cache, or no
  mark inside what is repeated. Their likelihoods follow from its earlier fold events and from the requests between them.
- Prefixes are cached in steps of 128 tokens, unless the upstream reports tokens written to the cache: then everything that is not
  read would have been written.
- A request that was not folded, in a conversation that never was, costs the same with and without.
- Sessions that begin alike have one name, and so have branches of one: agents that run beside each other, a chat that was edited.
  A request follows the one, of the last few, of which it repeats most. The others are kept for the requests that follow them.
- Where the tools are others than before, what was cached before is lost, with us and without: they stand in front of everything.
- Each model has a cache of its own: a request follows those for its own model. Where there is none yet, nothing of the
  conversation is cached.
- A request of which the upstream reported no usage, as of a stream that its client left, is in the cache all the same: the ones
  behind it follow it as if it had had the tokens that we counted.
- So has each `prompt_cache_key`, unless the request that was sent shows that it found what was left under another one.
- What a request leaves can be found once its answer has begun, not before (Anthropic, "Prompt caching": "a cache entry only
  becomes available after the first response begins"). A request follows none that was still being read when it came, and what it
  found in the cache all the same would have been found unfolded too. An answer that was not streamed begins at a time that nobody
  knows: half a second is taken to be the most.
- If some had to be dropped, a request that follows none of those left may follow one of these. All of it could then have come
  from the cache, which makes our saving smaller, not larger; unfolded, it costs the same with and without.

Without a conversation label only the request's own share of cached tokens is known; it is used for both.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from math import sqrt
from typing import Any, Final, NamedTuple

from turnfold.compression.warmth import TIMES, rests_are_cold
from turnfold.config.prices import TokenUse, caches_at_marks, least_cached
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.store.records import VERSION, decode_record, encode_record
from turnfold.proxy.trails.trail import Trail, Trails

_STEP: Final = 128  # cached prefixes are reported in such steps (OpenAI)
_PATIENCE: Final = 4  # requests after a fold during which it is not judged
_TOLERANCE: Final = 0.002  # share of the cost without Turnfold; the model is no more accurate than that
_TELLS: Final = 1.5  # a repeated prefix of so many times the shortest that is cached is over it however roughly it was counted
_OTHERS: Final = 63  # requests besides the last one that a new one may follow; fewer if they are long (_MOST_SUMS)
_SCALED: Final = 1024  # tokens of a request whose counts tell the upstream's counting from ours
_FOLLOWS: Final = 0.9  # share of a request that must be repeated: clients change the end of their last message
_MOST_SUMS: Final = 48 * 1024  # bytes of their fingerprints: eight conversations of 100,000 to 200,000 tokens have 10 to 40 kB
_HOUR: Final = 3600  # seconds: the longer of the two lifetimes of Anthropic's marks
_READ: Final = 0.5  # seconds during which the prompt of an unstreamed request counts as still being read
_NO_TIMES: Final = ((0, 0),) * (len(TIMES) + 1)


class PastRequest(NamedTuple):
    """The last request of a conversation.

    Attributes:
        unfolded: tokens that it would have had unfolded, by the upstream's count.
        sent: tokens that it had.
        sections: fingerprint of the folded sections that it carried; "" for none.
        seen: requests of the conversation that showed whether the cache was warm.
        warm: how many of them found it warm.
        events: fold events that would have shown it if the cache did not hit only at marks.
        silent: how many of them found nothing in the cache.
        writes: whether the upstream ever reported tokens written to the cache.
        folded: whether any request of it was folded.
        scale: the upstream's tokens per token counted here in the last request that was sent whole; 0 if there was none that is
            long enough to tell: what is added to every prompt is most of a tiny one.
        trails: fingerprints of its beginnings; None if unknown.
        received: our count of the received request; 0 if it was not counted.
        at: Unix time of its arrival.
        paid, without: dollars of all requests so far, and what they would have been without Turnfold.
        folded_tokens: tokens that it would have had folded, if it was observed; else 0.
        foldable: our count of what could be folded of it.
        since: requests since the newest fold event, itself included; 0: there was none.
        others: earlier requests that a later one may follow, the newest first; they know nothing of the conversation as a whole.
        crowded: whether some that a later one may follow were dropped.
        model: to which it went; "" in records from before it was kept.
        times: of `seen` and `warm`, those in each class of the time since the request before (``warmth.TIMES``);
            () for none.
        schema: fingerprint of its tools and response format; None if unknown.
        answered: Unix time from which on a later request may find it in the cache.
        counted: our count and the upstream's of the last request that was sent whole, and in front of that of the first one with
            its tools; () for none.
        stood, stood_sent: tokens of it, unfolded and as it was sent, that an earlier request had left.
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
    at: float = 0.0
    paid: float = 0.0
    without: float = 0.0
    since: int = 0
    folded_tokens: int = 0
    foldable: int = 0
    others: tuple[PastRequest, ...] = ()
    crowded: bool = False
    model: str = ""
    schema: str | None = None
    times: tuple[tuple[int, int], ...] = ()
    answered: float = 0.0
    counted: tuple[int, ...] = ()
    stood: int = 0
    stood_sent: int = 0

    @property
    def overdue(self) -> bool:
        """Whether the conversation's folds have not paid off when they should have."""
        return self.since >= _PATIENCE and self.paid > (1 + _TOLERANCE) * self.without

    @property
    def warm_share(self) -> float:
        """The share of the conversation's requests that found the cache warm."""
        return self.warm / self.seen if self.seen else 1.0

    def upstream_count(self, tokens: int) -> float:
        """By the upstream's count, where so many tokens are ours. It counts tools otherwise, and they are the same in each
        request: only what came between two that were sent whole tells how it counts the rest."""
        first, there, last, then = self.counted or (0, 0, 0, 0)
        each = (then - there) / (last - first) if last - first >= _SCALED else 0.0
        return then + each * (tokens - last) if 0.5 * self.scale < each < 2 * self.scale else tokens * self.scale

    def warm_after(self, elapsed: float) -> float:
        """The share of those that came so long behind the one before; that of these and of quicker ones counts as one of them. It
        is 0 where a fold may rest on that."""
        times, place = self.times or _NO_TIMES, bisect_right(TIMES, elapsed)
        all_seen, all_warm = [seen for seen, _ in times], [warm for _, warm in times]
        if rests_are_cold(all_seen, all_warm, elapsed):
            return 0.0
        quicker = sum(all_seen[: place + 1])  # a rest that was cold says nothing of a quick answer
        usual = sum(all_warm[: place + 1]) / quicker if quicker else 1.0
        return (all_warm[place] + usual) / (all_seen[place] + 1)

    def missing_marks(self) -> float:
        """Probability that a fold event finds nothing in a warm cache: the misses that neither the share of cold caches nor
        chance explains (one standard error)."""
        usual = self.warm_share
        if not self.events or not usual:
            return 1.0
        explained = (1 - usual) * self.events + sqrt(usual * (1 - usual) * self.events)
        return min(1.0, max(0.0, (self.silent - explained) / (usual * self.events)))

    def followed_by(self, receipt: Receipt) -> PastRequest:
        """The same, with the request first of which a new one repeats most of those for its model that it may find in the cache;
        the newest of these where several are alike."""
        if receipt.trails is None:
            return self
        received = receipt.trails.received
        left = [one for one in (self, *self.others) if one.model in ("", receipt.model)]
        followed = _most_repeated(left, received)
        if followed and not followed.may_be_found_by(receipt) and not followed.is_found_by(receipt):
            mine = [one for one in left if one.has_key_of(receipt)]
            there = (one.before_it if one.is_read_beside(receipt) else one for one in mine)
            followed = _most_repeated(there, received)
            followed = followed if followed and followed.unfolded else None
        if followed is self:
            return self
        others = tuple(one for one in (self.alone(), *self.others) if one is not followed)
        if followed is None:
            return self._replace(unfolded=0, sent=0, folded_tokens=0, trails=None, model=receipt.model, others=others)
        known = followed._asdict()
        own = {name: known[name] for name in _OWN} | {"scale": followed.scale or self.scale}
        return self._replace(**own, others=others)

    def may_be_found_by(self, receipt: Receipt) -> bool:
        """Whether what it left is where the other looks, and was there when the other came."""
        return self.has_key_of(receipt) and not self.is_read_beside(receipt)

    def has_key_of(self, receipt: Receipt) -> bool:
        """Whether both requests have the same `prompt_cache_key`."""
        key, own = (trails.key if trails else 0 for trails in (self.trails, receipt.trails))
        return key == own

    @property
    def before_it(self) -> PastRequest:
        """What of it an earlier request had left, which may be known no more, as a request of its own."""
        if self.trails is None or not (self.unfolded and self.stood):
            return PastRequest(0, 0)
        received = self.trails.received.begun(self.stood / self.unfolded)
        sent = self.trails.sent.begun(self.stood_sent / self.sent if self.sent else 0.0)
        trails, known = replace(self.trails, received=received, sent=sent), self.alone()
        return known._replace(unfolded=self.stood, sent=self.stood_sent, trails=trails, received=0, answered=self.at, stood=0)

    def is_read_beside(self, receipt: Receipt) -> bool:
        """Whether it was still being read when the other came. One from after the other's end is from before a clock was set
        back."""
        return receipt.at < self.answered and self.at <= receipt.at + receipt.total_ms / 1000

    def is_found_by(self, receipt: Receipt) -> bool:
        """Whether the other request found this one in the cache."""
        used = token_use(receipt.usage)
        look = used and _look(receipt, used, self, _reach(receipt, self, ""), "")
        return bool(look and look.tells and look.hit)

    def alone(self) -> PastRequest:
        """The request without what is known of the whole conversation."""
        known = self._asdict()
        return PastRequest(**{name: known[name] for name in _OWN})

    def to_bytes(self) -> bytes:
        """The record's bytes."""
        return encode_record({VERSION: 1, **self._to_json(), "others": [one._to_json() for one in self.others]})

    def _to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "trails": self.trails and self.trails.to_json(), "others": ()}

    @classmethod
    def from_bytes(cls, value: bytes) -> PastRequest | None:
        """The record from its bytes; None if this release cannot read it."""
        return decode_record("cache model", value, cls._build)

    @classmethod
    def _build(cls, value: Any) -> PastRequest:
        """From the JSON value; a field that is not there has its default."""
        named = {name: value[name] for name in cls._fields if name in value}
        trails = named.pop("trails", None)
        others = tuple(cls._build(one) for one in named.pop("others", ()))
        times = tuple((seen, warm) for seen, warm in named.pop("times", ()))
        counted = tuple(named.pop("counted", ()))
        return cls(**named, counted=counted, trails=Trails.from_json(trails) if trails else None, others=others, times=times)


#: Fields of a past request that concern only itself, not the conversation.
_OWN: Final = (
    *("unfolded", "sent", "sections", "scale", "trails", "received", "at", "since"),
    *("folded_tokens", "foldable", "model", "schema", "answered", "stood", "stood_sent"),
)


def _most_repeated(left: Iterable[PastRequest], received: Trail) -> PastRequest | None:
    def repeated(one: PastRequest) -> float:
        return received.repeats(one.trails.received) * one.trails.received.size if one.trails else 0.0

    return max(left, key=repeated, default=None)


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
class _Reach:
    """Tokens of the last request that could come from the cache: as it was sent, and unfolded.

    Attributes:
        marked: whether they follow from the client's marks.
    """

    sent: float
    unfolded: float
    marked: bool = False


def _has_other_tools(receipt: Receipt, past: PastRequest) -> bool:
    return past.schema not in (None, receipt.schema)


def _reach(receipt: Receipt, past: PastRequest, sections: str) -> _Reach:
    """Without trails, an unfolded conversation is assumed to only grow, and a fold with other sections to repeat nothing."""
    if _has_other_tools(receipt, past):
        return _Reach(0.0, 0.0)
    if receipt.trails is None or past.trails is None:
        return _Reach(past.sent if sections == past.sections else 0.0, past.unfolded)
    now, before = receipt.trails, past.trails
    marked = _hits_at_marks(receipt, past) and bool(before.received.entries.left)
    sent, whole = now.sent.repeats(before.sent), now.received.repeats(before.received)
    if marked:
        since = _time_that_counts(receipt, past, now, before)
        sent = now.sent.entries.found(before.sent.entries, since)
        whole = now.received.entries.found(before.received.entries, since)
    whole *= past.unfolded
    return _Reach(whole if receipt.status == "observed" else sent * past.sent, whole, marked)


def _time_that_counts(receipt: Receipt, past: PastRequest, now: Trails, before: Trails) -> float | None:
    """Seconds after which what its mark asked to have kept for less counts as gone. None where the request that was sent shows
    that it is not, and where nothing would be left: whether it was cold, that request tells."""
    since = receipt.at - past.at
    ever, kept = (now.sent.entries.found(before.sent.entries, time) * past.sent for time in (None, since))
    lasts = ever > kept and 2 * (receipt.usage.cached_tokens or 0) > ever + kept
    return None if lasts or not now.received.entries.found(before.received.entries, since) else since


def _hits_at_marks(receipt: Receipt, past: PastRequest | None) -> bool:
    return caches_at_marks(receipt.model) or bool(past and past.writes) or bool(receipt.usage.cache_write_tokens)


@dataclass(frozen=True, slots=True)
class _Look:
    """What a request reveals about the cache.

    Attributes:
        tells: whether it repeats enough to reveal anything.
        hit: whether the upstream found most of what it repeats in the cache.
        doubtful: whether a miss may have a reason other than a cold cache.
    """

    tells: bool
    hit: bool
    doubtful: bool

    def warm_share(self, past: PastRequest, elapsed: float) -> float:
        """Probability that the cache was warm, so many seconds behind the request that this one follows."""
        usual = past.warm_after(elapsed)
        if not self.tells:
            return usual
        if self.hit or not self.doubtful:
            return float(self.hit)
        missed = usual * past.missing_marks()
        return missed / (missed + 1 - usual) if missed else 0.0


def _look(receipt: Receipt, used: TokenUse, past: PastRequest, reach: _Reach, sections: str) -> _Look:
    doubtful = sections != past.sections and (past.writes or used.written > 0) and not reach.marked
    return _Look(reach.sent >= _TELLS * least_cached(receipt.model), 2 * used.cached >= reach.sent, doubtful)


def cache_was_warm(receipt: Receipt, used: TokenUse, past: PastRequest | None, sections: str) -> bool | None:
    """Whether the upstream found the request before in its cache; None where this request does not show it. One with tools that
    the provider ran does not: what its first sampling wrote to the cache, the next ones found there."""
    if past is None or receipt.usage.cached_tokens is None or receipt.hosted:
        return None
    look = _look(receipt, used, past, _reach(receipt, past, sections), sections)
    return look.hit if look.tells and not look.doubtful else None


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
        reach, now, before = _reach(receipt, past, ""), receipt.trails.sent, past.trails.sent
        repeated = now.entries.found(before.entries) if reach.marked else now.repeats(before)
        tokens = min(prompt, round(repeated * (past.folded_tokens or past.sent)))
        whole = _held(receipt, tokens, in_steps=not (writes or reach.marked))
        cached = whole if 2 * used.cached >= reach.unfolded else min(whole, used.cached)
    written = prompt - cached if writes else 0
    hours = round(written * used.written_hour / used.written) if used.written else 0
    return _other_prompt(used, prompt, cached, written, hours)


def _held(receipt: Receipt, tokens: int, *, in_steps: bool) -> int:
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
        return _other_prompt(used, prompt, cached, written, _hours(receipt, used, prompt, cached, written))
    reach = _reach(receipt, past, sections)
    warm = _look(receipt, used, past, reach, sections).warm_share(past, receipt.at - past.at)
    writes = past.writes or used.written > 0
    whole = prompt if unknown else min(prompt, round(reach.unfolded * _recounted(receipt, prompt, past)))
    whole = _held(receipt, whole, in_steps=not (writes or reach.marked))
    whole = max(whole, min(prompt, used.cached))  # shared tools, or requests that begin alike
    cached = round(warm * whole + (1 - warm) * min(whole, used.cached))
    written = _written(receipt, used, past, prompt, cached)
    if written is None:
        written = prompt - cached if writes else 0
    return _other_prompt(used, prompt, cached, written, _hours(receipt, used, prompt, cached, written))


def _recounted(receipt: Receipt, prompt: int, past: PastRequest) -> float:
    """By how much what is known of the last request is to be scaled to count as this one does: how a short prompt, as both may
    have been sent, was counted says little of a long one."""
    if past.scale or not (is_folded(receipt) and past.received and past.unfolded):
        return 1.0
    return prompt / receipt.tokens_before * past.received / past.unfolded


def _written(receipt: Receipt, used: TokenUse, past: PastRequest | None, prompt: int, cached: int) -> int | None:
    """Tokens that the client asks to have written to the cache, unfolded; as sent it may be too short for that. None where it
    asks for nothing, or nobody heeds it."""
    trails, least = receipt.trails, least_cached(receipt.model)
    if trails is None or not trails.received.entries.left or not _hits_at_marks(receipt, past):
        return None
    if not (used.written or used.cached) and trails.sent.entries.last * used.prompt >= _TELLS * least:
        return None
    asked = round(trails.received.entries.last * prompt)
    return max(0, asked - cached) if asked >= least else 0


def _hours(receipt: Receipt, used: TokenUse, prompt: int, cached: int, written: int) -> int:
    """Those of them that are to be kept for an hour: the client asks for the same lifetimes, folded or not."""
    share = receipt.trails.received.entries.last_for(_HOUR) if receipt.trails else 0.0
    if share and (used.written_hour or not used.written):
        return min(written, max(0, round(share * prompt) - cached))
    return round(written * used.written_hour / used.written) if used.written else 0


def _follows_a_dropped_one(receipt: Receipt, past: PastRequest) -> bool:
    if not past.crowded or receipt.trails is None:
        return False
    return past.trails is None or receipt.trails.received.repeats(past.trails.received) < _FOLLOWS


def _other_prompt(used: TokenUse, prompt: int, cached: int, written: int, hours: int) -> TokenUse:
    """A copy of the request with another prompt."""
    return replace(used, prompt=prompt, cached=cached, written=written, written_hour=hours)


def next_past(receipt: Receipt, used: TokenUse, without: TokenUse, past: PastRequest | None, sections: str) -> PastRequest:
    """What the model remembers for the conversation's next request."""
    before = past or PastRequest(0, 0)
    reach = _reach(receipt, before, sections)
    look = _look(receipt, used, before, reach, sections)
    clear, doubtful = look.tells and not look.doubtful, look.tells and look.doubtful
    observed = receipt.status == "observed" and receipt.tokens_before > 0
    others, crowded = _others(receipt, past)
    tells_scale = not is_folded(receipt) and receipt.tokens_before >= _SCALED
    now = (receipt.tokens_before, used.prompt)
    first = now if _has_other_tools(receipt, before) or not before.counted else before.counted[:2]
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
        times=_with_one(before.times, receipt.at - before.at, look.hit) if clear else before.times,
        answered=_answered(receipt),
        counted=(*first, *now) if tells_scale else before.counted,
        stood=min(without.prompt, round(reach.unfolded)),
        stood_sent=min(used.prompt, round(reach.sent)),
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


def _with_one(times: tuple[tuple[int, int], ...], elapsed: float, hit: bool) -> tuple[tuple[int, int], ...]:
    times, place = times or _NO_TIMES, bisect_right(TIMES, elapsed)
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


def _others(receipt: Receipt, past: PastRequest | None) -> tuple[tuple[PastRequest, ...], bool]:
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
