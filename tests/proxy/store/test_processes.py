"""Several processes on one store: nothing is lost between them."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from turnfold.proxy.store import Batch, Item, Key, Store
from turnfold.proxy.store.redis import RedisStore
from turnfold.proxy.store.sqlite import SqliteStore

STATE = Key("anna", "conversation", "c")


def open_by_url(url: str) -> Store:
    return RedisStore(url) if url.startswith("redis") else SqliteStore(Path(url))


async def _add(store: Store, text: str) -> None:
    while True:
        (held,) = await store.get([STATE])
        if await store.swap(held, Item(STATE, (held or b"") + text.encode() + b";", 60)):
            break
    await store.record(Batch(text, {"log": [text.encode()]}, {"t": {"x": 1}}, 60))


async def _work(url: str, process: int, adds: int) -> None:
    store = open_by_url(url)
    await asyncio.gather(*(_add(store, f"{process}.{number}") for number in range(adds)))
    await store.close()


def work(url: str, process: int, adds: int) -> None:
    asyncio.run(_work(url, process, adds))


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    """Four processes; what they need is imported once and forked."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["turnfold.proxy.store.redis", "turnfold.proxy.store.sqlite"])
    with ProcessPoolExecutor(4, mp_context=context) as four:
        yield four


@pytest.mark.parametrize("kind", ["redis", "sqlite"])
async def test_64_concurrent_adds_through_4_processes(
    kind: str, tmp_path: Path, pool: ProcessPoolExecutor, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("redis_url") if kind == "redis" else str(tmp_path / "t.db")
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(loop.run_in_executor(pool, work, url, process, 16) for process in range(4)))
    expected = sorted(f"{process}.{number}" for process in range(4) for number in range(16))
    store = open_by_url(url)
    (held,) = await store.get([STATE])
    assert held is not None
    assert sorted(held.decode().rstrip(";").split(";")) == expected
    assert sorted(line.decode() for line in (await store.log("log"))[0]) == expected
    assert await store.counts(["t"]) == [{"x": 64}]
    await store.close()
