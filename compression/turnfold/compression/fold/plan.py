"""The plan of a fold: what of a request is folded, and how far.

It is the result of a replay (``replay``), resumed where an earlier request of the conversation left it. Borders are found there;
texts are written in ``write``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course, course
from turnfold.compression.fold.outlook import Outlook, expected_use, outlook
from turnfold.compression.fold.pieces import Asker, Level, Piece
from turnfold.compression.fold.replay import start, step
from turnfold.compression.fold.replaying.state import Replay
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.memo import FEW, Memo, continued
from turnfold.compression.options import FoldDecision, FoldOptions, WrittenSummary

_KEPT: Final = 64  # requests to which a replay can return if a conversation is resent or branches


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a fold.

    Attributes:
        pieces: folded runs in order, from the first user unit to `tail`.
        tail: index of the first raw unit.
        askers: user units that get recall, in order.
        events: fold events so far.
        since: index of the unit at which the first of them happened.
        moved: index of the unit at which the newest of them happened.
        decided: decisions made on the way, by the number of messages at that time.
        outlook: why it is not folded further.
        summaries: adopted summaries that a model wrote.
        uses: for each piece at SUMMARY, the expected number of requests that will contain a written one; only if these are
            wanted.
        price: expected price of sending an old token again, in uncached input tokens.
        told: room for users' statements.
        reopened: as in ``replay.Replay``.
        unknown: requests for which the caller should look up decisions, as numbers of messages.
    """

    pieces: tuple[Piece, ...]
    tail: int
    askers: tuple[Asker, ...]
    events: int
    since: int
    moved: int
    decided: Mapping[int, FoldDecision] = field(default_factory=dict)
    outlook: Outlook = Outlook()  # noqa: RUF009 - immutable
    summaries: tuple[WrittenSummary, ...] = ()
    uses: Mapping[Piece, float] = field(default_factory=dict)
    price: float = 1.0
    told: policy.Telling = policy.Telling()  # noqa: RUF009 - immutable
    reopened: frozenset[int] = frozenset()
    unknown: Sequence[int] = ()


def plan(units: Sequence[Unit], options: FoldOptions, squeeze: float = 1.0, memo: Memo | None = None) -> Plan:
    """Replay the conversation. The result depends on nothing after the last unit that asks.

    The options' precedents must be those of this conversation, in order.
    """
    whole, states = _replayed(units if isinstance(units, tuple) else tuple(units), options, squeeze, memo)
    found, unknown = states[-1], _unknown_requests(whole, states[-1], options)
    if found.whole and found.pieces:
        told = policy.telling(options, 0, squeeze)
        unfolded = Plan((), whole.first, (), found.events, found.since, found.moved, dict(found.decided), told=told)
        return replace(unfolded, unknown=unknown, outlook=Outlook("asks-for-all", None, whole.raw[-1]))
    askers = tuple(a for a in _askers(found, options) if a.pieces)
    drawn = Plan(
        found.pieces,
        found.tail,
        askers,
        found.events,
        found.since,
        found.moved,
        dict(found.decided),
        outlook(whole, found),
        found.summaries,
        told=policy.telling(options, whole.total[found.tail], squeeze),
        reopened=found.reopened,
        unknown=unknown,
    )
    if not options.wants_summaries or whole.marked:  # caches that hit at the client's marks would lose everything before one
        return drawn
    summaries = [piece for piece in found.pieces if piece.level is Level.SUMMARY]
    price = options.prices.reread(found.decision.warmth.turns)
    return replace(drawn, uses={piece: expected_use(whole, found, piece) for piece in summaries}, price=price)


def _unknown_requests(whole: Course, found: Replay, options: FoldOptions) -> Sequence[int]:
    """Requests that may have unknown decisions: no message shows that a request came after a pause."""
    if options.belief is None:
        return ()
    known, since = {one.at for one in options.precedents}, 0
    if not known or options.precedents[-1].prefix in options.heard:
        since = max(known, default=0)
        if all(at in known for at, _ in found.decided):
            return ()
    ends = (whole.units[index].end for index in whole.requests)
    return [end for end in ends if end > since and end not in known]


def _askers(found: Replay, options: FoldOptions) -> tuple[Asker, ...]:
    """User units that get recall.

    Under a budget, the steps of a tool loop before the tail are recalled for the message that it works on, as of the newest fold
    event: a summary has no tool text, and nobody will ask for it again.
    """
    if options.budget is None or not found.askers or found.askers[-1].unit >= found.tail:
        return found.askers
    return (*found.askers[:-1], found.askers[-1]._replace(pieces=found.pieces))


class _Replayed(NamedTuple):
    """A replay's course, with its states after its last requests, in order."""

    course: Course
    states: tuple[Replay, ...]


def _replayed(cut: tuple[Unit, ...], options: FoldOptions, squeeze: float, memo: Memo | None) -> _Replayed:
    """The replay of these units. `memo` keeps its states at late points, which the same units reach again in the next request."""

    def run(known: _Replayed | None, same: int) -> _Replayed:
        whole = course(cut, options, squeeze, known.course if known is not None else None, same)
        states = _reached(known, whole, same) if known is not None else []
        states = states or [start(whole)]
        for _ in range(states[-1].turns, len(whole.requests)):
            states.append(step(whole, states[-1]))
        return _Replayed(whole, tuple(states[-_KEPT:]))

    if len(cut) <= FEW:
        return run(None, 0)
    bare = replace(options, model="", window=None, precedents=(), borrowed=(), likenesses=(), heard=frozenset())
    key = ("replay", tuple([u[:4] for u in cut[:4]]), bare, squeeze)
    return continued(memo, key, cut, run, lambda known: 250 * len(known.course.units) + 300 * len(known.states))


def _reached(known: _Replayed, whole: Course, same: int) -> list[Replay]:
    """The states of an earlier replay before the first different unit; none if decisions or marks differ."""
    if known.course.marked != whole.marked or known.course.first != whole.first:
        return []
    last = bisect_left(whole.requests, same)
    states = known.states[: bisect_right(known.states, last, key=lambda state: state.turns)]
    belief = whole.options.belief
    if states and any(at not in dict(states[-1].decided) for at in _cold_before(whole, states[-1].turns)):
        return []
    for at, made in states[-1].decided if states else ():
        now = whole.decided.get(at, belief)
        if now is not made and now != made:
            return []
    return list(states)


def _cold_before(whole: Course, turns: int) -> list[int]:
    """The numbers of messages, up to the given request, at which the cache was cold, since no message shows that."""
    end = whole.units[whole.requests[turns - 1]].end if turns else 0
    return [at for at, decision in whole.decided.items() if decision.cold and at <= end]
