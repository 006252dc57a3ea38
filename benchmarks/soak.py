"""A mixed load for a long time, and what the process holds while it lasts.

    python -m benchmarks.soak --minutes 10 [--workers 2] [--store sqlite|redis|memory] [--sentences 16]

Lives here: the load, and a table of memory, descriptors and tasks over time. Does not belong here: servers (``support.faulty``).

The load: conversations that grow turn by turn, each folded cold and then warm; streams; short requests; errors of the upstream;
clients that leave in the middle; bodies that are no JSON; texts for /v1/compress; all from many tenants, in many distinct
conversations. Memory is expected to level off: caches are bounded, and fill in the first minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.faults import leave
from benchmarks.support.faulty import FaultyUpstream, Served, Valkey, end_cleanly, long, short
from tests.support.words import prose
from turnfold.compression.tokens import count

_THREADS: Final = 4
_ROWS: Final = 12
_TURNS: Final = 34
_SHARES: Final = {"talk": 6, "short": 10, "stream": 4, "error": 2, "leave": 2, "nonsense": 1, "compress": 1}
_REST: Final = 8.0


class Load:
    """Clients that go on until they are stopped."""

    def __init__(self, served: Served, upstream: FaultyUpstream, pause: float, sentences: int) -> None:
        self._served = served
        self._upstream = upstream
        self._pause = pause
        self._sentences = sentences
        self._stop = threading.Event()
        self._number = 0
        self._lock = threading.Lock()
        self.seen: Counter[str] = Counter()
        self.conversations = 0
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in range(_THREADS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _next(self) -> int:
        with self._lock:
            self._number += 1
            return self._number

    def _run(self, seed: int) -> None:
        random = Random(seed)
        while not self._stop.is_set():
            (kind,) = random.choices(list(_SHARES), list(_SHARES.values()))
            getattr(self, f"_{kind}")(random, f"sk-{random.randrange(40)}")
            self._stop.wait(random.random() * 2 * self._pause)

    def _count(self, kind: str, said: str) -> None:
        self.seen[f"{kind}: {said}"] += 1

    def _post(self, kind: str, body: dict[str, Any], key: str, path: str = "/v1/chat/completions") -> None:
        seen = self._served.post(body, key, path)
        self._count(kind, f"{seen.said} {seen.folded}".strip())

    def _talk(self, random: Random, key: str) -> None:
        number = self._next()
        with self._lock:
            self.conversations += 1
        for turns in range(random.randint(10, 30), _TURNS, 4):
            body = long(number, turns, stream=random.random() < 0.5, sentences=self._sentences)
            self._post("conversation", body, key)

    def _short(self, _: Random, key: str) -> None:
        self._post("short", short(), key)

    def _stream(self, _: Random, key: str) -> None:
        self._post("stream", short(stream=True), key)

    def _error(self, random: Random, key: str) -> None:
        self._upstream.mode = random.choice(("reset", "cut", "long", "reset-after-head"))
        self._post("while the upstream fails", short(stream=self._upstream.mode == "cut"), key)
        self._upstream.mode = "ok"

    def _leave(self, random: Random, _: str) -> None:
        where = random.choice(("before-headers", "mid-body", "before-answer", "mid-stream"))
        leave(self._served, long(self._next(), 12, stream=where == "mid-stream"), where)
        self._count("client leaves", where)

    def _nonsense(self, _: Random, key: str) -> None:
        self._post("nonsense", {"model": "gpt-4o", "messages": [1, {"role": 7}], "n": "\ud800"}, key)

    def _compress(self, _: Random, key: str) -> None:
        self._post("compress", {"text": prose(self._next(), "en", 200)}, key, "/v1/compress")


def _row(label: str, served: Served, requests: int) -> str:
    held = served.rest()
    load = os.getloadavg()[0]
    return f"| {label} | {requests} | {held.megabytes:.0f} | {held.descriptors} | {held.tasks} | {load:.1f} |"


def run(minutes: float, workers: int, store: str, pause: float, sentences: int) -> None:
    """The load, with a row each twelfth of the time, and one at rest."""
    upstream = FaultyUpstream()
    with tempfile.TemporaryDirectory() as folder:
        valkey = Valkey() if store == "redis" else None
        url = valkey.url if valkey else f"sqlite:///{folder}/t.db" if store == "sqlite" else "memory://"
        served = Served(upstream.url, Path(folder), store_url=url, workers=str(workers))
        try:
            print("| minute | requests | MB | descriptors | tasks | load of the machine |\n|---|---|---|---|---|---|")
            print(_row("start", served, 0), flush=True)
            with Load(served, upstream, pause, sentences) as load:
                for part in range(1, _ROWS + 1):
                    time.sleep(60 * minutes / _ROWS)
                    print(_row(f"{minutes * part / _ROWS:.1f}", served, sum(load.seen.values())), flush=True)
            time.sleep(_REST)
            print(_row("at rest", served, sum(load.seen.values())), flush=True)
            print("\n" + "\n".join(f"- {kind}: {number}" for kind, number in sorted(load.seen.items())))
            size = count(json.dumps(long(1, _TURNS - 1, sentences=sentences)["messages"]))
            print(f"- distinct conversations: {load.conversations}, of up to {size} tokens")
            print(f"- lines in the log: {len(served.log.read_bytes().splitlines())}")
            print(f"- ledger: {served.get('/admin/ledger')[1].decode()[:400]}")
        finally:
            served.end()
            upstream.close()
            if valkey:
                valkey.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "redis", "memory"), default="sqlite")
    parser.add_argument("--pause", type=float, default=0.05, help="mean seconds between two requests of a client")
    parser.add_argument("--sentences", type=int, default=8, help="in each message of a conversation of 20 to 67 messages")
    given = parser.parse_args()
    end_cleanly()
    run(given.minutes, given.workers, given.store, given.pause, given.sentences)


if __name__ == "__main__":
    main()
