"""Records of states in a store, and the station where the store fails it.

Lives here: changes that meet, records of another release, a store that is away. Must not: HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.state import Machine, Record, State, read_record, render_block
from turnfold.config.settings import LimitSettings
from turnfold.proxy.chat.state_records import KIND, StateRecords
from turnfold.proxy.chat.stating import Asked, Decided, Decision, Stating
from turnfold.proxy.store import Item, Key, StoreFailed, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

DOCKER = Machine(State(policies={"docker": "use"}))
BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}).encode()


async def at_once(work: Callable[[], Decision]) -> Decision:
    return work()


async def decided(records: StateRecords | None, run: Any = at_once) -> Decided:
    stating = Stating("local", lambda model, budget: FoldOptions(model=model, budget=budget), LimitSettings(), records)
    return await stating.decide(Asked(BODY, "", "t", "c", 0.0, enforce=True), Memo(), run)


async def test_no_change_is_lost() -> None:
    records = StateRecords(MemoryStore(), 60)

    def seen_once_more(record: Record) -> Record:
        return Record(record.machine, record.seen + 1)

    await asyncio.gather(*(records.update("t", "c", seen_once_more) for _ in range(10)))
    assert read_record(await records.get("t", "c") or b"").seen == 10
    assert await records.get("t", "other") is None
    assert await records.get("other", "c") is None


async def test_a_record_that_never_rests_is_given_up() -> None:
    class Contended(MemoryStore):
        async def swap(self, expected: bytes | None, item: Item) -> bool:
            del expected, item
            return False

    with pytest.raises(StoreFailed):
        await StateRecords(Contended(), 60).update("t", "c", lambda record: record.put(DOCKER))


async def test_a_state_set_while_a_request_is_looked_at_holds_for_it() -> None:
    records = StateRecords(MemoryStore(), 60)
    tries: list[Decision] = []

    async def interrupted(work: Callable[[], Decision]) -> Decision:
        decision = work()
        if not tries:
            await records.update("t", "c", lambda record: record.put(DOCKER))
        tries.append(decision)
        return decision

    made = await decided(records, interrupted)
    assert len(tries) == 2
    assert made.stated is not None
    assert json.loads(made.stated.body)["messages"][0]["content"] == f"{render_block(DOCKER.state)}\n\nhello"
    assert read_record(await records.get("t", "c") or b"").seen == 1


async def test_a_record_of_another_release_is_left_alone() -> None:
    store = MemoryStore()
    await store.put([Item(Key("t", KIND, "c"), b'{"record_version":9}', 60)])
    assert (await decided(StateRecords(store, 60))).verdict == "forward"
    assert await store.get([Key("t", KIND, "c")]) == [b'{"record_version":9}']


@pytest.mark.parametrize("works", [0, 1])
async def test_a_store_that_is_away_costs_no_request(works: int) -> None:
    class Away(MemoryStore):
        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            if not works:
                raise StoreUnavailable("down")
            return [None for _ in keys]

        async def swap(self, expected: bytes | None, item: Item) -> bool:
            del expected, item
            raise StoreUnavailable("down")

    assert (await decided(StateRecords(Away(), 60))).verdict == "forward"
