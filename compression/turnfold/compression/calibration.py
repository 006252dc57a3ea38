"""What is learned about an upstream's model: how it counts tokens, and how many it takes.

The value, its transitions, and what it says. The shell remembers it (``proxy.learning.windows``); tokens are counted in
``tokens``.

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
from typing import Any, Final, NamedTuple

_KEPT: Final = 9  # figures whose median is used: moving it takes five wrong ones in nine
_LEAST: Final = 0.4  # upstream tokens / our tokens; about the ratio of a 200k vocabulary to a costlier one on Chinese text
_MOST: Final = 5.0  # about the ratio of a byte-level vocabulary on text in a language it does not know
_SMALL: Final = 200  # tokens below which most of the difference is the overhead of templates
_QUIET: Final = 0.5  # share of the expected prompt below which a report means that text was cut off
_QUIET_IF_SURE: Final = 0.75
_WORTH_TELLING: Final = 1000  # tokens; no server has a smaller window, and reports below count what a cache lacked
_SURE: Final = 5  # equal figures after which a smaller difference is enough
_ALIKE: Final = 1.15
_NEARLY: Final = 0.9  # share of the shortest refused prompt from which another will almost surely be refused too
_CLEARLY: Final = 0.93  # share of the expected prompt below which a single report is significant
_STEADY: Final = 1.03  # a report at most this many times the longest one has not grown
_SAME: Final = 0.05  # two claimed limits that differ by this share at most are the same claim
_SIGHTINGS: Final = 3  # truncated prompts before the window is acted on
_UNEVEN_SIGHTINGS: Final = 6  # the same if their reports differ: a server drops whole messages, so what is left varies
_OWN: Final = 0.93  # a conversation's reports have not changed down to this share of its own ratio
_SAME_GROWTH: Final = 1.03  # growth of the request that reveals a window if every report has the same figure
_STEP: Final = 1.08  # between planned ratios: at most a twenty-fifth of the room is given away
_LEAVES: Final = 0.75  # of a step: how far the ratio must be from the planned one to move it; half would be the edge
_UNUSUAL: Final = 2.0  # upstream tokens / our tokens: exceeded only by older vocabularies on Indic scripts
_CONTRADICTS: Final = 0.75  # if the longest report is below this share of the ratio's estimate, it is used instead
#: What the source of an attachment at an address begins with: what lies there may be replaced.
AT_ADDRESS: Final = "at:"
_MOST_HIDDEN: Final = 128  # attachments of an upstream and model
_HIDDEN_AGE: Final = 3600.0  # seconds for which the weight of what lies at an address is believed
_HIDDEN_NOISE: Final = 20  # tokens
_TEMPLATE: Final = 500  # tokens that a server's own template may add to a prompt


@dataclass(frozen=True, slots=True)
class Belief:
    """A learned window.

    Attributes:
        window: tokens, by the upstream's count.
        source: "error" (an error named it), "cut-off" (longer prompts are silently truncated) or "refusal" (a guess: a longer
            prompt was refused without naming a limit).
        seen: number of observations.
    """

    window: int
    source: str
    seen: int


class Hidden(NamedTuple):
    """What an attachment weighs beyond our own count.

    Attributes:
        source: as in ``wire.message.Attachment``.
        tokens: by the upstream's count.
        at: Unix time when that was learned.
    """

    source: str
    tokens: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of one upstream and model. All figures except `ratios` are in the upstream's own tokens.

    Attributes:
        ratios: upstream tokens / our tokens of the last requests, newest last.
        limit: the window named by an error.
        claims: how many errors in a row named about this limit.
        over: for the last prompts longer than that, newest last: whether they were accepted.
        fits: the longest accepted prompt.
        fails: the shortest prompt that was refused without a limit.
        top: our count and the report for the longest report; our count is the lowest that reached it.
        quiet: our counts and the reports for prompts reported far too short: the upstream silently truncated them.
        binds_thinking: whether it refused a thinking block because the messages before it had changed.
        trusted: whether the learned window is applied; False while it is being tested again.
        planned: the rounded ratio used for planning, since the ratio changes slightly with every answer and room should not; 0 if
            there is none yet.
        hidden: attachments and what they weigh, the last learned at the end.
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
    hidden: tuple[Hidden, ...] = ()

    @property
    def ratio(self) -> float:
        """Upstream tokens / our tokens; 1.0 until something was reported."""
        return median(self.ratios) if self.ratios else 1.0

    def scaled(self, ours: int) -> int:
        """Tokens that the upstream would count for `ours`, if it counted the whole prompt alike."""
        return ceil(ours * self.ratio)

    def theirs(self, ours: int) -> int:
        """Tokens that the upstream will count where we count `ours`.

        What it adds to each prompt (its own instructions, an uploaded file, a search) does not grow with the rest. So many short
        prompts give a ratio above any usual difference of vocabularies. If the longest report clearly contradicts such a ratio,
        that report is used instead.
        """
        scaled, (counted, told) = self.scaled(ours), self.top
        added = max(0, told - counted)
        most = max(ours, counted) + added
        return most if counted and self.ratio > _UNUSUAL and most < _CONTRADICTS * scaled else scaled

    @property
    def cut_at(self) -> int | None:
        """The length at which the upstream silently truncates prompts; None if there is no evidence of that."""
        return max(reported for _, reported in self.quiet) if _stands_still(self.quiet, self.top) else None

    @property
    def claimed(self) -> int | None:
        """The window named by errors, unless most longer prompts were accepted: one name may be served by a pool of different
        servers.
        """
        return self.limit if self.limit is not None and self.over.count(False) > self.over.count(True) else None

    @property
    def belief(self) -> Belief | None:
        """The learned window, whether or not it is applied; None if there is none."""
        if self.claimed is not None:
            return Belief(self.claimed, "error", self.claims)
        if self.cut_at is not None:
            return Belief(self.cut_at, "cut-off", len(self.quiet))
        if self.fails is not None:
            return Belief(self._guess, "refusal", 1)
        return None

    @property
    def _guess(self) -> int:
        """A window consistent with the refused and the accepted prompts."""
        return max(self.fits, (self.fails or 0) // 2)

    def window(self, theirs: int, published: int | None = None) -> int | None:
        """The window that a request with this many tokens has to fit; None if there is no reason not to send it.

        Args:
            published: the model's published window. An error that names less must be seen twice, and truncation below it must be
                beyond doubt. Ignored if the upstream accepted more, since published tables are often outdated.
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
        """Whether a request with this many tokens could be too long: false if every window is larger, or as much was accepted
        before.
        """
        if theirs < _WORTH_TELLING:
            return False
        if self.limit is not None:
            return theirs > 0.7 * self.limit
        return theirs > self.fits


