"""Pieces: runs of units that are folded together, and who gets recall of them.

This module defines the values that a replay makes and a plan holds, and how units become a piece and pieces one of the next
level. When that happens, and where borders fall, is up to ``replay``; there are no texts here.

Pieces form levels as in a log-structured merge tree (O'Neil et al., 1996): FACTS, then SUMMARY, then LINE.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from turnfold.compression.fold import policy
from turnfold.compression.fold.course import Course
from turnfold.compression.fold.policy import Thresholds
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.options import FoldOptions, Warmth

_PARTS: Final = 8  # pieces into which text at FACTS is divided if a single piece would be most of it
_REQUESTS: Final = 2  # maximum requests of a piece that are quoted at any level
_LOOKED_AT: Final = 6  # user units that are searched for them


class Level(Enum):
    """The level of a piece: how much of it remains."""

    FACTS = "facts"
    SUMMARY = "summary"
    LINE = "line"


_NEXT: Final = MappingProxyType({Level.FACTS: Level.SUMMARY, Level.SUMMARY: Level.LINE})


class Piece(NamedTuple):
    """Units ``start..end`` that are folded together.

    Attributes:
        tokens: raw tokens of its foldable units.
        size: approximate tokens when folded.
        anchor: its last user unit, kept verbatim since the messages after the piece still answer it; None if a user message
            follows.
        answered: the unit that the anchor answers, quoted at every level (``answered``); None under a budget.
        requests: its newest user units, other than the anchor, that gave an agent work (``is_request``): also quoted at every
            level.
        keeps: whether it contains all entries that users have kept step by step.
    """

    start: int
    end: int
    level: Level
    tokens: int
    size: int
    anchor: int | None
    answered: int | None = None
    requests: tuple[int, ...] = ()
    keeps: bool = False


def answered(units: Sequence[Unit], start: int, anchor: int | None) -> int | None:
    """The unit that a piece's anchor answers, if it is an assistant's message.

    While a tool loop continues after "yes, do all of that", nothing else says what was agreed.
    """
    if anchor is None:
        return None
    before = next((i for i in range(anchor - 1, start - 1, -1) if not units[i].pinned), None)
    if before is None or units[before].is_user or units[before].asks or units[before].attached:
        return None
    return before


def is_request(units: Sequence[Unit], index: int, end: int, *, called: bool) -> bool:
    """Whether a user unit is followed by program output for an agent, up to the unit `end`.

    Such a unit is a request: the task may be older than the user's last message, such as "use port 8081".
    """
    behind = next((units[i] for i in range(index + 1, end + 1) if not units[i].pinned), None)
    if behind is None or units[index].attached:
        return False
    return behind.reports or (called and behind.asks and not behind.is_user)


class Asker(NamedTuple):
    """A user unit in the raw tail that gets recall.

    Attributes:
        unit: the unit's index.
        pieces: the pieces before it when it was sent.
        warmth: the decision about the cache at that time.
        shape: the kind of the conversation at that time.
        last: whether it is the last user message of the request.
    """

    unit: int
    pieces: tuple[Piece, ...]
    warmth: Warmth
    shape: policy.Shape
    last: bool


def piece_runs(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """Ranges of units covered by adjacent pieces."""
    start = pieces[0].start
    for here, after in zip(pieces, [*pieces[1:], None], strict=True):
        if after is None or after.start != here.end:
            yield start, here.end
            start = after.start if after is not None else start


def recall_tokens(asker: Asker, options: FoldOptions) -> int:
    """Usual tokens of recall for an asker without a budget."""
    return policy.recall_tokens(options, asker.warmth, asker.shape, *_saved_of(asker))


def most_recall_tokens(asker: Asker, options: FoldOptions) -> int:
    """Maximum tokens of recall for an asker without a budget."""
    return policy.most_recall_tokens(options, asker.warmth, asker.shape, *_saved_of(asker))


def _saved_of(asker: Asker) -> tuple[int, int]:
    """Tokens saved by the fold before an asker, and raw tokens of the folded units."""
    return saved_by(asker.pieces)


def saved_by(pieces: Iterable[Piece]) -> tuple[int, int]:
    """Tokens saved by pieces, and raw tokens of their foldable units."""
    folded = left = 0
    for piece in pieces:
        folded += piece.tokens
        left += piece.size
    return folded - left, folded


def quoted_entries(course: Course, pieces: Sequence[Piece]) -> int:
    """Approximate tokens quoted from pieces for a question about all entries that users keep; pieces at FACTS contain the
    entries.
    """
    bare = (p for p in pieces if p.level is not Level.FACTS and not p.keeps)
    return min(policy.MOST_WHOLE, sum(course.entries[p.end] - course.entries[p.start] for p in bare))


# ---------------------------------------------------------------- made of units


def new_pieces(course: Course, start: int, end: int, limits: Thresholds, stays: frozenset[int]) -> Iterator[Piece]:
    """Pieces for units at FACTS for the first time: usually one.

    A long tool loop with much room at FACTS gets several, since a piece is promoted as a whole: one that is most of the text
    would take all of it along.
    """
    most, kept = limits.facts_at // _PARTS, _anchor(course, start, end)
    whole = limits.facts_at // 2 if limits.facts_at > limits.keep_recent else course.facts[-1]
    while course.facts[end] - course.facts[start] > whole:
        stop = max(start + 1, bisect_right(course.facts, course.facts[start] + most) - 1)
        anchors = ((i, _anchor(course, start, i)) for i in range(stop, end))
        ends = (i for i, anchor in anchors if anchor in {None, kept} or course.units[anchor].tokens <= most // _PARTS)
        stop = next(ends, end)  # avoid keeping a long user message that a single piece would not keep
        yield piece_of(course, start, stop, Level.FACTS, stays)
        start = stop
    if start < end:
        yield piece_of(course, start, end, Level.FACTS, stays)


def _anchor(course: Course, start: int, end: int) -> int | None:
    """The user unit that a piece keeps so that roles alternate: its last one, if none follows."""
    users = course.users
    return None if course.units[end].is_user or users[end] == users[start] else bisect_left(users, users[end]) - 1


def piece_of(course: Course, start: int, end: int, level: Level, reopened: frozenset[int], *, keeps: bool = False) -> Piece:
    """A piece of these units at a level, with its size as estimated from sums."""
    units = course.units
    anchor = _anchor(course, start, end)
    stays = course.staying_tables(start, end, reopened)
    raw = course.folds(start, end, reopened)
    if anchor is not None and anchor not in stays:
        raw -= course.tokens(anchor, anchor + 1)
    size = policy.LINE
    if level is Level.FACTS:
        size = min(raw, course.facts[end] - course.facts[start] - sum(units[i].facts for i in stays))
    elif level is Level.SUMMARY:
        size = policy.summary_tokens(raw)
    elif course.options.budget is None:
        size += policy.told_tokens(raw, course.users[end] - course.users[start])
    if keeps:
        size = min(raw, size + min(course.entries[end] - course.entries[start], policy.step_tokens(raw, 0.0, keeps=True)))
    before = answered(units, start, anchor) if course.options.budget is None else None
    asked = _requests(course, start, end if anchor is None else anchor)
    for unit in asked if before is None else (before, *asked):
        size = min(raw, size + min(policy.ANSWERED, course.tokens(unit, unit + 1)))
    return Piece(start, end, level, raw, size, anchor, before, asked, keeps)


def _requests(course: Course, start: int, end: int) -> tuple[int, ...]:
    """The newest user units of ``start..end`` that gave an agent work; under a budget, native calls only."""
    users, found = course.users, list[int]()
    for count in range(users[end], max(users[start], users[end] - _LOOKED_AT), -1):
        index = bisect_left(users, count) - 1
        if is_request(course.units, index, end, called=course.options.budget is not None):
            found.append(index)
        if len(found) == _REQUESTS:
            break
    return tuple(reversed(found))


def promote(
    course: Course,
    pieces: tuple[Piece, ...],
    level: Level,
    most: int,
    least: int,
    reopened: frozenset[int],
    *,
    keeps: bool,
) -> tuple[Piece, ...]:
    """The oldest pieces of a level combined into one of the next level, once all exceed `most` tokens; at most `least` tokens
    stay.
    """
    here, new = [p for p in pieces if p.level is level], _NEXT[level]
    left = sum(p.size for p in here)
    if left <= most:
        return pieces
    going: list[Piece] = []
    while here and left > least:
        left -= here[0].size
        going.append(here.pop(0))
    going += _with_last_answers(course, going, [p for p in pieces if p.start >= going[-1].end])
    end = going[-1].end
    done = [p for p in pieces if p.end <= going[0].start]
    if new is Level.LINE:  # a single line for all
        going, done = [*done, *going], []
    elif course.has_user(going[0].start, end):
        # If the answer to a kept user message is promoted now, that message would be next to the following one, so it goes along.
        kept = next((i for i in range(len(done) - 1, -1, -1) if done[i].anchor is not None), len(done))
        loops = not any(course.has_user(p.start, p.end) for p in done[kept + 1 :])
        if loops and len(list(piece_runs([*done[kept:], *going]))) == 1:
            going, done = [*done[kept:], *going], done[:kept]
    merged = [piece_of(course, a, b, new, reopened, keeps=keeps) for a, b in piece_runs(going)]
    return (*done, *merged, *(p for p in pieces if p.start >= end))


def _with_last_answers(course: Course, going: Sequence[Piece], behind: Sequence[Piece]) -> list[Piece]:
    """The pieces right behind that hold all answers to the last user message of `going`, and show none of them.

    That message would be kept for them, next to the following one.
    """
    end, found = going[-1].end, list[Piece]()
    if course.units[end].is_user or not course.has_user(going[0].start, end - 1):
        return []
    for piece in behind:
        if piece.start != end or piece.level is Level.FACTS or course.users[piece.end] > course.users[piece.start]:
            break
        found.append(piece)
        end = piece.end
    return found if course.units[end].is_user else []
