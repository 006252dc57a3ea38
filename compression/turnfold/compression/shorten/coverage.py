"""Choosing pieces under a budget so that the facts of a text are covered.

Lives here: the greedy choice. Does not belong here: the meaning of pieces, scores and facts.

Budgeted maximum coverage by worth per token (Khuller, Moss and Naor 1999), evaluated lazily: a piece's worth only falls as its
facts get covered, so only the top of the heap has to be re-evaluated.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

_OVERHEAD: Final = 3  # tokens: keeps one-word pieces from winning by their price alone


class CoverageItem(NamedTuple):
    """A candidate: its cost in tokens, its worth without facts, a factor for both, and its facts."""

    cost: int
    base: float
    factor: float
    facts: tuple[str, ...]


def cover(pieces: Sequence[CoverageItem], weights: Mapping[str, float], budget: int) -> list[int]:
    """Indices of the chosen pieces in the order of choice; their costs sum to `budget` at most. Deterministic, n log n."""
    seen: set[str] = set()

    def value(i: int) -> float:
        piece = pieces[i]
        fresh = sum([weights[fact] for fact in piece.facts if fact not in seen])
        return piece.factor * (piece.base + fresh) / (piece.cost + _OVERHEAD)

    heap = [(-value(i), i) for i in range(len(pieces)) if pieces[i].factor > 0]
    heapq.heapify(heap)
    chosen: list[int] = []
    left = budget
    while heap and left > 0:
        old, i = heapq.heappop(heap)
        if pieces[i].cost > left:
            continue
        now = -value(i)
        if now > old + 1e-12 and heap and now > heap[0][0]:
            heapq.heappush(heap, (now, i))
            continue
        chosen.append(i)
        left -= pieces[i].cost
        seen.update(pieces[i].facts)
    return chosen
