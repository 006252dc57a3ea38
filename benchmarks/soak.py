"""A mixed load for a long time, and what the process holds while it lasts.

    python -m benchmarks.soak --minutes 10 [--workers 2] [--store sqlite|redis|memory] [--sentences 16]
    python -m benchmarks.soak --minutes 30 --turns 12 --sentences 46 --asked 2 --talk 24 --clients 8 --pause 0.01

It makes the load and prints memory, descriptors and tasks over time. Servers are started by ``support.faulty``.

The load: conversations that grow turn by turn, each folded cold and then warm; streams; short requests; errors of the upstream;
clients that leave in the middle; bodies that are no JSON; texts for /v1/compress; all from many tenants, in many distinct
conversations. Memory is expected to level off: caches are bounded, and fill in the first minutes.

A conversation is built once; each one that is sent has a line of its own in every message, so that nothing remembered of one
serves another, and the load costs its own process little: what it took of the processor stands beside what Turnfold took.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.faults import leave
from benchmarks.support.faulty import FaultyUpstream, Served, Valkey, end_cleanly, long, short
from tests.support.words import prose
from turnfold.compression.tokens import count

_ROWS: Final = 12
_SHARES: Final = {"short": 10, "stream": 4, "error": 2, "leave": 2, "nonsense": 1, "compress": 1}
_REST: Final = 8.0


@dataclass(frozen=True, slots=True)
class Mix:
    """What the clients send.

    Attributes:
        clients: how many there are at a time.
        pause: mean seconds between two requests of a client.
        turns: of a conversation at its end.
        asked: requests of each conversation, the last at its end; 0: as many as begin with a third of its turns or more.
        sentences: in each message of it.
        talk: how often a conversation is begun, where short requests have 10.
    """

    clients: int
    pause: float
    turns: int
    asked: int
    sentences: int
    talk: int

    def lengths(self, random: Random) -> range:
        """Turns with which one conversation is sent."""
        if self.asked:
            return range(self.turns - self.asked, self.turns)
        return range(random.randint(self.turns // 3, self.turns - 4), self.turns, 4)


class Load:
    """Clients that go on until they are stopped."""

    def __init__(self, served: Served, upstream: FaultyUpstream, mix: Mix) -> None:
        self._served = served
        self._upstream = upstream
        self._mix = mix
        self._kinds = _SHARES | {"talk": mix.talk}
        self._model = long(1, mix.turns - 1, sentences=mix.sentences)["messages"]
        self._stop = threading.Event()
        self._number = 0
        self._lock = threading.Lock()
        self.seen: Counter[str] = Counter()
        self.conversations = 0
        self._threads = [threading.Thread(target=self._run, args=(seed,)) for seed in range(mix.clients)]

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
            (kind,) = random.choices(list(self._kinds), list(self._kinds.values()))
            getattr(self, f"_{kind}")(random, f"sk-{random.randrange(40)}")
            self._stop.wait(random.random() * 2 * self._mix.pause)

    def _count(self, kind: str, said: str) -> None:
        self.seen[f"{kind}: {said}"] += 1

    def _post(self, kind: str, body: dict[str, Any], key: str, path: str = "/v1/chat/completions") -> None:
        seen = self._served.post(body, key, path)
        self._count(kind, f"{seen.said} {seen.folded}".strip())

    def _talk(self, random: Random, key: str) -> None:
        number = self._next()
        with self._lock:
            self.conversations += 1
        messages = self.messages(number)
        for turns in self._mix.lengths(random):
            if self._stop.is_set():
                return
            body = {"model": "gpt-4o", "stream": random.random() < 0.5, "messages": messages[: 2 * turns + 1]}
            self._post("conversation", body, key)

    def messages(self, number: int) -> list[dict[str, str]]:
        """A conversation of its own."""
        return [
            {**message, "content": f"Ticket {number}-{place}, for {7919 * number + place} in all. {message['content']}"}
            for place, message in enumerate(self._model)
        ]

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


def _row(label: str, served: Served, load: Load | None) -> str:
    held = served.rest()
    requests, conversations = (sum(load.seen.values()), load.conversations) if load else (0, 0)
    busy = os.getloadavg()[0]
    return f"| {label} | {requests} | {conversations} | {held.megabytes:.0f} | {held.descriptors} | {held.tasks} | {busy:.1f} |"


def run(minutes: float, workers: int, store: str, mix: Mix) -> None:
    """The load, with a row each twelfth of the time, and one at rest."""
    upstream = FaultyUpstream()
    with tempfile.TemporaryDirectory() as folder:
        valkey = Valkey() if store == "redis" else None
        url = valkey.url if valkey else f"sqlite:///{folder}/t.db" if store == "sqlite" else "memory://"
        served = Served(upstream.url, Path(folder), store_url=url, workers=str(workers))
        try:
            print("| minute | requests | conversations | MB | descriptors | tasks | load of the machine |")
            print("|---|---|---|---|---|---|---|")
            print(_row("start", served, None), flush=True)
            before = served.processor_seconds(), time.process_time()
            with Load(served, upstream, mix) as load:
                for part in range(1, _ROWS + 1):
                    time.sleep(60 * minutes / _ROWS)
                    print(_row(f"{minutes * part / _ROWS:.1f}", served, load), flush=True)
            time.sleep(_REST)
            print(_row("at rest", served, load), flush=True)
            took = served.processor_seconds() - before[0], time.process_time() - before[1]
            _tell(served, load, took)
        finally:
            served.end()
            upstream.close()
            if valkey:
                valkey.close()


def _tell(served: Served, load: Load, took: tuple[float, float]) -> None:
    """What came of it beside the table."""
    print("\n" + "\n".join(f"- {kind}: {number}" for kind, number in sorted(load.seen.items())))
    size = count(json.dumps(load.messages(1)))
    print(f"- distinct conversations: {load.conversations}, of up to {size} tokens")
    print(f"- processor: {took[0]:.0f} s of Turnfold's, {took[1]:.0f} s of the load and the upstream")
    print(f"- lines in the log: {len(served.log.read_bytes().splitlines())}")
    print(f"- ledger: {served.get('/admin/ledger')[1].decode()[:400]}")
    metrics = served.get("/metrics")[1].decode().splitlines()
    kinds = (
        "turnfold_background_failures",
        "turnfold_receipts_dropped",
        "turnfold_originals_dropped",
        "turnfold_store_errors",
        "turnfold_failed_open",
    )
    print("\n".join(f"- {line}" for line in metrics if line.startswith(kinds)))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", choices=("sqlite", "redis", "memory"), default="sqlite")
    parser.add_argument("--pause", type=float, default=0.05, help="mean seconds between two requests of a client")
    parser.add_argument("--sentences", type=int, default=8, help="in each message of a conversation")
    parser.add_argument("--turns", type=int, default=34, help="of a conversation at its end")
    parser.add_argument("--asked", type=int, default=0, help="requests of each conversation; 0: one for every fourth turn")
    parser.add_argument("--talk", type=int, default=6, help="how often a conversation is begun, where short requests have 10")
    parser.add_argument("--clients", type=int, default=4, help="how many clients send at a time")
    given = parser.parse_args()
    end_cleanly()
    mix = Mix(given.clients, given.pause, given.turns, given.asked, given.sentences, given.talk)
    run(given.minutes, given.workers, given.store, mix)


if __name__ == "__main__":
    main()
