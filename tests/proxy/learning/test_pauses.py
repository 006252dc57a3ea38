"""How long a conversation has rested is known from this process, else from what was recorded."""

from __future__ import annotations

import pytest

from turnfold.proxy.books.ledger import newest_at
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.learning.pauses import Pauses, steady
from turnfold.proxy.store.base import Item, Key, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore


class Times:
    """Clocks that are set, and what was recorded."""

    def __init__(self) -> None:
        self.now = self.day = 1000.0
        self.asked: list[str] = []
        self.recorded: dict[str, float] = {}
        self.pauses = Pauses(self.ask, lambda: self.day, lambda: self.now)

    async def ask(self, tenant: str, conversation: str) -> float | None:
        self.asked.append(conversation)
        if conversation == "away":
            raise StoreUnavailable
        return self.recorded.get(conversation)

    def go_to(self, now: float) -> None:
        self.now = self.day = now


async def test_the_newest_request_counts_whoever_served_it() -> None:
    times = Times()
    pauses = times.pauses
    for name in ("busy", "rested", "away"):
        assert await pauses.since("t", name) is None
    times.go_to(1020.0)
    assert await pauses.since("t", "busy") == 20.0
    assert not times.asked  # a short rest asks nobody
    times.go_to(9000.0)
    times.recorded["busy"] = 8000.0
    assert await pauses.since("t", "busy") == 1000.0  # another replica has served it meanwhile
    assert await pauses.since("t", "rested") == 8000.0
    assert await pauses.since("t", "away") == 0.0
    assert await pauses.since("other", "busy") is None
    pauses.forget_in_memory()
    assert await pauses.since("t", "busy") is None


async def test_requests_that_come_at_once_have_rested_alike() -> None:
    times = Times()
    await times.pauses.since("t", "c")
    times.go_to(5000.0)
    assert await times.pauses.since("t", "c") == 4000.0
    times.go_to(5000.5)
    assert await times.pauses.since("t", "c") == 4000.0
    times.go_to(5001.5)
    assert await times.pauses.since("t", "c") == 1.5


@pytest.mark.parametrize("jump", [-7200.0, 7200.0])
async def test_a_clock_that_is_set_makes_no_rest(jump: float) -> None:
    times = Times()
    await times.pauses.since("t", "c")
    times.recorded["c"] = times.day
    times.now, times.day = 1020.0, 1020.0 + jump
    assert await times.pauses.since("t", "c") == 20.0
    times.now, times.day = 1320.0, 1320.0 + jump
    assert await times.pauses.since("t", "c") == (0.0 if jump < 0 else 300.0)
    assert steady() <= steady()


async def test_what_was_recorded_is_when_the_newest_request_came() -> None:
    store = MemoryStore(2**20)
    assert await newest_at(store, "t", "c") is None
    await store.put([Item(Key("t", "cache-model", "c"), PastRequest(5, 5, at=70.0).to_bytes(), 60.0, "c")])
    assert await newest_at(store, "t", "c") == 70.0
