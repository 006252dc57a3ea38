"""Folds that take too long: what one replica has learned of a conversation, all of them act on, and no prefix changes for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import redis
from yarl import URL

from tests.proxy.harness import ProxyServer, UpstreamServer, proxy_server, reply, until
from tests.proxy.processes import chat, serve_process
from tests.support.no_time import in_no_time
from tests.support.words import prose
from turnfold.compression.fold import Folded, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import CHAT
from turnfold.compression.wire.conversation import Conversation
from turnfold.config.fold import fold_options
from turnfold.config.serving import LimitSettings
from turnfold.config.settings import FoldingSettings, Settings, UpstreamSettings
from turnfold.proxy.chat.abandoning import AbandonedFolds, Underway
from turnfold.proxy.chat.elsewhere import LARGE
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.folding import Lanes
from turnfold.proxy.chat.trail import Trail, Trails
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.abandoned_records import KIND, AbandonedFold, keep_abandoned, read_abandoned
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.learning.window_records import Spot
from turnfold.proxy.outbound.destinations import Destination
from turnfold.proxy.outbound.upstream import Upstream
from turnfold.proxy.store.base import Item, Scope
from turnfold.proxy.store.memory import MemoryStore

OK = reply(b'{"id": "c", "model": "gpt-4o", "choices": []}')  # without usage, so that no window is learned
FOLDED, SLOW, KEPT_RAW = ("folded", None), ("failed-open", "slow"), ("passthrough", "slow-before")
PLACE = Place(Spot("t1", "https://api.example", "m"), "c1", "c1")


class Gate:
    """The real engine behind a gate: while it is closed, no fold comes to an end."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.done = 0

    def __call__(self, conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        assert self.open.wait(60), "the test forgot to open it"
        made = fold(conversation, options, memo)
        self.done += 1
        return made


@dataclass
class Replica:
    proxy: ProxyServer
    gate: Gate

    def ask(self, turns: int, name: str = "a", **more: Any) -> tuple[str | None, str | None]:
        """A conversation's request after so many turns: how it went out."""
        messages = [{"role": "system", "content": f"You are {name}."}, *chat(turns)]
        answer = self.proxy.chat({"model": "gpt-4o", "messages": messages, **more}, ("authorization", "Bearer sk-anna"))
        assert answer.status == 200
        return answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")


@contextlib.contextmanager
def replicas(upstream: UpstreamServer, url: str, number: int = 2) -> Iterator[list[Replica]]:
    upstream.handler = OK
    with contextlib.ExitStack() as stack:
        gates = [Gate() for _ in range(number)]
        settings: dict[str, dict[str, Any]] = {"folding": {"cache_hit_share": 0.7}, "limits": {"fold_timeout": 2.0}}
        started = []
        for gate in gates:
            proxy, _ = stack.enter_context(proxy_server(upstream.origin + "/v1", fold=gate, store={"url": url}, **settings))
            stack.callback(gate.open.set)
            started.append(Replica(proxy, gate))
        yield started


def next_event(turns: int) -> int:
    """The first number of turns at which the conversation of so many has seen another fold event."""
    return next(more for more in range(turns + 1, turns + 60) if events(more) > events(turns))


WARM = Memo()  # of all these folds: they are of one conversation


@cache
def events(turns: int) -> int:
    messages = [{"role": "system", "content": "You are a."}, *chat(turns)]
    options = fold_options(Settings(folding=FoldingSettings(cache_hit_share=0.7)), "gpt-4o")
    return fold(CHAT.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), WARM), options, WARM).events


