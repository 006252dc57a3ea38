"""Folds that take too long: how long a request waits for one, what it remembers and tells others, and what goes on behind it.

These tests cover the rules of one process, with folds that end when a test says so. They leave out whole proxies
(``test_abandoned_replicas``).
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from typing import Any

import pytest
from yarl import URL

from tests.proxy.harness import until
from tests.support.no_time import in_no_time
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.serving import LimitSettings
from turnfold.config.settings import UpstreamSettings
from turnfold.proxy.chat import abandoning
from turnfold.proxy.chat.abandoning import AbandonedFolds, FoldInProgress
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.folding import Lanes
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.abandoned_records import AbandonedFold, keep_abandoned, read_abandoned
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.outbound.destination import Destination
from turnfold.proxy.outbound.upstream import Upstream
from turnfold.proxy.store.base import Item, Scope
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.trails.trail import Trail, Trails

PLACE = Place(UpstreamModel("t1", "https://api.example", "m"), "c1", "c1")
PATIENCE = 100.0


async def test_the_first_writer_wins_and_the_number_of_events_is_added_once() -> None:
    store = MemoryStore()
    assert await keep_abandoned(store, PLACE, AbandonedFold(True)) == AbandonedFold(True)
    assert await keep_abandoned(store, PLACE, AbandonedFold(False)) == AbandonedFold(True)
    assert await keep_abandoned(store, PLACE, AbandonedFold(True, 3)) == AbandonedFold(True, 3)
    assert await keep_abandoned(store, PLACE, AbandonedFold(True, 4)) == AbandonedFold(True, 3)
    assert await read_abandoned(store, PLACE) == AbandonedFold(True, 3)
    assert await read_abandoned(store, PLACE._replace(label="c2")) is None


async def test_whoever_is_late_to_write_keeps_what_is_kept() -> None:
    class Overtaken(MemoryStore):
        """Another replica writes between a look and a write."""

        async def swap(self, expected: bytes | None, item: Item) -> bool:
            await self.put([Item(item.key, AbandonedFold(False, 7).to_bytes(), 60)])
            return await super().swap(expected, item)

    assert await keep_abandoned(Overtaken(), PLACE, AbandonedFold(True)) == AbandonedFold(False, 7)


@pytest.mark.parametrize("value", [b"", b"\xff", b"[]", b'{"raw": 1, "events": null}', b'{"raw": true, "events": "x"}', b"null"])
async def test_a_damaged_record_is_none(value: bytes) -> None:
    store = MemoryStore()
    await keep_abandoned(store, PLACE, AbandonedFold(True))
    (key,) = await store.keys(Scope("t1"))
    await store.put([Item(key, value, 60)])
    assert await read_abandoned(store, PLACE) is None
    assert await keep_abandoned(store, PLACE, AbandonedFold(True, 1)) == AbandonedFold(True, 1)


def abandoned_folds(
    store: MemoryStore, patience: float = PATIENCE, workers: int = 2, incidents: Incidents | None = None
) -> AbandonedFolds:
    limits = LimitSettings(fold_timeout=patience, max_fold_workers=workers)
    return AbandonedFolds(store, store, limits, incidents or Incidents())


def asked(**more: Any) -> Exchange:
    nowhere = Destination(Upstream(UpstreamSettings()), URL("http://localhost"), "openai")
    request = ChatRequest("tf-1", 0.0, 0.0, 0.0, CHAT, nowhere, (), "", b"{}", "on", None, None, tenant="t1")
    return Exchange(request.but(**more))


def made(exchange: Exchange, events: int) -> Exchange:
    """A fold of it."""
    sides = Trails(Trail(8, b"received"), Trail(4, b"sent"))
    folded = exchange.but(folded=True, status="folded", reason="", tokens=(90, 40), events=events, trails=sides, name="c1")
    return folded.but(body=b"{}")


async def quickly(exchange: Exchange, events: int = 1) -> Exchange:
    return made(exchange, events)


async def give_up(
    folds: AbandonedFolds,
    exchange: Exchange,
    waited: float,
    worked: float | None,
    end: asyncio.Event,
    *,
    left: bool = False,
    place: Place = PLACE,
) -> FoldInProgress:
    """A request that leaves its fold after so many seconds; the fold ends when it is told."""

    async def slowly() -> Exchange:
        await end.wait()
        return made(exchange, 3)

    now = time.monotonic()
    began = None if worked is None else now - worked
    underway = FoldInProgress((place,), "threads", read=True, since=now - waited, began=began, left=left)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            await folds.wait(exchange, underway, slowly())
    return underway


@pytest.mark.parametrize(
    ("waited", "worked", "slow"),
    [(91, 51, True), (89, 51, False), (91, 49, False), (91, None, False), (300, 300, True)],
)
async def test_what_counts_as_too_long(waited: float, worked: float | None, slow: bool) -> None:
    store, end = MemoryStore(), asyncio.Event()
    folds = abandoned_folds(store)
    underway = await give_up(folds, asked(), waited, worked, end)
    assert folds.is_slow(underway) is slow
    again = await folds.wait(asked(), FoldInProgress((PLACE,), "threads", read=True), quickly(asked()))
    assert (again.status, again.reason) == (("passthrough", "slow-before") if slow else ("folded", ""))
    await folds.close()
    kept = await read_abandoned(store, PLACE)
    assert kept == (AbandonedFold(True) if slow else None)


def test_what_only_waited_for_its_turn_did_not_take_too_long() -> None:
    assert not FoldInProgress((PLACE,), "threads", since=time.monotonic() - 99).took_too_long(0.5)


async def test_a_fold_that_waits_for_its_turn_is_never_begun_once_nobody_waits_for_it() -> None:
    folds, left = abandoned_folds(MemoryStore()), list[str]()

    async def waits() -> Exchange:
        try:
            return await asyncio.Event().wait()  # type: ignore[return-value]
        finally:
            left.append("the queue")

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await folds.wait(asked(), FoldInProgress((PLACE,), "threads", read=True), waits())
    await asyncio.sleep(0)
    assert left == ["the queue"]
    await folds.close()


@pytest.mark.parametrize("cancelled", [True, False])
async def test_a_fold_that_fails_behind_its_request_is_nobodys_matter(cancelled: bool) -> None:
    faults = list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda _, told: faults.append(told))
    folds, exchange, end = abandoned_folds(MemoryStore()), asked(), asyncio.Event()

    async def fails() -> Exchange:
        await end.wait()
        raise asyncio.CancelledError if cancelled else OSError

    now = time.monotonic()
    underway = FoldInProgress((PLACE,), "threads", read=True, since=now - 99, began=now - 99)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            await folds.wait(exchange, underway, fails())
    end.set()
    for _ in range(9):
        await asyncio.sleep(0)
    assert folds.is_slow(underway)
    assert not faults
    await folds.close()


@pytest.mark.parametrize(("mode", "left", "kept"), [("on", False, True), ("observe", False, False), ("on", True, False)])
async def test_what_others_are_told_of(mode: Any, left: bool, kept: bool) -> None:
    """Nothing of what goes out unfolded anyway, nor what another replica has said."""
    store, end = MemoryStore(), asyncio.Event()
    folds = abandoned_folds(store)
    underway = await give_up(folds, asked(mode=mode), 99, 99, end, left=left)
    assert folds.is_slow(underway)
    await folds.close()
    assert (await read_abandoned(store, PLACE) is not None) is kept


async def test_so_many_conversations_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abandoning, "_MOST_REMEMBERED", 3)
    folds, end = abandoned_folds(MemoryStore()), asyncio.Event()
    places = [PLACE._replace(label=f"c{number}") for number in range(4)]
    for place in places:
        await give_up(folds, asked(), 99, 99, end, place=place)
    assert [folds.is_slow(FoldInProgress((place,), "threads")) for place in places] == [False, True, True, True]
    await folds.close()


async def test_a_record_that_cannot_be_written_is_an_incident() -> None:
    class Broken(MemoryStore):
        async def swap(self, *_: Any) -> bool:
            raise LookupError

    found, end = Incidents(), asyncio.Event()
    folds = abandoned_folds(Broken(), incidents=found)
    await give_up(folds, asked(), 99, 99, end)
    await folds.close()
    await asyncio.sleep(0)
    assert [(one["part"], one["subject"]) for one in found.listed()] == [("abandoned", "c1")]


@pytest.mark.parametrize(
    "turns",
    [((3, "passthrough"), (2, "passthrough"), (4, "folded"), (3, "folded")), ((4, "folded"),)],
    ids=["turns without an event", "an event at once"],
)
async def test_it_stays_raw_until_the_next_event_and_is_folded_from_then_on(turns: tuple[tuple[int, str], ...]) -> None:
    store, end = MemoryStore(), asyncio.Event()
    folds, exchange = abandoned_folds(store), asked()
    underway = await give_up(folds, exchange, 99, 99, end)
    assert folds.is_slow(underway)
    end.set()
    for _ in range(9):  # until the fold has ended and was taken note of
        await asyncio.sleep(0)
    assert not folds.is_slow(underway)
    for events, status in turns:
        sent = await folds.wait(exchange, FoldInProgress((PLACE,), "threads", read=True), quickly(exchange, events))
        assert sent.status == status, events
        if status == "passthrough":
            assert (sent.reason, sent.tokens, sent.name, sent.body) == ("slow-before", (90, 90), "c1", None)
            assert sent.trails == Trails(Trail(8, b"received"), Trail(8, b"received"))
    await folds.close()
    assert await read_abandoned(store, PLACE) == AbandonedFold(True, 3)


@pytest.mark.parametrize(
    ("more", "underway", "status"),
    [
        ({}, {"read": True}, "passthrough"),
        ({"budget": 50}, {"read": True}, "folded"),
        ({"mode": "observe"}, {"read": True}, "folded"),
        ({}, {"read": False}, "folded"),
    ],
)
async def test_what_another_replica_gave_up_stays_raw(more: dict[str, Any], underway: dict[str, bool], status: str) -> None:
    store, exchange = MemoryStore(), asked(**more)
    await keep_abandoned(store, PLACE, AbandonedFold(True, 3))
    folds = abandoned_folds(store)
    sent = await folds.wait(exchange, FoldInProgress((PLACE,), "threads", **underway), quickly(exchange, 3))
    assert sent.status == status
    await folds.close()


async def test_the_first_that_knows_its_events_says_so() -> None:
    store, exchange = MemoryStore(), asked()
    await keep_abandoned(store, PLACE, AbandonedFold(True))
    folds = abandoned_folds(store)
    sent = await folds.wait(exchange, FoldInProgress((PLACE,), "threads", read=True), quickly(exchange, 5))
    assert (sent.status, sent.reason) == ("passthrough", "slow-before")
    await folds.close()
    assert await read_abandoned(store, PLACE) == AbandonedFold(True, 5)


@pytest.mark.parametrize("known", [True, False])
async def test_a_slow_fold_is_left_where_another_replica_gave_it_up(known: bool) -> None:
    store, end, exchange = MemoryStore(), asyncio.Event(), asked()
    if known:
        await keep_abandoned(store, PLACE, AbandonedFold(False, 3))
    folds = abandoned_folds(store, patience=0.2)

    async def slowly() -> Exchange:
        await end.wait()
        return made(exchange, 3)

    underway = FoldInProgress((PLACE,), "threads", read=True, began=time.monotonic())
    if known:
        sent = await folds.wait(exchange, underway, slowly())
        assert (sent.status, sent.reason, underway.left) == ("passthrough", "slow-before", True)
    else:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await folds.wait(exchange, underway, slowly())
        assert not underway.left
    end.set()
    await folds.close()


async def test_nobody_waits_behind_folds_that_hold_every_place() -> None:
    store, end, exchange = MemoryStore(), asyncio.Event(), asked()
    folds = abandoned_folds(store, patience=1.0, workers=2)
    await give_up(folds, exchange, 0.4, 0.4, end)

    async def waits() -> Exchange:
        await end.wait()
        return made(exchange, 1)

    other = PLACE._replace(label="c2")
    sent = await folds.wait(exchange, FoldInProgress((other,), "threads", read=True), waits())
    assert (sent.status, sent.reason, sent.recoverable) == ("passthrough", "busy", False)
    with pytest.raises(TimeoutError):  # the other lane has places
        async with asyncio.timeout(0.3):
            await folds.wait(exchange, FoldInProgress((other,), "processes", read=True), waits())
    end.set()
    await folds.close()


async def test_a_fold_that_has_ended_behind_its_request_holds_no_place() -> None:
    store, end, exchange = MemoryStore(), asyncio.Event(), asked()
    folds = abandoned_folds(store, patience=0.1, workers=2)
    await give_up(folds, exchange, 0.04, 0.04, end)
    end.set()
    for _ in range(9):
        await asyncio.sleep(0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await folds.wait(exchange, FoldInProgress((PLACE._replace(label="c2"),), "threads"), asyncio.Event().wait())  # type: ignore[arg-type]
    await folds.close()


def test_a_fold_that_nobody_waits_for_goes_on_for_a_while() -> None:
    """Twice as long as a request waits for one."""

    async def run() -> list[bool]:
        folds, end, ended = abandoned_folds(MemoryStore()), asyncio.Event(), list[float]()

        async def slowly() -> Exchange:
            try:
                await end.wait()
            finally:
                ended.append(asyncio.get_running_loop().time())
            return made(asked(), 3)

        now = time.monotonic()
        underway = FoldInProgress((PLACE,), "threads", read=True, since=now - 99, began=now - 99)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await folds.wait(asked(), underway, slowly())
        seen = []
        for pause in (2 * PATIENCE - 1, 2):
            await asyncio.sleep(pause)
            seen.append(bool(ended))
        return seen

    assert in_no_time(run()) == [False, True]


async def test_the_end_waits_until_folds_that_go_on_have_let_go_of_what_they_hold() -> None:
    folds, ended = abandoned_folds(MemoryStore()), list[str]()

    async def slowly() -> Exchange:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # as a process is waited for that was killed
            ended.append("fold")
        return asked()

    now = time.monotonic()
    underway = FoldInProgress((PLACE,), "processes", read=True, since=now - 99, began=now - 99)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            await folds.wait(asked(), underway, slowly())
    assert ended == []
    await folds.close()
    assert ended == ["fold"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_what_a_fold_shows_that_ends_during_the_stop_is_written() -> None:
    """The fold is done, and what its end calls for has not run yet when the stop comes."""

    class Distant(MemoryStore):
        async def swap(self, expected: bytes | None, item: Item) -> bool:
            await asyncio.sleep(0.01)
            return await super().swap(expected, item)

    store, end = Distant(), asyncio.Event()
    folds = abandoned_folds(store)
    await give_up(folds, asked(), 91, 51, end)
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, return_when=asyncio.FIRST_COMPLETED)
    (fold,) = asyncio.all_tasks() - {asyncio.current_task()}
    assert await read_abandoned(store, PLACE) == AbandonedFold(True)
    end.set()
    await asyncio.sleep(0)
    assert fold.done()
    await folds.close()
    assert await read_abandoned(store, PLACE) == AbandonedFold(True, 3)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_what_was_learned_has_two_seconds_to_be_written_at_the_end() -> None:
    class Frozen(MemoryStore):
        async def swap(self, *_: Any) -> bool:
            return await asyncio.Event().wait()

    async def run() -> float:
        folds = abandoned_folds(Frozen())
        await give_up(folds, asked(), 99, 99, asyncio.Event())
        began = asyncio.get_running_loop().time()
        await folds.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return asyncio.get_running_loop().time() - began

    assert in_no_time(run()) == 2.0


async def test_lanes_that_are_closed_leave_no_thread() -> None:
    before, lanes = {*threading.enumerate()}, Lanes(1)
    large = asked(body=b"x" * 40_000).request
    assert [await lanes.run(one, lambda: 1) for one in (asked().request, large)] == [1, 1]
    assert (await lanes.read(large, lambda: 2), await lanes.run_heavy("t1", lambda: 3)) == (2, 3)
    started = {*threading.enumerate()} - before
    assert len(started) >= 3
    lanes.close()
    until(lambda: not any(one.is_alive() for one in started))


async def test_one_thread_is_for_light_work_and_one_reads() -> None:
    before, lanes, go_on = {*threading.enumerate()}, Lanes(3), threading.Event()
    light, large = asked().request, asked(body=b"x" * 40_000).request
    work = [
        asyncio.create_task(one)
        for tenant in "abcd"
        for one in (
            lanes.run(light.but(tenant=tenant), go_on.wait),
            lanes.run(large.but(tenant=tenant), go_on.wait),
            lanes.read(large.but(tenant=tenant), go_on.wait),
        )
    ]
    for _ in range(9):
        await asyncio.sleep(0)
    started = Counter(one.name.rpartition("_")[0] for one in {*threading.enumerate()} - before)
    go_on.set()
    await asyncio.gather(*work)
    lanes.close()
    assert started == {"turnfold-light": 1, "turnfold-fold": 3, "turnfold-read": 1}
