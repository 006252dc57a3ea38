"""Where the borders fall: the plan of a fold.

Lives here: replaying a conversation from its first unit, so that what is folded depends on the prefix alone (laws 4 and 5).
Must not: texts; the plan knows sizes and roles only.

A fold event turns all of the raw tail but its newest part into a block. Blocks form levels as in a log-structured merge tree
(O'Neil et al., 1996): FACTS, then SUMMARY, then LINE. Each step happens at a fold event and is made from the originals; what no
event touches keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import accumulate
from typing import Final, NamedTuple

from turnfold.compression.fold import policy
from turnfold.compression.fold.policy import Shape, Thresholds
from turnfold.compression.fold.units import Unit
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions


class Level(Enum):
    """How much of a piece is left."""

    FACTS = "facts"
    SUMMARY = "summary"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Piece:
    """Units ``start..end`` folded together.

    Attributes:
        tokens: raw tokens of what can be folded in it.
        facts: about what these take at FACTS.
        anchor: its last user unit, kept verbatim as what follows the piece still answers it; None where a user message follows.
    """

    start: int
    end: int
    level: Level
    tokens: int
    facts: int
    anchor: int | None

    def size(self) -> int:
        """About the tokens that it takes when folded."""
        if self.level is Level.FACTS:
            return self.facts
        return policy.summary_tokens(self.tokens) if self.level is Level.SUMMARY else policy.line_tokens()


@dataclass(frozen=True, slots=True)
class Asked:
    """A user unit in the raw tail that gets recall, with what was folded when it was asked.

    Attributes:
        unit: index of the user unit.
        pieces: the pieces before it then.
        last: whether it is the last user message of the request.
    """

    unit: int
    pieces: tuple[Piece, ...]
    last: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What is folded of a request.

    Attributes:
        pieces: folded runs in order, from the first user unit to `tail`.
        tail: index of the first raw unit.
        asked: user units that get recall, in order.
        events: fold events so far.
        since: index of the unit at which the first of them happened.
        moved: index of the unit at which the newest of them happened.
    """

    pieces: tuple[Piece, ...]
    tail: int
    asked: tuple[Asked, ...]
    events: int
    since: int
    moved: int


def plan(units: Sequence[Unit], options: FoldOptions, squeeze: float = 1.0, memo: Memo | None = None) -> Plan:
    """Replay the conversation; what comes out depends on nothing behind the last unit that asks.

    `memo` keeps how far the replay had come at a late point of an earlier request: the same units lead there again.
    """
    replay = _Replay(units, options, squeeze)
    last = (len(units) - 1) // _STEP * _STEP if memo else 0
    begin = next((end for end in (last, last - _STEP) if memo and end > 0 and replay.resume(memo.find(replay.name(end)))), 0)
    for index in range(begin, len(units)):
        if memo and begin < index == last:
            memo.get(replay.name(last), replay.state, lambda _: 1000 + 60 * last)
        replay.total += units[index].tokens
        if units[index].asks and replay.first <= index:
            replay.ask(index)
    asked = tuple(a for a in replay.asked if (a.last or a.unit >= replay.tail) and a.pieces)
    return Plan(tuple(replay.pieces), replay.tail, asked, replay.events, replay.since, replay.moved)


_STEP: Final = 32  # units from one point at which a replay can be resumed to the next


class _State(NamedTuple):
    """What a replay has come to, between two units."""

    pieces: tuple[Piece, ...]
    asked: tuple[Asked, ...]
    tail: int
    sent: int
    since: int
    moved: int
    total: int
    events: int
    turns: int


