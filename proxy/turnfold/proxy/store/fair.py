"""Space shared by tenants: whose items are evicted when it is full.

The fair level, and a memory of recently used values that keeps to it. It knows neither the values nor their times to live.

When the memory is full, every tenant is cut to the same level, the highest at which all fit. A tenant below it loses nothing,
however much the others write; a single tenant may use everything.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_SLACK: Final = 16  # one in this many parts of the capacity is freed at once, so that levels are rarely computed


def fair_level(sizes: Iterable[int], room: int) -> int:
    """The maximum size for each such that all fit into the room; smaller ones keep everything.

    Max-min fairness ("water filling"; Bertsekas and Gallager, Data Networks, section 6.5.2).
    """
    left, ordered = room, sorted(sizes)
    for number, size in enumerate(ordered):
        share = max(0, left) // (len(ordered) - number)
        if size > share:
            return share
        left -= size
    return max(ordered, default=room)


class FairMemory(Generic[K, V]):
    """Values by tenant and key, bounded by their weights; the least recently used of the largest tenants are evicted.

    Args:
        capacity: maximum sum of all weights.
        share: maximum part of the capacity that one tenant may take, above 0 to 1.
    """

    def __init__(self, capacity: int, share: float = 1.0) -> None:
        self._capacity = capacity
        self._most = int(capacity * share)
        self._tenants: dict[str, OrderedDict[K, tuple[V, int]]] = {}
        self._weights: dict[str, int] = {}
        self.weight = 0

    def get(self, tenant: str, key: K) -> V | None:
        """The value, which becomes the most recently used; None if there is none."""
        kept = self._tenants.get(tenant)
        if kept is None or key not in kept:
            return None
        kept.move_to_end(key)
        return kept[key][0]

    def peek(self, tenant: str, key: K) -> V | None:
        """The value, without using it; None if there is none."""
        kept = self._tenants.get(tenant)
        return None if kept is None or key not in kept else kept[key][0]

    def put(self, tenant: str, key: K, value: V, weight: int = 1) -> None:
        """Store a value as the most recently used; others may be evicted for it. By default, each value counts 1."""
        self.drop(tenant, key)
        self._tenants.setdefault(tenant, OrderedDict())[key] = (value, weight)
        self._add(tenant, weight)
        self._cut(tenant, self._most)
        if self.weight > self._capacity:
            level = fair_level(self._weights.values(), self._capacity - self._capacity // _SLACK)
            for large in [name for name, size in self._weights.items() if size > level]:
                self._cut(large, level)

    def drop(self, tenant: str, key: K) -> V | None:
        """Forget one value. Returns it; None if there was none."""
        kept = self._tenants.get(tenant)
        found = None if kept is None else kept.pop(key, None)
        if found is None:
            return None
        self._add(tenant, -found[1])
        return found[0]

    def drop_tenant(self, tenant: str) -> None:
        """Forget all values of a tenant."""
        for key in self.keys(tenant):
            self.drop(tenant, key)

    def keys(self, tenant: str) -> list[K]:
        """A tenant's keys, the least recently used first."""
        return list(self._tenants.get(tenant, ()))

    def items(self) -> Iterator[tuple[str, K, V]]:
        """All values, as a snapshot."""
        for tenant, kept in list(self._tenants.items()):
            for key, (value, _) in list(kept.items()):
                yield tenant, key, value

    def tenants(self) -> list[str]:
        """The tenants with values."""
        return list(self._tenants)

    def clear(self) -> None:
        """Forget everything."""
        self._tenants.clear()
        self._weights.clear()
        self.weight = 0

    def __len__(self) -> int:
        return sum(map(len, self._tenants.values()))

    def _cut(self, tenant: str, most: int) -> None:
        """Evict a tenant's least recently used values until their weight is at most `most`."""
        while self._weights.get(tenant, 0) > most:
            self.drop(tenant, next(iter(self._tenants[tenant])))

    def _add(self, tenant: str, weight: int) -> None:
        self.weight += weight
        self._weights[tenant] = self._weights.get(tenant, 0) + weight
        if not self._tenants[tenant]:
            del self._tenants[tenant], self._weights[tenant]
