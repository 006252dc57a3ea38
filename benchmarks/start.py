"""How long a start takes: ``serve`` until it answers, ``version`` and ``--help`` until they have ended.

    python -m benchmarks.start [--runs 5]

It starts the installed command and waits for it. The speed of requests is measured in ``latency``.

Wall time depends on what else runs on the machine, so processor time stands beside it.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Final

from benchmarks.support.ports import free_port
from benchmarks.support.taken import megabytes, processor_seconds

COMMAND: Final = [sys.executable, "-m", "turnfold.proxy.cli"]


def _environment(directory: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TURNFOLD_")}
    return {**kept, "XDG_DATA_HOME": directory, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def serve_once() -> tuple[float, float, float]:
    """Seconds until ``/readyz`` answers, processor seconds until then, resident megabytes then."""
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        started = time.perf_counter()
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port)],
            cwd=directory,
            env=_environment(directory),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=60).close()
                break
            except OSError:
                assert process.poll() is None, "it ended"
                time.sleep(0.01)
        wall = time.perf_counter() - started
        taken = processor_seconds(process.pid), megabytes(process.pid)
        process.send_signal(signal.SIGTERM)
        process.wait()
    return wall, *taken


def command_once(*arguments: str) -> tuple[float, float, float]:
    """Seconds, processor seconds, and no memory."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([*COMMAND, *arguments], env=_environment(""), stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 0.0


def main() -> None:
    """Print medians, and the least wall time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    measured: dict[str, Callable[[], tuple[float, float, float]]] = {
        "serve": serve_once,
        "version": partial(command_once, "version"),
        "--help": partial(command_once, "--help"),
    }
    for name, once in measured.items():
        once()  # the first run writes caches of the file system
        rows = [once() for _ in range(runs)]
        wall, cpu, memory = (median(column) for column in zip(*rows, strict=True))
        held = f", {memory:.0f} MB resident" if memory else ""
        print(f"{name:8} wall {wall:.2f} s (least {min(row[0] for row in rows):.2f}), processor {cpu:.2f} s{held}")


if __name__ == "__main__":
    main()
