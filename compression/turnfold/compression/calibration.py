"""What is learned of an upstream's model: how it counts tokens, and how many it takes.

Lives here: the value, its transitions, and what it says. Does not belong here: remembering it (``proxy.windows`` does), counting.

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
_QUIET_IF_SURE: Final = 0.75
_WORTH_TELLING: Final = 1000  # tokens; smaller windows are not served, and reports below it are of what a cache did not hold
_SURE: Final = 5  # figures, all alike, after which a smaller difference tells it
_ALIKE: Final = 1.15
_SIGHTINGS: Final = 3  # of truncated prompts before anything is done about it


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
        if _stands_still(self.quiet):
            return max(reported for _, reported in self.quiet)
        if self.fails is not None and theirs >= self.fails:
            return max(self.fits, self.fails // 2)
        return None

    def may_overflow(self, theirs: int) -> bool:
        """Whether a request of so many tokens could be too long: no window is that small, or as much was taken before."""
        if theirs < _WORTH_TELLING or theirs <= self.fits:
            return False
        return self.limit is None or theirs > 0.7 * self.limit


def learn_from_usage(known: Learned, ours: int, reported: int) -> Learned:
    """What is known after an upstream answered a request of `ours` tokens, and reported a prompt of so many."""
    if reported <= 0:
        return known
    if is_truncated(known, ours, reported):
        quiet = (*known.quiet, (ours, reported))[-_KEPT:]
        if len(quiet) == _KEPT and not _stands_still(quiet):  # they grow with what is sent: it was the ratio that changed
            return replace(known, ratios=tuple(clamp_ratio(r / o) for o, r in quiet), quiet=())
        return replace(known, quiet=quiet)
    ratios = (*known.ratios, clamp_ratio(reported / ours))[-_KEPT:] if ours >= _SMALL else known.ratios
    return replace(
        known,
        ratios=ratios,
        limit=None if known.limit is not None and reported > known.limit else known.limit,
        fits=max(known.fits, reported),
        fails=None if known.fails is not None and reported >= known.fails else known.fails,
        quiet=() if any(reported > cut for _, cut in known.quiet) else known.quiet,
    )


def learn_from_refusal(known: Learned, limit: int | None, theirs: int | None) -> Learned:
    """What is known after an upstream refused a prompt of so many tokens, with or without naming its limit."""
    if limit is not None:
        return replace(known, limit=limit, fits=min(known.fits, limit), fails=None)
    if theirs is None:
        return known
    fails = theirs if known.fails is None else min(known.fails, theirs)
    return replace(known, limit=None, fails=fails, fits=known.fits if known.fits < fails else 0)


def clamp_ratio(ratio: float) -> float:
    """A ratio of theirs to ours within what vocabularies can differ."""
    return min(_MOST, max(_LEAST, ratio))


def is_truncated(known: Learned, ours: int, reported: int) -> bool:
    """Whether a reported prompt is so much shorter than the one sent that the upstream must have cut it off in silence.

    Ollama does so by default. It also reports only what its cache did not hold: small reports say nothing.
    """
    if len(known.ratios) >= _SURE and max(known.ratios) <= _ALIKE * min(known.ratios):
        expected, share = ours * known.ratio, _QUIET_IF_SURE
    else:
        expected, share = ours * min(1.0, known.ratio), _QUIET
    return _WORTH_TELLING <= reported < share * expected


def _stands_still(quiet: tuple[tuple[int, int], ...]) -> bool:
    """Whether short reports show a window: they stay as they are while what is sent grows."""
    if len(quiet) < _SIGHTINGS:
        return False
    ours, reported = zip(*quiet, strict=True)
    return bool(max(ours) >= _ALIKE * min(ours) and max(reported) <= 1.1 * min(reported))
