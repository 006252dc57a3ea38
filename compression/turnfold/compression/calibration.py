"""What is learned about an upstream's model: how it counts tokens, and how many it takes.

Lives here: the value, its transitions, and what it says. Does not belong here: remembering it (``proxy.windows`` does), counting.

Used in fitting and reporting only: borders of folds are found with the plain counter, or they would move as we learn.

A reported figure may be wrong (a cache that hides its hits, a server that truncates, a gateway that counts characters), so
one figure never decides: the ratio is the median of the last few, each within bounds; and whatever was learned is dropped as
soon as the upstream takes more than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log
from statistics import median
from typing import Any, Final

_KEPT: Final = 9  # figures whose median is taken: five wrong ones in nine are needed to move it
_LEAST: Final = 0.4  # theirs / ours; a vocabulary of 200k against a costlier one on Chinese text comes near this
_MOST: Final = 5.0  # a byte-level vocabulary on text that it does not know comes near this
_SMALL: Final = 200  # tokens below which the overhead of templates is most of what differs
_QUIET: Final = 0.5  # share of the expected prompt below which a report means that text was cut off
_QUIET_IF_SURE: Final = 0.75
_WORTH_TELLING: Final = 1000  # tokens; smaller windows are not served, and reports below it are of what a cache did not hold
_SURE: Final = 5  # figures, all alike, after which a smaller difference tells it
_ALIKE: Final = 1.15
_NEARLY: Final = 0.9  # share of the shortest prompt that was refused from which on one would be refused too, as good as sure
_CLEARLY: Final = 0.93  # share of the expected prompt below which one report says something
_STEADY: Final = 1.03  # a report no more than this times the longest one stands still
_SAME: Final = 0.05  # claims of a limit that differ by no more than this share are the same claim
_SIGHTINGS: Final = 3  # of truncated prompts before anything is done about it
_UNEVEN_SIGHTINGS: Final = 6  # of those whose reports differ: a server drops whole messages, and what is left is uneven
_OWN: Final = 0.93  # share of its own ratio down to which a conversation is counted as ever
_SAME_GROWTH: Final = 1.03  # growth of what is sent that shows a window where every report has the very same figure
_STEP: Final = 1.08  # of a ladder of ratios: at most a twenty-fifth is given away
_LEAVES: Final = 0.75  # of a step: a ratio that far from the one that is planned by moves it; half would be the edge
_UNUSUAL: Final = 2.0  # theirs / ours; of text in most languages no vocabulary in use takes more, of Indic scripts older ones do
_CONTRADICTS: Final = 0.75  # share of what the ratio says below which the longest report decides
_TEMPLATE: Final = 500  # tokens that a server's own template may add to a prompt


@dataclass(frozen=True, slots=True)
class Belief:
    """A window that was learned.

    Attributes:
        window: in the upstream's own tokens.
        source: "error" (an error named it), "cut-off" (longer prompts are cut off in silence) or "refusal" (a guess: a longer
            prompt was refused without naming a limit).
        seen: how often.
    """

    window: int
    source: str
    seen: int


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of one upstream and model; all but `ratios` in the upstream's own tokens.

    Attributes:
        ratios: theirs / ours of the last requests, the newest last.
        limit: the window, as an error named it.
        claims: how many errors in a row named about this limit.
        over: what became of the last prompts that were longer than it, the newest last: whether they were taken.
        fits: the longest prompt that was taken.
        fails: the shortest prompt that was refused, where no limit was named.
        top: ours and reported of the longest report, as short as ours was when it was first reached.
        quiet: ours and reported of prompts that came back far too short: the upstream cut them off in silence.
        binds_thinking: whether it refused a thinking block because of what stood in front of it.
        trusted: whether what was learned of the window is acted on now; False while it is put to the test again.
        planned: the step of a ladder that rooms are planned by, since ratios change a little with every answer and rooms should
            not; 0: none yet.
    """

    ratios: tuple[float, ...] = ()
    limit: int | None = None
    claims: int = 0
    over: tuple[bool, ...] = ()
    fits: int = 0
    fails: int | None = None
    top: tuple[int, int] = (0, 0)
    quiet: tuple[tuple[int, int], ...] = ()
    binds_thinking: bool = False
    trusted: bool = True
    planned: float = 0.0

    @property
    def ratio(self) -> float:
        """Theirs / ours; 1.0 as long as nothing was reported."""
        return median(self.ratios) if self.ratios else 1.0

    def scaled(self, ours: int) -> int:
        """Tokens that the upstream would count where we count `ours`, if it counted all of a prompt in one way."""
        return ceil(ours * self.ratio)

    def theirs(self, ours: int) -> int:
        """Tokens that the upstream will count where we count `ours`.

        What it adds to each prompt (instructions of its own, a file that lies there, a search) is about the same however long the
        rest is: where the ratio is more than vocabularies differ by as a rule, as beside many short prompts, and the longest
        report clearly contradicts it, that one decides.
        """
        scaled, (counted, told) = self.scaled(ours), self.top
        added = max(0, told - counted)
        most = max(ours, counted) + added
        return most if counted and self.ratio > _UNUSUAL and most < _CONTRADICTS * scaled else scaled

    @property
    def cut_at(self) -> int | None:
        """The length at which the upstream cuts prompts off in silence, as far as that shows."""
        return max(reported for _, reported in self.quiet) if _stands_still(self.quiet, self.top) else None

    @property
    def claimed(self) -> int | None:
        """The window that errors named, unless most of the prompts beyond it are taken: a pool serves one name by several."""
        return self.limit if self.limit is not None and self.over.count(False) > self.over.count(True) else None

    @property
    def belief(self) -> Belief | None:
        """The window that was learned, whether or not it is acted on now; None where none was."""
        if self.claimed is not None:
            return Belief(self.claimed, "error", self.claims)
        if self.cut_at is not None:
            return Belief(self.cut_at, "cut-off", len(self.quiet))
        if self.fails is not None:
            return Belief(self._guess, "refusal", 1)
        return None

    @property
    def _guess(self) -> int:
        """A window that would have refused what was refused, and taken what was taken."""
        return max(self.fits, (self.fails or 0) // 2)

    def window(self, theirs: int, published: int | None = None) -> int | None:
        """The window that a request of so many tokens has to fit; None as long as nothing speaks against sending it.

        Args:
            published: what is published of the model; a claim below that needs a second witness, and prompts that seem to be
                cut off below it must be so beyond doubt. It stands unless the upstream took more: tables of windows are often
                behind.
        """
        known = published if published is not None and published >= self.fits else None
        if not self.trusted:
            return known
        contradicted = (published is not None and (self.limit or 0) < published) or (self.limit or 0) < self.fits
        if self.claimed is not None and (self.claims > 1 or not contradicted):
            return self.claimed
        cut = self.cut_at
        if cut is not None and (known is None or cut >= known or _is_beyond_doubt(self.quiet, self.top)):
            return cut
        if known is None and self.fails is not None and theirs > self.fits and theirs >= _NEARLY * self.fails:
            return self._guess
        return known

    def may_overflow(self, theirs: int) -> bool:
        """Whether a request of so many tokens could be too long: no window is that small, or as much was taken before."""
        if theirs < _WORTH_TELLING:
            return False
        if self.limit is not None:
            return theirs > 0.7 * self.limit
        return theirs > self.fits


def learn_from_usage(known: Learned, ours: int, reported: int, own: tuple[int, int] = (0, 0)) -> Learned:
    """What is known after an upstream answered a request of `ours` tokens, and reported a prompt of so many.

    Args:
        own: ours and reported of the longest report of the request's conversation before (`longest`); zeros where none is known.
    """
    if reported <= 0:
        return known
    if _is_constant(known, ours, reported):
        top = longest(known.top, ours, reported)
        return replace(known, top=top, quiet=()) if known.quiet or top != known.top else known
    if is_truncated(known, ours, reported, own):
        quiet = (*known.quiet, (ours, reported))[-_KEPT:]
        if len(quiet) == _KEPT and not _stands_still(quiet, known.top) and _grow_alike(quiet):  # the ratio changed
            return replace(known, ratios=tuple(clamp_ratio(r / o) for o, r in quiet), planned=0.0, quiet=(), top=quiet[-1])
        return replace(known, quiet=quiet)
    told = ours >= _SMALL and reported >= _LEAST / 2 * ours  # less is no count of this prompt
    ratios = (*known.ratios, clamp_ratio(reported / ours))[-_KEPT:] if told else known.ratios
    beyond = known.limit is not None and reported > known.limit
    said: dict[str, Any] = {
        "ratios": ratios,
        "planned": _steady_step(known.planned, median(ratios)) if ratios else known.planned,
        "over": (*known.over, True)[-_KEPT:] if beyond else known.over,
        "fits": max(known.fits, reported),
        "fails": None if known.fails is not None and reported >= known.fails else known.fails,
        "top": longest(known.top, ours, reported),
        "quiet": () if known.quiet and reported > _STEADY * max(cut for _, cut in known.quiet) else known.quiet,
    }
    new = {name: value for name, value in said.items() if value != getattr(known, name)}
    return replace(known, **new) if new else known  # as a rule a request teaches nothing


def learn_from_refusal(known: Learned, limit: int | None, theirs: int | None) -> Learned:
    """What is known after an upstream refused a prompt of so many tokens, with or without naming its limit."""
    if limit is not None:
        again = known.limit is not None and abs(limit - known.limit) <= _SAME * known.limit
        over = (*known.over, False)[-_KEPT:] if again else (False,)
        return replace(known, limit=limit, claims=known.claims + 1 if again else 1, over=over, fails=None)
    if theirs is None:
        return known
    fails = theirs if known.fails is None else min(known.fails, theirs)
    return replace(known, limit=None, claims=0, over=(), fails=fails, fits=known.fits if known.fits < fails else 0)


def clamp_ratio(ratio: float) -> float:
    """A ratio of theirs to ours within what vocabularies can differ."""
    return min(_MOST, max(_LEAST, ratio))


def snap_ratio(ratio: float) -> float:
    """The nearest step of a ladder."""
    return float(_STEP ** round(log(ratio, _STEP)))


def _steady_step(before: float, ratio: float) -> float:
    """The step of a ratio: the one before until the ratio has clearly left it, so that one at the edge of two does not change it
    with every answer."""
    return before if before and abs(log(ratio / before, _STEP)) <= _LEAVES else snap_ratio(ratio)


def longest(before: tuple[int, int], ours: int, reported: int) -> tuple[int, int]:
    """Ours and reported of the longest report, as short as ours was when it was first reached."""
    return (ours, reported) if reported > _STEADY * before[1] or (ours < before[0] and reported >= before[1]) else before


def is_truncated(known: Learned, ours: int, reported: int, own: tuple[int, int] = (0, 0)) -> bool:
    """Whether a reported prompt is so much shorter than the one sent that the upstream must have cut it off in silence.

    Ollama does so by default. It also reports only what its cache did not hold: small reports say nothing. In a chat that grows
    turn by turn each report is only a little too short; what shows there is that they stand still while what is sent grows.
    Beside conversations in other languages a report may seem short, and still be the same share of what was sent as before. Two
    prompts of different lengths hardly ever have the very same figure, though: a chat that is folded grows and shrinks.
    """
    if _is_constant(known, ours, reported):
        return False
    grew, told = known.top
    other_length = ours >= _SAME_GROWTH * grew or (reported == told and _SAME_GROWTH * ours <= grew)
    if reported == known.fits >= max(told, _WORTH_TELLING) and other_length:
        return True
    if own[1] and reported * own[0] >= _OWN * own[1] * ours:
        return False
    if told >= _WORTH_TELLING and ours >= _ALIKE * grew and told / 2 < reported <= _STEADY * told:
        return True
    if len(known.ratios) >= _SURE and max(known.ratios) <= _ALIKE * min(known.ratios):
        expected, share = float(known.theirs(ours)), _QUIET_IF_SURE
    else:
        expected, share = ours * min(1.0, known.ratio), _QUIET
    return _WORTH_TELLING <= reported < share * expected


def is_evident(known: Learned, ours: int, reported: int) -> bool:
    """Whether a report by which a prompt `is_truncated` is worth a word by itself: the only thing wrong with others is that they
    are no longer than the longest one before, and that may be text that takes fewer tokens than the rest did."""
    return known.cut_at is not None or reported < _CLEARLY * known.theirs(ours)


def _is_constant(known: Learned, ours: int, reported: int) -> bool:
    """Whether the upstream reports the same figure whatever it is sent: also for a prompt that can't be so long."""
    if reported != known.top[1] and all(reported != told for _, told in known.quiet):
        return False
    least = min(o for o, told in (known.top, *known.quiet, (ours, reported)) if told == reported)
    return reported > _MOST * least + _TEMPLATE


def _stands_still(quiet: tuple[tuple[int, int], ...], top: tuple[int, int]) -> bool:
    """Whether short reports show a window: they stay as they are, or below the longest one, while what is sent grows.

    Args:
        top: as in `Learned`; zeros where that is not known.
    """
    if len(quiet) < _SIGHTINGS:  # as a rule there are none
        return False
    if _is_beyond_doubt(quiet, top):
        return True
    whole = _unexplained(quiet, top)
    if len(whole) < _SIGHTINGS:
        return False
    reported = [r for _, r in whole]
    (least, then), (most, now) = min(whole), max(whole)
    still = max(reported) <= 1.1 * min(reported) and now - then <= (most - least) / 4
    return bool(still and most >= _ALIKE * min(least, top[0] or least))


def _unexplained(quiet: tuple[tuple[int, int], ...], top: tuple[int, int]) -> Sequence[tuple[int, int]]:
    """Short reports without those that a cache that hides its hits may have given: of little more than what was new. Such a
    cache holds nothing at first, so there is a whole report before them."""
    if top == (0, 0):
        return quiet
    return [one for one, before in zip(quiet, quiet[:1] + quiet, strict=False) if 2 * abs(one[0] - before[0]) < one[1]]


def _is_beyond_doubt(quiet: tuple[tuple[int, int], ...], top: tuple[int, int]) -> bool:
    """Whether no other vocabulary explains short reports: all have one figure, or what was sent cannot be that few tokens."""
    grew, told = top
    if len(quiet) >= _SIGHTINGS and len({r for _, r in quiet}) == 1 and quiet[0][1] >= told:
        longest_sent = max(max(quiet)[0], grew if quiet[0][1] == told else 0)
        if longest_sent >= _SAME_GROWTH * min(grew or longest_sent, min(quiet)[0]):
            return True
    below = [r for o, r in _unexplained(quiet, top) if told / 2 < r <= _STEADY * told and r < _LEAST * o]
    return len(below) >= _UNEVEN_SIGHTINGS and max(below) >= told / _ALIKE


def _grow_alike(quiet: tuple[tuple[int, int], ...]) -> bool:
    """Whether short reports are about the same share of what was sent, and one that vocabularies can differ by."""
    shares = [reported / ours for ours, reported in quiet]
    return min(shares) >= _LEAST and max(shares) <= 1.5 * min(shares)
