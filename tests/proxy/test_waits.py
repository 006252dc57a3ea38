"""How long the proxy waits, and for how long it keeps its records, to the second.

These tests cover waits by a clock that jumps (`tests.support.no_time`), and the lives of records as a store is told them. They
leave out what comes of a wait that needs sockets or threads (beside the parts that wait).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import pytest
from starlette.types import Message
from yarl import URL

from tests.proxy.harness import Receipts, halve, settings_for
from tests.proxy.store_calls import AT_ONCE, CALLS, ITEM, KEY
from tests.support.cases import each
from tests.support.no_time import in_no_time, now
from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings
from turnfold.compression.fold import Folded
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.warmth import WarmthCounts, observe
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.fold import options_by_model
from turnfold.config.settings import CacheSettings, StoreSettings
from turnfold.proxy import spare_memory
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.app import Parts
from turnfold.proxy.asking.spending import Payer, SpendingCaps
from turnfold.proxy.asking.summary_records import SummaryRecords
from turnfold.proxy.chat.exchange import ChatRequest
from turnfold.proxy.chat.service import Service
from turnfold.proxy.deletion.deletions import Deletion, Deletions
from turnfold.proxy.file_check import FileCheck
from turnfold.proxy.http.inbound import ClientStalled, Inbound
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.incidents import Incidents, outcome
from turnfold.proxy.lanes.processes import FoldProcesses
from turnfold.proxy.lanes.taking_over import TakingOver
from turnfold.proxy.learning.abandoned_records import AbandonedFold, keep_abandoned
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.learning.warmth_records import add_counts
from turnfold.proxy.learning.window_records import UpstreamModel, forget_records
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.upstream import Answer, Upstream
from turnfold.proxy.routes.ops import Readiness, ReadinessCheck
from turnfold.proxy.state_records import StateRecords
from turnfold.proxy.store import (
    Item,
    Key,
    OpenStore,
    StoreAway,
    StoreError,
    StoreTimedOut,
    StoreUnavailable,
    cached,
)
from turnfold.proxy.store import compare_and_set as module
from turnfold.proxy.store.compare_and_set import Contended, compare_and_set
from turnfold.proxy.store.guard import GuardedStore
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.sqlite import SqliteStore

SPOT = UpstreamModel("anna", "https://api.example", "m")
NOWHERE = "http://127.0.0.1:9/v1"


class Recording(MemoryStore):
    """A store that keeps what it is asked, and when; while it is `away`, it can't be reached."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.asked: list[tuple[str, float]] = []
        self.lives: dict[tuple[str, str], float] = {}  # tenant and kind of a record -> seconds

    async def _note(self, name: str, items: Sequence[Item] = ()) -> None:
        self.asked.append((name, now()))
        self.lives |= {(item.key.tenant, item.key.kind): item.ttl for item in items}
        if self.away:
            raise StoreUnavailable("away")

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        await self._note("get")
        return await super().get(keys)

    async def put(self, items: Sequence[Item]) -> None:
        await self._note("put", items)
        await super().put(items)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        await self._note("swap", [item])
        return await super().swap(expected, item)

    async def ping(self) -> None:
        await self._note("ping")


def frozen_store(**settings: Any) -> OpenStore:
    """A store as the proxy opens it, whose back-end answers nothing."""

    class Frozen(MemoryStore):
        """Every call of it waits for ever."""

        def __getattribute__(self, name: str) -> Any:
            if name.startswith("_") or name == "close":
                return super().__getattribute__(name)
            return lambda *_, **__: asyncio.Event().wait()

    return OpenStore(Frozen(), StoreSettings(url="memory://", **settings), Incidents())


# ---------------------------------------------------------------- waits


def test_a_part_that_does_not_answer_holds_a_readiness_probe_up_for_half_a_second() -> None:
    async def frozen() -> bool:
        return await asyncio.Event().wait()

    async def slow() -> bool:
        await asyncio.sleep(0.499)
        return True

    checks = Readiness([ReadinessCheck("frozen", frozen), ReadinessCheck("slow", slow, required=True)])

    async def look() -> None:
        assert await checks.look() == (True, {"frozen": "down", "slow": "ok"})
        assert now() == 0.5

    in_no_time(look())


def test_a_body_may_pause_for_a_minute() -> None:
    pauses = iter((59.9, 60.1))

    async def receive() -> Message:
        await asyncio.sleep(next(pauses))
        return {"type": "http.request", "body": b"half", "more_body": True}

    async def read() -> None:
        inbound = Inbound({"type": "http", "headers": []}, receive)
        assert await inbound.next_chunk() == b"half"
        with pytest.raises(ClientStalled):
            await inbound.next_chunk()
        assert now() == 119.9

    in_no_time(read())