def test_what_was_sent_raw_stays_raw_until_the_next_fold_event_on_every_replica(upstream: UpstreamServer, redis_url: str) -> None:
    turns = 60
    due = next_event(turns)
    assert due > turns + 3, "the test needs turns without a fold event"
    with replicas(upstream, redis_url) as (one, other):
        one.gate.open.clear()
        assert one.ask(turns) == SLOW
        until(lambda: records(redis_url), timeout=10)
        # The other is quick, and would fold; a third request of the same turn is no dearer.
        assert other.ask(turns) == KEPT_RAW
        assert one.ask(turns) == KEPT_RAW
        until(lambda: other.gate.done, timeout=20)
        one.gate.open.set()
        until(lambda: one.gate.done, timeout=20)
        for more in range(turns + 1, turns + 3):
            assert one.ask(more) == other.ask(more) == KEPT_RAW
            assert len(json.loads(upstream.seen[-1].body)["messages"]) == 2 * more + 2
        for more in (due, due + 1):
            for replica in (one, other):  # on a busy machine its fold may go on behind the request once more
                until(lambda to=replica, at=more: to.ask(at) == FOLDED, timeout=20, pause=0.1)  # type: ignore[misc]
            assert len({seen.body for seen in upstream.seen if len(seen.body) == len(upstream.seen[-1].body)}) == 1
        assert other.ask(turns, "another") == FOLDED


def test_no_replica_waits_as_long_as_the_first(upstream: UpstreamServer, redis_url: str) -> None:
    with replicas(upstream, redis_url, 3) as them:
        for one in them:
            one.gate.open.clear()
        assert them[0].ask(60) == SLOW
        until(lambda: records(redis_url), timeout=10)
        for one in (*them[1:], *them):
            assert one.ask(60) == KEPT_RAW  # had it waited to the end, this would be SLOW
        for one in them:  # what was left goes on behind the request
            one.gate.open.set()
            until(partial(getattr, one.gate, "done"), timeout=20)


def test_a_conversation_that_was_sent_folded_before_goes_on_so(upstream: UpstreamServer, redis_url: str) -> None:
    with replicas(upstream, redis_url) as (one, other):
        assert one.ask(60) == FOLDED
        done = one.gate.done
        one.gate.open.clear()
        assert one.ask(61) == SLOW
        until(lambda: records(redis_url), timeout=10)
        one.gate.open.set()
        until(lambda: one.gate.done > done, timeout=20)
        for replica in (one, other):
            until(lambda to=replica: to.ask(62) == FOLDED, timeout=20, pause=0.1)  # type: ignore[misc]


def test_without_the_store_each_goes_by_what_it_has_seen(upstream: UpstreamServer, unused_tcp_port: int) -> None:
    with replicas(upstream, f"redis://127.0.0.1:{unused_tcp_port}/0") as (one, other):
        one.gate.open.clear()
        assert one.ask(60) == SLOW
        assert one.ask(60) == KEPT_RAW
        assert other.ask(60) == FOLDED
        one.gate.open.set()
        until(lambda: one.gate.done, timeout=20)
        assert one.ask(61) == KEPT_RAW
        assert one.ask(next_event(60)) == FOLDED


def test_a_budget_is_kept_all_the_same(upstream: UpstreamServer, redis_url: str) -> None:
    with replicas(upstream, redis_url) as (one, other):
        one.gate.open.clear()
        assert one.ask(60) == SLOW
        until(lambda: records(redis_url), timeout=10)
        body = {"model": "gpt-4o", "messages": [{"role": "system", "content": "You are a."}, *chat(60)]}
        headers = [("authorization", "Bearer sk-anna"), ("x-turnfold-budget", "4000")]
        until(lambda: other.proxy.chat(body, *headers).header("x-turnfold-status") == "folded", timeout=20, pause=0.1)


def records(url: str) -> list[bytes]:
    client: Any = redis.Redis.from_url(url)
    with contextlib.closing(client):
        return [key for key in client.scan_iter("*", count=1000) if b":i:" + KIND.encode() + b":" in key]


@contextlib.contextmanager
def folds_that_never_end(group: int) -> Iterator[set[int]]:
    """Stop each process that folds for a process group, as soon as it is there and long before it can fold; gives their ids."""
    stopped: set[int] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.01):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit() and int(entry.name) not in stopped:
                    with contextlib.suppress(OSError):
                        if os.getpgid(int(entry.name)) == group and b"fold_process" in (entry / "cmdline").read_bytes():
                            os.kill(int(entry.name), signal.SIGSTOP)
                            stopped.add(int(entry.name))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield stopped
    finally:
        done.set()
        thread.join()


