"""The state of a replay between two requests, and the thresholds that follow from it.

The state changes only in ``fold.replay`` and the modules beside this one; a plan reads it.
"""

from __future__ import annotations

from typing import NamedTuple

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.pieces import Asker, Piece
from turnfold.compression.fold.policy import Thresholds
from turnfold.compression.options import FoldDecision, WrittenSummary


class Replay(NamedTuple):
    """The state of a replay after a number of requests.

    Attributes:
        tail: index of the first raw unit.
        turns: requests so far.
        pieces: folded runs in order.
        askers: user units that get recall, the newest last.
        events: fold events so far.
        since, moved: indices of the units at which the first and the newest of them happened.
        decision: the decision in force.
        decided: all decisions, with the number of messages at that time.
        saved: savings of all folds so far, in uncached input tokens, assuming the belief about the cache.
        spent: cost of the requests so far without folds, in the same unit.
        summaries: the summaries adopted so far.
        whole: whether the newest request is sent unfolded, since it asks for a summary of everything. If thinking is bound, all
            earlier thinking is removed then, and again when the folds return.
        reopened: indices of units in pieces that are sent unchanged: tables in use, with their answers.
    """

    tail: int
    decision: FoldDecision
    turns: int = 0
    pieces: tuple[Piece, ...] = ()
    askers: tuple[Asker, ...] = ()
    events: int = 0
    since: int = 0
    moved: int = 0
    decided: tuple[tuple[int, FoldDecision], ...] = ()
    saved: float = 0.0
    spent: float = 0.0
    summaries: tuple[WrittenSummary, ...] = ()
    whole: bool = False
    reopened: frozenset[int] = frozenset()


def thresholds_at(course: Course, now: Replay, index: int) -> Thresholds:
    """The thresholds for the request that ends with the unit `index`; `now` is the state before it."""
    shape = course.shape_at(now.turns)
    total, fixed = course.total[index + 1], course.fixed(index + 1)
    return policy.thresholds(course.options, now.decision.warmth, total, shape, course.squeeze, fixed)
