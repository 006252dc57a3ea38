"""A cluster, and servers under Sentinel: what a server's end means, and what a wrong address is told. What every store does is in
``test_contract``, for these two as well."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.proxy.receipts import NOON, SECTION, price, receipt
from tests.support.cases import each
from tests.support.valkeys import Cluster, Node, Watched
from turnfold.config.settings import StoreSettings
from turnfold.config.values import store_url
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import receipts_between
from turnfold.proxy.books.report import Query, report
from turnfold.proxy.store import Batch, Item, Key, OpenStore, Scope, StoreError, StoreFailed, StoreUnavailable, open_store
from turnfold.proxy.store.redis_store import RedisStore

_PATIENCE = 120.0


def items(number: int) -> list[Item]:
    return [Item(Key("anna", "state", f"s{i}"), f"value {i}".encode(), 600, f"c{i % 7}") for i in range(number)]


async def outcome(work: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await work()
    except StoreError as exc:
        return exc


async def until_it_works(work: Callable[[], Awaitable[Any]]) -> Any:
    """The first result that is no failure; all others mean that the store is away."""
    async with asyncio.timeout(_PATIENCE):
        while isinstance(result := await outcome(work), Exception):
            assert isinstance(result, StoreUnavailable), repr(result)
            await asyncio.sleep(0.02)
    return result


@pytest.fixture
async def opened(request: pytest.FixtureRequest) -> AsyncIterator[Callable[[str], OpenStore]]:
    stores = []

    def make(url: str) -> OpenStore:
        stores.append(open_store(StoreSettings(url=url, patience=10)))
        return stores[-1]

    yield make
    for store in stores:
        await store.close()


async def test_what_a_tenant_has_lies_on_every_node(cluster: Cluster) -> None:
    store = RedisStore(cluster.url, connect_timeout=10)
    await store.put(items(60))
    sizes = [node.client.dbsize() for node in cluster.primaries()]
    await store.close()
    assert min(sizes) * 6 > max(sizes), sizes


async def test_a_slot_that_has_moved_is_found(cluster: Cluster) -> None:
    store = RedisStore(cluster.url.partition(",")[0], connect_timeout=10)
    await store.put(items(30))
    source, target = cluster.primaries()[:2]
    key = source.client.randomkey()
    slot = source.client.cluster("KEYSLOT", key)
    names = {node: node.client.cluster("MYID") for node in (source, target)}
    target.client.cluster("SETSLOT", slot, "IMPORTING", names[source])
    source.client.cluster("SETSLOT", slot, "MIGRATING", names[target])
    while keys := source.client.cluster("GETKEYSINSLOT", slot, 100):
        source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
    # Until the move is announced, a read may find out or fail: redis-py asks for it on one connection and reads on another.
    read = await outcome(lambda: store.get([item.key for item in items(30)]))
    for node in (target, *cluster.primaries()):
        node.client.cluster("SETSLOT", slot, "NODE", names[target])
    assert isinstance(read, StoreUnavailable) or read == [item.value for item in items(30)]
    await store.put(items(30))
    assert await store.get([item.key for item in items(30)]) == [item.value for item in items(30)]
    assert len(await store.keys(Scope("anna"))) == 30
    await store.close()


async def _lose(store: OpenStore, going: Node) -> None:
    """A server hangs: calls fail fast or work, a batch counts once, and nothing that was stored is lost."""
    await until_it_works(lambda: store.put(items(40)))
    batch = Batch("b1", {"log": [b"1"], "other": [b"2"]}, {"day": {"x": 1}, "hour": {"y": 2}}, 600)
    going.signal(signal.SIGSTOP)
    try:
        await until_it_works(store.ping)
        for _ in range(2):
            await until_it_works(lambda: store.record(batch))
        assert await until_it_works(lambda: store.get([item.key for item in items(40)])) == [item.value for item in items(40)]
        assert await until_it_works(lambda: store.counts(["day", "hour"])) == [{"x": 1}, {"y": 2}]
        assert await until_it_works(lambda: store.log("log")) == ([b"1"], None)
        swapped = Item(Key("anna", "conversation", "c"), b"1", 60)
        assert await until_it_works(lambda: store.swap(None, swapped)) in {True, False}  # a time-out may have come after it
        assert await until_it_works(lambda: store.get([swapped.key])) == [b"1"]
        assert store.problem == ""
    finally:
        going.signal(signal.SIGCONT)


async def test_a_node_goes_and_its_replica_takes_over(cluster: Cluster, opened: Callable[[str], OpenStore]) -> None:
    cluster.wait()
    primary, _ = cluster.pair()
    await _lose(opened(cluster.url), primary)


async def test_sentinel_names_another_primary(watched: Watched, opened: Callable[[str], OpenStore]) -> None:
    watched.wait()
    await _lose(opened(watched.url), watched.primary())


async def test_a_primary_that_was_replaced_on_purpose_gets_no_more_writes(
    watched: Watched, opened: Callable[[str], OpenStore]
) -> None:
    """It stays up, and what it takes is lost when Sentinel makes it a replica ten seconds later, which is not what ends it here.

    At most 40 writes may reach it, one each tenth of a second.
    """
    watched.wait()
    store, old = opened(watched.url), watched.primary()
    await until_it_works(lambda: store.put(items(40)))
    new = await asyncio.to_thread(watched.fail_over)
    # The connection of a write that is under way while the others leave is not used again.
    old.client.execute_command("CLIENT", "PAUSE", 1000, "WRITE")
    slow = asyncio.create_task(store.patient.put([Item(Key("anna", "state", "slow"), b"1", 600)]))
    while not slow.done():
        await asyncio.sleep(0.05)
        await store.patient.get([Key("anna", "state", "s1")])
    await slow
    old.client.execute_command("ACL", "SETUSER", "default", "-replicaof", "-slaveof")
    try:
        for _ in range(40):
            await outcome(lambda: store.put([Item(Key("anna", "state", "later"), b"1", 600)]))
            if written := bool(new.client.keys("*later*")):
                break
            await asyncio.sleep(0.1)
        assert written
        assert old.client.execute_command("ROLE")[0] == "master"
    finally:
        old.client.execute_command("ACL", "SETUSER", "default", "+replicaof", "+slaveof")
    watched.wait()


async def test_receipts_that_went_to_a_replaced_primary_are_written_again_and_count_once(
    watched: Watched, opened: Callable[[str], OpenStore]
) -> None:
    watched.wait()
    store, old = opened(watched.url), watched.primary()
    ledger = Ledger(store, StoreSettings(), price, newest=store.newest_writes)
    names: list[str] = []

    async def write() -> None:
        names.append(f"r{len(names)}")
        ledger.record(receipt(request_id=names[-1]), (replace(SECTION, id=names[-1]),))
        await ledger.flush()

    async def reaches(server: Node) -> bool:
        probe = Item(Key("anna", "state", "probe"), b"1", 600)
        await outcome(lambda: store.put([probe]))
        return bool(server.client.keys("*probe*"))

    await until_it_works(store.ping)
    await write()
    new, begun = await asyncio.to_thread(watched.fail_over), len(names)
    async with asyncio.timeout(_PATIENCE):
        while len(names) == begun or not await reaches(new):
            await write()
            await asyncio.sleep(0.03)
    old.client.replicaof("127.0.0.1", new.port)  # Sentinel takes ten seconds for this
    await asyncio.sleep(0.6)  # until no connection leads to it
    await until_it_works(store.ping)
    assert await ledger.flush()
    lines = [line["request_id"] async for line in receipts_between(store, NOON - 1, NOON + 1)]
    assert sorted(lines) == sorted(names)
    told = await report(store, Query(NOON - 1, NOON + 1))
    assert told["totals"]["requests"] == len(names)
    assert len(await store.keys(Scope("anna", "section"), limit=10_000)) == len(names)
    watched.wait()


async def test_a_sentinel_that_hangs_delays_nobody(watched: Watched) -> None:
    watched.sentinels[0].signal(signal.SIGSTOP)
    try:
        store = RedisStore(watched.url)
        await store.put(items(1))
        await store.close()
    finally:
        watched.sentinels[0].signal(signal.SIGCONT)


async def test_an_address_of_another_kind_is_told(valkey: Any, cluster: Cluster, watched: Watched, unused_tcp_port: int) -> None:
    plain, node, sentinel = f"127.0.0.1:{valkey.port}", cluster.nodes[0].address, watched.sentinels[0].address
    wrong = {
        f"redis+cluster://{plain}": (StoreFailed, "not part of a cluster: use redis://"),
        f"redis://{node}": (StoreFailed, "belongs to a cluster: use redis+cluster://"),
        f"redis://{sentinel}": (StoreFailed, "seems to be a Sentinel: use redis+sentinel://"),
        f"redis+sentinel://{plain}/mymaster": (StoreFailed, "the server is not a Sentinel: use redis://"),
        f"redis+sentinel://{sentinel}/another": (StoreUnavailable, "another is not known to it"),
        f"redis+cluster://127.0.0.1:{unused_tcp_port}": (StoreUnavailable, "at least one reachable node"),
        f"redis+sentinel://127.0.0.1:{unused_tcp_port}/mymaster": (StoreUnavailable, "no Sentinel names a primary"),
    }
    for url, (kind, words) in wrong.items():
        store = RedisStore(url, connect_timeout=10)
        result = await outcome(partial(store.get, [Key("anna", "section", str(i)) for i in range(40)]))
        await store.close()
        assert isinstance(result, kind), f"{url}: {result!r}"
        assert words in str(result), f"{url}: {result}"


@each(
    ("url", "words"),
    [
        ("redis+cluster://", "HOST:PORT"),
        ("redis+cluster://a:1,,b:2", "HOST:PORT"),
        ("redis+cluster://a:1/2", "not name a database"),
        ("redis+sentinel://a:1", "mymaster"),
        ("redis+sentinel://a:x/mymaster", "HOST:PORT"),
        ("redis+sentinel://a:1/mymaster/db", "mymaster"),
        ("redis+ring://a:1", "must begin with"),
    ],
)
def test_a_url_that_names_no_servers(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        store_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "redis+cluster://u:p%40ss@a:7000,b,[::1]:7002/0?ssl_cert_reqs=none",
        "rediss+cluster://a:7000",
        "rediss+sentinel://u:p@a,b:26380/mymaster/3?sentinel_username=s&sentinel_password=t&health_check_interval=5",
    ],
)
async def test_every_part_of_a_url_is_taken(url: str) -> None:
    store = RedisStore(store_url(url))
    await store.close()


@each(
    "url",
    [
        "redis+cluster://h?colour=red",
        "redis+sentinel://h/m?colour=red",
        "redis+sentinel://h/m?sentinel_colour=red",
        "redis+sentinel://h/m?sentinel_protocol=9",
        "redis://h?protocol=9",
        "redis+sentinel://h/m?protocol=9",
    ],
)
def test_an_unknown_option_is_told(url: str) -> None:
    with pytest.raises(StoreFailed, match="not understood"):
        RedisStore(store_url(url))
