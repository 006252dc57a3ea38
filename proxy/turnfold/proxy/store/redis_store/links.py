"""From a store's URL to connections: one server, a cluster, or whichever server Sentinel names.

The URL, and what each of the three does when a server goes away. The layout of keys is in ``keys``, the operations are in
``store``; ``guard`` sets a failing store aside.

    redis://host:6379/0                                        rediss:// with TLS
    redis+cluster://host:6379,host2:6379                       rediss+cluster://
    redis+sentinel://host:26379,host2:26379/mymaster[/0]       rediss+sentinel://; TLS to Sentinel and to the servers

Options after ``?`` are redis-py's, and for Sentinel ``sentinel_username`` and ``sentinel_password``.

A server that hangs keeps whoever asks it waiting, and a caller gives up after a tenth of a second, too soon for a client to
notice what happened. So `ping`, which is what the breaker asks a store that was set aside, leaves the old connections and looks
anew for the servers that answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from redis import asyncio as aioredis
from redis import exceptions as errors
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import MasterNotFoundError, Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff

from turnfold.config.values import split_servers
from turnfold.proxy.store.base import StoreFailed
from turnfold.proxy.store.redis_store.keys import OneServer, Spread

_SCANNED: Final = 1000  # keys that a server scans in one step
_SOCKET_TIMEOUT: Final = 10.0  # a last resort; the guard limits how long callers wait
_NODE_PATIENCE: Final = 0.5  # seconds for a server to answer whether it is up
_LOOK_EVERY: Final = 1.0  # seconds between questions to Sentinel about the primary
_PORTS: Final = {"": 6379, "cluster": 6379, "sentinel": 26379}
_OF_SENTINEL: Final = "sentinel_"


@dataclass(frozen=True, slots=True)
class _Address:
    """The parts of a URL.

    Attributes:
        hosts: host and port of each server named.
        options: arguments of a connection to any of them, except host and port; `ssl` says whether to use TLS.
        path: what follows the hosts.
        sentinel: arguments for connections to Sentinel only.
    """

    kind: str
    hosts: Sequence[tuple[str, int]]
    options: dict[str, Any] = field(repr=False)
    path: str
    sentinel: dict[str, Any] = field(repr=False)


def _address(url: str) -> _Address:
    parts = split_servers(url)
    scheme, _, kind = parts.scheme.partition("+")
    user, at, hosts = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query))
    sentinel = {name: query.pop(name) for name in list(query) if name.startswith(_OF_SENTINEL)}
    named = []
    options: dict[str, Any] = {}
    for host in hosts.split(","):
        options = dict(parse_url(f"{scheme}://{user}{at}{host}?{urlencode(query)}"))
        named.append((options.pop("host", "localhost"), options.pop("port", _PORTS[kind])))
        options["ssl"] = options.pop("connection_class", None) is not None
    return _Address(kind, named, options, parts.path.strip("/"), sentinel)


class Link:
    """Connections from a given pool, to one server at a time.

    Attributes:
        client: redis-py's client.
        layout: which keys are on the same server.
    """

    def __init__(self, pool: aioredis.ConnectionPool) -> None:
        self.layout = OneServer()
        self.client: Any = aioredis.Redis.from_pool(pool)
        self._pool = pool
        self._answers = True
        self._left = 0

    @property
    def serving(self) -> object:
        """Identifies the server that calls go to; changes once they may go to another server."""
        return self._left

    async def ready(self) -> Any:
        """The client, ready for calls."""
        return self.client

    async def leave(self) -> None:
        """Close every connection (those in use once their command is done), since they may lead to a demoted server."""
        await self._pool.update_active_connections_for_reconnect()  # type: ignore[no-untyped-call]
        await self._pool.disconnect(inuse_connections=False)
        self._left += 1

    async def ping(self) -> None:
        """Return if the server answers."""
        if not self._answers:
            await self.leave()
        self._answers = False
        await self.client.ping()
        self._answers = True

    async def scan(self, pattern: bytes) -> AsyncIterator[bytes]:
        """All matching keys."""
        async for key in self.client.scan_iter(match=pattern, count=_SCANNED):
            yield key

    async def close(self) -> None:
        """Close the connections."""
        await self.client.aclose()


class _Sentinels(Sentinel):
    """Asks every Sentinel at once, since one that hangs would delay a caller for longer than it waits for the store."""

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        """The address of the primary, from the first Sentinel that knows it.

        Raises:
            MasterNotFoundError: none does.
        """
        asked: list[asyncio.Future[Any]] = [asyncio.ensure_future(one.sentinel_masters()) for one in self.sentinels]
        problems = []
        try:
            for answer in asyncio.as_completed(asked):
                try:
                    state = (await answer).get(service_name)
                except (errors.RedisError, OSError) as exc:
                    problems.append(str(exc) or type(exc).__name__)
                    continue
                if state and self.check_master_state(state, service_name):
                    return state["ip"], state["port"]
                problems.append(f"{service_name} is down" if state else f"{service_name} is not known to it")
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        raise MasterNotFoundError(f"no Sentinel names a primary of {service_name} ({'; '.join(problems)})")


class _PrimaryPool(SentinelConnectionPool):
    """Connections that are not reused once Sentinel names another primary, including those in use at that moment.

    Attributes:
        changes: how often another primary was named. Sentinels may disagree briefly, so one may be named again.
    """

    changes = 0

    async def get_master_address(self) -> tuple[str, int]:
        """The address of the primary that Sentinel names now."""
        found: tuple[str, int] = await self.sentinel_manager.discover_master(self.service_name)
        if self.master_address != found:
            self.master_address = found
            self.changes += 1
            await self.update_active_connections_for_reconnect()  # type: ignore[no-untyped-call]
            await self.disconnect(inuse_connections=False)
        return found


class SentinelLink(Link):
    """Connections to the primary that Sentinel names.

    A primary that is replaced on purpose stays up. It accepts writes that are lost when Sentinel makes it a replica, about ten
    seconds later. So Sentinel is asked repeatedly while there are calls; no call waits for that.
    """

    def __init__(self, address: _Address, own: dict[str, Any]) -> None:
        service, _, database = address.path.partition("/")
        options = address.options | own
        if database:
            options["db"] = int(database)
        timeouts = {name: min(_NODE_PATIENCE, own[name]) for name in ("socket_connect_timeout", "socket_timeout")}
        of_tls = {name: value for name, value in options.items() if name.startswith("ssl")}
        credentials = {name.removeprefix(_OF_SENTINEL): value for name, value in address.sentinel.items()}
        # A client does not connect on creation, and reports invalid arguments only when it connects.
        alone: Any = aioredis.Redis(host="", **of_tls, **credentials).connection_pool
        alone.make_connection()
        self._sentinels = _Sentinels(  # type: ignore[no-untyped-call]
            address.hosts, sentinel_kwargs={**of_tls, **credentials, **timeouts, "retry": own["retry"]}, **options
        )
        pool: Any = _PrimaryPool(service, self._sentinels, **options)  # type: ignore[no-untyped-call]
        pool.make_connection()
        super().__init__(pool)
        self._named = pool
        self._look: asyncio.Task[None] | None = None
        self._looked_at = time.monotonic()

    @property
    def serving(self) -> object:
        """See `Link`. A pool with broken connections finds the new primary by itself."""
        return self._left, self._named.changes

    async def ready(self) -> Any:
        """See `Link`."""
        if self._looked_at + _LOOK_EVERY <= time.monotonic() and (self._look is None or self._look.done()):
            self._looked_at = time.monotonic()
            self._look = asyncio.create_task(self._follow(), name="turnfold-sentinel")
        return await super().ready()

    async def _follow(self) -> None:
        """Check whether the primary has been replaced."""
        with contextlib.suppress(errors.RedisError, OSError):
            await self._named.get_master_address()

    async def close(self) -> None:
        """See `Link`."""
        if self._look is not None:
            self._look.cancel()
            await asyncio.gather(self._look, return_exceptions=True)
        await super().close()
        await self._sentinels.aclose()


class ClusterLink:
    """Connections to every primary of a cluster; see `Link`.

    Attributes:
        client: redis-py's client; replaced after a server was lost.
        layout: see `Link`.
    """

    def __init__(self, address: _Address, own: dict[str, Any]) -> None:
        self.layout = Spread()
        self._hosts = list(address.hosts)
        self._options = address.options | own
        self._mending: asyncio.Task[None] | None = None
        self._mended = 0
        self.client = self._client(self._hosts)

    @property
    def serving(self) -> object:
        """See `Link`."""
        return self._mended

    def _client(self, hosts: Sequence[tuple[str, int]]) -> Any:
        nodes = [ClusterNode(host, port) for host, port in hosts]
        # Otherwise the client would close every connection after this many redirected commands, even those in use by others.
        return RedisCluster(startup_nodes=nodes, reinitialize_steps=0, **self._options)

    async def ready(self) -> Any:
        """The client, which knows the location of each key; otherwise it would ask any node."""
        return await self.client.initialize()

    async def leave(self) -> None:
        """Do nothing: a demoted server names its successor."""

    async def ping(self) -> None:
        """Return if every primary answers. The check continues if the caller gives up."""
        if self._mending is None or self._mending.done():
            self._mending = asyncio.create_task(self._mend(), name="turnfold-cluster")
            self._mending.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._mending)

    async def _mend(self) -> None:
        try:
            await self._ask_primaries(self.client)
        except (errors.RedisError, errors.RedisClusterException, OSError):
            known = dict.fromkeys((*((node.host, node.port) for node in self.client.get_nodes()), *self._hosts))
            found = await asyncio.gather(*(self._answers(*one) for one in known))
            there = [one for one, answers in zip(known, found, strict=True) if answers]
            if not there:
                raise
            fresh = self._client(there)
            try:
                await self._ask_primaries(fresh)
                self.client, fresh = fresh, self.client
                self._mended += 1
            finally:  # the unused one of the two
                await fresh.aclose()

    async def _ask_primaries(self, client: Any) -> None:
        try:
            async with asyncio.timeout(_NODE_PATIENCE):
                await client.initialize()
                await client.ping(target_nodes=RedisCluster.PRIMARIES)
        except TimeoutError as exc:
            raise errors.TimeoutError("a node of the cluster does not answer") from exc

    async def _answers(self, host: str, port: int) -> bool:
        only = {name: value for name, value in self._options.items() if not name.startswith("socket_")}
        alone = aioredis.Redis(host=host, port=port, **only)
        try:
            async with asyncio.timeout(_NODE_PATIENCE):
                await alone.ping()
        except (errors.RedisError, OSError):
            return False
        finally:
            with contextlib.suppress(errors.RedisError, OSError):
                await alone.aclose()
        return True

    async def scan(self, pattern: bytes) -> AsyncIterator[bytes]:
        """All matching keys of every primary."""
        async for key in (await self.ready()).scan_iter(match=pattern, count=_SCANNED):
            yield key

    async def close(self) -> None:
        """Close the connections."""
        if self._mending is not None:
            self._mending.cancel()
            await asyncio.gather(self._mending, return_exceptions=True)
        await self.client.aclose()


def open_link(url: str, connect_timeout: float, lanes: int) -> Link | ClusterLink:
    """Connections for a URL. Nothing is sent yet.

    Args:
        connect_timeout: seconds that a new connection may take.
        lanes: maximum number of simultaneous commands.

    Raises:
        StoreFailed: the URL is invalid.
    """
    own = {
        "socket_connect_timeout": connect_timeout,
        "socket_timeout": _SOCKET_TIMEOUT,
        "retry": Retry(NoBackoff(), 0),
        "client_name": "turnfold",
    }
    try:
        address = _address(url) if "+" in url.partition("://")[0] else None
        if address is not None and address.kind == "cluster":
            return ClusterLink(address, own)
        if address is not None:
            return SentinelLink(address, own)
        pool: Any = aioredis.ConnectionPool.from_url(url, max_connections=2 * lanes, **own)
        pool.make_connection()  # only this checks the URL's options; it does not connect
        return Link(pool)
    except (TypeError, ValueError, errors.RedisError, errors.RedisClusterException) as exc:
        raise StoreFailed(f"TURNFOLD_STORE_URL: the store's URL is not understood: {exc}") from exc