def learn_from_usage(known: Learned, ours: int, reported: int, own: tuple[int, int] = (0, 0)) -> Learned:
    """What is known after an upstream answered a request of `ours` tokens and reported a prompt of `reported` tokens.

    Args:
        own: our count and the report for the longest report of this conversation so far (see `longest`); zeros if unknown.
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
    told = ours >= _SMALL and reported >= _LEAST / 2 * ours  # a smaller figure does not count this prompt
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
    return replace(known, **new) if new else known  # most requests teach nothing


def learn_from_growth(known: Learned, ours: int, reported: int) -> Learned:
    """What is known after a prompt grew by `ours` tokens and its report by `reported`, beside attachments that stayed the same:
    these hide how text is counted, and growth shows it."""
    if ours < _SMALL or reported <= 0:
        return known
    ratios = (*known.ratios, clamp_ratio(reported / ours))[-_KEPT:]
    return replace(known, ratios=ratios, planned=_steady_step(known.planned, median(ratios)))


def learn_hidden(known: Learned, found: Sequence[Hidden]) -> Learned:
    """What is known with the weights of some attachments; those that have hardly changed are left as they are."""
    held = {one.source: one for one in known.hidden}
    fresh = {one.source: one for one in found if one.source and not _is_same_weight(held.get(one.source), one)}
    if not fresh:
        return known
    kept = [one for one in known.hidden if one.source not in fresh]
    return replace(known, hidden=(*kept, *fresh.values())[-_MOST_HIDDEN:])


def _is_same_weight(old: Hidden | None, new: Hidden) -> bool:
    if old is None or new.at - old.at > _HIDDEN_AGE / 2:
        return False
    return abs(old.tokens - new.tokens) <= max(_HIDDEN_NOISE, _SAME * old.tokens)


def with_fresh_hidden(known: Learned, now: float) -> Learned:
    """What is known at a Unix time: what lies at an address may have been replaced since."""
    fresh = tuple(one for one in known.hidden if not one.source.startswith(AT_ADDRESS) or now - one.at < _HIDDEN_AGE)
    return known if len(fresh) == len(known.hidden) else replace(known, hidden=fresh)


def learn_from_refusal(known: Learned, limit: int | None, theirs: int | None) -> Learned:
    """What is known after an upstream refused a prompt of `theirs` tokens; `limit` is the limit it named, if any."""
    if limit is not None:
        again = known.limit is not None and abs(limit - known.limit) <= _SAME * known.limit
        over = (*known.over, False)[-_KEPT:] if again else (False,)
        return replace(known, limit=limit, claims=known.claims + 1 if again else 1, over=over, fails=None)
    if theirs is None:
        return known
    fails = theirs if known.fails is None else min(known.fails, theirs)
    return replace(known, limit=None, claims=0, over=(), fails=fails, fits=known.fits if known.fits < fails else 0)


def clamp_ratio(ratio: float) -> float:
    """A ratio limited to what vocabularies can differ by."""
    return min(_MOST, max(_LEAST, ratio))


def snap_ratio(ratio: float) -> float:
    """The nearest planned ratio."""
    return float(_STEP ** round(log(ratio, _STEP)))


def _steady_step(before: float, ratio: float) -> float:
    """The rounded ratio for planning.

    Keeps the previous step until the ratio has clearly left it, so that a ratio between two steps does not switch with every
    answer.
    """
    return before if before and abs(log(ratio / before, _STEP)) <= _LEAVES else snap_ratio(ratio)


def longest(before: tuple[int, int], ours: int, reported: int) -> tuple[int, int]:
    """Our count and the report for the longest report; our count is the lowest that reached it."""
    return (ours, reported) if reported > _STEADY * before[1] or (ours < before[0] and reported >= before[1]) else before


def is_truncated(known: Learned, ours: int, reported: int, own: tuple[int, int] = (0, 0)) -> bool:
    """Whether a reported prompt is so much shorter than the one sent that the upstream must have silently truncated it.

    Ollama does so by default. It also reports only tokens that its cache did not have, so small reports mean nothing. In a chat
    that grows turn by turn, each report is only slightly too short; the sign is that reports stay equal while the requests grow.
    Next to conversations in other languages a report may seem short although its share of the request is unchanged. Two prompts
    of different lengths almost never have exactly the same figure, though, since a folded chat grows and shrinks.
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
    """Whether the report for a truncated prompt (`is_truncated`) is worth a message on its own.

    Otherwise the only evidence is that the report is no longer than the longest before, and the text may simply take fewer
    tokens.
    """
    return known.cut_at is not None or reported < _CLEARLY * known.theirs(ours)


