"""A bounded memory of pure results, keyed by content.

One LRU that any thread may use, and work that continues where an earlier request left it. It knows nothing of what is kept.
Losing an entry costs time, never an answer, so nothing here is part of a fold's meaning.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache, wraps
from hashlib import blake2b
from threading import Lock
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Protocol, Self, TypeVar, cast

#: For so few items, recomputing a derived value is as fast as looking it up.
FEW: Final = 4
_BESIDE: Final = 3  # sequences with the same first item
_NEWEST: Final = 8  # a client's next request rarely changes anything before the last items; a cache mark may move within them

#: Texts that one stage reads before the next stage reads them again; fewer long ones, since they stay in memory.
_SHORT_TEXTS, _TEXTS, _LONG_TEXTS = 256, 16, 2
_SHORT, _LONG = 2_000, 100_000  # characters
_LONGEST: Final = 2**22  # characters of a text that is cached

T = TypeVar("T")
P = ParamSpec("P")


class Keyed(Protocol):
    """An item identified by its key."""

    @property
    def key(self) -> bytes:
        """Equal items have equal keys, and vice versa."""


K = TypeVar("K", bound=Keyed)


def digest(*parts: str) -> bytes:
    """A 16-byte hash of texts. Parts are kept distinct; lone surrogates are allowed."""
    h = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        h.update(len(data).to_bytes(8, "big"))
        h.update(data)
    return h.digest()


def remembering(function: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Cache a pure function of a text (and numbers) for the newest texts, since several stages ask in a row."""
    few, some, many = (lru_cache(size)(function) for size in (_LONG_TEXTS, _TEXTS, _SHORT_TEXTS))

    @wraps(function)
    def remembered(text: str, /, *others: P.args, **named: P.kwargs) -> T:
        if len(text) <= _SHORT:
            return many(text, *others, **named)  # type: ignore[arg-type]
        if len(text) <= _LONG:
            return some(text, *others, **named)  # type: ignore[arg-type]
        return few(text, *others, **named) if len(text) <= _LONGEST else function(text, *others, **named)  # type: ignore[arg-type]

    return remembered


class Memo:
    """A cache with least-recently-used eviction, bounded by weights that callers assign.

    Args:
        capacity: maximum total weight; one unit is about a byte.
    """

    def __init__(self, capacity: int = 32_000_000) -> None:
        self._capacity = capacity
        self._weight = 0
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def find(self, key: Hashable) -> Any:
        """The cached result for ``key``, or None."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def get(self, key: Hashable, make: Callable[[], T], weigh: Callable[[T], int] = lambda _: 64) -> T:
        """The cached result for ``key``, or what ``make`` returns.

        ``make`` runs outside the lock, so two threads may both run it.
        """
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return cast(T, known[0])
        value = make()
        made = (value, weigh(value))
        if made[1] <= self._capacity:
            with self._lock:
                if self._kept.setdefault(key, made) is made:
                    self._weight += made[1]
                    if self._weight > self._capacity:
                        self._trim()
        return value

    def put(self, key: Hashable, value: T, weigh: Callable[[T], int]) -> None:
        """Cache a result, replacing any earlier one for ``key``."""
        weight = weigh(value)
        with self._lock:
            self._weight -= self._kept.pop(key, (None, 0))[1]
            if weight <= self._capacity:
                self._kept[key] = (value, weight)
                self._weight += weight
                self._trim()

    def _trim(self) -> None:
        while self._weight > self._capacity:
            self._weight -= self._kept.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._kept.clear()
            self._weight = 0

    def passing(self) -> Memo:
        """A view of this cache that does not store what `get` makes.

        Use it for values that the next request does not need. Storing them would evict what is rarely requested, such as data on
        the oldest messages.
        """
        return _PassingMemo(self)


class _PassingMemo(Memo):
    """See `Memo.passing`."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo

    def find(self, key: Hashable) -> Any:
        """As in `Memo`."""
        return self._memo.find(key)

    def get(self, key: Hashable, make: Callable[[], T], weigh: Callable[[T], int] = lambda _: 64) -> T:
        """The cached result for ``key``, or what ``make`` returns."""
        found: T | None = self._memo.find(key)
        return make() if found is None else found

    def put(self, key: Hashable, value: T, weigh: Callable[[T], int]) -> None:
        """As in `Memo`."""
        self._memo.put(key, value, weigh)

    def clear(self) -> None:
        """As in `Memo`."""
        self._memo.clear()

    def passing(self) -> Memo:
        """Return itself."""
        return self