@each("name", CALLS)
def test_how_long_a_frozen_store_is_waited_for(name: str) -> None:
    """By requests, by what can't do without it (``patient``, the second as long as the setting allows), by deletions."""

    async def waits(choose: Callable[[OpenStore], Any], **settings: Any) -> float:
        store, began = frozen_store(**settings), now()
        with pytest.raises(StoreTimedOut):
            await CALLS[name](choose(store))
        await store.close()
        return round(now() - began, 6)

    async def measure() -> list[float]:
        return [
            await waits(lambda store: store),
            await waits(lambda store: store.patient, patience=4.0),
            await waits(lambda store: store.patient, patience=40.0),
            await waits(lambda store: store.deleting, patience=4.0),
        ]

    quick, patient, longer, deleting = (0.1, 4, 40, 4) if name in AT_ONCE else (10, 10, 40, 600)
    assert in_no_time(measure()) == [quick, patient, longer, deleting]


def test_an_operator_is_told_after_three_seconds_that_the_store_is_frozen() -> None:
    async def check() -> None:
        store = frozen_store(patience=4.0)
        with pytest.raises(StoreAway, match=r"The store \(memory://\) is frozen: no answer within 3 s\."):
            await store.check()
        assert now() == 3

    in_no_time(check())


def test_a_store_that_failed_is_asked_again_at_growing_intervals() -> None:
    async def fail() -> None:
        store = Recording()
        store.away, guard = True, GuardedStore(store)
        with pytest.raises(StoreUnavailable):
            await guard.get([KEY])
        await asyncio.sleep(20)
        assert store.asked == [
            ("get", 0.0),
            *(("ping", at) for at in (0.1, 0.3, 0.7, 1.5, 3.1, 6.3, 11.3, 16.3)),
        ]
        store.away = False
        await asyncio.sleep(1.2)
        assert guard.problem
        await asyncio.sleep(0.2)
        assert (guard.problem, guard.failures) == ("", 1)
        await guard.close()

    in_no_time(fail())


def test_whoever_loses_a_change_waits_a_little_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=now))

    async def change() -> None:
        store = Recording()

        async def beaten(held: bytes | None) -> tuple[Item | None, None]:
            await MemoryStore.put(store, [Item(KEY, b"%d" % len(store.asked), 60)])
            return Item(KEY, b"mine", 60), None

        with pytest.raises(Contended, match=r"for 0\.3 s"):
            await compare_and_set(store, KEY, beaten, patience=0.3)
        tries = [at for name, at in store.asked if name == "swap"]
        assert tries == [0, 0.001, 0.003, 0.007, 0.015, 0.031, 0.063, 0.127, 0.191, 0.255, 0.319]

    in_no_time(change())


def test_what_was_read_is_read_again_after_five_seconds_within_half_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached, "time", SimpleNamespace(monotonic=now))

    async def read() -> None:
        inner = Recording()
        store = OpenStore(inner, StoreSettings(url="memory://", memory_bytes=2**17))
        await store.put([ITEM])
        for _ in range(3):
            await store.get([KEY])
            await asyncio.sleep(2.4)
        assert ("get", 0.0) not in inner.asked  # it had been written
        await store.get([KEY])
        assert inner.asked[-1] == ("get", 7.2)
        for number in range(30):
            await store.put([Item(Key("anna", "section", str(number)), bytes(2**13), 60)])
        asked = len(inner.asked)
        await store.get([Key("anna", "section", str(number)) for number in range(22, 30)])
        assert len(inner.asked) == asked  # eight are 64 KiB
        await store.get([Key("anna", "section", "21")])
        assert len(inner.asked) == asked + 1
        await store.close()

    in_no_time(read())


def test_a_start_waits_a_second_for_its_store(caplog: pytest.LogCaptureFixture) -> None:
    async def start() -> float:
        parts = Parts(settings_for(NOWHERE))
        parts.store.patient.ping = lambda: asyncio.Event().wait()  # type: ignore[method-assign,assignment,return-value]
        async with parts.running():
            return now()

    caplog.set_level(logging.ERROR, "turnfold")
    assert in_no_time(start()) == 1
    assert caplog.messages == ["Requests are served without the store until it works: it does not answer"]


