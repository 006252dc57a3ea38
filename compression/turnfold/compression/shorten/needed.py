"""The pieces that chosen pieces need, directly or indirectly.

This module keeps the missing needs of each piece up to date while pieces are chosen. What pieces are worth is up to ``coverage``;
why one needs another, to ``text.statements``.

Where each piece needs the one in front of it, all their needs together grow with the square of the text. So a piece that needs
many others is not looked into, nor what needs it in turn: it waits until some of these have been chosen for themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Final

from turnfold.compression.text.statements import MOST_NEEDED

_NONE: Final[Sequence[int]] = ()
_NOTHING: Final[Set[int]] = frozenset()
_UNKNOWN: Final[Mapping[int, Set[int]]] = MappingProxyType({})


class NeededPieces:
    """The missing needs of pieces: others that they depend on.

    Args:
        needs: the direct needs of each piece that has any; these may have needs of their own.
        costs: the cost of each piece.
        free: pieces that are included anyway: they cost nothing, but their needs count.
    """

    def __init__(self, needs: Mapping[int, Sequence[int]], costs: Sequence[int], free: Set[int]) -> None:
        self._needs, self._costs, self._free = needs, costs, free
        self._dependents: defaultdict[int, list[int]] = defaultdict(list)
        for i, needed in needs.items():
            for j in needed:
                self._dependents[j].append(i)
        self._missing: dict[int, set[int]] = {}
        self._price: dict[int, int] = {}  # of a piece with its missing needs
        self._needs_too_much: set[int] = set()  # as of the last choice
        self._waiting: defaultdict[int, list[int]] = defaultdict(list)  # for each piece, those that miss it
        self.chosen: set[int] = set()
        self.order: list[int] = []

    def look_into(self, pieces: Sequence[int]) -> None:
        """Compute the needs of these pieces. In long chains, inner needs are computed first, so that they need not be followed
        again.
        """
        behind = [i for i in pieces if max(self._needs[i]) < i]
        known = set(behind)
        for i in (*behind, *(i for i in reversed(pieces) if i not in known)):
            self.missing(i)

    def missing(self, i: int) -> Set[int] | None:
        """The needs of a piece that are neither chosen nor free; None if they are too much for now."""
        if i not in self._needs:
            return _NOTHING
        if i not in self._missing and i not in self._needs_too_much:
            self._follow(i)
        return self._missing.get(i)

    def _follow(self, i: int) -> None:
        needs, chosen, too_much = self._needs, self.chosen, self._needs_too_much
        known = _UNKNOWN if self._free else self._missing  # without the free ones, which count too
        found, rest = {i}, [i]
        while rest:
            for j in needs[rest.pop()]:
                if j not in found and j not in chosen:
                    found.add(j)
                    if j in known:
                        found |= known[j]
                    elif j in needs:
                        rest.append(j)
                    if len(found) > MOST_NEEDED or j in too_much:
                        too_much.add(i)
                        return
        found.remove(i)
        self._missing[i] = found = found - self._free if self._free else found
        self._price[i] = self._costs[i] + sum(map(self._costs.__getitem__, found))
        for j in found:
            self._waiting[j].append(i)

    def price(self, i: int) -> int:
        """The cost of a piece with its needs. Call `missing` first, after the last choice; it must not be None."""
        return self._price.get(i, self._costs[i])

    def choose(self, i: int) -> list[int]:
        """Choose a piece and, before it, its needs as known from `missing`. Returns them in the order of choice."""
        news = [*sorted(self.missing(i) or ()), i]
        self.chosen.update(news)
        self.order += news
        self._needs_too_much.clear()
        return news

    def cheaper(self, news: Sequence[int]) -> Iterator[int]:
        """Pieces with fewer missing needs now that `news` are chosen, except those that still need too much."""
        known, chosen, costs = self._missing, self.chosen, self._costs
        found: set[int] = set()
        for j in news:
            for k in self._waiting.pop(j, _NONE):
                known[k].discard(j)
                self._price[k] -= costs[j]
                if k not in chosen:
                    found.add(k)
        yield from found
        rest = [*news, *found]  # others after them may have needed too much before
        while rest:
            for k in self._dependents.get(rest.pop(), _NONE):
                if k not in known and k not in chosen and self.missing(k) is not None:
                    yield k
                    rest.append(k)


def all_needed(needs: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """For each of a few pieces, all direct and indirect needs, in order."""
    found: list[Sequence[int]] = []
    for i, needed in enumerate(needs):
        every = {i, *needed}
        rest = [*needed]
        while rest:
            more = every.symmetric_difference(every.union(needs[rest.pop()]))
            every |= more
            rest += more
        found.append(sorted(every - {i}))
    return found
