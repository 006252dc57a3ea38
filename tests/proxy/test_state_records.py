"""Records of states in a store, and the station where the store fails it.

These tests cover changes that meet, records of another release, a store that is away. They leave out HTTP.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pytest
from yarl import URL

from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.state import Machine, Record, State, read_record, render_block
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.settings import UpstreamSettings
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.folding import Lanes
from turnfold.proxy.chat.stating import Stating
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.upstream import Upstream
from turnfold.proxy.state_records import KIND, StateRecords
from turnfold.proxy.store import Item, Key, StoreFailed, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

T = TypeVar("T")

DOCKER = Machine(State(policies={"docker": "use"}))
BODY = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}).encode()


class AtOnce(Lanes):
    """Lanes that do the work where they are asked."""

    def __init__(self) -> None:
        super().__init__(1)

    async def run(self, request: ChatRequest, work: Callable[[], T]) -> T:
        del request
        return work()


async def decide(records: StateRecords, lanes: Lanes | None = None) -> Exchange:
    """What the station makes of a lone "hello", sent under the label "c"."""
    body = BODY if lanes is None else BODY.ljust(5000)  # a small one does not go to a lane
    lanes = lanes or AtOnce()
    try:
        return await station(records, lanes).apply_state(sent(body))
    finally:
        lanes.close()


def station(records: StateRecords, lanes: Lanes) -> Stating:
    return Stating("local", lambda model, budget: FoldOptions(model=model, budget=budget), records, lanes, Memo())


def sent(body: bytes) -> Exchange:
    """A request under the label "c"."""
    to = Destination(Upstream(UpstreamSettings()), URL("http://u/v1"), "openai")
    request = ChatRequest("r", 0.0, 0.0, 0.0, CHAT, to, (), "", body, "on", None, "c", "t", "enforce")
    return Exchange(request, CHAT.read(body, Memo()))


async def test_no_change_is_lost() -> None:
    records = StateRecords(MemoryStore(), 60)

    def seen_once_more(record: Record) -> Record:
        return Record(record.machine, record.seen + 1)

    await asyncio.gather(*(records.update("t", "c", seen_once_more) for _ in range(10)))
    assert read_record(await records.get("t", "c") or b"").seen == 10
    assert await records.get("t", "other") is None
    assert await records.get("other", "c") is None


@pytest.mark.parametrize("processes", [1, 3])
async def test_requests_of_one_conversation_at_once_lose_nothing(processes: int) -> None:
    """An agent sends several at once; what is acknowledged is in force, whichever process served it."""

    class Slow(MemoryStore):
        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            found = await super().get(keys)
            await asyncio.sleep(0)
            return found

    records, lanes = StateRecords(Slow(), 60), AtOnce()
    stations = [station(records, lanes) for _ in range(processes)]
    tools = ["redis", "postgres", "mysql", "nginx", "pytest", "ruff", "mypy", "django", "fastapi", "numpy"]
    bodies = [BODY.replace(b"hello", f"use {tool}".encode()) for tool in tools]
    made = await asyncio.gather(*(stations[i % processes].apply_state(sent(body)) for i, body in enumerate(bodies)))
    lanes.close()
    assert {one.verdict for one in made} == {"acknowledge"}
    assert read_record(await records.get("t", "c") or b"").machine.state.policies == dict.fromkeys(tools, "use")


async def test_a_record_that_never_rests_is_given_up() -> None:
    class Contended(MemoryStore):
        async def swap(self, expected: bytes | None, item: Item) -> bool:
            del expected, item
            return False

    with pytest.raises(StoreFailed):
        await StateRecords(Contended(), 60).update("t", "c", lambda record: record.put(DOCKER))


async def test_a_state_set_while_a_request_is_looked_at_holds_for_it() -> None:
    records = StateRecords(MemoryStore(), 60)
    tries: list[Any] = []

    class Interrupted(AtOnce):
        async def run(self, request: ChatRequest, work: Callable[[], T]) -> T:
            decision = await super().run(request, work)
            if not tries:
                await records.update("t", "c", lambda record: record.put(DOCKER))
            tries.append(decision)
            return decision

    made = await decide(records, Interrupted())
    assert len(tries) == 2
    assert json.loads(made.outgoing)["messages"][0]["content"] == f"{render_block(DOCKER.state)}\n\nhello"
    assert read_record(await records.get("t", "c") or b"").seen == 1


async def test_a_record_of_another_release_is_left_alone() -> None:
    store = MemoryStore()
    await store.put([Item(Key("t", KIND, "c"), b'{"record_version":9}', 60)])
    assert (await decide(StateRecords(store, 60))).verdict == "forward"
    assert await store.get([Key("t", KIND, "c")]) == [b'{"record_version":9}']


@pytest.mark.parametrize("said", ["use docker", "prohibit tape drives", "set premise we write for nurses. They work at night"])
@pytest.mark.parametrize("reads", [True, False])
async def test_what_is_laid_down_while_the_store_is_busy_is_kept(said: str, reads: bool) -> None:
    """Acknowledged or forwarded: the client may never send it again. Any other message does not wait."""

    class Busy(MemoryStore):
        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            if reads:
                return await patient.get(keys)
            raise StoreUnavailable("busy")

        async def swap(self, expected: bytes | None, item: Item) -> bool:
            raise StoreUnavailable("busy")

    patient, lanes = MemoryStore(), AtOnce()
    await station(StateRecords(patient, 60), lanes).apply_state(sent(BODY.replace(b"hello", b"use redis")))
    before = await patient.get([Key("t", KIND, "c")])
    stating = station(StateRecords(Busy(), 60, patient), lanes)
    assert (await stating.apply_state(sent(BODY))).verdict == "forward"
    assert await patient.get([Key("t", KIND, "c")]) == before
    await stating.apply_state(sent(BODY.replace(b"hello", said.encode())))
    lanes.close()
    state = read_record((await patient.get([Key("t", KIND, "c")]))[0] or b"").machine.state
    assert "redis" in state.policies
    assert len(state.policies) + (state.premise is not None) == 2


async def test_the_text_beside_a_picture_tells_it_from_another() -> None:
    """A client that sends only its newest messages: what was said before them is in force from the first of them on."""
    lanes = AtOnce()
    stating = station(StateRecords(MemoryStore(), 60), lanes)
    picture = {"type": "image_url", "image_url": {"url": "https://pictures.example/1.png"}}

    async def say(beside: str, said: str) -> list[int]:
        shown = {"role": "user", "content": [{"type": "text", "text": beside}, picture]}
        messages = [shown, {"role": "assistant", "content": "I see."}, {"role": "user", "content": said}]
        body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
        stated = (await stating.apply_state(sent(body))).conversation
        assert stated is not None
        return [index for index, _ in stated.state.pins]

    await say("This is the red boat.", "use docker")
    assert await say("This is the blue boat.", "What do you see?") == [0]
    lanes.close()


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

    assert (await decide(StateRecords(Away(), 60))).verdict == "forward"