def test_other_processes_deletions_are_looked_for_every_ten_seconds() -> None:
    async def run() -> list[float]:
        parts = Parts(settings_for(NOWHERE))
        looked: list[float] = []

        async def get(keys: Sequence[Key]) -> list[bytes | None]:
            looked.append(now())
            return [None for _ in keys]

        parts.store.patient.get = get  # type: ignore[method-assign]
        task = asyncio.create_task(parts.forgetting.watch())
        await asyncio.sleep(35)
        task.cancel()
        await parts.store.close()
        return looked

    assert in_no_time(run()) == [10, 20, 30]


def test_a_stores_file_is_checked_five_seconds_after_the_start_once_in_ten_minutes(tmp_path: Any) -> None:
    """Here another process has looked already."""

    async def run() -> None:
        (tmp_path / "t.db").touch()
        store = Recording()
        await MemoryStore.put(store, [Item(Key("", "check", "file"), b"1", 600.0)])
        await FileCheck(SqliteStore(tmp_path / "t.db"), store, Incidents()).run()
        assert (store.asked, store.lives) == ([("swap", 5.0)], {("", "check"): 600.0})

    in_no_time(run())


def test_a_conversation_is_taken_over_in_steps_with_pauses() -> None:
    async def run() -> None:
        steps: list[tuple[str, float]] = []

        async def step(tenant: str, work: Callable[[], None]) -> None:
            work()
            steps.append((tenant, now()))

        taking = TakingOver(step, Incidents())
        taking.begin("anna", [lambda: None] * 3)
        await asyncio.sleep(1)
        assert steps == [("anna", 0), ("anna", 0.02), ("anna", 0.04)]

    in_no_time(run())


def test_the_end_waits_for_a_step_under_way_and_begins_no_other() -> None:
    async def run() -> None:
        steps: list[str] = []

        async def step(*_: object) -> None:
            try:
                await asyncio.sleep(10)
            finally:
                await asyncio.sleep(0)
                steps.append("ended")

        taking = TakingOver(step, Incidents())
        assert [taking.is_due("anna", b"c") for _ in range(2)] == [False, True]
        taking.begin("anna", [lambda: None] * 3)
        await asyncio.sleep(1)
        await taking.close()
        assert (steps, now()) == (["ended"], 1)
        assert [taking.is_due("anna", b"c") for _ in range(2)] == [False, True], "it is forgotten"

    in_no_time(run())


def test_what_is_observed_has_five_seconds_to_be_folded_at_the_end() -> None:
    go_on, recorder = threading.Event(), Receipts()

    class Answering(Upstream):
        async def send(self, *_: Any) -> Answer:
            empty = SimpleNamespace(status=200, raw_headers=(), content=aiohttp.streams.EMPTY_PAYLOAD, close=lambda: None)
            return Answer(cast(Any, empty))

    def endless(conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        go_on.wait(60)
        return halve(conversation, options, memo)

    async def drop(_: Message) -> None:
        pass

    async def run() -> float:
        settings = settings_for(NOWHERE, limits={"fold_timeout": 60.0})
        parts, to = Parts(settings), Destination(Answering(settings.upstream), URL(NOWHERE), "openai")
        service = Service(recorder, options_by_model(settings), settings, parts.remembered(), endless, parts.incidents, None)
        body = b'{"model":"gpt-4o","messages":[{"role":"user","content":"one"},{"role":"user","content":"two"}]}'
        request = ChatRequest("tf-1", 0.0, 0.0, 0.0, CHAT, to, (), "", body, "observe", None, None, tenant="anna")
        await service.serve(request, drop)
        began = now()
        await service.close()
        return now() - began

    try:
        assert in_no_time(run()) == 5.0
    finally:
        go_on.set()
    assert (recorder.one().status, recorder.one().reason) == ("observed", "stopped")


def test_spare_memory_goes_back_every_half_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[float, int]] = []
    monkeypatch.setattr(spare_memory, "_trimmer", lambda: lambda kept: given.append((now(), kept)))

    async def run() -> None:
        task = asyncio.create_task(spare_memory.give_back())
        await asyncio.sleep(50)
        task.cancel()

    in_no_time(run())
    assert given == [(30, 0)]


class Lost(Recording):
    """A store in which somebody else is always quicker."""

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        await self._note("swap", [item])
        return False


def conversations(store: Recording) -> Conversations:
    return Conversations(store, StoreSettings(ttl=60), Workshop(2))


NOTE = HistoryMessage("user", "The harbour was quiet.")

