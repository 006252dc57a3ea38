"""What the model remembers of a conversation: its last request, and earlier ones that a later request may follow.

This is the record with what can be read off it, and its form in the store. How it changes with a request is up to
``succession``; which request a new one follows, to ``predecessor``.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from math import sqrt
from typing import Any, Final, NamedTuple

from turnfold.compression.warmth import TIMES, rests_are_cold
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.store.records import VERSION, decode_record, encode_record
from turnfold.proxy.trails.trail import Trails

_PATIENCE: Final = 4  # requests after a fold during which it is not judged
_TOLERANCE: Final = 0.002  # share of the cost without Turnfold; the model is no more accurate than that
NO_TIMES: Final = ((0, 0),) * (len(TIMES) + 1)
#: Tokens of a request whose counts tell the upstream's counting from ours.
LEAST_SCALED: Final = 1024


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
        each = (then - there) / (last - first) if last - first >= LEAST_SCALED else 0.0
        return then + each * (tokens - last) if 0.5 * self.scale < each < 2 * self.scale else tokens * self.scale

    def warm_after(self, elapsed: float, *, expired: bool = False) -> float:
        """The share of those that came so long behind the one before; that of these and of quicker ones counts as one of them, or
        a cold one if what was marked has expired. It is 0 where a fold may rest on that."""
        times, place = self.times or NO_TIMES, bisect_right(TIMES, elapsed)
        all_seen, all_warm = [seen for seen, _ in times], [warm for _, warm in times]
        if rests_are_cold(all_seen, all_warm, elapsed):
            return 0.0
        quicker = sum(all_seen[: place + 1])  # a rest that was cold says nothing of a quick answer
        usual = 0.0 if expired else sum(all_warm[: place + 1]) / quicker if quicker else 1.0
        return (all_warm[place] + usual) / (all_seen[place] + 1)

    def missing_marks(self) -> float:
        """Probability that a fold event finds nothing in a warm cache: the misses that neither the share of cold caches nor
        chance explains (one standard error)."""
        usual = self.warm_share
        if not self.events or not usual:
            return 1.0
        explained = (1 - usual) * self.events + sqrt(usual * (1 - usual) * self.events)
        return min(1.0, max(0.0, (self.silent - explained) / (usual * self.events)))

    def shares_key_with(self, receipt: Receipt) -> bool:
        """Whether both requests have the same `prompt_cache_key`."""
        key, own = (trails.key if trails else 0 for trails in (self.trails, receipt.trails))
        return key == own

    @property
    def inherited(self) -> PastRequest:
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

    def alone(self) -> PastRequest:
        """The request without what is known of the whole conversation."""
        known = self._asdict()
        return PastRequest(**{name: known[name] for name in OWN_FIELDS})

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
OWN_FIELDS: Final = (
    *("unfolded", "sent", "sections", "scale", "trails", "received", "at", "since"),
    *("folded_tokens", "foldable", "model", "schema", "answered", "stood", "stood_sent"),
)