class Grown(tuple[T, ...]):
    """A tuple that may extend an earlier one, as the messages of a conversation do from request to request.

    Of two tuples with a common line, the shorter is a prefix of the longer, so they need not be compared.
    """

    line: object
    _next: list[object]

    def __new__(cls, items: Iterable[T] = (), known: Grown[T] | None = None, same: int = 0) -> Self:
        self = super().__new__(cls, items)
        goes_on = known is not None and len(self) >= len(known) and self[same : len(known)] == known[same:]
        self.line = (known.pass_on() if known is not None and goes_on else None) or object()
        self._next = [self.line]
        return self

    def pass_on(self) -> object | None:
        """The line, for the first tuple that extends this one; None for any other, which may differ."""
        try:
            return self._next.pop()  # atomic: only one of two threads gets it
        except IndexError:
            return None


class _Continued(NamedTuple):
    items: Sequence[Any]
    value: Any


def continued(
    memo: Memo | None,
    key: Hashable,
    items: Sequence[Any],
    run: Callable[[Any, int], T],
    weigh: Callable[[T], int],
    kept: int = 1,
) -> T:
    """A result over items, computed from the cached result of an earlier request with the same first items.

    Args:
        memo: holds the last result for `key`, with its items; None: nothing is cached, nor is it for a few items.
        key: identifies one growing sequence. If two share a key, results stay correct but take longer.
        run: computes the result from the cached one (or None) and the number of its items that these items begin with.
        weigh: the weight of a result, without its items.
        kept: number of sequences kept for one key, such as a request as received and as forwarded.
    """
    if memo is None or len(items) <= FEW:
        return run(None, 0)
    known: tuple[_Continued, ...] = memo.find(key) or ()
    lengths = [common_length(one.items, items) for one in known]
    same = max(lengths, default=0)
    nearest = known[lengths.index(same)] if same else None
    result = run(nearest.value if nearest is not None else None, same)
    # Sequences with less than half in common are different ones.
    others = [one for one in known if one is not nearest or 2 * same < len(one.items)]
    all_kept = (_Continued(items, result), *others)[:kept]
    memo.put(key, all_kept, lambda ones: sum([200 + 8 * len(one.items) + weigh(one.value) for one in ones]))
    return result


def continued_by_key(
    memo: Memo, name: str, items: Sequence[Keyed], run: Callable[[T | None, int], T], weigh: Callable[[T], int]
) -> T:
    """`continued` over items with keys, such as the messages of a conversation or of one of its blocks."""
    keys = [one.key for one in items]
    return continued(memo, (name, *keys[:1]), keys, run, weigh, _BESIDE)


def of_each(memo: Memo, name: str, items: Sequence[K], read: Callable[[K], T]) -> list[T]:
    """The result of `read` for each item; results for items that an earlier request began with are cached."""

    def run(known: list[T] | None, same: int) -> list[T]:
        return [*(known or ())[:same], *map(read, items[same:])]

    return continued_by_key(memo, name, items, run, lambda found: 8 * len(found))


def common_length(one: Sequence[Any], other: Sequence[Any]) -> int:
    """The number of first items that both have in common."""
    size = min(len(one), len(other))
    if one is other or _are_of_one_line(one, other):
        return size
    if one[:size] == other[:size]:  # usually the same objects, which compare at once
        return size
    low, high, middle = 0, size, max(0, size - _NEWEST)
    while high - low > _NEWEST:  # the first `low` are the same, the first `high` are not
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle)
        middle = (low + high) // 2
    return next((i for i in range(low, high) if one[i] is not other[i] and one[i] != other[i]), high)


def begin_alike(one: Sequence[Any], other: Sequence[Any], length: int) -> bool:
    """Whether both begin with the same items, comparing `length` items or as many as either has."""
    if _are_of_one_line(one, other):
        return min(len(one), length) == min(len(other), length)
    return one is other or one[:length] == other[:length]


def _are_of_one_line(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return isinstance(one, Grown) and isinstance(other, Grown) and one.line is other.line
