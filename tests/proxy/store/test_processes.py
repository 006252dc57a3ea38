"""Several processes on one store: nothing is lost between them.

Run as a script this file is one of these processes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

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


async def one_process(number: int, urls: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = await asyncio.create_subprocess_exec(sys.executable, __file__, str(number), *urls, env=environment)
    try:
        assert await asyncio.wait_for(process.wait(), 60) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_64_concurrent_adds_through_4_processes_lose_nothing(redis_url: str, tmp_path: Path) -> None:
    urls = [redis_url, str(tmp_path / "t.db")]
    await asyncio.gather(*(one_process(number, urls) for number in range(PROCESSES)))
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
    asyncio.run(work(sys.argv[1], sys.argv[2:]))
