"""How long a conversation has rested is known from this process, else from what was recorded."""

from __future__ import annotations

from turnfold.proxy.books.baseline import PastRequest
from turnfold.proxy.books.ledger import newest_at
from turnfold.proxy.learning.pauses import Pauses, Rest
from turnfold.proxy.store.base import Item, Key, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore


async def test_the_newest_request_counts_whoever_served_it() -> None:
    asked: list[str] = []
    recorded: dict[str, float] = {}
    now = 1000.0

    async def ask(tenant: str, conversation: str) -> float | None:
        asked.append(conversation)
        if conversation == "away":
            raise StoreUnavailable
        return recorded.get(conversation)

    pauses = Pauses(ask, lambda: now)
    for name in ("busy", "rested", "away"):
        assert await pauses.since("t", name) == Rest(0.0, is_new=True)
    now = 1020.0
    assert await pauses.since("t", "busy") == Rest(20.0)
    assert not asked  # a short rest asks nobody
    now, recorded["busy"] = 9000.0, 8000.0
    assert await pauses.since("t", "busy") == Rest(1000.0)  # another replica has served it meanwhile
    assert await pauses.since("t", "rested") == Rest(8000.0)
    assert await pauses.since("t", "away") == Rest(0.0)
    assert await pauses.since("other", "busy") == Rest(0.0, is_new=True)
    pauses.forget_in_memory()
    assert await pauses.since("t", "busy") == Rest(0.0, is_new=True)


async def test_what_was_recorded_is_when_the_newest_request_came() -> None:
    store = MemoryStore(2**20)
    assert await newest_at(store, "t", "c") is None
    await store.put([Item(Key("t", "cache-model", "c"), PastRequest(5, 5, at=70.0).to_bytes(), 60.0, "c")])
    assert await newest_at(store, "t", "c") == 70.0
