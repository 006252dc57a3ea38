"""What pieces need besides those that are chosen already, directly or not.

Lives here: the missing needs of each piece, kept up to date while pieces are chosen. Does not belong here: what pieces are worth
(``coverage``), why one needs another (``text.statements``).

Where each piece needs the one in front of it, all their needs together grow with the square of the text. So a piece that needs
many and far more than can still be paid for is not looked into, nor what needs it in turn: it costs at least as much.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

MANY: Final = 64  # needs up to which all are gathered, whatever they cost
_NONE: Final[Sequence[int]] = ()
_NOTHING: Final[Set[int]] = frozenset()


class NeededPieces:
    """The missing needs of pieces.

    Args:
        needs: what each piece needs, where it needs anything; what those need is needed too.
        costs: of each piece.
        free: pieces that are there anyway: they cost nothing, but what they need is needed.
        room: what can be paid for; it gets less with each that is chosen.
    """

    def __init__(self, needs: Mapping[int, Sequence[int]], costs: Sequence[int], free: Set[int], room: int) -> None:
        self._needs, self._costs, self._free, self._room = needs, costs, free, room
        self._dependents: defaultdict[int, list[int]] = defaultdict(list)
        for i, needed in needs.items():
            for j in needed:
                self._dependents[j].append(i)
        self._missing: dict[int, set[int]] = {}
        self._price: dict[int, int] = {}  # of what is missing
        self._when: dict[int, int] = {}  # how many were chosen when that was so
        self._beyond: set[int] = set()  # what costs too much stays so: the room shrinks by all that is chosen
        self.chosen: set[int] = set()
        self.order: list[int] = []

    def missing(self, i: int) -> Set[int] | None:
        """What a piece needs that is neither chosen nor free; None where it is many that cost too much."""
        if i not in self._needs:
            return _NOTHING
        if i in self._beyond:
            return None
        if i not in self._missing:
            self._look_into(i)
        elif self._when[i] < len(self.order):
            self._forget_chosen(i)
        return self._missing.get(i)

    def _look_into(self, i: int) -> None:
        found = self._few(i)
        if found is not None:  # mostly
            self._note(i, found)
        else:
            for j in self._unknown(i):
                self._gather(j)

    def _few(self, i: int) -> set[int] | None:
        """What is missing of what a piece needs, where that is little."""
        needs, chosen = self._needs, self.chosen
        found, rest = {i}, [i]
        while rest:
            for j in needs[rest.pop()]:
                if j not in found and j not in chosen:
                    found.add(j)
                    if j in needs:
                        rest.append(j)
            if len(found) > MANY:
                return None
        found.remove(i)
        return found - self._free if self._free else found

    def _forget_chosen(self, i: int) -> None:
        """Take out of what is missing what has been chosen since it was asked for."""
        found, news = self._missing[i], self.order[self._when[i] :]
        gone = found.intersection(news) if len(news) < len(found) else found & self.chosen
        self._when[i] = len(self.order)
        found -= gone
        if gone:
            self._price[i] -= sum(map(self._costs.__getitem__, gone))
        if self._is_beyond(i, found, self._price[i]):
            self._beyond.add(i)
            del self._missing[i]

    def _is_beyond(self, i: int, found: Set[int], price: int) -> bool:
        return len(found) > MANY and price + (0 if i in self._free else self._costs[i]) > self._room

    def _unknown(self, i: int) -> Iterator[int]:
        """A piece and what it needs as far as that is not known yet, each behind what it needs itself."""
        entered = {i}
        path = [(i, iter(self._needs[i]))]
        while path:
            k, rest = path[-1]
            for j in rest:
                if j in self._needs and not (j in entered or j in self._missing or j in self._beyond or j in self.chosen):
                    entered.add(j)
                    path.append((j, iter(self._needs[j])))
                    break
            else:
                path.pop()
                yield k

    def _gather(self, i: int) -> None:
        """Note what is missing of what a piece needs, or that it costs too much."""
        found: set[int] = set()
        price = 0
        through = {i}  # and free ones on the way
        rest = [*self._needs[i]]
        while rest:
            j = rest.pop()
            if j in found or j in through or j in self.chosen:
                continue
            if j in self._free:
                through.add(j)
            else:
                found.add(j)
                price += self._costs[j]
            if j in self._missing and (known := self.missing(j)) is not None:
                more = known - found - {i}
                found |= more
                price += sum(map(self._costs.__getitem__, more))
            else:
                rest += self._needs.get(j, _NONE)
            if j in self._beyond or self._is_beyond(i, found, price):
                self._beyond.add(i)
                return
        self._note(i, found)

    def _note(self, i: int, found: set[int]) -> None:
        self._missing[i], self._when[i] = found, len(self.order)
        self._price[i] = sum(map(self._costs.__getitem__, found))

    def price(self, i: int) -> int:
        """What a piece costs with what it needs; `missing` was asked for it since the last choice, and is not None."""
        return self._costs[i] + self._price.get(i, 0)

    def choose(self, i: int) -> list[int]:
        """Choose a piece, and in front of it what it needs, which `missing` knows; these in the order of choice."""
        news = [*sorted(self.missing(i) or ()), i]
        self._missing.pop(i, None)
        self.chosen.update(news)
        self.order += news
        self._room -= sum(map(self._costs.__getitem__, news))
        return news

    def cheaper(self, news: Sequence[int]) -> Iterator[int]:
        """Pieces that need less now that these have been chosen, but for those that still need too much."""
        seen: set[int] = set()
        rest = [k for j in news for k in self._dependents.get(j, _NONE)]
        while rest:
            k = rest.pop()
            if k in seen or k in self.chosen or self.missing(k) is None:
                continue
            seen.add(k)
            yield k
            rest += self._dependents.get(k, _NONE)


def all_needed(needs: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """For each of a few pieces all others that it needs, directly or not, in order."""
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
