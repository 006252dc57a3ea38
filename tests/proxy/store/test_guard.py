"""A store that is down, slow or frozen keeps nobody waiting, and comes back by itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from tests.proxy.harness import unhurried
from turnfold.config.settings import StoreSettings
from turnfold.proxy.incidents import outcome
from turnfold.proxy.store import (
    Batch,
    Item,
    Key,
    OpenStore,
    Scope,
    StoreError,
    StoreFailed,
    StoreTimedOut,
    StoreUnavailable,
    open_store,
)
from turnfold.proxy.store.cached import CachedStore
from turnfold.proxy.store.guard import GuardedStore
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.redis_store import RedisStore
from turnfold.proxy.store.sqlite import SqliteStore

KEY = Key("anna", "section", "s")


@pytest.fixture
async def frozen(valkey: Any, redis_url: str) -> AsyncIterator[GuardedStore]:
    """A Redis store with warm connections whose server is stopped in its tracks; resumed afterwards."""
    inner = RedisStore(redis_url, connect_timeout=10)
    await inner.put([Item(KEY, b"v", 60)])  # which may take as long as it takes
    store = GuardedStore(inner, timeout=0.5)
    process = valkey._process.pid
    os.kill(process, signal.SIGSTOP)
    yield store
    os.kill(process, signal.SIGCONT)
    await store.close()


async def working_again(store: GuardedStore, within: float) -> None:
    async with asyncio.timeout(within):
        while store.problem:  # noqa: ASYNC110 - seen from outside, as a caller sees it
            await asyncio.sleep(0.02)


async def test_a_frozen_server_costs_one_time_out_and_no_more(frozen: GuardedStore, valkey: Any) -> None:
    calls = [asyncio.create_task(frozen.get([KEY])) for _ in range(50)]
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(result, StoreUnavailable) for result in results)
    assert frozen.failures == 50  # all of them were under way
    for _ in range(100):
        with pytest.raises(StoreUnavailable, match="not used until it answers again"):
            await frozen.swap(None, Item(KEY, b"v", 60))
    assert frozen.failures == 50  # none of these waited for the server
    assert "no answer" in frozen.problem
    os.kill(valkey._process.pid, signal.SIGCONT)
    while isinstance(found := await outcome(frozen.get([KEY])), StoreUnavailable):  # a busy machine is late once more
        await working_again(frozen, 60)
    assert found == [b"v"]


async def test_a_server_that_is_not_there(unused_tcp_port: int) -> None:
    store = GuardedStore(RedisStore(f"redis://127.0.0.1:{unused_tcp_port}"))
    with pytest.raises(StoreUnavailable):
        await store.get([KEY])
    assert store.problem
    with pytest.raises(StoreUnavailable, match="not used until it answers again"):
        await store.ping()
    await store.close()


async def test_a_server_that_speaks_something_else() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1")
    store = GuardedStore(RedisStore(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}"))
    with pytest.raises(StoreError):
        await store.get([KEY])
    await store.close()
    server.close()
    await server.wait_closed()


async def test_a_wrong_password_is_said_and_not_hammered(valkey: Any) -> None:
    port = valkey.port
    store = RedisStore(f"redis://nobody:wrong@127.0.0.1:{port}")
    with pytest.raises(StoreFailed):
        await store.get([KEY])
    await store.close()


@pytest.mark.parametrize(("text", "words"), [(None, "is not there"), ("no PEM", "holds no certificate")])
async def test_a_file_of_authorities_that_cannot_be_read_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / "ca.pem").write_text(text)
    with socket.create_server(("127.0.0.1", 0)) as server:
        store = RedisStore(f"rediss://127.0.0.1:{server.getsockname()[1]}/0?ssl_ca_certs={tmp_path}/ca.pem")
        with pytest.raises(StoreError, match=f"ssl_ca_certs.* {words}"):
            await store.get([KEY])
        await store.close()


@contextlib.contextmanager
def configured(url: str, name: str, value: str, otherwise: str) -> Iterator[None]:
    """A server with a setting of its own for a moment; the connection that sets it is let in before."""
    with redis.Redis.from_url(url) as admin:
        admin.config_set(name, value)
        try:
            yield
        finally:
            admin.config_set(name, otherwise)


@pytest.mark.parametrize(
    ("name", "value", "otherwise", "words"),
    [
        ("maxmemory", "1", "0", r"is full \(maxmemory\)"),
        ("requirepass", "rotated", "", "asks for a password, and the URL has none"),
    ],
)
async def test_what_is_wrong_at_a_server_is_said_in_words(
    redis_url: str, name: str, value: str, otherwise: str, words: str
) -> None:
    store = RedisStore(redis_url)
    try:
        with configured(redis_url, name, value, otherwise), pytest.raises(StoreError, match=words):
            await store.put([Item(KEY, b"1", 60)])
        await store.put([Item(KEY, b"1", 60)])
    finally:
        await store.close()


async def test_a_replica_is_said_to_be_one(redis_url: str) -> None:
    store = RedisStore(redis_url)
    with redis.Redis.from_url(redis_url) as admin:
        admin.replicaof("127.0.0.1", "1")
        try:
            with pytest.raises(StoreError, match="is a replica, which takes no writes: name its primary"):
                await store.put([Item(KEY, b"1", 60)])
        finally:
            admin.replicaof("NO", "ONE")
    await store.put([Item(KEY, b"1", 60)])
    await store.close()


async def test_connections_that_went_stale_are_replaced(valkey: Any, redis_url: str) -> None:
    store = RedisStore(redis_url, connect_timeout=10)
    await asyncio.gather(*(store.put([Item(KEY, b"v", 60)]) for _ in range(4)))
    valkey.client().client_kill_filter(_type="normal", skipme=True)
    assert await asyncio.gather(*(store.get([KEY]) for _ in range(4))) == [[b"v"]] * 4
    await store.close()


async def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = SqliteStore(tmp_path / "file" / "turnfold.db")
    with pytest.raises(StoreUnavailable, match=r"turnfold\.db"):
        await store.put([Item(KEY, b"v", 60)])
    await store.close()


async def test_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "turnfold.db").write_bytes(b"no database at all" * 1000)
    store = SqliteStore(tmp_path / "turnfold.db")
    with pytest.raises(StoreFailed):
        await store.get([KEY])
    await store.close()


async def test_a_file_that_is_damaged_while_it_is_in_use_is_set_aside(tmp_path: Path) -> None:
    file = tmp_path / "turnfold.db"
    first = SqliteStore(file)
    await first.put([Item(Key("anna", "section", str(number)), bytes(50_000), 60) for number in range(20)])
    await first.close()
    store = SqliteStore(file)
    assert await store.get([KEY]) == [None]
    with file.open("r+b") as damaged:
        damaged.seek(8192)
        damaged.write(b"\xff" * (file.stat().st_size - 8192))
    with pytest.raises(StoreFailed):
        await store.get([Key("anna", "section", str(number)) for number in range(20)])
    assert (tmp_path / "turnfold.db.damaged").exists()
    assert await store.get([Key("anna", "section", "1")]) == [None]
    await store.close()


async def test_a_store_that_hangs_is_set_aside_until_it_answers() -> None:
    class Hanging(MemoryStore):
        def __init__(self) -> None:
            super().__init__()
            self.answers = asyncio.Event()

        async def ping(self) -> None:
            await self.answers.wait()

        async def get(self, keys: Any) -> list[bytes | None]:
            await self.ping()
            return await super().get(keys)

    inner = Hanging()
    store = GuardedStore(inner, timeout=0.02)
    with pytest.raises(StoreTimedOut):
        await store.get([KEY])
    inner.answers.set()
    await working_again(store, 60)
    assert await store.get([KEY]) == [None]
    assert store.failures == 1
    await store.close()


async def test_sqlite_outlives_its_process_and_is_the_owners_alone(tmp_path: Path) -> None:
    settings = StoreSettings(url=f"sqlite:///{tmp_path}/deep/down/turnfold.db")
    first = open_store(settings)
    await first.patient.put([Item(KEY, b"v", 60)])  # on a busy machine a file takes longer than a request waits
    await first.close()
    second = open_store(settings)
    assert await second.patient.get([KEY]) == [b"v"]
    await second.close()
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "deep" / "down").iterdir())
    with pytest.raises(StoreUnavailable, match="closed"):
        await use_after_closing(tmp_path)


async def use_after_closing(place: Path) -> None:
    store = SqliteStore(place / "x.db")
    await store.close()
    await store.ping()


async def test_sqlite_stays_within_its_bytes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "t.db", max_bytes=2**20)
    for number in range(40):
        await store.put([Item(Key("anna", "section", f"{number:02}"), bytes(100_000), 1000 + number, "c")])
    store._next_purge = 0.0
    await store.put([Item(KEY, b"v", 5000)])
    left = [key.id for key in await store.keys(Scope("anna"))]
    assert left[-1] == "s"
    assert left[:-1] == [f"{number:02}" for number in range(40 - len(left) + 1, 40)]
    assert 2 <= len(left) <= 12
    assert len(await store.keys(Scope("anna", conversation="c"))) == len(left) - 1
    await store.close()


async def test_memory_stays_within_its_bytes() -> None:
    store = MemoryStore(capacity=10_000)
    for number in range(50):
        await store.put([Item(Key("anna", "section", str(number)), bytes(1000), 60)])
    assert [int(key.id) for key in await store.keys(Scope("anna"))] == [43, 44, 45, 46, 47, 48, 49]


async def test_the_memory_before_a_store_forgets_what_was_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("turnfold.proxy.store.cached.time", SimpleNamespace(monotonic=lambda: now[0]))
    inner = MemoryStore()
    store = CachedStore(inner, frozenset({"section"}), capacity=4000, max_age=5.0)
    await store.put([Item(KEY, b"v", 60)])
    await inner.discard([KEY])
    now[0] = 4.9
    assert await store.get([KEY]) == [b"v"]
    now[0] = 5.0
    assert await store.get([KEY]) == [None]
    for forget in (store.delete(Scope("anna")), store.discard([KEY])):
        await store.put([Item(KEY, b"v", 60)])
        await forget
        assert await store.get([KEY]) == [None]
    state = Key("anna", "conversation", "c")
    await store.put([Item(state, b"1", 60)])
    await inner.put([Item(state, b"2", 60)])
    assert await store.get([state]) == [b"2"]
    for number in range(20):
        await store.put([Item(Key("anna", "section", str(number)), bytes(900), 60)])
    assert store._recent.weight <= 4000


async def test_the_memory_before_a_store_keeps_what_was_not_deleted() -> None:
    inner = MemoryStore()
    store = CachedStore(inner, frozenset({"section", "layers"}))
    keys = [KEY, Key("anna", "layers", "l"), Key("bert", "section", KEY.id)]
    for scope, left in ((Scope("anna", "layers"), [b"v", None, b"v"]), (Scope("anna"), [None, None, b"v"])):
        await store.put([Item(key, b"v", 60) for key in keys])
        await store.delete(scope)
        await inner.delete(Scope("anna"))
        await inner.delete(Scope("bert"))
        assert await store.get(keys) == left


async def test_open_store_takes_every_url(tmp_path: Path, redis_url: str) -> None:
    for url in ("memory://", f"sqlite:///{tmp_path}/a.db", redis_url):
        store = open_store(unhurried(StoreSettings(url=url)))
        await store.put([Item(KEY, b"v", 60)])
        assert await store.get([KEY]) == [b"v"]
        assert (store.problem, store.failures) == ("", 0)
        await store.close()


async def test_a_client_that_swallows_its_cancellation_keeps_nobody_waiting() -> None:
    released, ended = asyncio.Event(), asyncio.Event()

    class Stubborn(MemoryStore):
        async def get(self, keys: Any) -> list[bytes | None]:
            while not released.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await released.wait()
            ended.set()
            return [b"late"]

    store = GuardedStore(Stubborn(), timeout=0.02)
    with pytest.raises(StoreTimedOut):
        await store.get([KEY])
    assert not ended.is_set()
    released.set()
    await ended.wait()
    await store.close()


async def test_a_caller_that_leaves_takes_its_call_along() -> None:
    ended = asyncio.Event()

    class Slow(MemoryStore):
        async def ping(self) -> None:
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

    store = GuardedStore(Slow(), timeout=30)
    call = asyncio.create_task(store.ping())
    await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.wait_for(ended.wait(), 60)
    assert not store.problem
    await store.close()


class Busy(MemoryStore):
    """A healthy store on a busy machine, or far away: every answer takes a while."""

    def __init__(self, delay: float) -> None:
        super().__init__()
        self.delay = delay

    async def get(self, keys: Any) -> list[bytes | None]:
        await asyncio.sleep(self.delay)
        return await super().get(keys)

    async def ping(self) -> None:
        await asyncio.sleep(self.delay)


async def test_a_call_without_a_fall_back_waits_and_no_breaker_refuses_it() -> None:
    store = OpenStore(Busy(0.05), StoreSettings(timeout=0.02, patience=5))
    await store.put([Item(KEY, b"v", 60)])
    other = Key("anna", "conversation", "c")
    with pytest.raises(StoreTimedOut):
        await store.get([other])
    assert store.problem
    with pytest.raises(StoreUnavailable, match="not used until it answers again"):
        await store.get([other])
    assert await asyncio.gather(*(store.patient.get([other]) for _ in range(20))) == [[None]] * 20
    await store.close()


async def test_work_that_nobody_waits_for_goes_on_while_the_store_is_slow() -> None:
    inner = Busy(0.05)
    store = OpenStore(inner, StoreSettings(timeout=0.02, patience=5))
    late = await asyncio.gather(*(store.get([KEY]) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(one, StoreTimedOut) for one in late)
    await store.background.record(Batch("b", {"log": [b"line"]}, {}, 60, [], 60))  # at once: it may only be late
    assert await store.background.get([KEY]) == [None]
    assert (await inner.log("log"))[0] == [b"line"]
    with pytest.raises(StoreUnavailable, match="not used until it answers again"):
        await store.get([KEY])  # a request has no time for it
    inner.delay = 0
    async with asyncio.timeout(10):
        while store.problem:  # noqa: ASYNC110 - seen from outside, as a caller sees it
            await asyncio.sleep(0.02)
    assert await store.get([KEY]) == [None]
    await store.close()


async def test_work_that_nobody_waits_for_does_not_hammer_a_store_that_is_away(unused_tcp_port: int) -> None:
    store = OpenStore(RedisStore(f"redis://127.0.0.1:{unused_tcp_port}"), StoreSettings(timeout=0.1, patience=5))
    with pytest.raises(StoreUnavailable):
        await store.background.get([KEY])
    for _ in range(20):
        with pytest.raises(StoreUnavailable, match="not used until it answers again"):
            await store.background.get([KEY])
    assert store.failures == 1
    await store.close()


async def test_patience_ends_too_and_the_others_are_told() -> None:
    inner = Busy(60)
    store = OpenStore(inner, StoreSettings(timeout=0.02, patience=0.04))
    with pytest.raises(StoreTimedOut):
        await store.patient.get([KEY])
    assert (store.problem, store.failures) == ("no answer within 0.04 s", 1)
    with pytest.raises(StoreUnavailable, match="not used until it answers again"):
        await store.background.get([KEY])
    inner.delay = 0
    assert await store.patient.get([KEY]) == [None]
    await store.close()


async def test_what_the_patient_side_deletes_is_forgotten_by_the_other() -> None:
    store = OpenStore(MemoryStore(), unhurried(StoreSettings()))
    for by_key in (True, False):
        await store.put([Item(KEY, b"v", 60)])
        assert await store.get([KEY]) == [b"v"]
        await (store.patient.discard([KEY]) if by_key else store.patient.delete(Scope("anna")))
        assert await store.get([KEY]) == [None]
    await store.put([Item(KEY, b"v", 60)])
    assert store.recent_tenants() == ["anna"]
    await store.close()
    assert store.recent_tenants() == []


async def test_connections_to_a_server_that_was_demoted_are_given_up(valkey: Any, redis_url: str) -> None:
    """After a failover the address leads elsewhere, while the old connections still lead to what is a replica now."""
    store = RedisStore(redis_url, connect_timeout=10)
    client = valkey.client(decode_responses=True)

    def connections() -> set[str]:
        return {one["id"] for one in client.client_list() if one["name"] == "turnfold"}

    others = connections()
    await store.put([Item(KEY, b"v", 60)])
    (before,) = connections() - others
    client.replicaof("127.0.0.1", "1")
    try:
        with pytest.raises(StoreFailed):
            await store.put([Item(KEY, b"w", 60)])
    finally:
        client.replicaof("NO", "ONE")
    await store.put([Item(KEY, b"w", 60)])
    assert before not in connections()
    assert await store.get([KEY]) == [b"w"]
    await store.close()
