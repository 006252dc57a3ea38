"""Choosing pieces under a budget so that the facts of a text are covered.

The greedy choice, and its improvement by exchange. What pieces, scores and facts are is up to the caller.

Budgeted maximum coverage by worth per token (Khuller, Moss and Naor 1999), evaluated lazily: a piece's worth only falls as its
facts get covered, so only the top of the heap has to be re-evaluated.

Worths are added by ``fsum``, here and where lines and sentences are rated: what ``sum`` makes of floats changed with Python
3.12, and replicas may run different ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence, Set
from math import fsum
from typing import Final, NamedTuple

from turnfold.compression.shorten.needed import NeededPieces, all_needed

_FEW: Final = 120  # pieces up to which a choice is improved by exchanges; beyond, the greedy choice is nearly optimal
_EXCHANGES: Final = 30
_ROUNDING: Final = 1e-6  # more than the difference from adding in another order
_OVERHEAD: Final = 3  # tokens: keeps one-word pieces from winning by their price alone


class CoverageItem(NamedTuple):
    """A candidate: its cost in tokens, its worth without facts, a factor for both, and its facts."""

    cost: int
    base: float
    factor: float
    facts: tuple[str, ...]


class CoverageColumns(NamedTuple):
    """Candidates by index: the fields of `CoverageItem` as columns, and the facts of those that have any."""

    costs: Sequence[int]
    bases: Sequence[float]
    factors: Sequence[float]
    facts: Mapping[int, tuple[str, ...]]


def cover(
    pieces: Sequence[CoverageItem], weights: Mapping[str, float], budget: int, needs: Sequence[Sequence[int]] = ()
) -> list[int]:
    """Indices of the chosen pieces in the order of choice; their costs sum to `budget` at most. Deterministic, n log n.

    Args:
        needs: for each piece the others that it depends on, directly. These and their needs are chosen before it, at its expense.
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
    free: Set[int] = frozenset(),
) -> list[int]:
    """Like `cover`, for some of the pieces in columns; those in `free` are included anyway."""
    choice = _Choice(pieces, weights, needs, NeededPieces(needs, pieces.costs, free))
    costs, facts, chosen = pieces.costs, pieces.facts, choice.needed.chosen
    first = sorted(choice.offers(candidates), reverse=True)
    heap = choice.heap
    left = budget
    least = min([costs[i] for i in candidates if pieces.factors[i] > 0], default=0)
    while (first or heap) and left > 0 and left >= least:  # with less room, none fits
        old, i = heapq.heappop(heap) if heap and (not first or heap[0] < first[-1]) else first.pop()
        if i in chosen:
            continue
        cost = choice.cost(i) if i in needs else costs[i]
        if cost is None or cost > left:
            continue
        if i in needs or i in facts:  # for others it does not change
            now = -choice.value(i)
            if now > old + 1e-12 and ((heap and now > heap[0][0]) or (first and now > first[-1][0])):
                heapq.heappush(heap, (now, i))
                continue
        left -= cost
        choice.take(i, free)
    return choice.needed.order


class _Choice:
    """The choice so far, and the worth of the other pieces given that choice.

    Attributes:
        heap: pieces whose worth has changed, with the negative of its upper bound.
    """

    def __init__(
        self, pieces: CoverageColumns, weights: Mapping[str, float], needs: Mapping[int, Sequence[int]], needed: NeededPieces
    ) -> None:
        self._costs, self._bases, self._factors, self._facts = pieces
        self._weights, self._needs = weights, needs
        self.needed = needed
        self._seen: set[str] = set()
        # For pieces that depend on others, as of the last rating: the new facts that these brought along, and their worth.
        self._fresh_facts: dict[int, Set[str]] = {}
        self._fresh: dict[int, float] = {}
        self.heap: list[tuple[float, int]] = []

    def cost(self, i: int) -> int | None:
        """Tokens of the piece and its missing needs; None if that is too much for now."""
        return None if self.needed.missing(i) is None else self.needed.price(i)

    def value(self, i: int) -> float:
        """Current worth per token of a piece whose needs are known."""
        if i in self._needs:
            return self._factors[i] * (self._bases[i] + self._worth_of_fresh(i)) / (self.needed.price(i) + _OVERHEAD)
        weights, seen = self._weights, self._seen
        fresh = fsum([weights[fact] for fact in self._facts.get(i, ()) if fact not in seen])
        return self._factors[i] * (self._bases[i] + fresh) / (self._costs[i] + _OVERHEAD)

    def _worth_of_fresh(self, i: int) -> float:
        """The worth of the facts that are new with a piece and its needs; these only become fewer."""
        held = self._fresh_facts.get(i)
        if held is None:
            facts = self._facts
            held = set(facts.get(i, ())).union(*[facts[j] for j in self.needed.missing(i) or () if j in facts])
        fresh = held - self._seen
        if i not in self._fresh or len(fresh) < len(held):
            self._fresh_facts[i] = fresh
            self._fresh[i] = fsum([self._weights[fact] for fact in fresh])
        return self._fresh[i]

    def offers(self, candidates: Sequence[int]) -> list[tuple[float, int]]:
        """Candidates with the negative of their worth, if any; for most, it is their own worth."""
        costs, bases, factors, facts = self._costs, self._bases, self._factors, self._facts
        needs, missing, value = self._needs, self.needed.missing, self.value
        open_ones = [i for i in candidates if factors[i] > 0]
        self.needed.look_into([i for i in open_ones if i in needs])
        return [
            (-(value(i) if i in facts or i in needs else factors[i] * bases[i] / (costs[i] + _OVERHEAD)), i)
            for i in open_ones
            if i not in needs or missing(i) is not None
        ]

    def take(self, i: int, free: Set[int]) -> None:
        """Choose a piece with its needs.

        Pieces that have become cheaper are offered again with an upper bound of their worth, since some of their facts may be
        known by now.
        """
        news = self.needed.choose(i)
        self._seen.update(fact for j in news if j in self._facts for fact in self._facts[j])
        if not self._needs:
            return
        bases, factors, fresh, price = self._bases, self._factors, self._fresh, self.needed.price
        for k in self.needed.cheaper(news):
            if factors[k] > 0 and k not in free:
                most = factors[k] * (bases[k] + fresh[k]) / (price(k) + _OVERHEAD) if k in fresh else self.value(k)
                heapq.heappush(self.heap, (-most, k))


