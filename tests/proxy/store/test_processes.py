"""Several processes on one store: nothing is lost between them.

Run as a script this file is these processes.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.forks import fork_into, run_processes
from turnfold.proxy.store import Batch, Item, Key, Store
from turnfold.proxy.store.redis_store import RedisStore
from turnfold.proxy.store.sqlite import SqliteStore

STATE = Key("anna", "conversation", "c")
PROCESSES, ADDS = 4, 16


def opened(url: str) -> Store:
    return RedisStore(url, connect_timeout=10) if url.startswith("redis") else SqliteStore(Path(url))


async def add(store: Store, text: str) -> None:
    while True:
        (held,) = await store.get([STATE])
        if await store.swap(held, Item(STATE, (held or b"") + text.encode() + b";", 60)):
            break
    await store.record(Batch(text, {"log": [text.encode()]}, {"t": {"x": 1}}, 60))


async def work(process: str, urls: list[str]) -> None:
    for url in urls:
        store = opened(url)
        await asyncio.gather(*(add(store, f"{process}.{number}") for number in range(ADDS)))
        await store.close()


async def test_64_concurrent_adds_through_4_processes_lose_nothing(redis_url: str, tmp_path: Path) -> None:
    urls = [redis_url, str(tmp_path / "t.db")]
    await run_processes(__file__, PROCESSES, urls)
    expected = sorted(f"{process}.{number}" for process in range(PROCESSES) for number in range(ADDS))
    for url in urls:
        store = opened(url)
        (held,) = await store.get([STATE])
        assert held is not None
        assert sorted(held.decode().rstrip(";").split(";")) == expected
        assert sorted(line.decode() for line in (await store.log("log"))[0]) == expected
        assert await store.counts(["t"]) == [{"x": 64}]
        await store.close()


if __name__ == "__main__":
    fork_into(int(sys.argv[1]), lambda number: asyncio.run(work(str(number), sys.argv[2:])))
