"""Choosing pieces under a budget so that the facts of a text are covered.

Lives here: the greedy choice, and its improvement by exchange. Does not belong here: what pieces, scores or facts are.

Budgeted maximum coverage by worth per token (Khuller, Moss and Naor 1999), evaluated lazily: a piece's worth only falls as its
facts get covered, so only the top of the heap has to be re-evaluated.

Worths are added by ``fsum``, here and where lines and sentences are rated: what ``sum`` makes of floats changed with Python
3.12, and replicas may run different ones.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

_FEW: Final = 120  # pieces up to which a choice is improved by exchange: beyond, greed leaves little
_EXCHANGES: Final = 30
_OVERHEAD: Final = 3  # tokens: keeps one-word pieces from winning by their price alone


class CoverageItem(NamedTuple):
    """A candidate: its cost in tokens, its worth without facts, a factor for both, and its facts."""

    cost: int
    base: float
    factor: float
    facts: tuple[str, ...]


class CoverageColumns(NamedTuple):
    """Candidates by their indices: what a `CoverageItem` has, in columns; the facts of those that have any."""

    costs: Sequence[int]
    bases: Sequence[float]
    factors: Sequence[float]
    facts: Mapping[int, tuple[str, ...]]


def cover(
    pieces: Sequence[CoverageItem], weights: Mapping[str, float], budget: int, needs: Sequence[Sequence[int]] = ()
) -> list[int]:
    """Indices of the chosen pieces in the order of choice; their costs sum to `budget` at most. Deterministic, n log n.

    Args:
        needs: for each piece all others that it can't be without; they are chosen in front of it, at its expense.
    """
    columns = CoverageColumns(
        [piece.cost for piece in pieces],
        [piece.base for piece in pieces],
        [piece.factor for piece in pieces],
        {i: piece.facts for i, piece in enumerate(pieces) if piece.facts},
    )
    needed = {i: others for i, others in enumerate(needs) if others}
    return cover_columns(columns, weights, budget, needed, range(len(pieces)))


def cover_columns(
    pieces: CoverageColumns,
    weights: Mapping[str, float],
    budget: int,
    needs: Mapping[int, Sequence[int]],
    candidates: Sequence[int],
) -> list[int]:
    """The same for a part of the pieces that stand in columns."""
    choice = _Choice(pieces, weights, needs)
    costs, facts, taken = pieces.costs, pieces.facts, choice.taken
    first = sorted(choice.offers(candidates), reverse=True)
    heap: list[tuple[float, int]] = []  # of those whose worth has changed
    left = budget
    least = min([costs[i] for _, i in first], default=0)
    while (first or heap) and left > 0 and left >= least:  # with less room none fits
        old, i = heapq.heappop(heap) if heap and (not first or heap[0] < first[-1]) else first.pop()
        if i in taken:
            continue
        cost = choice.cost(i) if i in needs else costs[i]
        if cost > left:
            continue
        if i in needs or i in facts:  # of others it does not change
            now = -choice.value(i)
            if now > old + 1e-12 and ((heap and now > heap[0][0]) or (first and now > first[-1][0])):
                heapq.heappush(heap, (now, i))
                continue
        left -= cost
        for cheaper in choice.take(i):
            heapq.heappush(heap, (-choice.value(cheaper), cheaper))
    return choice.order


class _Choice:
    """What is chosen so far."""

    def __init__(self, pieces: CoverageColumns, weights: Mapping[str, float], needs: Mapping[int, Sequence[int]]) -> None:
        self._costs, self._bases, self._factors, self._facts = pieces
        self._weights, self._needs = weights, needs
        self._dependents: defaultdict[int, list[int]] = defaultdict(list)
        for i, needed in needs.items():
            for j in needed:
                self._dependents[j].append(i)
        self._seen: set[str] = set()
        self.taken: set[int] = set()
        self.order: list[int] = []

    def _missing(self, i: int) -> list[int]:
        return [i, *[j for j in self._needs.get(i, ()) if j not in self.taken and j != i]]

    def cost(self, i: int) -> int:
        """Tokens of the piece and of what it still needs."""
        return sum([self._costs[j] for j in self._missing(i)])

    def value(self, i: int) -> float:
        """Worth per token now."""
        costs, facts, taken = self._costs, self._facts, self.taken
        held, cost = facts.get(i, ()), costs[i]
        for j in self._needs.get(i, ()):
            if j not in taken and j != i:
                cost += costs[j]
                if j in facts:
                    held = (*held, *[fact for fact in facts[j] if fact not in held])
        if not held:
            return self._factors[i] * self._bases[i] / (cost + _OVERHEAD)
        weights, seen = self._weights, self._seen
        fresh = fsum([weights[fact] for fact in held if fact not in seen])
        return self._factors[i] * (self._bases[i] + fresh) / (cost + _OVERHEAD)

    def offers(self, candidates: Sequence[int]) -> list[tuple[float, int]]:
        """Candidates of any worth with its negative; of most it is what they have by themselves."""
        costs, bases, factors, facts = self._costs, self._bases, self._factors, self._facts
        needs, value = self._needs, self.value
        return [
            (-(value(i) if i in facts or i in needs else factors[i] * bases[i] / (costs[i] + _OVERHEAD)), i)
            for i in candidates
            if factors[i] > 0
        ]

    def take(self, i: int) -> list[int]:
        """Choose a piece with what it needs. Returns those that have become cheaper by it."""
        cheaper: dict[int, None] = {}
        for j in (*self._missing(i)[1:], i):
            self.taken.add(j)
            self.order.append(j)
            if j in self._facts:
                self._seen.update(self._facts[j])
            if j in self._dependents:
                cheaper |= dict.fromkeys(self._dependents.pop(j))
        return [k for k in cheaper if k not in self.taken and self._factors[k] > 0]


def cover_closely(
    pieces: Sequence[CoverageItem], weights: Mapping[str, float], budget: int, needs: Sequence[Sequence[int]] = ()
) -> list[int]:
    """`cover`, then the best exchange of one piece for another as long as any helps; the most telling come first.

    Whole sentences are large beside a small budget, so the greedy choice leaves room that a better fit would use.
    """
    order = cover(pieces, weights, budget, needs)
    if len(pieces) > _FEW:
        return order
    search = _Swap(pieces, weights, needs)
    chosen = frozenset(i for i in order if pieces[i].factor > 0)
    for _ in range(_EXCHANGES):
        better = search.best_step(chosen, budget)
        if better is None:
            break
        chosen = better
    out: dict[int, None] = {}
    for i in sorted(chosen, key=lambda i: (-search.rate(i), i)):
        out |= dict.fromkeys((*search.needs[i], i))
    return list(out)


class _Swap:
    """What sets of pieces cost and are worth."""

    def __init__(self, pieces: Sequence[CoverageItem], weights: Mapping[str, float], needs: Sequence[Sequence[int]]) -> None:
        self._pieces, self._weights = pieces, weights
        self.needs = needs or [()] * len(pieces)
        self._open = [i for i, piece in enumerate(pieces) if piece.factor > 0]

    def rate(self, i: int) -> float:
        """Worth per token of one piece alone."""
        piece = self._pieces[i]
        return piece.factor * (piece.base + fsum([self._weights[fact] for fact in piece.facts])) / (piece.cost + _OVERHEAD)

    def best_step(self, chosen: frozenset[int], budget: int) -> frozenset[int] | None:
        """The best set that differs by one piece more, or by one in place of another; None if none is better."""
        best, top = None, self._worth(chosen) + 1e-9
        for out in (None, *sorted(chosen)):
            rest = chosen - {out}
            cost, shown = self._cost(rest), self._all(rest)
            for i in self._open:
                if i in chosen or (cost + self._pieces[i].cost > budget and i not in shown):
                    continue
                tried = rest | {i}
                worth = self._worth(tried)
                if worth > top and self._cost(tried) <= budget:
                    best, top = tried, worth
        return best

    def _all(self, chosen: frozenset[int]) -> set[int]:
        return {*chosen, *(j for i in chosen for j in self.needs[i])}

    def _cost(self, chosen: frozenset[int]) -> int:
        return sum([self._pieces[i].cost for i in self._all(chosen)])

    def _worth(self, chosen: frozenset[int]) -> float:
        total = 0.0
        factors: dict[str, float] = {}
        for i in sorted(self._all(chosen)):
            piece = self._pieces[i]
            total += piece.factor * piece.base
            for fact in piece.facts:
                factors[fact] = max(factors.get(fact, 0.0), piece.factor or 1.0)
        return total + fsum([self._weights[fact] * factor for fact, factor in factors.items()])
