"""How long the dashboard's figures take with many receipts behind them.

    python -m benchmarks.dashboard [--receipts 100000] [--days 30] [--keep FILE]

Receipts are written by the ledger into a SQLite file, then the view's calls are made of a server in this process over HTTP, as
the page makes them. `--keep` leaves the file there, to be looked at with ``turnfold serve --store sqlite:///FILE``.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from pathlib import Path

import httpx
from pydantic import SecretStr

from benchmarks.support.seeded_books import Plan, seed
from turnfold.config.settings import AuthSettings, Settings, StoreSettings
from turnfold.proxy.app import build

_CALLS = (
    "overview?from=24h",
    "overview?from=7d",
    "overview?from=30d",
    "overview?from=30d&tag=search",
    "overview/tags?from=7d",
    "overview/tags?from=30d",
    "requests?limit=50",
    "requests?limit=50&failed=true",
)


async def _times(url: str, rounds: int) -> None:
    settings = Settings(store=StoreSettings(url=url), auth=AuthSettings(admin_token=SecretStr("adm")))
    app = build(settings, warm=lambda _: None)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8420") as client:
        for call in _CALLS:
            taken = []
            for _ in range(rounds):
                start = time.perf_counter()
                answer = await client.get(f"/admin/{call}", headers={"x-turnfold-admin-token": "adm"})
                taken.append((time.perf_counter() - start) * 1000)
                answer.raise_for_status()
            size = len(answer.content) // 1000
            print(f"{call:32} first {taken[0]:6.0f} ms  median {statistics.median(taken):6.0f} ms  {size} kB")


async def _fill(url: str, receipts: int, days: int) -> None:
    start = time.perf_counter()
    store = await seed(url, Plan(receipts, days, time.time()))
    await store.close()
    print(f"{receipts} receipts over {days} days, written in {time.perf_counter() - start:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--receipts", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = (given.keep or Path(folder) / "turnfold.db").absolute()
        if not place.exists():
            asyncio.run(_fill(f"sqlite:///{place}", given.receipts, given.days))
        asyncio.run(_times(f"sqlite:///{place}", given.rounds))


if __name__ == "__main__":
    main()
