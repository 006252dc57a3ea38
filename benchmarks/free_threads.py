"""What an interpreter without a global lock would gain, beside an ordinary one of the same source.

    python -m benchmarks.free_threads ORDINARY FREE [--rounds 3]

Lives here: the engine in threads and in processes, and a whole server, measured with each of two interpreters in turn. Does not
belong here: the load and the upstream (``support.load``).

Both arguments are interpreters of environments that have Turnfold. Free threads run with ``PYTHON_GIL=0``: a dependency that has
not said that it can do without the lock would turn it on again for the whole process.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from benchmarks.latency import messages
from benchmarks.support.load import load, post, quick_upstream
from benchmarks.support.ports import free_port
from benchmarks.support.proxy import command, environment, serving
from benchmarks.support.taken import megabytes, processor_seconds
from turnfold.compression.fold import fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.chat import CHAT

_PATH: Final = "/v1/chat/completions"
_TOKENS: Final = 100_000
_EACH: Final = 6  # cold folds of a thread, a process or a client
_SMALL: Final = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "Say hello in one word."}]}).encode()
Figures = dict[str, float]


def _body(seed: int) -> bytes:
    return json.dumps({"model": "gpt-4o", "messages": messages(seed, _TOKENS)}).encode()


def _fold_all(bodies: list[bytes], memo: Memo) -> None:
    for body in bodies:
        fold(CHAT.read(body, memo), FoldOptions(), memo)


def _fold_in_process(seeds: range, barrier: threading.Barrier) -> None:
    bodies, memo = [_body(seed) for seed in seeds], Memo()
    _fold_all([_body(1)], memo)
    barrier.wait()
    _fold_all(bodies, memo)
    barrier.wait()


def _timed(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds that passed, and of processor time."""
    wall, spent = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - spent


def engine() -> Figures:
    """Cold folds, in milliseconds each: one thread, two threads, two processes; and memory behind them."""
    memo = Memo()
    _fold_all([_body(1)], memo)  # imports, vocabularies
    alone = [_body(10 + n) for n in range(_EACH)]
    wall, spent = _timed(lambda: _fold_all(alone, memo))
    found = {"engine, one thread, ms a fold": 1000 * wall / _EACH, "of a processor": 1000 * spent / _EACH}
    bodies = [[_body(100 * (t + 1) + n) for n in range(_EACH)] for t in range(2)]
    threads = [threading.Thread(target=_fold_all, args=(own, memo)) for own in bodies]

    def both() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    wall, spent = _timed(both)
    found |= {"two threads, ms a fold": 500 * wall / _EACH, "two threads, of a processor": 500 * spent / _EACH}
    found["engine's process, MB"] = megabytes(os.getpid())
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(3)
    workers = [context.Process(target=_fold_in_process, args=(range(s, s + _EACH), barrier)) for s in (300, 400)]
    for worker in workers:
        worker.start()
    barrier.wait()
    begun = time.perf_counter()
    barrier.wait()
    found["two processes, ms a fold"] = 500 * (time.perf_counter() - begun) / _EACH
    return found


def _beside_cold(port: int) -> tuple[list[float], float]:
    """Milliseconds of small requests while two clients send cold ones, and how long those took each."""
    small = [post(port, _PATH, _SMALL, authorization="Bearer sk-one")]
    large = [[post(port, _PATH, _body(1000 * c + n), authorization=f"Bearer sk-{c}") for n in range(_EACH)] for c in (1, 2)]
    context = multiprocessing.get_context("spawn")
    clients = [context.Process(target=load, args=(port, own, 1)) for own in large]
    for client in clients:
        client.start()
    time.sleep(0.5)  # imports of the clients
    begun, times = time.perf_counter(), []
    while any(client.is_alive() for client in clients):
        times += load(port, small, 1).whole
        time.sleep(0.003)
    return [1000 * one for one in times], 500 * (time.perf_counter() - begun) / _EACH


def server(python: str, upstream: int, lock: dict[str, str]) -> Figures:
    """A server with one worker: small requests, the same beside cold ones, memory."""
    port = free_port()
    own = {"upstream_url": f"http://127.0.0.1:{upstream}/v1", "port": str(port), "store_url": "memory://", "log_level": "warning"}
    with serving(command("serve", python=python), environment(**own) | lock, f"http://127.0.0.1:{port}/readyz") as pid:
        found = {"ready, MB": megabytes(pid)}
        small = [post(port, _PATH, _SMALL, authorization="Bearer sk-one")]
        load(port, small * 500, 8)
        found["small request, median ms"] = 1000 * statistics.median(load(port, small * 600, 1).whole)
        before = processor_seconds(pid)
        taken = load(port, small * 4000, 32)
        found["small requests a second, 32 at once"] = len(taken.whole) / taken.seconds
        found["small, ms of a processor"] = (processor_seconds(pid) - before) / 4
        load(port, [post(port, _PATH, _body(9), authorization="Bearer sk-one")], 1)
        times, each = _beside_cold(port)
        found["two cold at once, ms each"] = each
        found["small beside cold, median ms"] = statistics.median(times)
        found["small beside cold, 99% ms"] = sorted(times)[int(0.99 * len(times))]
        found["server behind all of it, MB"] = megabytes(pid)
    return found


def main() -> None:
    """Print the table, or one process's share of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", help="the ordinary interpreter, and the other one")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if not given.pythons:
        locked = getattr(sys, "_is_gil_enabled", lambda: True)()
        print(json.dumps(engine() | {"lock": float(locked)}))
        return
    flags = {
        python: subprocess.check_output([python, "-c", "import sys; print(sys.abiflags)"], text=True) for python in given.pythons
    }
    free = {python for python, flag in flags.items() if "t" in flag}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    with quick_upstream() as upstream:
        for _ in range(given.rounds):
            for python in given.pythons:
                lock = {"PYTHON_GIL": "0"} if python in free else {}
                alone = subprocess.check_output([python, "-m", "benchmarks.free_threads"], text=True, env=dict(os.environ) | lock)
                for name, value in (json.loads(alone) | server(python, upstream, lock)).items():
                    found[name, python].append(value)
    print(f"| figure | {' | '.join(given.pythons)} |\n|---{'|---' * len(given.pythons)}|")
    for name in dict.fromkeys(name for name, _ in found):
        print(f"| {name} | {' | '.join(', '.join(f'{v:.4g}' for v in found[name, p]) for p in given.pythons)} |")
    print(f"load average behind it: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
