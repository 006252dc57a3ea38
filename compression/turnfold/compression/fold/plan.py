"""The plan of a fold: what of a request is folded, and how far.

Lives here: the result of a replay (``replay``), resumed where an earlier request of the conversation left it. Does not belong
here: where borders fall, texts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from turnfold.compression.fold.pieces import Asker, Piece
from turnfold.compression.fold.replay import Course, Replay, course, step
from turnfold.compression.fold.units import Unit
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions

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
    """

    pieces: tuple[Piece, ...]
    tail: int
    askers: tuple[Asker, ...]
    events: int
    since: int
    moved: int


def plan(units: Sequence[Unit], options: FoldOptions, squeeze: float = 1.0, memo: Memo | None = None) -> Plan:
    """Replay the conversation; what comes out depends on nothing behind the last unit that asks.

    `memo` keeps how far the replay had come at a late point of an earlier request: the same units lead there again.
    """
    whole = course(units, options, squeeze)
    last = (len(units) - 1) // _STEP * _STEP if memo else 0
    state, begin = Replay(whole.first), 0
    for end in (last, last - _STEP):
        if memo and end > 0 and (known := memo.find(_name(whole, end))) is not None:
            state, begin = known, end
            break
    if memo and last > begin:
        state = middle = _advance(whole, state, begin, last)
        memo.get(_name(whole, last), lambda: middle, lambda _: 1000 + 60 * last)
        begin = last
    state = _advance(whole, state, begin, len(units))
    askers = tuple(a for a in state.askers if (a.last or a.unit >= state.tail) and a.pieces)
    return Plan(state.pieces, state.tail, askers, state.events, state.since, state.moved)


def _advance(whole: Course, state: Replay, begin: int, end: int) -> Replay:
    """The replay with the requests that end within the units ``begin..end``."""
    for turn in range(bisect_left(whole.requests, begin), bisect_left(whole.requests, end)):
        state = step(whole, state, turn)
    return state


def _name(whole: Course, end: int) -> Hashable:
    """What the state before unit `end` follows from."""
    return "replay", tuple(whole.units[:end]), replace(whole.options, model="", window=None), whole.squeeze
