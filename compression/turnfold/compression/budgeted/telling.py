"""The context of a history: the text that is sent in its place, within the budget (row C9).

This module chooses among the sentences of old messages, and fixes the form of a context. What a sentence is worth is up to
``sentences``; ``history`` changes a history.

System messages are told whole, standing orders and what users state about themselves and their task before anything else, the
best of the rest as far as the budget goes; all in the order in which it was said, each sentence once and as it was said. What is
told comes with what it needs, and with what one of the next messages objects to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from turnfold.compression import tokens
from turnfold.compression.budgeted.history import HEADINGS, History, HistoryMessage, HistorySettings, line
from turnfold.compression.budgeted.sentences import ToldSentence
from turnfold.compression.text.dialogue.standing.orders import standing_orders
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
_OBJECTED: Final = 2  # messages behind one that may take it back
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


class _Candidate(NamedTuple):
    """A sentence with its place in the whole history: block, then as in `ToldSentence`."""

    block: int
    told: ToldSentence
    role: str
    text: str


def context(state: History, settings: HistorySettings, *, count: Count = tokens.count) -> Context:
    """The conversation as one text: what is included of its history, then its recent messages unchanged.

    It takes `settings.compress_threshold` tokens at most, unless system and recent messages alone take more.
    """
    recent = "\n".join(map(line, state.recent))
    pinned = "\n".join(map(line, _last_ones(state)))
    if not state.blocks:
        text = "\n".join(part for part in (pinned, recent) if part)
        return Context(text, count(text), state.raw_tokens)
    best = ""
    ranking = _ranking(state, recent)
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


def _candidates(state: History, recent: str) -> tuple[list[_Candidate], list[set[int]]]:
    """What can be told, in order: each text once, where it was said last, and nothing that recent messages say; an objection
    ("No.") where it was said. And of each all that it is told with."""
    said: dict[object, _Candidate] = {}
    keys: list[object] = []  # of all, the left out too
    for number, block in enumerate(state.blocks):
        for told in block.quotes:
            message = block.messages[told.message]
            text = message.content[told.start : told.end]
            key: object = (number, told.message) if told.objects else _orders_of(text) if told.is_order else text
            keys.append(key)
            if told.objects or text not in recent:
                said.pop(key, None)
                said[key] = _Candidate(number, told, message.role, text)
    return list(said.values()), _groups(state, keys, {key: i for i, key in enumerate(said)})


def _orders_of(text: str) -> str:
    """The standing orders in a statement: a repetition replaces it, whatever comes with them."""
    return " ".join(span.of(text).strip() for span in standing_orders(text)) or text


def _groups(state: History, keys: Sequence[object], at: Mapping[object, int]) -> list[set[int]]:
    """By candidate it and all that it is told with: what it needs, and what the next messages object to it.

    Args:
        keys: of each statement of each block in order.
        at: the candidate that stands for the statements of a key.
    """
    told = [(number, one) for number, block in enumerate(state.blocks) for one in block.quotes]
    before = list(accumulate((len(block.messages) for block in state.blocks), initial=0))
    objecting = {before[number] + one.message: key for (number, one), key in zip(told, keys, strict=True) if one.objects}
    groups: list[set[int]] = [{i} for i in range(len(at))]
    first = list(accumulate((len(block.quotes) for block in state.blocks), initial=0))
    for (number, one), key in zip(told, keys, strict=True):
        if key not in at:
            continue
        place = before[number] + one.message
        needed = [keys[first[number] + k] for k in one.needs]
        needed += [objecting[n] for n in range(place + 1, place + 1 + _OBJECTED) if n in objecting]
        groups[at[key]].update(at[k] for k in needed if k in at)
    return groups


class _Ranking(NamedTuple):
    """Candidates in order, what each is told with, and their indices: standing orders, newest first; then all, best first."""

    candidates: list[_Candidate]
    groups: list[set[int]]
    orders: list[int]
    best: list[int]


def _ranking(state: History, recent: str) -> _Ranking:
    candidates, groups = _candidates(state, recent)
    times = Counter(term for one in candidates for term in one.told.terms)
    task = next(((b, i) for b, block in enumerate(state.blocks) for i, m in enumerate(block.messages) if m.role == "user"), None)

    def value(i: int) -> float:
        block, told = candidates[i].block, candidates[i].told
        new = sum(1 / times[term] for term in told.terms) / max(1, len(told.terms))
        worth = told.worth * (1 - _NEW + _NEW * new) + _TASK * ((block, told.message) == task)
        return (worth + _FLOOR * (1 + new + i / len(candidates))) / (told.tokens + _BY_LENGTH)

    orders = [i for i in range(len(candidates) - 1, -1, -1) if candidates[i].told.is_order]
    best = sorted((i for i, one in enumerate(candidates) if not one.told.leads), key=lambda i: (-value(i), i))
    return _Ranking(candidates, groups, orders, best)


def _history_text(state: History, ranking: _Ranking, budget: int, count: Count) -> str:
    """What fits the budget, in the order in which it was said, behind a line on what was left out."""
    mark = _mark(state, budget, count)
    left = budget - (count(mark) + 1 if mark else 0)
    chosen: set[int] = set()
    _fill(ranking, ranking.orders, int(_ORDERS * left), chosen)
    _fill(ranking, ranking.best, left - sum(_cost(ranking.candidates[i]) for i in chosen), chosen)
    if len(chosen) == len(ranking.candidates):
        mark = ""
    return "\n".join(part for part in (mark, _lines([ranking.candidates[i] for i in sorted(chosen)])) if part)


def _cost(candidate: _Candidate) -> int:
    return candidate.told.tokens + _JOINT


def _fill(ranking: _Ranking, order: Iterable[int], budget: int, chosen: set[int]) -> None:
    """Add those that fit, each with what it needs, in order."""
    for i in order:
        if budget <= _JOINT:
            break
        if i in chosen:
            continue
        group = ranking.groups[i] - chosen
        cost = sum(_cost(ranking.candidates[k]) for k in group)
        if cost <= budget:
            chosen |= group
            budget -= cost


def _mark(state: History, budget: int, count: Count) -> str:
    """The line on what was left out, as long as it may be."""
    number, blocks = len(state.blocks), state.blocks
    marks = (f"({number} earlier sections; {blocks[0].id} to {blocks[-1].id})", f"({number} earlier sections)")
    return next((mark for mark in marks if count(mark) < budget // _MARK), "")


def _lines(chosen: Sequence[_Candidate]) -> str:
    """A line for each run of one speaker's sentences; a sign where something is left out between two."""
    out: list[str] = []
    before: _Candidate | None = None
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