def _is_constant(known: Learned, ours: int, reported: int) -> bool:
    """Whether the upstream reports the same figure for every prompt, even one that can't have that many tokens."""
    if reported != known.top[1] and all(reported != told for _, told in known.quiet):
        return False
    least = min(o for o, told in (known.top, *known.quiet, (ours, reported)) if told == reported)
    return reported > _MOST * least + _TEMPLATE


def _stands_still(quiet: tuple[tuple[int, int], ...], top: tuple[int, int]) -> bool:
    """Whether short reports reveal a window: they don't grow, or stay below the longest one, while the requests grow.

    Args:
        top: as in `Learned`; zeros if unknown.
    """
    if len(quiet) < _SIGHTINGS:  # the usual case: there are none
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
    """The short reports that a cache with unreported hits cannot explain.

    Such a cache reports little more than the new tokens. It is empty at first, so a full report precedes those.
    """
    if top == (0, 0):
        return quiet
    return [one for one, before in zip(quiet, quiet[:1] + quiet, strict=False) if 2 * abs(one[0] - before[0]) < one[1]]


def _is_beyond_doubt(quiet: tuple[tuple[int, int], ...], top: tuple[int, int]) -> bool:
    """Whether no vocabulary explains short reports: they are all equal, or the text sent can't be that few tokens."""
    grew, told = top
    if len(quiet) >= _SIGHTINGS and len({r for _, r in quiet}) == 1 and quiet[0][1] >= told:
        longest_sent = max(max(quiet)[0], grew if quiet[0][1] == told else 0)
        if longest_sent >= _SAME_GROWTH * min(grew or longest_sent, min(quiet)[0]):
            return True
    below = [r for o, r in _unexplained(quiet, top) if told / 2 < r <= _STEADY * told and r < _LEAST * o]
    return len(below) >= _UNEVEN_SIGHTINGS and max(below) >= told / _ALIKE


def _grow_alike(quiet: tuple[tuple[int, int], ...]) -> bool:
    """Whether short reports are a similar share of the requests, and one that vocabularies can differ by."""
    shares = [reported / ours for ours, reported in quiet]
    return min(shares) >= _LEAST and max(shares) <= 1.5 * min(shares)
