"""Folds that take too long, through whole proxies: what one replica has learned of a conversation, all of them act on, and no
prefix changes for it.

These tests cover replicas, and what they ask the store. They leave out one process's rules (``test_abandoning``), folds in
processes (``test_process_folding``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.proxy.chat.abandoned import kept_records
from tests.proxy.harness import ProxyServer, UpstreamServer, proxy_server, reply, until
from tests.proxy.processes import chat
from turnfold.compression.fold import Folded, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Conversation
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.fold import fold_options
from turnfold.config.settings import FoldingSettings, Settings
from turnfold.proxy.chat import abandoning
from turnfold.proxy.learning.abandoned_records import KIND, AbandonedFold, keep_abandoned

OK = reply(b'{"id": "c", "model": "gpt-4o", "choices": []}')  # without usage, so that no window is learned
FOLDED, SLOW, KEPT_RAW = ("folded", None), ("failed-open", "slow"), ("passthrough", "slow-before")


#: Of all folds here, which are of one conversation: with a cold one each takes seconds on a busy machine, and is late itself.
WARM = Memo()


class Gate:
    """The real engine behind a gate: while it is closed, no fold comes to an end."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()
        self.begun = self.done = 0

    def __call__(self, conversation: Conversation, options: FoldOptions, memo: Memo) -> Folded:
        self.begun += 1
        assert self.open.wait(60), "the test forgot to open it"
        del memo
        made = fold(conversation, options, WARM)
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

    def give_up(self, turns: int) -> int:
        """A request whose fold is held up from now on, so that it goes out as it came; gives how many folds have ended."""
        until(lambda: self._gives_up(turns))
        return self.gate.done

    def _gives_up(self, turns: int) -> bool:
        """Whether that counts: on a busy machine the fold may have begun too late. Then it ends before another one is held up."""
        self.gate.open.clear()
        with self.proxy.impatient(2.0):
            assert self.ask(turns) == SLOW
            if self.ask(turns) == KEPT_RAW:
                return True
        self.gate.open.set()
        until(lambda: self.gate.done == self.gate.begun)
        return False


@contextlib.contextmanager
def replicas(upstream: UpstreamServer, url: str, number: int = 2, *, patience: float = 600.0) -> Iterator[list[Replica]]:
    """So many, in which a request waits so many seconds for its fold, and one that nobody waits for goes on until it is done."""
    upstream.handler = OK
    with contextlib.ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(abandoning, "_GRACE", 300)
        gates = [Gate() for _ in range(number)]
        settings: dict[str, dict[str, Any]] = {"folding": {"cache_hit_share": 0.7}, "limits": {"fold_timeout": patience}}
        started = []
        for gate in gates:
            proxy, _ = stack.enter_context(proxy_server(upstream.origin + "/v1", fold=gate, store={"url": url}, **settings))
            stack.callback(gate.open.set)
            started.append(Replica(proxy, gate))
        yield started


def next_event(turns: int) -> int:
    """The first number of turns at which the conversation of so many has seen another fold event."""
    return next(more for more in range(turns + 1, turns + 60) if events(more) > events(turns))


@cache
def events(turns: int) -> int:
    messages = [{"role": "system", "content": "You are a."}, *chat(turns)]
    options = fold_options(Settings(folding=FoldingSettings(cache_hit_share=0.7)), "gpt-4o")
    return fold(CHAT.read(json.dumps({"model": "gpt-4o", "messages": messages}).encode(), WARM), options, WARM).events


@pytest.fixture(scope="module", autouse=True)
def warmed() -> None:
    """Whichever test comes first, its folds are not cold."""
    next_event(60)


def test_what_was_sent_raw_stays_raw_until_the_next_fold_event_on_every_replica(upstream: UpstreamServer, redis_url: str) -> None:
    turns = 60
    due = next_event(turns)
    assert due > turns + 3, "the test needs turns without a fold event"
    with replicas(upstream, redis_url) as (one, other):
        done = one.give_up(turns)
        until(lambda: records(redis_url))
        # The other is quick, and would fold; a third request of the same turn is no dearer.
        assert other.ask(turns) == KEPT_RAW
        assert one.ask(turns) == KEPT_RAW
        until(lambda: other.gate.done)
        one.gate.open.set()
        until(lambda: one.gate.done > done)
        for more in range(turns + 1, turns + 3):
            assert one.ask(more) == other.ask(more) == KEPT_RAW
            assert len(json.loads(upstream.seen[-1].body)["messages"]) == 2 * more + 2
        for more in (due, due + 1):
            for replica in (one, other):  # what was held up may not have been noted yet
                until(lambda to=replica, at=more: to.ask(at) == FOLDED, pause=0.1)  # type: ignore[misc]
            assert len({seen.body for seen in upstream.seen if len(seen.body) == len(upstream.seen[-1].body)}) == 1
        assert other.ask(turns, "another") == FOLDED


