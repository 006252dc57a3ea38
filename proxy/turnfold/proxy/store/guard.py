"""Timeouts and a circuit breaker around any store.

How long a call may wait for a store. What a caller does instead is up to the caller.

A caller that can do without the store waits only a moment (`GuardedStore`); one that cannot has seconds, whatever happened to
others (`TimedStore`). A guarded store that fails once is set aside: calls are refused at once while a background task checks, at
growing intervals, whether it works again. So a frozen server costs the calls in progress one timeout, and later requests nothing.
A store that answers, but too late for a request, continues to serve work that nobody waits for (`BackgroundStore`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from turnfold.proxy.incidents import Incidents, supervise
from turnfold.proxy.store.base import Batch, Item, Key, Room, Scope, Store, StoreError, StoreOff, StoreTimedOut, StoreUnavailable

T = TypeVar("T")

_PATIENCE: Final = 10.0  # seconds for calls of a guarded store that no request waits for
_FIRST_PROBE: Final = 0.1
_LAST_PROBE: Final = 5.0
_LATEST_ANSWER: Final = 3.0  # seconds for the answer to a probe; longer than requests wait, to tell a slow store from a dead one


async def _within(work: Callable[[], Awaitable[T]], seconds: float) -> T:
    """The result of the work. Raises StoreTimedOut after this many seconds, whatever the work does.

    It runs as a task of its own: a client that swallows a cancellation (redis-py can, if its own time-out fires at the same
    moment) would make ``asyncio.timeout`` keep waiting.
    """
    task = asyncio.ensure_future(work())
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    task.add_done_callback(_forget)
    task.cancel()
    raise StoreTimedOut(f"no answer within {seconds:g} s")


def _forget(task: asyncio.Future[Any]) -> None:
    if not task.cancelled():
        task.exception()  # retrieve the exception, or asyncio would log that it was never retrieved


class TimedStore:
    """A store that answers in time or raises; every call is tried.

    Args:
        timeout: seconds for calls that a request waits for (get, put, swap, ping).
        patience: seconds for background work and operators (batches, listings, reports, deletions).
        report: receives every failure.
    """

    def __init__(self, store: Store, timeout: float, patience: float, report: Callable[[StoreError], None]) -> None:
        self._store = store
        self._timeout = timeout
        self._patience = patience
        self._report = report

    async def _call(self, work: Callable[[], Awaitable[T]], seconds: float) -> T:
        try:
            return await _within(work, seconds)
        except StoreOff:  # not a failure: nothing is stored by design
            raise
        except StoreError as exc:
            self._report(exc)
            raise

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        return await self._call(lambda: self._store.get(keys), self._timeout)

    async def put(self, items: Sequence[Item]) -> None:
        await self._call(lambda: self._store.put(items), self._timeout)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        return await self._call(lambda: self._store.swap(expected, item), self._timeout)

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        return await self._call(lambda: self._store.keys(scope, offset, limit), self._patience)

    async def delete(self, scope: Scope) -> int:
        return await self._call(lambda: self._store.delete(scope), self._patience)

    async def discard(self, keys: Sequence[Key]) -> int:
        return await self._call(lambda: self._store.discard(keys), self._patience)

    async def record(self, batch: Batch) -> None:
        await self._call(lambda: self._store.record(batch), self._patience)

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        return await self._call(lambda: self._store.log(name, position, limit), self._patience)

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        return await self._call(lambda: self._store.newest(name, skip, limit), self._patience)

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        return await self._call(lambda: self._store.counts(names), self._patience)

    async def names(self) -> tuple[list[str], list[str]]:
        return await self._call(self._store.names, self._patience)

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        return await self._call(lambda: self._store.erase(lines, fields), self._patience)

    async def merge(self, name: str, into: Mapping[str, str]) -> None:
        await self._call(lambda: self._store.merge(name, into), self._patience)

    async def trim(self, name: str, share: float) -> None:
        await self._call(lambda: self._store.trim(name, share), self._patience)

    async def room(self) -> Room | None:
        return await self._call(self._store.room, self._patience)

    async def scrub(self) -> None:
        await self._call(self._store.scrub, self._patience)

    async def sweep(self) -> None:
        await self._call(self._store.sweep, self._patience)

    async def ping(self) -> None:
        await self._call(self._store.ping, self._timeout)

    async def close(self) -> None:
        await self._store.close()


class GuardedStore(TimedStore):
    """A `TimedStore` with a breaker: after a failure calls are refused at once until the store works again.

    Attributes:
        is_late: while the circuit is open: whether the store answers or may answer, but later than a request can wait.
    """

    def __init__(self, store: Store, timeout: float = 0.1, incidents: Incidents | None = None) -> None:
        super().__init__(store, timeout, _PATIENCE, self.failed)
        self._incidents = incidents or Incidents()
        self._probe: asyncio.Task[None] | None = None
        self._problem = ""
        self.is_late = False
        self.failures = 0

    @property
    def problem(self) -> str:
        """Why the circuit is open; "" while the store is in use."""
        return self._problem

    async def _call(self, work: Callable[[], Awaitable[T]], seconds: float) -> T:
        if self._problem:
            raise StoreUnavailable(f"not used until it answers again: {self._problem}")
        return await super()._call(work, seconds)

    def failed(self, problem: StoreError) -> None:
        """Count a failure from any source; if the store is unreachable, the circuit opens."""
        self.failures += 1
        if not isinstance(problem, StoreUnavailable):
            return
        self.is_late = isinstance(problem, StoreTimedOut) and (self.is_late or not self._problem)
        if not self._problem:
            self._problem = str(problem)
            probing = supervise("store-probe", self._ask_again, self._incidents)
            self._probe = asyncio.create_task(probing, name="turnfold-store-probe")

    def given_up(self, problem: StoreError) -> None:
        """Like `failed`, for a call that waited longer than any request does."""
        self.failed(problem)
        self.is_late = False

    async def _ask_again(self) -> None:
        wait = _FIRST_PROBE
        while self._problem:
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LAST_PROBE)
            asked = time.monotonic()
            try:
                await _within(self._store.ping, max(self._timeout, _LATEST_ANSWER))
            except StoreError:
                self.is_late = False
                continue
            was_late, self.is_late = self.is_late, time.monotonic() - asked > self._timeout
            if not self.is_late:
                self._problem = ""
            elif not was_late:  # a store that was frozen answers late once
                wait = _FIRST_PROBE

    async def close(self) -> None:
        if self._probe is not None:
            self._probe.cancel()
            await asyncio.gather(self._probe, return_exceptions=True)
        await super().close()


class BackgroundStore(TimedStore):
    """A guarded store for work that no request waits for: it continues while the store is only slow.

    Args:
        patience: seconds for calls that would otherwise have a request's short time limit.
    """

    def __init__(self, store: Store, patience: float, guard: GuardedStore) -> None:
        super().__init__(store, patience, max(patience, _PATIENCE), guard.given_up)
        self._guard = guard

    async def _call(self, work: Callable[[], Awaitable[T]], seconds: float) -> T:
        if self._guard.problem and not self._guard.is_late:
            raise StoreUnavailable(f"not used until it answers again: {self._guard.problem}")
        return await super()._call(work, seconds)