def kept_records(path: Path) -> int:
    """How many there are in a SQLite file."""
    with contextlib.closing(sqlite3.connect(path, timeout=20)) as connection:
        (number,) = connection.execute("SELECT count(*) FROM items WHERE kind = ?", (KIND.encode(),)).fetchone()
        return int(number)


def test_workers_share_it(upstream: UpstreamServer, tmp_path: Path) -> None:
    """Requests of one conversation, each on a connection of its own, so that both workers get some.

    How long a fold takes is not left to the machine: none comes to an end.
    """
    upstream.handler = OK
    messages = [{"role": ("user", "assistant")[i % 2], "content": prose(i, "en", 140)} for i in range(61)]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    assert len(body) > LARGE, "it is folded in a process"
    settings = {"WORKERS": "2", "FOLD_TIMEOUT": "4", "STORE_URL": f"sqlite:///{tmp_path}/t.db", "CACHE_HIT_SHARE": "0.7"}
    with serve_process(upstream, tmp_path, **settings) as served, folds_that_never_end(served.process.pid) as folds:
        answers = [served.post(body)]
        until(lambda: kept_records(tmp_path / "t.db"), timeout=20)

        def both_have_been_asked() -> bool:
            answers.append(served.post(body))
            return len(folds) == 2  # a process of each

        until(both_have_been_asked, timeout=60)
        answers += [served.post(body) for _ in range(8)]
        assert served.stop() == 0, "both workers end in good order"
    seen = [(answer.header("x-turnfold-status"), answer.header("x-turnfold-reason")) for answer in answers]
    assert seen == [SLOW, *[KEPT_RAW] * (len(seen) - 1)]


def test_only_what_is_folded_asks_the_store_and_once(upstream: UpstreamServer, redis_url: str) -> None:
    with replicas(upstream, redis_url, 1) as (one,), missed_reads(redis_url) as asked:
        bulk = "x" * 40_000  # one message: there is nothing to fold
        answer = one.proxy.chat({"model": "gpt-4o", "messages": [{"role": "user", "content": bulk}]})
        assert answer.header("x-turnfold-status") == "passthrough"
        assert one.ask(2) == ("passthrough", "short")
        assert asked() == 0
        assert one.ask(58, "b") == FOLDED
        at_first = asked()  # one; more where it took longer than a tenth of the time-out
        assert 1 <= at_first <= 12
        for turns in (59, 60, 61, next_event(61)):
            assert one.ask(turns, "b") == FOLDED
        assert asked() == at_first


@contextlib.contextmanager
def missed_reads(url: str) -> Iterator[Callable[[], int]]:
    """How many reads have not found a record of this kind so far, by what the server tells of them."""
    client: Any = redis.Redis.from_url(url)
    found = 0

    def count() -> int:
        nonlocal found
        while (told := told_of.get_message(timeout=0.3)) is not None:
            found += told["type"] == "pmessage" and f":i:{KIND}:".encode() in told["data"]
        return found

    client.config_set("notify-keyspace-events", "Em")
    with contextlib.closing(client), contextlib.closing(client.pubsub()) as told_of:
        told_of.psubscribe("__keyevent@*__:keymiss")
        try:
            yield count
        finally:
            client.config_set("notify-keyspace-events", "")


async def test_the_first_writer_wins_and_the_number_of_events_is_added_once() -> None:
    store = MemoryStore()
    assert await keep_abandoned(store, PLACE, AbandonedFold(True)) == AbandonedFold(True)
    assert await keep_abandoned(store, PLACE, AbandonedFold(False)) == AbandonedFold(True)
    assert await keep_abandoned(store, PLACE, AbandonedFold(True, 3)) == AbandonedFold(True, 3)
    assert await keep_abandoned(store, PLACE, AbandonedFold(True, 4)) == AbandonedFold(True, 3)
    assert await read_abandoned(store, PLACE) == AbandonedFold(True, 3)
    assert await read_abandoned(store, PLACE._replace(label="c2")) is None