class _Replay:
    """The replay's running state; lives for one call of `plan`."""

    def __init__(self, units: Sequence[Unit], options: FoldOptions, squeeze: float) -> None:
        self.units, self.options, self.squeeze = units, options, squeeze
        self.first = next((i for i, u in enumerate(units) if u.is_user), len(units))
        self.pieces: list[Piece] = []
        self.asked: list[Asked] = []
        self.tail = self.first
        self.sent = 0  # units that the request before this one had
        self.since = self.moved = 0
        self.total = self.events = self.turns = 0
        self.sums = list(
            accumulate((0 if u.pinned or u.attached else u.tokens for u in units), initial=0)
        )  # pinned units are never folded
        self.users = list(accumulate((u.is_user for u in units), initial=0))
        self.facts = list(accumulate((0 if u.pinned or u.attached else u.facts for u in units), initial=0))

    def name(self, end: int) -> Hashable:
        """What the state before unit `end` follows from."""
        told = replace(self.options, model="", window=None)
        return "replay", tuple(self.units[:end]), told, self.squeeze

    def state(self) -> _State:
        """Where the replay stands."""
        return _State(
            tuple(self.pieces),
            tuple(self.asked),
            self.tail,
            self.sent,
            self.since,
            self.moved,
            self.total,
            self.events,
            self.turns,
        )

    def resume(self, state: _State | None) -> bool:
        """Go on from a state, if there is one."""
        if state is None:
            return False
        self.pieces, self.asked = list(state.pieces), list(state.asked)
        self.tail, self.sent, self.since, self.moved = state.tail, state.sent, state.since, state.moved
        self.total, self.events, self.turns = state.total, state.events, state.turns
        return True

    def ask(self, index: int) -> None:
        """A request ends here: fold if it is time, then settle who keeps recall."""
        self.turns += 1
        if self.events == 0:
            self.since = index
        limits = policy.thresholds(self.options, self.total, self._shape(index), self.squeeze)
        if self._over(limits):
            self._fold(index, limits)
        elif self.total > limits.start and self._raw(self.tail, index + 1) > limits.fold_at:
            before = (self.pieces, self.tail, self.events, self.moved)
            self._fold(index, limits)
            if not self._pays(before[0], index):
                self.pieces, self.tail, self.events, self.moved = before
        if self.units[index].is_user:
            self._settle(index, limits)
        self.sent = index + 1

    def _shape(self, index: int) -> Shape:
        return Shape(
            pace=self.total / self.turns,
            loops=1 - min(1.0, self.users[index + 1] / self.turns),
            facts_ratio=self.facts[index + 1] / max(1, self.sums[index + 1]),
        )

    def _raw(self, start: int, end: int) -> int:
        return self.sums[end] - self.sums[start]

    def _standing(self) -> int:
        """About the tokens of the conversation as forwarded, without recall."""
        return self.total - sum(p.tokens - p.size() for p in self.pieces)

    def _over(self, limits: Thresholds) -> bool:
        """Whether a budget asks for a fold."""
        return limits.limit is not None and self.total > (self.options.budget or 0) and self._standing() > limits.limit

    def _pays(self, before: Sequence[Piece], index: int) -> bool:
        """Whether the fold just made is worth its rewrite: from the first piece that is new, everything is written again."""
        new = [p for p in self.pieces if p not in before]
        old = sum(p.size() for p in before if p not in self.pieces)
        start = max((p.end for p in before), default=self.first)
        raw = old + self._raw(start, self.tail)
        behind = self._raw(self.tail, max(self.tail, self.sent))
        return policy.pays(self.options, raw, sum(p.size() for p in new), behind, self.turns)

    def _fold(self, index: int, limits: Thresholds) -> None:
        before = self.pieces
        border = self._border(index, limits.keep_recent)
        start = self._behind_marks(border, index)
        if border > start:
            self.pieces = [*self.pieces, self._piece(start, border, Level.FACTS)]
            self.tail = border
        self._promote(Level.FACTS, Level.SUMMARY, limits.facts_at)
        self._promote(Level.SUMMARY, Level.LINE, limits.summaries_at)
        if before != self.pieces:
            self.events, self.moved = self.events + 1, index

    def _behind_marks(self, border: int, index: int) -> int:
        """Where folding may begin: behind every cache mark that the client keeps in an old place, for up to there caches hit."""
        old = range(self.tail, min(border, index - _RECENT))
        last = max((i for i in old if self.units[i].marked and not self.units[i].pinned), default=None)
        if last is None:
            return self.tail
        return next((i for i in range(last + 1, border) if self.units[i].is_user), border)

    def _piece(self, start: int, end: int, level: Level) -> Piece:
        anchor = None
        if not self.units[end].is_user:
            anchor = next((i for i in range(end - 1, start - 1, -1) if self.units[i].is_user), None)
        kept = 0 if anchor is None else self._raw(anchor, anchor + 1)
        raw = self._raw(start, end) - kept
        return Piece(start, end, level, raw, min(raw, self.facts[end] - self.facts[start]), anchor)

    def _border(self, index: int, keep: int) -> int:
        """First unit that stays raw: the newest `keep` tokens, moved to a user message where one is near; at least one unit."""
        border = index
        while border > self.tail and self._raw(border - 1, index + 1) <= keep:
            border -= 1
        for near in self._near(border, index, keep):
            if self.units[near].is_user:
                return near
        return border

    def _near(self, border: int, index: int, keep: int) -> Iterator[int]:
        yield from (i for i in range(border, index + 1) if self._raw(border, i) <= keep // 2)
        yield from (i for i in range(border - 1, self.tail, -1) if self._raw(i, border) <= keep // 2)

    def _promote(self, old: Level, new: Level, most: int) -> None:
        """Turn the oldest pieces of a level into one of the next, once together they exceed `most`; at most half of it stays."""
        here = [p for p in self.pieces if p.level is old]
        left = sum(p.size() for p in here)
        if left <= most:
            return
        going: list[Piece] = []
        while here and left > most // 2:
            left -= here[0].size()
            going.append(here.pop(0))
        end = going[-1].end
        done = [p for p in self.pieces if p.end <= going[0].start]
        if new is Level.LINE:  # one line for all of it
            going, done = [*done, *going], []
        elif self._answered(going[0].start, end):
            # A kept user message whose answer now goes too would stand next to the one that follows: it goes along.
            asked = next((i for i in range(len(done) - 1, -1, -1) if done[i].anchor is not None), len(done))
            if all(self._loops(p) for p in done[asked + 1 :]) and len(list(_runs([*done[asked:], *going]))) == 1:
                going, done = [*done[asked:], *going], done[:asked]
        made = [self._piece(a, b, new) for a, b in _runs(going)]
        self.pieces = [*done, *made, *(p for p in self.pieces if p.start >= end)]

    def _loops(self, piece: Piece) -> bool:
        """Whether a piece holds nothing but answers to the user message before it, and more of them follow."""
        return not self._answered(piece.start, piece.end)

    def _answered(self, start: int, end: int) -> bool:
        """Whether a user message comes within these units or right behind them."""
        return any(u.is_user for u in self.units[start : end + 1])

    def _settle(self, index: int, limits: Thresholds) -> None:
        """The next user message has come: earlier recalls stay only where dropping them costs more than reading them."""
        tail = self._raw(self.tail, index + 1)
        pace = tail / (self.users[index + 1] - self.users[self.tail])
        left = max(1.0, (limits.fold_at - tail) / max(1.0, pace))
        kept = [a for a in self.asked[:-1] if a.unit >= self.tail]
        if self.asked and self._stays(self.asked[-1], index, left):
            kept.append(replace(self.asked[-1], last=False))
        self.asked = [*kept, Asked(index, tuple(self.pieces), last=True)]

    def _stays(self, asked: Asked, index: int, left: float) -> bool:
        if not asked.pieces:
            return False
        recall = recall_tokens(asked.pieces, self.options)
        return policy.keeps_recall(self.options, recall, self._raw(asked.unit + 1, index), left)


_RECENT = 6  # units in which a client's cache mark moves along with the conversation


def _runs(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """Ranges of units that neighbouring pieces cover together."""
    start = pieces[0].start
    for here, after in zip(pieces, [*pieces[1:], None], strict=True):
        if after is None or after.start != here.end:
            yield start, here.end
            start = after.start if after is not None else start


def recall_tokens(pieces: Sequence[Piece], options: FoldOptions) -> int:
    """What recall over these pieces may take when no budget was given."""
    folded = sum(p.tokens for p in pieces)
    return policy.recall_tokens(options, folded - sum(p.size() for p in pieces), folded)