def cover_closely(
    pieces: Sequence[CoverageItem], weights: Mapping[str, float], budget: int, needs: Sequence[Sequence[int]] = ()
) -> list[int]:
    """`cover`, then the best exchange of one piece for another as long as any helps; the most telling come first.

    Whole sentences are large beside a small budget, so the greedy choice leaves room that a better fit would use.
    """
    order = cover(pieces, weights, budget, needs)
    if len(pieces) > _FEW:
        return order
    search = _Swap(pieces, weights, all_needed(needs) or [()] * len(pieces))
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
    """The costs and worth of sets of pieces."""

    def __init__(self, pieces: Sequence[CoverageItem], weights: Mapping[str, float], needs: Sequence[Sequence[int]]) -> None:
        self._pieces, self._weights = pieces, weights
        self.needs = needs
        self._open = [i for i, piece in enumerate(pieces) if piece.factor > 0]

    def rate(self, i: int) -> float:
        """Worth per token of one piece alone."""
        piece = self._pieces[i]
        return piece.factor * (piece.base + fsum([self._weights[fact] for fact in piece.facts])) / (piece.cost + _OVERHEAD)

    def best_step(self, chosen: frozenset[int], budget: int) -> frozenset[int] | None:
        """The best set that differs by one piece more, or by one in place of another; None if none is better.

        Adding up the facts of a set is slow, so it is only done for sets that may be the best by the worth of their new piece.
        """
        best, top = None, self._worth(chosen) + 1e-9
        others = [i for i in self._open if i not in chosen]
        for out in (None, *sorted(chosen)):
            rest = chosen - {out}
            shown = self._all(rest)
            cost = sum([self._pieces[i].cost for i in shown])
            factors: dict[str, float] | None = None
            for i in others:
                news = [j for j in (*self.needs[i], i) if j not in shown]
                if cost + sum([self._pieces[j].cost for j in news]) > budget:
                    continue
                if factors is None:
                    factors = self._factors(shown)
                    base = self._worth_of(shown, factors) + _ROUNDING
                if base + self._most_added(news, factors) <= top:
                    continue
                tried = rest | {i}
                worth = self._worth(tried)
                if worth > top:
                    best, top = tried, worth
        return best

    def _most_added(self, news: Sequence[int], factors: Mapping[str, float]) -> float:
        """An upper bound, except for rounding, for what pieces add to a set with these factors. Higher if two new ones share a
        fact.
        """
        added = 0.0
        for i in news:
            _, base, factor, facts = self._pieces[i]
            added += factor * base
            counts = factor or 1.0
            for fact in facts:
                more = counts - factors.get(fact, 0.0)
                if more > 0:
                    added += self._weights[fact] * more
        return added

    def _factors(self, shown: Iterable[int]) -> dict[str, float]:
        """The factor of each fact for a set of pieces with all their needs."""
        factors: dict[str, float] = {}
        for i in sorted(shown):
            counts = self._pieces[i].factor or 1.0
            for fact in self._pieces[i].facts:
                if factors.get(fact, 0.0) < counts:
                    factors[fact] = counts
        return factors

    def _all(self, chosen: frozenset[int]) -> set[int]:
        return {*chosen, *(j for i in chosen for j in self.needs[i])}

    def _worth(self, chosen: frozenset[int]) -> float:
        shown = self._all(chosen)
        return self._worth_of(shown, self._factors(shown))

    def _worth_of(self, shown: Iterable[int], factors: Mapping[str, float]) -> float:
        total = 0.0
        for i in sorted(shown):
            total += self._pieces[i].factor * self._pieces[i].base
        return total + fsum([self._weights[fact] * factor for fact, factor in factors.items()])
