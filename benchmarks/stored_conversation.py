"""Adding a message to a stored conversation: time and bytes written, by the conversation's length and the store.

    python -m benchmarks.stored_conversation [--store URL] [--lengths 100 1000 4000] [--adds 40]

A message has 45 words. The conversation is imported, then messages are added one by one, with the default settings; each add
returns the context. Times are medians with the 90th percentile. Bytes are the values that an add hands to the store. The first
read happens with nothing of the conversation in memory, as after a restart.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from turnfold.compression.budgeted import History, HistoryMessage, HistorySettings, add
from turnfold.config.settings import StoreSettings
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.store import Batch, Item, Key, Scope, Store, open_store
from turnfold.proxy.store.base import BooksOf

_WORDS: Final = """harbour crane ledger invoice supplier delivery pallet manifest customs broker tariff berth pilot tug anchor
cargo schedule review budget forecast margin contract clause renewal vendor audit sample sensor reading threshold alarm valve pump
pressure battery charger firmware update rollback branch release ticket sprint backlog estimate blocker deploy region cluster"""
_SMALL: Final = "the a of to in and we is was that it for on with as be at by this from they will need should but"


def message(number: int) -> HistoryMessage:
    """Message `number`: 45 words in four sentences, one of them a fact with a code; the same for the same number."""
    draw = random.Random(number)
    said = [draw.choice((_WORDS if i % 3 else _SMALL).split()) for i in range(42)]
    parts = [" ".join(said[i : i + 14]).capitalize() + "." for i in (0, 14, 28)]
    fact = f"My reference is {draw.choice('ABCDEHK')}{draw.choice('MPQRTV')}-{draw.randint(1000, 9999)}."
    return HistoryMessage("user" if number % 2 == 0 else "assistant", " ".join([*parts, fact]))


class _Counted(BooksOf):
    """A store that counts the bytes of the values that are written to it."""

    def __init__(self, store: Store) -> None:
        self._store, self.written = store, 0

    def _count(self, items: Sequence[Item]) -> None:
        self.written += sum(len(item.value) for item in items)

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        return await self._store.get(keys)

    async def put(self, items: Sequence[Item]) -> None:
        self._count(items)
        await self._store.put(items)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        self._count([item])
        return await self._store.swap(expected, item)

    async def record(self, batch: Batch) -> None:
        self._count(batch.items)
        await self._store.record(batch)

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        return await self._store.keys(scope, offset, limit)

    async def delete(self, scope: Scope) -> int:
        return await self._store.delete(scope)

    async def discard(self, keys: Sequence[Key]) -> int:
        return await self._store.discard(keys)

    async def ping(self) -> None:
        await self._store.ping()

    async def close(self) -> None:
        await self._store.close()


async def measure(store: Store, state: History, adds: int) -> str:
    """A line of figures for one length."""
    settings, counted, length = HistorySettings(), _Counted(store), state.messages
    kept = Conversations(counted, StoreSettings(), Workshop(2))
    name = f"c{length}"
    await kept.replace("t", name, state, settings)
    fresh = Conversations(counted, StoreSettings(), Workshop(2))
    start = time.perf_counter()
    await fresh.read("t", name)
    restart = time.perf_counter() - start
    times, written = [], []
    for number in range(length, length + adds):
        before, start = counted.written, time.perf_counter()
        await fresh.add("t", name, message(number), settings)
        times.append(1000 * (time.perf_counter() - start))
        written.append((counted.written - before) / 1000)
    slow, much = quantiles(times, n=10)[-1], quantiles(written, n=10)[-1]
    took = f"{length:>6} messages: {median(times):6.1f} ms (p90 {slow:6.1f})"
    return f"{took}, {median(written):6.1f} kB written (p90 {much:6.1f}), first read {restart:5.2f} s"


async def run(url: str, lengths: list[int], adds: int) -> None:
    store = open_store(StoreSettings(url=url)).patient
    state = History()
    for number in range(max(lengths)):
        state, _ = add(state, message(number), HistorySettings())
        if number + 1 in lengths:
            print(await measure(store, state, adds), flush=True)
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--store", help="a store's URL; default: an SQLite file in a temporary folder")
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1000, 4000])
    parser.add_argument("--adds", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.store or f"sqlite:///{Path(folder) / 'store.db'}"
        asyncio.run(run(url, options.lengths, options.adds))


if __name__ == "__main__":
    main()
