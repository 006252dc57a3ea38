"""The input of a replay: the units of a conversation as sums.

This module has the running sums, and answers from them what can be asked of a run of units or of the requests so far. Where
borders fall is decided in ``replay``.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import Final, NamedTuple, TypeVar

from turnfold.compression.fold.policy import Shape
from turnfold.compression.fold.units.examples import examples_end
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.options import FoldDecision, FoldOptions

_Indices = TypeVar("_Indices", "array[int]", Sequence[int])

_LEFT_WHOLE: Final = 0.95  # share of their tokens that units keep at FACTS if none of their texts is shortened


class Course(NamedTuple):
    """The input of a replay: units with their running sums, and the options. The sum at index i covers the units before i.

    Sums and requests are arrays, since each request copies those of the previous one.

    Attributes:
        squeeze: factor for the budget's limit, as in ``policy.thresholds``.
        first: index of the first user unit after worked examples; nothing before it is ever folded.
        requests: indices of the units that end a request, from `first` on.
        total: tokens of all units.
        raw: tokens of the units that can be folded: not those before `first`, pinned ones, or ones with attachments.
        facts: tokens of these units at FACTS.
        users: user units.
        reasons: units with signed reasoning.
        lines: tokens of results from which lines are copied.
        overs: user units that ask about all entries that users keep.
        entries: approximate tokens of these entries.
        marks: indices of units on which the client sets cache marks, which means that caches hit only at its marks; instructions
            excluded.
        interrupted: indices of units with a user's message between a call and its late result.
        tables: indices of units with rows, of any author.
        decided: earlier decisions, by the number of messages at that time.
    """

    units: Sequence[Unit]
    options: FoldOptions
    squeeze: float
    first: int
    requests: array[int]
    total: array[int]
    raw: array[int]
    facts: array[int]
    users: array[int]
    reasons: array[int]
    lines: array[int]
    overs: array[int]
    entries: array[int]
    marks: Sequence[int]
    interrupted: Sequence[int]
    tables: Sequence[int]
    decided: Mapping[int, FoldDecision]

    @property
    def marked(self) -> bool:
        """Whether the client sets cache marks on messages."""
        return bool(self.marks)

    @property
    def forgets_front(self) -> bool:
        """Whether a fold also invalidates the cache before it: caches that hit at marks, or at ends of earlier requests."""
        return self.marked or self.options.cache_breakpoints

    def tokens(self, start: int, end: int) -> int:
        """Tokens of the units ``start..end`` that can be folded."""
        return self.raw[end] - self.raw[start]

    def fixed(self, end: int) -> int:
        """Tokens of the units up to `end` that no fold takes."""
        return self.total[end] - self.raw[end]

    def folds(self, start: int, end: int, stays: frozenset[int]) -> int:
        """Tokens of the units ``start..end`` that a fold takes, without tables listed in `stays`."""
        return self.tokens(start, end) - sum(self.units[i].tokens for i in self.staying_tables(start, end, stays))

    def staying_tables(self, start: int, end: int, stays: frozenset[int]) -> list[int]:
        """The units with rows among ``start..end`` that stay."""
        return [i for i in self.tables if start <= i < end and i in stays]

    def has_user(self, start: int, end: int) -> bool:
        """Whether a user message is among these units or directly follows them."""
        return any(u.is_user for u in self.units[start : end + 1])

    def has_reasoning(self, start: int, end: int) -> bool:
        """Whether a unit of ``start..end`` has signed reasoning."""
        return self.reasons[end] > self.reasons[start]

    def is_left_whole(self, start: int, end: int) -> bool:
        """Whether FACTS leave the units ``start..end`` almost complete, as when reasoning is either complete or removed."""
        return self.facts[end] - self.facts[start] > _LEFT_WHOLE * self.tokens(start, end)

    def share_over_all(self, index: int) -> float:
        """Share of the user's messages up to the unit at `index` that ask about all kept entries; 0 if only one does."""
        asked = self.overs[index + 1]
        return asked / self.users[index + 1] if asked > 1 else 0.0

    def loop(self, index: int) -> int | None:
        """The user unit of the turn with the unit at `index`, if signed reasoning is in between; otherwise None.

        Nothing in such a turn may change while it continues.
        """
        if self.options.drops_thinking:
            return None
        user = bisect_left(self.users, self.users[index + 1]) - 1
        return user if self.users[index + 1] and self.has_reasoning(user, index + 1) else None

    def shape_at(self, turn: int) -> Shape:
        """The kind of the conversation, judged by the requests up to the given one (counted from 0)."""
        end, turns = self.requests[turn] + 1, turn + 1
        return Shape(
            pace=self.total[end] / turns,
            loops=1 - min(1.0, self.users[end] / turns),
            facts_ratio=self.facts[end] / max(1, self.raw[end]),
            lines=min(1.0, self.lines[end] / max(1, self.raw[end])),
        )


