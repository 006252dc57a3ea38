"""How often a provider's prompt cache is warm, learned from reported usage.

Lives here: counts of requests by the time since the one before, and what they say of the requests to come. Does not belong here:
whether a request found its cache warm (``proxy.books.baseline``), clocks, keeping counts.

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

#: Seconds since the request before, at which one class of times ends and the next begins.
TIMES: Final = (60.0, 300.0, 600.0, 3600.0)
_CLASSES: Final = len(TIMES) + 1
_MEMORY: Final = 400.0  # requests after which an earlier one counts e times less
_PRIOR: Final = 4.0  # requests that what is usual counts for
_UNSEEN: Final = 1.0  # and what it counts for where how often which time passes was not seen
_USUAL: Final = 0.7
_STRONG: Final = 0.15  # price of a cached token, relative to a written one, up to which a cache counts as strong
_PAUSE: Final = 2  # the first class of times in which somebody was away
_COLD: Final = 0.15  # share of warm requests up to which a cache counts as cold: three cold ones and no warm one, or more
_DOUBT: Final = 0.5  # warm requests that are taken to come next
_STEP: Final = 20  # a belief is told in so many steps: a finer one would change with every request

Counts = tuple[float, ...]
_NONE: Final[Counts] = (0.0,) * _CLASSES


@dataclass(frozen=True, slots=True)
class WarmthCounts:
    """Requests by class of the time since the one before; older ones count less.

    Attributes:
        turns: requests that a message of the user's ended.
        loops: requests that a tool's result ended.
        warm: requests of both kinds that found the cache warm.
    """

    turns: Counts = _NONE
    loops: Counts = _NONE
    warm: Counts = _NONE

    @property
    def seen(self) -> float:
        """How many requests they stand for."""
        return sum(self.turns) + sum(self.loops)

    def to_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return {"turns": self.turns, "loops": self.loops, "warm": self.warm}

    @classmethod
    def from_json(cls, value: Any) -> WarmthCounts:
        """From `to_json`.

        Raises:
            ValueError, LookupError, TypeError: the value is not one that `to_json` gives.
        """
        counts = [tuple(float(number) for number in value[name]) for name in ("turns", "loops", "warm")]
        if any(len(one) != _CLASSES or min(one) < 0 for one in counts):
            raise ValueError("other classes of time")
        return cls(*counts)


def usual_warmth(prices: CachePrices) -> Warmth:
    """What is believed before anything was seen: tool loops find the cache warm, and so do all where it is strong.

    Where a cached token costs next to nothing, a fold that was wrong about the cache costs most.
    """
    return Warmth(1.0 if prices.read <= _STRONG * prices.write else _USUAL, 1.0)


def set_warmth(share: float) -> Warmth:
    """What a share of cache hits that was set says. A tool loop's next request comes within seconds, so at most half as many are
    late."""
    return Warmth(share, share + (1 - share) / 2)


def observe(counts: WarmthCounts, elapsed: float, *, loop: bool, warm: bool) -> WarmthCounts:
    """The counts with one more request.

    Args:
        elapsed: seconds since the request before.
        loop: whether a tool's result ended it.
        warm: whether most of what it repeated was found in the cache.
    """
    one = tuple(float(i == bisect_right(TIMES, max(0.0, elapsed))) for i in range(_CLASSES))
    new = WarmthCounts(_NONE if loop else one, one if loop else _NONE, one if warm else _NONE)
    return merge(counts, new)


def is_cold_after(counts: WarmthCounts, elapsed: float) -> bool:
    """Whether a request that comes so long after the one before is known to find nothing in the cache: others that came as long
    after, or less, did not."""
    return rests_are_cold([a + b for a, b in zip(counts.turns, counts.loops, strict=True)], counts.warm, elapsed)


def rests_are_cold(seen: Sequence[float], warm: Sequence[float], elapsed: float) -> bool:
    """The same of requests by class of time, and those of them that found the cache warm."""
    places = range(_PAUSE, bisect_right(TIMES, elapsed) + 1)
    return any((warm[i] + _DOUBT) / (seen[i] + 1) <= _COLD for i in places)


def merge(old: WarmthCounts, new: WarmthCounts) -> WarmthCounts:
    """The counts of two processes as one, those of `new` being the later ones."""
    share = max(0.0, 1.0 - new.seen / _MEMORY)

    def both(a: Counts, b: Counts) -> Counts:
        return tuple(share * x + y for x, y in zip(a, b, strict=True))

    return WarmthCounts(both(old.turns, new.turns), both(old.loops, new.loops), both(old.warm, new.warm))


def belief(counts: WarmthCounts, usual: Warmth) -> Warmth:
    """What the next requests will find, in steps of a twentieth.

    Args:
        usual: what is believed where nothing was seen.
    """
    mean = usual.loops if sum(counts.loops) > sum(counts.turns) else usual.turns
    seen = [a + b for a, b in zip(counts.turns, counts.loops, strict=True)]
    rates = [(warm + _PRIOR * mean) / (number + _PRIOR) for warm, number in zip(counts.warm, seen, strict=True)]

    def expected(kind: Counts, prior: float) -> float:
        return (sum(n * rate for n, rate in zip(kind, rates, strict=True)) + _UNSEEN * prior) / (sum(kind) + _UNSEEN)

    loops = expected(counts.loops, usual.loops)
    turns = expected(counts.turns, min(usual.turns, loops))  # people are not quicker than loops
    return Warmth(*(round(share * _STEP) / _STEP for share in (turns, loops)))
