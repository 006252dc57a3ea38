"""The context of a history: the text that is sent in its place, within the budget (row C9).

This module chooses among the sentences of old messages, and fixes the form of a context. What a sentence is worth is up to
``sentences``; ``history`` changes a history.

System messages are told whole, standing orders and what users state about themselves and their task before anything else, the
best of the rest as far as the budget goes; all in the order in which it was said, each sentence once and as it was said. What is
told comes with what it needs, and with what one of the next messages objects to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression import tokens
from turnfold.compression.budgeted.history import HEADINGS, History, HistoryMessage, HistorySettings, line
from turnfold.compression.budgeted.statement_index import LatestStatements, Numbers, Statement, StatementIndex
from turnfold.compression.tokens import Count

_HEAD, _TAIL = "[Prior context summary]", "[Recent messages]"
_GAP: Final = " … "
_JOINT: Final = 2  # tokens: the sign of a gap, or a new line with its role
_ORDERS: Final = 0.5  # share of the budget that standing orders may take before anything else
_MARK: Final = 20  # the line on what was left out takes at most this part of the budget
_TRIES: Final = 5
# How much of a sentence's worth hangs on its saying something new, and what a word's length takes from it.
_NEW: Final = 0.4
_FLOOR: Final = 0.03  # of small talk: newer is better
_BY_LENGTH: Final = 12  # tokens by which a sentence's price is raised, or the shortest would always win
_AT_ONCE: Final = 32  # statements that are tried before those that have become too large are left out
_TASK: Final = 0.15  # what the first user message is worth more: it says what this is about


@dataclass(frozen=True, slots=True)
class Context:
    """What to send in place of the conversation, its tokens, and those of the conversation."""

    text: str
    tokens: int
    raw_tokens: int

    @property
    def compression_ratio(self) -> float:
        """Raw tokens divided by those of the context."""
        return round(self.raw_tokens / max(1, self.tokens), 4)


def context(
    state: History, settings: HistorySettings, *, count: Count = tokens.count, index: StatementIndex | None = None
) -> Context:
    """The conversation as one text: what is included of its history, then its recent messages unchanged.

    It takes `settings.compress_threshold` tokens at most, unless system and recent messages alone take more.

    Args:
        index: of the first blocks, to save reading them again; the text is the same with any.
    """
    recent = "\n".join(map(line, state.recent))
    pinned = "\n".join(map(line, _last_ones(state)))
    if not state.blocks:
        text = "\n".join(part for part in (pinned, recent) if part)
        return Context(text, count(text), state.raw_tokens)
    best = ""
    ranking = _ranking(StatementIndex.of(state.blocks, index), recent)
    budget = settings.compress_threshold - count(recent) - count(pinned) - HEADINGS
    for _ in range(_TRIES):
        told = _history_text(state, ranking, budget, count)
        text = _joined(pinned, told, recent)
        spare = settings.compress_threshold - count(text)
        if spare >= 0:
            best = max(best, text, key=len)
            if spare < settings.compress_threshold // _MARK:
                break
        elif not told:
            break
        budget += spare - (spare < 0)
    best = best or _joined(pinned, "", recent)
    return Context(best, count(best), state.raw_tokens)


def _joined(pinned: str, told: str, recent: str) -> str:
    return "\n".join(part for part in (_HEAD, pinned, told, _TAIL, recent) if part)


def _last_ones(state: History) -> list[HistoryMessage]:
    """System messages, each where it last occurred."""
    return list(dict.fromkeys(reversed(state.pinned)))[::-1]


class _Ranking(NamedTuple):
    """Statements and what each costs, and their indices: standing orders, newest first; then all, best first."""

    source: StatementIndex
    latest: LatestStatements
    costs: Numbers
    orders: Numbers
    best: Numbers


def _ranking(index: StatementIndex, recent: str) -> _Ranking:
    latest, told = index.latest(recent), index.columns
    places, new = latest.places, latest.newness
    worth = told.worth[places] * (1 - _NEW + _NEW * new) + _TASK * (told.message[places] == index.first_user)
    newer = np.arange(len(places)) / max(1, len(places))
    value = (worth + _FLOOR * (1 + new + newer)) / (told.tokens[places] + _BY_LENGTH)
    best = places[np.argsort(-value, kind="stable")]
    return _Ranking(index, latest, told.tokens + _JOINT, places[told.is_order[places]][::-1], best[~told.leads[best]])


def _history_text(state: History, ranking: _Ranking, budget: int, count: Count) -> str:
    """What fits the budget, in the order in which it was said, behind a line on what was left out."""
    mark = _mark(state, budget, count)
    left = budget - (count(mark) + 1 if mark else 0)
    chosen: set[int] = set()
    _fill(ranking, ranking.orders, int(_ORDERS * left), chosen)
    _fill(ranking, ranking.best, left - int(ranking.costs[list(chosen)].sum()), chosen)
    if len(chosen) == len(ranking.latest.places):
        mark = ""
    return "\n".join(part for part in (mark, _lines([ranking.source.statements[i] for i in sorted(chosen)])) if part)


def _fill(ranking: _Ranking, order: Numbers, budget: int, chosen: set[int]) -> None:
    """Add those that fit, each with what it needs, in order."""
    while len(order):
        order = order[ranking.costs[order] <= budget]  # the others never fit again: budgets only shrink
        some, order = order[:_AT_ONCE].tolist(), order[_AT_ONCE:]
        for i in some:
            if budget <= _JOINT:
                return
            if i in chosen:
                continue
            group = ranking.source.told_with(i, ranking.latest) - chosen
            cost = sum(ranking.source.statements[k].told.tokens + _JOINT for k in group)
            if cost <= budget:
                chosen |= group
                budget -= cost


def _mark(state: History, budget: int, count: Count) -> str:
    """The line on what was left out, as long as it may be."""
    number, blocks = len(state.blocks), state.blocks
    marks = (f"({number} earlier sections; {blocks[0].id} to {blocks[-1].id})", f"({number} earlier sections)")
    return next((mark for mark in marks if count(mark) < budget // _MARK), "")


def _lines(chosen: Sequence[Statement]) -> str:
    """A line for each run of one speaker's sentences; a sign where something is left out between two."""
    out: list[str] = []
    before: Statement | None = None
    for one in chosen:
        if before is None or before.role != one.role or "\n" in one.text or "\n" in before.text:
            out.append(f"\n{one.role}: {one.text}")
        else:
            follows = (before.block, before.told.message) == (
                one.block,
                one.told.message,
            ) and one.told.start - before.told.end < 3
            out.append((" " if follows else _GAP) + one.text)
        before = one
    return "".join(out).lstrip("\n")