def course(units: Sequence[Unit], options: FoldOptions, squeeze: float, known: Course | None = None, same: int = 0) -> Course:
    """Units prepared for a replay. The options' precedents, including borrowed ones, must be those of this conversation.

    Args:
        known: a course with the same first `same` units; only later sums are computed.
    """
    first = _first(units, options)
    if known is None or known.first != first:
        known, same = _NOTHING, 0
    new = units[same:]
    foldable = [i >= first and not (u.pinned or u.attached) for i, u in enumerate(new, same)]
    return Course(
        units,
        options,
        squeeze,
        first,
        requests=_before(known.requests, same) + array("q", [i for i, u in enumerate(new, same) if u.asks and i >= first]),
        total=_sums(known.total, same, [u.tokens for u in new]),
        raw=_sums(known.raw, same, [u.tokens * folds for u, folds in zip(new, foldable, strict=True)]),
        facts=_sums(known.facts, same, [u.facts * folds for u, folds in zip(new, foldable, strict=True)]),
        users=_sums(known.users, same, [u.is_user for u in new]),
        reasons=_sums(known.reasons, same, [u.reasons for u in new]),
        lines=_sums(known.lines, same, [u.lines for u in new]),
        overs=_sums(known.overs, same, [u.goes_over for u in new]),
        entries=_sums(known.entries, same, [u.entry for u in new]),
        marks=[*_before(known.marks, same), *(i for i, u in enumerate(new, same) if u.marked and not u.pinned)],
        interrupted=[*_before(known.interrupted, same), *(i for i, u in enumerate(new, same) if u.interrupted)],
        tables=(*_before(known.tables, same), *(i for i, u in enumerate(new, same) if u.rows)),
        decided={p.at: p.decision for p in (*options.borrowed, *options.precedents)},
    )


_NO_SUMS: Final = array("q", [0])
#: The course of no units.
_NOTHING: Final = Course((), FoldOptions(), 1.0, 0, array("q"), *(_NO_SUMS,) * 8, (), (), (), {})


def _before(indices: _Indices, same: int) -> _Indices:
    """The indices of the first `same` units."""
    return indices[: bisect_left(indices, same)]


def _first(units: Sequence[Unit], options: FoldOptions) -> int:
    """Index of the first user unit that can be folded.

    Before it stay worked examples, as many as fit into half of a budget, or general instructions for all messages, if they fit
    into two thirds.
    """
    first = next((i for i, unit in enumerate(units) if unit.is_user), len(units))
    most = None if options.budget is None else options.budget // 2
    rules = inf if options.budget is None else options.budget * 2 // 3
    end = examples_end(units, first, most)
    if end == first and _announces(units[first : first + 3]) and sum(unit.tokens for unit in units[: first + 1]) <= rules:
        end = first + 2
    if end == first:
        return first
    return next((i for i in range(end, len(units)) if units[i].is_user), len(units))


def _announces(begin: Sequence[Unit]) -> bool:
    """Whether a conversation begins with instructions for each later message or for how to answer, followed by the first of
    these.
    """
    return len(begin) == 3 and begin[0].announces and begin[2].is_user and not (begin[1].is_user or begin[1].pinned)


def _sums(known: array[int], same: int, more: Sequence[int]) -> array[int]:
    """Running sums that extend the first `same` values of earlier ones."""
    return known[:same] + array("q", accumulate(more, initial=known[same]))