#: What changes a record that others change too: seconds after which it gives up, or how often it tries.
CONTENDED: dict[str, tuple[Callable[[Recording], Awaitable[Any]], float | int]] = {
    "a message of a conversation": (lambda store: conversations(store).add("anna", "c", NOTE, HistorySettings()), 30.0),
    "a conversation": (lambda store: conversations(store).replace("anna", "c", History()), 30.0),
    "the compression cache": (lambda store: CompressionCache(store, CacheSettings(ttl=60)).count_miss("anna", "k", 9), 1.0),
    "warmth": (lambda store: add_counts(store, SPOT, WarmthCounts()), 8),
    "what was spent": (lambda store: SpendingCaps(store, 1.0, None, 5.0).reserve(Payer("anna"), 0.1), 8),
    "a state": (lambda store: StateRecords(store, 60.0).update("anna", "c", lambda record: record), 16),
}


@pytest.mark.parametrize("name", CONTENDED)
def test_how_long_whoever_always_loses_goes_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=now))
    change, end = CONTENDED[name]

    async def lose() -> float | int:
        store = Lost()
        came = await outcome(change(store))
        assert not isinstance(came, Exception) or isinstance(came, StoreError)
        return now() if isinstance(end, float) else sum(called == "swap" for called, _ in store.asked)

    assert in_no_time(lose()) == (end if isinstance(end, int) else pytest.approx(end, abs=0.064))


@pytest.mark.parametrize(("name", "end"), [("a message of a conversation", 5.0), ("a conversation", 0.0)])
def test_how_long_a_store_that_is_away_is_waited_for(monkeypatch: pytest.MonkeyPatch, name: str, end: float) -> None:
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=now))

    async def wait() -> float:
        store = Recording()
        store.away = True
        assert isinstance(await outcome(CONTENDED[name][0](store)), StoreUnavailable)
        return now()

    assert in_no_time(wait()) == pytest.approx(end, abs=0.064)


def test_large_work_of_the_api_may_take_five_minutes() -> None:
    class Endless:
        """A process that never answers."""

        @asynccontextmanager
        async def session(self, *_: object) -> AsyncIterator[Endless]:
            yield self

        async def send(self, *_: object) -> None:
            """Take the job."""

        async def receive(self) -> None:
            await asyncio.Event().wait()

    async def work() -> None:
        workshop = Workshop(1, cast(FoldProcesses, Endless()))
        with pytest.raises(Refused, match="takes too long"):
            await workshop.run_sized("anna", 200_000, len, "four")
        workshop.close()
        assert now() == 300

    in_no_time(work())


# ---------------------------------------------------------------- lives of records


HOUR, DAY = 3600.0, 86_400.0
PLACE = Place(SPOT, "start", "label")

#: What writes a record; tenant, kind and seconds of each.
LIVES: dict[str, tuple[Callable[[Recording], Awaitable[Any]], dict[tuple[str, str], float]]] = {
    "warmth": (
        lambda store: add_counts(store, SPOT, observe(WarmthCounts(), 5.0, loop=False, warm=True)),
        {("anna", "warmth"): 30 * DAY},
    ),
    "a fold that was given up": (
        lambda store: keep_abandoned(store, PLACE, AbandonedFold(raw=True)),
        {("anna", "abandoned"): HOUR},
    ),
    "what was forgotten": (lambda store: forget_records(store, "anna", None), {("anna", "window-forgotten"): 7 * DAY + HOUR}),
    "a deletion": (
        lambda store: Deletions(store).announce(Deletion.of("anna", None, time.time(), books=True)),
        {("", "deletion"): DAY},
    ),
    "what was spent": (
        lambda store: SpendingCaps(store, 1.0, 1.0, 5.0).reserve(Payer("anna", "c"), 0.1),
        {("anna", "model-spend"): 5.0, ("", "model-spend"): 3 * DAY},
    ),
    "a hit of the compression cache": (
        lambda store: CompressionCache(store, CacheSettings(ttl=60)).count_miss("anna", "k", 9),
        {("anna", "compression-index"): 30 * DAY},
    ),
    "a claim": (lambda store: SummaryRecords(store, 60.0).claim(PLACE, 1, 2, "p", 7.0), {("anna", "summary"): 7.0}),
}


@pytest.mark.parametrize("name", LIVES)
async def test_how_long_a_record_is_kept(name: str) -> None:
    write, lives = LIVES[name]
    store = Recording()
    await write(store)
    assert store.lives == lives
