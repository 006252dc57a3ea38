"""How often a provider's prompt cache is warm, learned from reported usage.

This module counts requests by the time since the previous one, and concludes what to expect of later requests. Whether a request
found its cache warm is decided in ``proxy.cache_model``; the shell keeps the counts and has the clock.

A cache holds what it holds for minutes or hours. So warm and cold are counted by the time since the request before, whoever sent
it; how often which time passes is counted apart for what a tool's result ends and what a person's message ends. A cache that
holds for five minutes so comes out warm for a tool loop and cold for a person who thinks. Older requests count less and less, and
what is usual counts as much as a few requests: both make a belief, not a proof.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from turnfold.compression.options import CachePrices, Warmth

#: Limits between classes of the time since the previous request, in seconds.
TIMES: Final = (60.0, 300.0, 600.0, 3600.0)
_CLASSES: Final = len(TIMES) + 1
_MEMORY: Final = 400.0  # requests after which an earlier one weighs 1/e
_PRIOR: Final = 4.0  # weight of the usual belief, in requests
_UNSEEN: Final = 1.0  # the same for how often each class of time occurs
_USUAL: Final = 0.7
_STRONG: Final = 0.15  # price of a cached token relative to a written one, below which a cache counts as strong
_PAUSE: Final = 2  # first class of times that means a pause
_COLD: Final = 0.15  # share of warm requests below which a cache counts as cold: three cold ones and no warm one, or more
_DOUBT: Final = 0.5  # additional warm requests assumed as a margin
_STEP: Final = 20  # steps in which a belief is expressed: a finer one would change with every request

Counts = tuple[float, ...]
_NONE: Final[Counts] = (0.0,) * _CLASSES


@dataclass(frozen=True, slots=True)
class WarmthCounts:
    """Requests by class of the time since the previous one; older requests count less.

    Attributes:
        turns: requests that end with a user's message.
        loops: requests that end with a tool result.
        warm: requests of both kinds that found the cache warm.
    """

    turns: Counts = _NONE
    loops: Counts = _NONE
    warm: Counts = _NONE

    @property
    def seen(self) -> float:
        """Weighted number of requests."""
        return sum(self.turns) + sum(self.loops)

    def to_json(self) -> dict[str, Any]:
        """The counts as a JSON value."""
        return {"turns": self.turns, "loops": self.loops, "warm": self.warm}

    @classmethod
    def from_json(cls, value: Any) -> WarmthCounts:
        """Counts from the JSON value that `to_json` returns.

        Raises:
            ValueError, LookupError, TypeError: the value is invalid.
        """
        counts = [tuple(float(number) for number in value[name]) for name in ("turns", "loops", "warm")]
        if any(len(one) != _CLASSES or min(one) < 0 for one in counts):
            raise ValueError("other classes of time")
        return cls(*counts)


def usual_warmth(prices: CachePrices) -> Warmth:
    """The belief before any observation: tool loops find the cache warm, and so does every request if the cache is strong.

    If cached tokens cost almost nothing, a fold that was wrong about the cache is most expensive.
    """
    return Warmth(1.0 if prices.read <= _STRONG * prices.write else _USUAL, 1.0)


def set_warmth(share: float) -> Warmth:
    """The belief for a configured share of cache hits.

    A tool loop's next request comes within seconds, so it is late at most half as often.
    """
    return Warmth(share, share + (1 - share) / 2)


def observe(counts: WarmthCounts, elapsed: float, *, loop: bool, warm: bool) -> WarmthCounts:
    """The counts with one more request.

    Args:
        elapsed: seconds since the previous request.
        loop: whether it ends with a tool result.
        warm: whether the cache had most of the text that it repeated.
    """
    one = tuple(float(i == bisect_right(TIMES, max(0.0, elapsed))) for i in range(_CLASSES))
    new = WarmthCounts(_NONE if loop else one, one if loop else _NONE, one if warm else _NONE)
    return merge(counts, new)


def is_cold_after(counts: WarmthCounts, elapsed: float) -> bool:
    """Whether a request after this many seconds will find an empty cache, as others after as long or less did."""
    return rests_are_cold([a + b for a, b in zip(counts.turns, counts.loops, strict=True)], counts.warm, elapsed)


def rests_are_cold(seen: Sequence[float], warm: Sequence[float], elapsed: float) -> bool:
    """Like `is_cold_after`, given the requests by class of time, and those of them that found the cache warm."""
    places = range(_PAUSE, bisect_right(TIMES, elapsed) + 1)
    return any((warm[i] + _DOUBT) / (seen[i] + 1) <= _COLD for i in places)


def merge(old: WarmthCounts, new: WarmthCounts) -> WarmthCounts:
    """The counts of two processes combined; those of `new` are the later ones."""
    share = max(0.0, 1.0 - new.seen / _MEMORY)

    def both(a: Counts, b: Counts) -> Counts:
        return tuple(share * x + y for x, y in zip(a, b, strict=True))

    return WarmthCounts(both(old.turns, new.turns), both(old.loops, new.loops), both(old.warm, new.warm))


def belief(counts: WarmthCounts, usual: Warmth) -> Warmth:
    """The warmth that the next requests will find, in steps of a twentieth.

    Args:
        usual: the belief without observations.
    """
    mean = usual.loops if sum(counts.loops) > sum(counts.turns) else usual.turns
    seen = [a + b for a, b in zip(counts.turns, counts.loops, strict=True)]
    rates = [(warm + _PRIOR * mean) / (number + _PRIOR) for warm, number in zip(counts.warm, seen, strict=True)]

    def expected(kind: Counts, prior: float) -> float:
        return (sum(n * rate for n, rate in zip(kind, rates, strict=True)) + _UNSEEN * prior) / (sum(kind) + _UNSEEN)

    loops = expected(counts.loops, usual.loops)
    turns = expected(counts.turns, min(usual.turns, loops))  # people are no faster than tool loops
    return Warmth(*(round(share * _STEP) / _STEP for share in (turns, loops)))
