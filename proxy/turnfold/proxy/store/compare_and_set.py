"""Changing a stored item that others may change at the same time.

The loop of read, change and swap, its waits, and turns within a process. The caller passes the change.

In every round one swap succeeds, so the losers only have to try again. Each waits a little longer every time, without randomness:
rounds are short, and the longest wait is at most one step behind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Final, TypeVar

from turnfold.proxy.store import Item, Key, Store, StoreUnavailable

T = TypeVar("T")

#: From the stored bytes (None if there are none) to the new item (None to leave it) and a result.
Change = Callable[[bytes | None], Awaitable[tuple[Item | None, T]]]

_FIRST_WAIT: Final = 0.001
_LONGEST_WAIT: Final = 0.064


class Contended(StoreUnavailable):
    """Others kept changing the item until patience ran out."""


class Turns:
    """One change at a time for each key, in order of arrival, so that only other processes compete in the store."""

    def __init__(self) -> None:
        self._locks: dict[Key, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, key: Key) -> AsyncIterator[None]:
        """Wait for a turn, and keep it during the block."""
        lock, waiting = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, waiting + 1)
        try:
            async with lock:
                yield
        finally:
            waiting = self._locks[key][1] - 1
            if waiting:
                self._locks[key] = (lock, waiting)
            else:
                del self._locks[key]


def _waits() -> Iterator[float]:
    steps = (_FIRST_WAIT * 2**i for i in range(7))
    return chain((0.0,), steps, repeat(_LONGEST_WAIT))


async def compare_and_set(store: Store, key: Key, change: Change[T], *, patience: float, outlast: float = 0.0) -> T:
    """Change an item. Returns the change's result once it is stored.

    Args:
        change: may be called several times. With `outlast` it must recognise its own work, because a swap that timed out may have
            succeeded.
        patience: seconds to keep trying while others win.
        outlast: seconds to keep trying while the store cannot be reached.

    Raises:
        Contended: `patience` has run out.
        StoreError: the store cannot be reached for longer than `outlast`, or it failed.
    """
    start = time.monotonic()
    for wait in _waits():
        await asyncio.sleep(wait)
        try:
            (held,) = await store.get([key])
            item, result = await change(held)
            if item is None or await store.swap(held, item):
                return result
        except StoreUnavailable:
            if time.monotonic() - start >= outlast:
                raise
            continue
        if time.monotonic() - start >= patience:
            break
    raise Contended(f"others kept changing it for {patience:g} s")
