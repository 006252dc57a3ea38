"""A bounded memory of pure results, keyed by content.

Lives here: one LRU that any thread may use. Does not belong here: knowledge of what is kept. Losing an entry costs time, never an
answer, so nothing here is part of a fold's meaning.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from threading import Lock
from typing import Any, TypeVar, cast

T = TypeVar("T")


def digest(*parts: str) -> bytes:
    """A 16-byte content hash of texts; parts are kept apart, lone surrogates are allowed."""
    h = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        h.update(len(data).to_bytes(8, "big"))
        h.update(data)
    return h.digest()


class Memo:
    """Least recently used results, bounded by the weight that their makers give them.

    Args:
        capacity: the sum of weights that is kept; one unit is about a byte.
    """

    def __init__(self, capacity: int = 48_000_000) -> None:
        self._capacity = capacity
        self._weight = 0
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def find(self, key: Hashable) -> Any:
        """What is kept for ``key``, else None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def get(self, key: Hashable, make: Callable[[], T], weigh: Callable[[T], int] = lambda _: 64) -> T:
        """The kept result for ``key``, else what ``make`` gives (made outside the lock: two threads may both make it)."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast(T, self._kept[key][0])
        value = make()
        weight = weigh(value)
        with self._lock:
            if key not in self._kept and weight <= self._capacity:
                self._kept[key] = (value, weight)
                self._weight += weight
                while self._weight > self._capacity:
                    self._weight -= self._kept.popitem(last=False)[1][1]
        return value
