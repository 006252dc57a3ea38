"""Redis without a server: what becomes of a URL, of failures, and the names of keys (``tests.support.golden`` says when to write
the files anew).

These tests cover connections that are made up. They leave out what real servers do (``test_many_servers``, ``test_guard``).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from redis import exceptions as errors

from tests.support import golden
from tests.support.no_time import in_no_time, now
from turnfold.proxy.store.base import Batch, Item, Key, Scope, StoreError
from turnfold.proxy.store.records import left_out, log_once
from turnfold.proxy.store.redis_store import RedisStore, links
from turnfold.proxy.store.redis_store.keys import OneServer, Spread, index_of_indexes, key_of, kind_index, label_index, member
from turnfold.proxy.store.redis_store.links import ClusterLink, Link, SentinelLink, open_link
from turnfold.proxy.store.redis_store.store import NewestBatches

FILES = Path(__file__).parent / "golden"
URLS = (
    *("redis://h", "redis://u:p@h:1/2?client_name=mine", "rediss://h/0?ssl_cert_reqs=none&health_check_interval=5"),
    *("redis+cluster://a,[::1]:7002,b:1/0", "rediss+cluster://u:p%40ss@a:7000?ssl_cert_reqs=none"),
    *("redis+sentinel://a,b:1/mine", "rediss+sentinel://u:p@a/mine/3?sentinel_username=s&sentinel_password=t"),
)
OURS = frozenset(
    {
        *("client_name", "db", "host", "port", "username", "password", "retry", "ssl", "ssl_cert_reqs", "health_check_interval"),
        *("socket_timeout", "socket_connect_timeout"),
    }
)
FAILURES: tuple[Exception, ...] = (
    *(errors.ConnectionError("gone"), errors.ConnectionError(), errors.TimeoutError("late"), errors.BusyLoadingError("busy")),
    *(
        errors.AuthenticationError("wrong"),
        errors.ReadOnlyError("replica"),
        errors.MovedError("1 h:1"),
        errors.TryAgainError("x"),
    ),
    *(errors.ClusterDownError("down"), errors.RedisClusterException("odd"), errors.DataError("bad"), errors.ResponseError("no")),
    *(
        errors.ResponseError("WRONGTYPE x"),
        errors.ResponseError("unknown command 'MGET', with"),
        errors.ResponseError("noauth x"),
    ),
    *(errors.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), OSError("os"), ConnectionResetError("r")),
    *(ValueError("v"), TypeError("t"), OverflowError("o"), AttributeError("a"), errors.ResponseError("Cluster support disabled")),
)


def shown(options: dict[str, Any]) -> str:
    """The arguments of a connection that come from us or from the URL."""
    plain = {
        name: (type(value._backoff).__name__, value._retries) if name == "retry" else value
        for name, value in options.items()
        if name in OURS
    }
    return " ".join(f"{name}={value!r}" for name, value in sorted(plain.items()))


def described(url: str) -> Iterable[str]:
    link = open_link(url, 0.25, 7)
    yield f"{url}: {type(link).__name__}, keys {'spread' if link.layout.spread else 'together'}"
    if isinstance(link, ClusterLink):
        yield f"  {link._hosts} {shown(link._options)}"
        yield f"  {[(node.host, node.port) for node in link.client.nodes_manager.startup_nodes.values()]}"
        return
    assert isinstance(link, Link)
    pool: Any = link._pool
    yield f"  at most {pool.max_connections} {pool.connection_class.__name__} {shown(pool.connection_kwargs)}"
    if isinstance(link, SentinelLink):
        for one in link._sentinels.sentinels:
            alone = one.connection_pool
            yield f"  sentinel {alone.connection_class.__name__} {shown(alone.connection_kwargs)}"
        yield f"  {pool.service_name} {shown(link._sentinels.connection_kwargs)}"


async def test_every_part_of_a_url() -> None:
    golden.agrees(FILES / "links.txt", [line for url in URLS for line in described(url)])
    shown_addresses = repr([links._address(url) for url in URLS if "+" in url])
    assert "p@ss" not in shown_addresses
    assert "sentinel_password" not in shown_addresses


def test_names_of_keys() -> None:
    """Other replicas, and other releases, look under the same names."""
    lines = []
    for layout in (OneServer(), Spread()):
        lines.append(type(layout).__name__)
        for key in (Key("anna", "section", "s:1"), Key("", "a:b", "\ud800"), Key("{x}", "kind", "")):
            space = layout.space(key)
            names = (layout.item(key), kind_index(space, key.kind), label_index(space, "c"), index_of_indexes(space), member(key))
            lines += [f"  {key}: {names} {key_of(key.tenant, member(key)) == key}"]
            lines += [f"    {len(layout.spaces(key.tenant))} {layout.spaces(key.tenant)[-1]!r}"]
        for name in ("receipts:2025", "{a}:b", ""):
            own = (layout.own(b"l", name), layout.own(b"n", name), layout.mark("b1", name), layout.pattern(b"l"))
            lines.append(f"  {name!r}: {own} {layout.name_of(layout.own(b'l', name), b'l') == name}")
        keys = [Key("anna", "section", f"s{i}") for i in range(9)]
        lines.append(f"  {layout.together(keys)} {layout.together([])}")
    lines += [
        f"{named!r}: {key_of('t', named)}" for named in (b"[1, 2]", b'["a", "b"]', b'["a"]', b"x", b"[" * 9999, b'["a", 1]')
    ]
    golden.agrees(FILES / "redis_keys.txt", lines)


class Failing:
    """A client that fails so often, and then answers."""

    def __init__(self, *failures: Exception) -> None:
        self.failures, self.asked, self.closed = list(failures), 0, False

    async def execute_command(self, *_: Any) -> Any:
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return [b"v"]

    ping = initialize = execute_command

    async def aclose(self) -> None:
        self.closed = True


async def test_what_a_failure_means_and_which_call_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A read is made again once on a new connection; a swap, which may have been done, is not."""
    lines, left = [], list[str]()

    async def leave(link: Link) -> None:
        del link
        left.append("left")

    monkeypatch.setattr(Link, "leave", leave)
    for failure in FAILURES:
        found = []
        for times in (1, 2):
            store, client = RedisStore("redis://127.0.0.1:1"), Failing(*[failure] * times)
            store._link.client = client
            left.clear()
            try:
                said = str(await store.get([Key("anna", "section", "s")]))
            except StoreError as exc:
                said = f"{type(exc).__name__}: {exc}"
            found.append(f"{client.asked} {said} {''.join(left)}")
        lines.append(f"{type(failure).__name__} {failure}: {' | '.join(found)}")
    golden.agrees(FILES / "redis_failures.txt", lines)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://a?nonsense=1", "nonsense"),
        ("redis+sentinel://a/mine?sentinel_nonsense=1", "nonsense"),
        ("redis+sentinel://a/mine?sentinel_protocol=9", "protocol"),
    ],
)
async def test_an_option_that_means_nothing_is_told_when_the_store_is_opened(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        open_link(url, 0.1, 1)


async def test_logs_tables_and_indexes_whose_keys_hold_another_type_are_left_out_and_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, before = RedisStore("redis://127.0.0.1:1"), left_out.copy()
    store._link.client = Failing(*[errors.ResponseError("WRONGTYPE of a key")] * 6)
    log_once.cache_clear()
    assert (await store.log("receipts"), await store.newest("receipts")) == (([], None), [])
    assert await store.counts(["a", "b"]) == [{}, {}]
    assert (await store.keys(Scope("anna")), await store.keys(Scope("anna", "state"))) == ([], [])
    assert left_out - before == {"log": 2, "table of sums": 2, "index": 2}
    assert [record.getMessage() for record in caplog.records] == [
        f"A stored {what} is skipped: its key holds another type." for what in ("log", "table of sums", "index")
    ]


async def test_a_call_fails_when_all_of_it_has_ended() -> None:
    """What is repeated must not meet what is still under way."""
    ended = list[bytes]()

    class Halting(Failing):
        async def execute_command(self, *command: Any) -> Any:
            if command[1].endswith(b"first"):
                raise errors.ResponseError("no")
            await asyncio.sleep(0.01)
            ended.append(command[1])
            return {}

    store = RedisStore("redis://127.0.0.1:1")
    store._link.client = Halting()
    with pytest.raises(StoreError, match="no"):
        await store.counts(["first", "second"])
    assert ended == [b"turnfold:{}:n:second"]


async def test_connections_are_given_up_when_a_server_did_not_answer_before(monkeypatch: pytest.MonkeyPatch) -> None:
    link, left = open_link("redis://127.0.0.1:1", 0.1, 1), list[int]()
    client = Failing(errors.TimeoutError(), errors.TimeoutError())
    link.client = client

    async def leave(link: Link) -> None:
        del link
        left.append(client.asked)

    monkeypatch.setattr(Link, "leave", leave)
    for _ in range(5):
        with contextlib.suppress(errors.TimeoutError):
            await link.ping()
    assert (client.asked, left) == (5, [1, 2])
    await link.close()
    assert client.closed


class Sentinel:
    """A Sentinel that answers after so many seconds."""

    def __init__(self, after: float, answer: Any) -> None:
        self.after, self.answer = after, answer

    async def aclose(self) -> None:
        pass

    async def sentinel_masters(self) -> Any:
        await asyncio.sleep(self.after)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Serving:
    """A link whose server is replaced whenever a test says so."""

    serving = 0


@pytest.mark.parametrize(
    "entries",
    [
        lambda number: {"lines": {"log": [b"12345"] * number}},
        lambda number: {"additions": {"day": {f"{one:05}": 1 for one in range(number)}}},
        lambda number: {"items": [Item(Key("anna", "state", "s"), b"12345", 60)] * number},
    ],
    ids=["lines", "counters", "items"],
)
def test_newest_batches_are_bounded_whatever_they_hold(entries: Callable[[int], dict[str, Any]]) -> None:
    """In 16 MiB, each entry with a hundred bytes beside its own."""
    link: Any = Serving()
    newest, empty = NewestBatches(link), Batch("", {}, {}, 60)
    for number in range(5):
        newest.add(replace(empty, id=str(number), **entries(2**20 // 105 * 4)), 0.0)
    assert newest.to_repeat() == []  # the same server has them
    link.serving += 1
    assert [batch.id for batch, _ in newest.to_repeat()] == ["1", "2", "3", "4"]
    newest.repeated()
    assert newest.to_repeat() == []


def primary(port: int, **state: Any) -> dict[str, Any]:
    found = {"ip": "h", "port": port, "is_master": True, "is_sdown": False, "is_odown": False, "num-other-sentinels": 0}
    return {"mine": found | state}


def test_the_first_sentinel_that_knows_the_primary_is_believed() -> None:
    async def ask(*sentinels: Sentinel) -> tuple[Any, float]:
        link = open_link("redis+sentinel://a/mine", 0.1, 1)
        assert isinstance(link, SentinelLink)
        made: list[Any] = list(sentinels)
        link._sentinels.sentinels = made
        try:
            return await link._sentinels.discover_master("mine"), now()
        except errors.ConnectionError as exc:
            return str(exc), now()

    refused, hangs = Sentinel(0.1, errors.ConnectionError()), Sentinel(99.0, primary(9))
    down, unknown = Sentinel(0.2, primary(8, is_sdown=True)), Sentinel(0.3, {})
    assert in_no_time(ask(hangs, refused, down, Sentinel(1.0, primary(1)), Sentinel(2.0, primary(2)))) == (("h", 1), 1.0)
    assert in_no_time(ask(refused, down, unknown, Sentinel(0.4, OSError("no route")))) == (
        "no Sentinel names a primary of mine (ConnectionError; mine is down; mine is not known to it; no route)",
        0.4,
    )


def test_a_link_is_closed_while_a_sentinel_hangs() -> None:
    async def close() -> float:
        link = open_link("redis+sentinel://a/mine", 0.1, 1)
        assert isinstance(link, SentinelLink)
        hanging: list[Any] = [Sentinel(99.0, primary(1))]
        link._sentinels.sentinels = hanging
        link._looked_at -= 60
        await link.ready()
        await asyncio.sleep(0.5)
        await link.close()
        return now()

    assert in_no_time(close()) == 0.5


class Node:
    """A node of a cluster."""

    def __init__(self, host: str) -> None:
        self.host, self.port = host, 1


class Clients(ClusterLink):
    """Clients of a cluster that are made up, with the nodes that they begin with."""

    def __init__(self, *made: Failing) -> None:
        self.made, self.begun_with, self.there = list(made), list[list[str]](), {"b"}
        link = links._address("redis+cluster://a:1,b:1")
        super().__init__(link, {"socket_timeout": 1.0})

    def _client(self, hosts: Any) -> Any:
        self.begun_with.append([host for host, _ in hosts])
        client = self.made.pop(0)
        client.get_nodes = lambda: [Node("c"), Node("a")]  # type: ignore[attr-defined]
        return client

    async def execute_command(self) -> None:
        raise NotImplementedError

    async def _answers(self, host: str, port: int) -> bool:
        del port
        return host in self.there


class Whole(Failing):
    """A client whose pings name the primaries."""

    async def ping(self, target_nodes: object = None) -> Any:
        assert target_nodes
        return await self.execute_command()


async def test_a_cluster_that_lost_a_node_is_looked_for_at_those_that_answer() -> None:
    gone, fresh = Whole(errors.ClusterDownError("x")), Whole()
    link = Clients(gone, fresh)
    await link.ping()
    assert (link.begun_with, link.client is fresh) == ([["a", "b"], ["b"]], True)
    assert (gone.closed, fresh.closed) == (True, False)
    await link.ping()
    assert len(link.begun_with) == 2

    link = Clients(first := Whole(*[errors.ClusterDownError("x")] * 9), second := Whole(errors.ClusterDownError("y")), Whole())
    with pytest.raises(errors.ClusterDownError, match="y"):
        await link.ping()
    assert (link.client is first, first.closed, second.closed) == (True, False, True)
    link.there = {"c", "a"}
    await link.ping()
    assert link.begun_with[2:] == [["c", "a"]]
    await link.close()
    assert link.client.closed

    link = Clients(Whole(*[errors.ClusterDownError("x")] * 9))
    link.there = set()
    with pytest.raises(errors.ClusterDownError, match="x"):
        await link.ping()
    await link.close()