@pytest.mark.parametrize("value", [b"", b"\xff", b"[]", b'{"raw": 1, "events": null}', b'{"raw": true, "events": "x"}', b"null"])
async def test_a_damaged_record_is_none(value: bytes) -> None:
    store = MemoryStore()
    await keep_abandoned(store, PLACE, AbandonedFold(True))
    (key,) = await store.keys(Scope("t1"))
    await store.put([Item(key, value, 60)])
    assert await read_abandoned(store, PLACE) is None
    assert await keep_abandoned(store, PLACE, AbandonedFold(True, 1)) == AbandonedFold(True, 1)


PATIENCE = 100.0


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
    folds: AbandonedFolds, exchange: Exchange, waited: float, worked: float | None, end: asyncio.Event, *, left: bool = False
) -> Underway:
    """A request that leaves its fold after so many seconds; the fold ends when it is told."""

    async def slowly() -> Exchange:
        await end.wait()
        return made(exchange, 3)

    now = time.monotonic()
    began = None if worked is None else now - worked
    underway = Underway((PLACE,), "threads", read=True, since=now - waited, began=began, left=left)
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
    again = await folds.wait(asked(), Underway((PLACE,), "threads", read=True), quickly(asked()))
    assert (again.status, again.reason) == (("passthrough", "slow-before") if slow else ("folded", ""))
    await folds.close()
    kept = await read_abandoned(store, PLACE)
    assert kept == (AbandonedFold(True) if slow else None)


@pytest.mark.parametrize("cancelled", [True, False])
async def test_a_fold_that_fails_behind_its_request_is_nobodys_matter(cancelled: bool) -> None:
    faults = list[Any]()
    asyncio.get_running_loop().set_exception_handler(lambda _, told: faults.append(told))
    folds, exchange, end = abandoned_folds(MemoryStore()), asked(), asyncio.Event()

    async def fails() -> Exchange:
        await end.wait()
        raise asyncio.CancelledError if cancelled else OSError

    now = time.monotonic()
    underway = Underway((PLACE,), "threads", read=True, since=now - 99, began=now - 99)
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
        sent = await folds.wait(exchange, Underway((PLACE,), "threads", read=True), quickly(exchange, events))
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
    sent = await folds.wait(exchange, Underway((PLACE,), "threads", **underway), quickly(exchange, 3))
    assert sent.status == status
    await folds.close()


async def test_the_first_that_knows_its_events_says_so() -> None:
    store, exchange = MemoryStore(), asked()
    await keep_abandoned(store, PLACE, AbandonedFold(True))
    folds = abandoned_folds(store)
    sent = await folds.wait(exchange, Underway((PLACE,), "threads", read=True), quickly(exchange, 5))
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

    underway = Underway((PLACE,), "threads", read=True, began=time.monotonic())
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
    sent = await folds.wait(exchange, Underway((other,), "threads", read=True), waits())
    assert (sent.status, sent.reason, sent.recoverable) == ("passthrough", "busy", False)
    with pytest.raises(TimeoutError):  # the other lane has places
        async with asyncio.timeout(0.3):
            await folds.wait(exchange, Underway((other,), "processes", read=True), waits())
    end.set()
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
        underway = Underway((PLACE,), "threads", read=True, since=now - 99, began=now - 99)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await folds.wait(asked(), underway, slowly())
        seen = []
        for pause in (2 * PATIENCE - 1, 2):
            await asyncio.sleep(pause)
            seen.append(bool(ended))
        return seen

    assert in_no_time(run()) == [False, True]


async def test_lanes_that_are_closed_leave_no_thread() -> None:
    before, lanes = {*threading.enumerate()}, Lanes(1)
    large = asked(body=b"x" * 40_000).request
    assert [await lanes.run(one, lambda: 1) for one in (asked().request, large)] == [1, 1]
    assert (await lanes.read(large, lambda: 2), await lanes.run_heavy("t1", lambda: 3)) == (2, 3)
    started = {*threading.enumerate()} - before
    assert len(started) >= 3
    lanes.close()
    until(lambda: not any(one.is_alive() for one in started), timeout=10)
