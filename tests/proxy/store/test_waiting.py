"""How long callers wait for a store, and when one that is away is asked again.

These tests cover every such time, on a clock that jumps. They leave out what a real store does (``test_guard``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.proxy.store_calls import AT_ONCE, CALLS, ITEM, KEY
from tests.support.cases import each
from tests.support.no_time import in_no_time, now
from turnfold.config.settings import StoreSettings
from turnfold.proxy.store import Item, OpenStore, Store, StoreError, StoreUnavailable
from turnfold.proxy.store import compare_and_set as module
from turnfold.proxy.store.base import StoreAway, StoreFailed, StoreOff
from turnfold.proxy.store.compare_and_set import Contended, compare_and_set
from turnfold.proxy.store.guard import GuardedStore
from turnfold.proxy.store.memory import MemoryStore


class Away(MemoryStore):
    """A store whose every call waits, or raises; it notes when it was asked whether it is there."""

    def __init__(self, problem: StoreError | None = None) -> None:
        super().__init__()
        self.problem = problem
        self.pings: list[float] = []

    async def _answer(self, *_: Any, **__: Any) -> Any:
        if self.problem is not None:
            raise self.problem
        await asyncio.get_running_loop().create_future()

    get = put = swap = keys = delete = discard = record = log = newest = counts = names = erase = _answer
    merge = trim = room = scrub = _answer

    async def ping(self) -> None:
        self.pings.append(now())
        await self._answer()


def test_how_long_each_call_waits() -> None:
    """Requests wait a tenth of a second, background work ten, operators five, and a deletion by tenant ten minutes."""

    async def waited(call: Callable[[Store], Awaitable[Any]], of: Callable[[OpenStore], Store]) -> float:
        store, before = OpenStore(Away(), StoreSettings()), now()
        with pytest.raises(StoreUnavailable, match="no answer within"):
            await call(of(store))
        found = round(now() - before, 6)
        await store.close()
        return found

    for name, call in CALLS.items():
        times = [
            in_no_time(waited(call, of))
            for of in (lambda store: store, lambda store: store.patient, lambda store: store.deleting)
        ]
        assert times == ([0.1, 5.0, 5.0] if name in AT_ONCE else [10.0, 10.0, 600.0]), name


def test_what_is_set_aside_is_asked_again_ever_later_and_no_later_than_five_seconds_after_it_was_silent_for_three() -> None:
    async def work() -> None:
        inner = Away()
        store = GuardedStore(inner)
        with pytest.raises(StoreUnavailable):
            await store.get([KEY])
        await asyncio.sleep(47)
        waits = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
        assert inner.pings == [round(0.1 + sum(waits[: i + 1]) + 3.0 * i, 6) for i in range(len(waits))]
        assert store.failures == 1
        inner.problem = StoreFailed("full")
        await asyncio.sleep(5)
        assert store.problem == "no answer within 0.1 s"
        await store.close()

    in_no_time(work())


@each(
    ("problem", "counted", "aside"),
    [(StoreUnavailable("gone"), 1, "gone"), (StoreFailed("full"), 1, ""), (StoreOff("off"), 0, "")],
)
def test_what_counts_as_a_failure(problem: StoreError, counted: int, aside: str) -> None:
    async def work() -> None:
        for name, call in CALLS.items():
            store = GuardedStore(Away(problem))
            with pytest.raises(type(problem)):
                await call(store)
            assert (store.failures, store.problem) == (counted, aside), name
            await store.close()

    in_no_time(work())


def test_an_operator_is_told_within_three_seconds() -> None:
    async def told(problem: StoreError | None) -> tuple[float, str]:
        store = OpenStore(Away(problem), StoreSettings(url="redis://u:p@h:1/0"))
        with pytest.raises(StoreAway) as caught:
            await store.check()
        await store.close()
        return now(), str(caught.value)

    assert in_no_time(told(None)) == (3.0, "The store (redis://********@h:1/0) is frozen: no answer within 3 s.")
    assert in_no_time(told(StoreUnavailable("refused."))) == (
        0.0,
        "The store (redis://********@h:1/0) does not answer: refused.",
    )


class Losing(MemoryStore):
    """A store in which another one is always faster, or that is away."""

    def __init__(self, away: bool) -> None:
        super().__init__()
        self.away, self.asked = away, list[float]()

    async def get(self, keys: Any) -> list[bytes | None]:
        self.asked.append(now())
        if self.away:
            raise StoreUnavailable
        return await super().get(keys)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        return False


@pytest.mark.parametrize(("away", "raised"), [(False, Contended), (True, StoreUnavailable)])
def test_whoever_loses_waits_ever_longer(monkeypatch: pytest.MonkeyPatch, away: bool, raised: type[StoreError]) -> None:
    class Clock:
        monotonic = staticmethod(now)

    monkeypatch.setattr(module, "time", Clock)

    async def change(held: bytes | None) -> tuple[Item, None]:
        del held
        return ITEM, None

    async def work() -> list[float]:
        store = Losing(away)
        with pytest.raises(raised):
            await compare_and_set(store, KEY, change, patience=0.25, outlast=0.25 if away else 0.0)
        return store.asked

    assert in_no_time(work()) == [0.0, 0.001, 0.003, 0.007, 0.015, 0.031, 0.063, 0.127, 0.191, 0.255]
