"""What is learned of an upstream's model: how it counts tokens, and how many it takes.

Lives here: the value, its transitions, and what it says. Must not: remembering it (``proxy.windows`` does), counting.

Used in fitting and reporting only: borders of folds are found with the plain counter, or they would move as we learn.

A reported figure may be wrong (a cache that hides its hits, a server that truncates, a gateway that counts characters), so
one figure never decides: the ratio is the median of the last few, each within bounds; and whatever was learned is dropped as
soon as the upstream takes more than that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from statistics import median
from typing import Final

_KEPT: Final = 9  # figures whose median is taken: five wrong ones in nine are needed to move it
_LEAST: Final = 0.4  # theirs / ours; a vocabulary of 200k against a costlier one on Chinese text comes near this
_MOST: Final = 5.0  # a byte-level vocabulary on text that it does not know comes near this
_SMALL: Final = 200  # tokens below which the overhead of templates is most of what differs
_QUIET: Final = 0.5  # share of the expected prompt below which a report means that text was cut off
_WORTH_TELLING: Final = 1000
_SURE: Final = 3  # figures after which a ratio is trusted to tell a truncated prompt at once


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of one upstream and model; all but `ratios` in the upstream's own tokens.

    Attributes:
        ratios: theirs / ours of the last requests, the newest last.
        limit: the window, as an error named it.
        fits: the longest prompt that was taken.
        fails: the shortest prompt that was refused, where no limit was named.
        quiet: ours and reported of prompts that came back far too short: the upstream cut them off in silence.
    """

    ratios: tuple[float, ...] = ()
    limit: int | None = None
    fits: int = 0
    fails: int | None = None
    quiet: tuple[tuple[int, int], ...] = ()

    @property
    def ratio(self) -> float:
        """Theirs / ours; 1.0 as long as nothing was reported."""
        return median(self.ratios) if self.ratios else 1.0

    def theirs(self, ours: int) -> int:
        """Tokens that the upstream will count where we count `ours`."""
        return ceil(ours * self.ratio)

    def window(self, theirs: int) -> int | None:
        """The window that a request of so many tokens has to fit; None as long as nothing speaks against sending it."""
        if self.limit is not None:
            return self.limit
        if _cut_off(self.quiet, len(self.ratios)):
            return max(reported for _, reported in self.quiet)
        if self.fails is not None and theirs >= self.fails:
            return max(self.fits, self.fails // 2)
        return None

    def may_overflow(self, theirs: int) -> bool:
        """Whether a request of so many tokens could be too long: no window is that small, or as much was taken before."""
        if theirs < _WORTH_TELLING or theirs <= self.fits:
            return False
        return self.limit is None or theirs > 0.7 * self.limit


def taken(known: Learned, ours: int, reported: int) -> Learned:
    """What is known after an upstream answered a request of `ours` tokens, and reported a prompt of so many."""
    if reported <= 0:
        return known
    if truncated(known, ours, reported):
        return replace(known, quiet=(*known.quiet, (ours, reported))[-_KEPT:])
    ratios = (*known.ratios, bounded(reported / ours))[-_KEPT:] if ours >= _SMALL else known.ratios
    return replace(
        known,
        ratios=ratios,
        limit=None if known.limit is not None and reported > known.limit else known.limit,
        fits=max(known.fits, reported),
        fails=None if known.fails is not None and reported >= known.fails else known.fails,
        quiet=() if any(reported > cut for _, cut in known.quiet) else known.quiet,
    )


def refused(known: Learned, limit: int | None, theirs: int | None) -> Learned:
    """What is known after an upstream refused a prompt of so many tokens, with or without naming its limit."""
    if limit is not None:
        return replace(known, limit=limit, fits=min(known.fits, limit), fails=None)
    if theirs is None:
        return known
    fails = theirs if known.fails is None else min(known.fails, theirs)
    return replace(known, limit=None, fails=fails, fits=known.fits if known.fits < fails else 0)


def bounded(ratio: float) -> float:
    """A ratio of theirs to ours within what vocabularies can differ."""
    return min(_MOST, max(_LEAST, ratio))


def truncated(known: Learned, ours: int, reported: int) -> bool:
    """Whether a reported prompt is so much shorter than the one sent that the upstream must have cut it off in silence.

    Ollama does so by default. A report of nothing is no report. A ratio above 1 is not held against a report: it may be the
    ratio that is wrong, and would never be put right.
    """
    expected = ours * min(1.0, known.ratio)
    return expected >= _WORTH_TELLING and 0 < reported < _QUIET * expected


def _cut_off(quiet: tuple[tuple[int, int], ...], figures: int) -> bool:
    """Whether short reports show a window: their size stays while what was sent grows, or the ratio was known before."""
    if not quiet or figures >= _SURE:
        return bool(quiet)
    ours, reported = zip(*quiet, strict=True)
    return bool(max(ours) >= 1.15 * min(ours) and max(reported) <= 1.1 * min(reported))
