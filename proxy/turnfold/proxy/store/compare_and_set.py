"""Changing one item of a store that others change too.

Lives here: the loop of read, change, swap, how long it waits, and taking turns inside a process. Does not belong here: what is
changed.

Every round somebody's swap succeeds, so a loser only has to come back; it waits a little longer each time, the same on every
replica (no randomness: rounds are short, and whoever waits longest is at most one step behind).
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

#: What a change makes of the bytes that are held (None: nothing): the new item, or None to leave it, and a result.
Change = Callable[[bytes | None], Awaitable[tuple[Item | None, T]]]

_FIRST_WAIT: Final = 0.001
_LONGEST_WAIT: Final = 0.064


class Contended(StoreUnavailable):
    """Others were faster for as long as was allowed."""


class Turns:
    """One at a time for each key, in the order in which they came; so only other processes are met in the store."""

    def __init__(self) -> None:
        self._locks: dict[Key, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, key: Key) -> AsyncIterator[None]:
        """Wait for one's turn, and have it."""
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
    """Change an item, and give the change's result once it is in the store.

    Args:
        change: may be called several times. With `outlast` it must recognise its own work: a swap that timed out may have
            been done.
        patience: seconds to go on while others win.
        outlast: seconds to go on while the store cannot be reached.

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
