"""The plan of a fold: what of a request is folded, and how far.

Lives here: the result of a replay (``replay``), resumed where an earlier request of the conversation left it. Does not belong
here: where borders fall, texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

from turnfold.compression.fold.pieces import Asker, Level, Piece
from turnfold.compression.fold.replay import Outlook, Replay, course, expected_use, outlook, start, step
from turnfold.compression.fold.units import Unit
from turnfold.compression.memo import Mark, Memo, resumable
from turnfold.compression.options import FoldDecision, FoldOptions, WrittenSummary

_STEP: Final = 32  # units from one point at which a replay can be resumed to the next


@dataclass(frozen=True, slots=True)
class Plan:
    """What is folded of a request.

    Attributes:
        pieces: folded runs in order, from the first user unit to `tail`.
        tail: index of the first raw unit.
        askers: user units that get recall, in order.
        events: fold events so far.
        since: index of the unit at which the first of them happened.
        moved: index of the unit at which the newest of them happened.
        decided: what was decided on the way, by the number of messages that had come.
        outlook: what keeps it from being folded.
        summaries: those that a model wrote and that were adopted.
        uses: per piece at SUMMARY, the requests that may be expected to carry a written one; only where these are wanted.
        price: expected price of sending an old token once more, in uncached input tokens.
    """

    pieces: tuple[Piece, ...]
    tail: int
    askers: tuple[Asker, ...]
    events: int
    since: int
    moved: int
    decided: Mapping[int, FoldDecision] = field(default_factory=dict)
    outlook: Outlook = Outlook()  # noqa: RUF009 - frozen
    summaries: tuple[WrittenSummary, ...] = ()
    uses: Mapping[Piece, float] = field(default_factory=dict)
    price: float = 1.0


def plan(units: Sequence[Unit], options: FoldOptions, squeeze: float = 1.0, memo: Memo | None = None) -> Plan:
    """Replay the conversation; what comes out depends on nothing behind the last unit that asks.

    The options' precedents are those of this conversation, in order.

    `memo` keeps how far the replay had come at a late point of an earlier request: the same units lead there again.
    """
    whole = course(units, options, squeeze)
    last = (len(units) - 1) // _STEP * _STEP
    marks = [Mark(end, _key(units[:end], options, squeeze, whole.marked)) for end in (last, last - _STEP) if end > 0]

    def run(known: Replay) -> list[Replay]:
        more = range(known.turns, len(whole.requests))
        return list(accumulate(more, lambda state, _: step(whole, state), initial=known))

    def part(states: list[Replay], end: int) -> Replay:
        return states[bisect_left(whole.requests, end) - states[0].turns]

    found = resumable(memo, marks, start(whole), run, part, lambda _: 1000 + 60 * last)[-1]
    askers = tuple(a for a in found.askers if a.pieces)
    drawn = Plan(found.pieces, found.tail, askers, found.events, found.since, found.moved, dict(found.decided))
    drawn = replace(drawn, outlook=outlook(whole, found), summaries=found.summaries)
    if not options.wants_summaries or whole.marked:  # a cache that hits at the client's marks would lose all in front of one
        return drawn
    summaries = [piece for piece in found.pieces if piece.level is Level.SUMMARY]
    price = options.prices.reread(found.decision.warmth.turns)
    return replace(drawn, uses={piece: expected_use(whole, found, piece) for piece in summaries}, price=price)


def _key(units: Sequence[Unit], options: FoldOptions, squeeze: float, marked: bool) -> Hashable:
    """All that a replay of these units depends on; it knows neither model nor window, nor what was decided later."""
    so_far = tuple(p for p in options.precedents if p.at <= units[-1].end)
    return "replay", tuple(units), replace(options, model="", window=None, precedents=so_far, likenesses=()), squeeze, marked