def test_no_replica_waits_as_long_as_the_first(upstream: UpstreamServer, redis_url: str) -> None:
    with replicas(upstream, redis_url, 3, patience=10.0) as them:
        done = [them[0].give_up(60), 0, 0]
        for one in them[1:]:
            one.gate.open.clear()
        until(lambda: records(redis_url))
        for one in (*them[1:], *them):
            assert one.ask(60) == KEPT_RAW  # had it waited to the end, ten times as long, this would be SLOW
        for one, before in zip(them, done, strict=True):  # what was left goes on behind the request
            one.gate.open.set()
            until(lambda gate=one.gate, before=before: gate.done > before)  # type: ignore[misc]


def test_a_conversation_that_was_sent_folded_before_goes_on_so(upstream: UpstreamServer, redis_url: str) -> None:
    with replicas(upstream, redis_url) as (one, other):
        assert one.ask(60) == FOLDED
        done = one.give_up(61)
        until(lambda: records(redis_url))
        one.gate.open.set()
        until(lambda: one.gate.done > done)
        for replica in (one, other):
            until(lambda to=replica: to.ask(62) == FOLDED, pause=0.1)  # type: ignore[misc]


def test_without_the_store_each_goes_by_what_it_has_seen(upstream: UpstreamServer, unused_tcp_port: int) -> None:
    with replicas(upstream, f"redis://127.0.0.1:{unused_tcp_port}/0") as (one, other):
        done = one.give_up(60)
        assert one.ask(60) == KEPT_RAW
        assert other.ask(60) == FOLDED
        one.gate.open.set()
        until(lambda: one.gate.done > done)
        assert one.ask(61) == KEPT_RAW
        until(lambda: one.ask(next_event(60)) == FOLDED, pause=0.1)  # what was held up may not have been noted yet


def test_a_budget_is_kept_all_the_same(upstream: UpstreamServer, redis_url: str) -> None:
    with replicas(upstream, redis_url) as (one, other):
        one.give_up(60)
        until(lambda: records(redis_url))
        body = {"model": "gpt-4o", "messages": [{"role": "system", "content": "You are a."}, *chat(60)]}
        headers = [("authorization", "Bearer sk-anna"), ("x-turnfold-budget", "4000")]
        until(lambda: other.proxy.chat(body, *headers).header("x-turnfold-status") == "folded", pause=0.1)


def records(url: str) -> list[bytes]:
    client: Any = redis.Redis.from_url(url)
    with contextlib.closing(client):
        return [key for key in client.scan_iter("*", count=1000) if b":i:" + KIND.encode() + b":" in key]


def test_what_was_learned_last_is_written_before_the_process_ends(
    upstream: UpstreamServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slowly(*given: Any) -> AbandonedFold:
        await asyncio.sleep(0.3)
        return await keep_abandoned(*given)

    monkeypatch.setattr("turnfold.proxy.chat.abandoning.keep_abandoned", slowly)
    upstream.handler, gate = OK, Gate()
    settings: dict[str, dict[str, Any]] = {"folding": {"cache_hit_share": 0.7}, "limits": {"fold_timeout": 600.0}}
    monkeypatch.setattr(abandoning, "_FAREWELL", 60.0)
    store = {"url": f"sqlite:///{tmp_path}/t.db"}
    with proxy_server(upstream.origin + "/v1", fold=gate, store=store, **settings) as (proxy, _):
        Replica(proxy, gate).give_up(60)
        gate.open.set()
    assert kept_records(tmp_path / "t.db") == 1


def test_only_what_is_folded_asks_the_store_and_once(upstream: UpstreamServer, redis_url: str) -> None:
    # A request looks again each tenth of the time, which no fold here takes.
    with replicas(upstream, redis_url, 1) as (one,), missed_reads(redis_url) as asked:
        bulk = "x" * 40_000  # one message: there is nothing to fold
        answer = one.proxy.chat({"model": "gpt-4o", "messages": [{"role": "user", "content": bulk}]})
        assert answer.header("x-turnfold-status") == "passthrough"
        assert one.ask(2) == ("passthrough", "short")
        assert asked() == 0
        assert one.ask(58, "b") == FOLDED
        assert asked() == 1
        for turns in (59, 60, 61, next_event(61)):
            assert one.ask(turns, "b") == FOLDED
        assert asked() == 1


@contextlib.contextmanager
def missed_reads(url: str) -> Iterator[Callable[[], int]]:
    """How many reads have not found a record of this kind so far, by what the server tells of them."""
    client: Any = redis.Redis.from_url(url)
    found = 0

    def count() -> int:
        nonlocal found
        told_of.ping()  # answered behind all that it had to tell before
        while (told := told_of.get_message(timeout=60))["type"] != "pong":
            found += told["type"] == "pmessage" and f":i:{KIND}:".encode() in told["data"]
        return found

    client.config_set("notify-keyspace-events", "Em")
    with contextlib.closing(client), contextlib.closing(client.pubsub()) as told_of:
        told_of.psubscribe("__keyevent@*__:keymiss")
        try:
            yield count
        finally:
            client.config_set("notify-keyspace-events", "")
