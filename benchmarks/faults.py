"""Faults around a real ``turnfold serve``: what a client sees, what is lost, and whether the process comes to rest.

    python -m benchmarks.faults                    # all of them, about ten minutes
    python -m benchmarks.faults redis-killed ...   # these; --list names them; --workers 2 runs them with two processes

It has the faults, and a table row for each. Servers that fail are in ``support.faulty``.

A row: statuses that clients saw while the fault lasted, with how often and the slowest; receipts and originals that are missing
once it is over; what the process held before and after, at rest. Requests of the fault's own time count as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.support.faulty import FaultyUpstream, Line, Rest, Seen, Served, Valkey, end_cleanly, long, reset, short, wait_for
from tests.support.valkeys import Cluster, Watched, running

_RECOVERY: Final = 25.0


@dataclass
class Bench:
    """One fault's servers, and what clients saw.

    Attributes:
        during: what they saw while the fault lasted.
        others: what they saw before and after it.
        notes: what else is to be said.
    """

    folder: Path
    upstream: FaultyUpstream
    workers: int
    during: list[Seen] = field(default_factory=list)
    others: list[Seen] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    served: Served | None = None
    before: Rest | None = None
    _number: int = 0

    @property
    def plain_store(self) -> str:
        """A store for faults of something else; what one worker has in memory the other cannot show."""
        return "memory://" if self.workers == 1 else f"sqlite:///{self.folder}/plain-{time.monotonic_ns()}.db"

    def serve(self, store: str, wrapper: tuple[str, ...] = (), **settings: str) -> Served:
        """Start Turnfold on a store, and let it see what memory it needs."""
        workers = {} if self.workers == 1 else {"workers": str(self.workers)}
        self.served = Served(self.upstream.url, self.folder, wrapper, store_url=store, **workers, **settings)
        self.others += self.send(shorts=20, longs=8)
        self.settle()
        self.before = self.served.rest()
        return self.served

    def send(self, shorts: int = 24, longs: int = 6, at_once: int = 4, *, stream: bool = False) -> list[Seen]:
        """Requests, the folded ones each of a conversation of its own."""
        assert self.served is not None
        bodies = [short(stream) for _ in range(shorts)]
        bodies += [long(self._next(), stream=stream) for _ in range(longs)]
        random.Random(0).shuffle(bodies)
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(self.served.post, bodies))

    def _next(self) -> int:
        self._number += 1
        return self._number

    def settle(self) -> None:
        """Wait until all receipts are written, or nothing more comes."""
        assert self.served is not None
        sought = {seen.id for seen in self.during + self.others if seen.id}
        wait_for(lambda: sought <= self.served.receipts(), _RECOVERY)  # type: ignore[union-attr]
        time.sleep(0.3)

    def row(self, name: str) -> str:
        """The table's row."""
        assert self.served is not None
        self.settle()
        held = self.served.receipts()
        known = [seen for seen in self.during + self.others if seen.id]
        lost = sum(seen.id not in held for seen in known)
        folded = [seen for seen in known if seen.folded == "folded"]
        unheld = sum(self.served.lost_originals(seen.id) for seen in folded if seen.id in held)
        wrong = Counter(seen.said for seen in self.others if seen.said != "200")
        if wrong:
            self.notes.append("before or after: " + _told(wrong))
        wait_for(self._at_rest, 10)
        after = self.served.rest()
        said = _told(Counter(seen.said for seen in self.during)) or "-"
        slowest = max((seen.seconds for seen in self.during), default=0.0)
        state = "" if self.before is None else _both(self.before, after)
        losses = f"{lost} of {len(known)} | {unheld} of {len(folded)}"
        return f"| {name} | {said} | {slowest:.2f} | {losses} | {state} | {'; '.join(filter(None, self.notes))} |"

    def _at_rest(self) -> bool:
        assert self.served is not None
        now, before = self.served.rest(), self.before
        return before is None or (now.tasks <= before.tasks + 1 and now.descriptors <= before.descriptors + 6)


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{number} x {said}" for said, number in counts.most_common())


def _both(before: Rest, after: Rest) -> str:
    return (
        f"{before.megabytes:.0f} -> {after.megabytes:.0f} MB, {before.descriptors} -> {after.descriptors} files,"
        f" {before.tasks} -> {after.tasks} tasks"
    )


Fault = Callable[[Bench], None]
FAULTS: Final[dict[str, Fault]] = {}


def fault(name: str) -> Callable[[Fault], Fault]:
    """Register a fault."""

    def register(run: Fault) -> Fault:
        FAULTS[name] = run
        return run

    return register


@contextlib.contextmanager
def _valkey(*options: str) -> Iterator[Valkey]:
    server = Valkey(*options)
    try:
        yield server
    finally:
        server.close()


def _store_is_up(served: Served) -> bool:
    status, data = served.get("/readyz")
    return status == 200 and json.loads(data)["checks"]["store"] == "ok"


def _through(bench: Bench, begin: Callable[[], object], end: Callable[[], object]) -> None:
    """Requests during a fault of the store, and after it."""
    served = bench.served
    assert served is not None
    begin()
    bench.during += bench.send()
    if served.get("/readyz")[0] != 200:
        bench.notes.append("not ready meanwhile")
    end()
    start = time.monotonic()
    if not wait_for(lambda: _store_is_up(served), _RECOVERY):
        bench.notes.append("the store is not used again")
    bench.notes.append(f"in use again after {time.monotonic() - start:.1f} s")
    bench.others += bench.send(8, 2)


class _Gap(threading.Thread):
    """How long the store is out of use, seen from outside, when servers heal by themselves."""

    def __init__(self, served: Served) -> None:
        super().__init__(daemon=True)
        self._served = served
        self._ended = threading.Event()
        self._began = time.monotonic()
        self._up: float | None = None
        self.start()

    def run(self) -> None:
        """Look until told to end."""
        down = False
        while not self._ended.wait(0.05):
            if not _store_is_up(self._served):
                down, self._up = True, None
            elif down and self._up is None:
                self._up = time.monotonic()

    def note(self) -> str:
        """What was seen."""
        self._ended.set()
        self.join()
        return "never seen out of use" if self._up is None else f"in use again {self._up - self._began:.1f} s after the kill"


def _healing(bench: Bench, kill: Callable[[], object], start: Callable[[], object]) -> None:
    """The same where the servers find a new primary by themselves, while the old one is down."""
    served = bench.served
    assert served is not None
    kill()
    gap = _Gap(served)
    bench.during += bench.send()
    if not wait_for(lambda: _store_is_up(served), _RECOVERY):
        bench.notes.append("the store is not used again")
    bench.others += bench.send(8, 2)
    bench.notes.append(gap.note())
    start()


def _redis_fault(name: str, begin: Callable[[Valkey], object], end: Callable[[Valkey], object], *options: str) -> None:
    def run(bench: Bench) -> None:
        with _valkey(*options) as valkey:
            bench.serve(valkey.url)
            _through(bench, lambda: begin(valkey), lambda: end(valkey))
            bench.notes.append(f"{_without_expiry(valkey)} keys without expiry")
            print(bench.row(name), flush=True)

    FAULTS[name] = run


def _without_expiry(valkey: Valkey) -> int:
    client = valkey.client()
    return sum(client.pttl(key) < 0 for key in client.scan_iter("turnfold:*", count=1000))


def _set(name: str, value: str) -> Callable[[Valkey], object]:
    return lambda valkey: valkey.client().config_set(name, value)


def _spoil(valkey: Valkey) -> None:
    """Another type, or damaged bytes, under every key of ours."""
    client = valkey.client()
    for number, key in enumerate(client.scan_iter("turnfold:*", count=1000)):
        life = client.pttl(key)
        if client.type(key) == b"string" and number % 2:
            client.set(key, b"\xff\x00not ours", px=max(life, 1))
            continue
        was = client.type(key)
        client.delete(key)
        if was == b"list":
            client.set(key, "1", px=max(life, 1))
        else:
            client.rpush(key, "x")
            client.pexpire(key, max(life, 1))


_redis_fault("redis-killed", Valkey.kill, Valkey.start)
_redis_fault("redis-paused", lambda v: v.signal(signal.SIGSTOP), lambda v: v.signal(signal.SIGCONT))
_redis_fault("redis-full", _set("maxmemory", "1"), _set("maxmemory", "0"), "--maxmemory-policy", "noeviction")
_redis_fault("redis-readonly", _set("min-replicas-to-write", "1"), _set("min-replicas-to-write", "0"))
_redis_fault("redis-damaged", _spoil, lambda _: None)


@fault("redis-slow")
def _redis_slow(bench: Bench) -> None:
    with _valkey() as valkey:
        line = Line(valkey.port)
        bench.serve(f"redis://127.0.0.1:{line.port}/0")

        def slow(delay: float) -> None:
            line.delay = delay

        _through(bench, lambda: slow(0.25), lambda: slow(0))
        print(bench.row("redis-slow"), flush=True)
        line.close()


@fault("redis-failover")
def _redis_failover(bench: Bench) -> None:
    """The replica is promoted, and the old primary, whose connections stay open, is made its replica."""
    with _valkey() as first, _valkey("--replicaof", f"127.0.0.1 {first.port}") as second:
        line = Line(first.port)
        bench.serve(f"redis://127.0.0.1:{line.port}/0")
        wait_for(lambda: second.client().info("replication")["master_link_status"] == "up")

        def promote() -> None:
            second.client().replicaof("no", "one")
            first.client().replicaof("127.0.0.1", str(second.port))

        def lead() -> None:
            line.target = second.port

        _through(bench, promote, lead)
        print(bench.row("redis-failover"), flush=True)
        line.close()


@fault("redis-cluster-node-killed")
def _cluster_node_killed(bench: Bench) -> None:
    """Three primaries on loopback; the one that has a replica is killed, comes back as the replica of its replica."""
    (folder := bench.folder / "cluster").mkdir()
    with running(Cluster(folder)) as cluster:
        bench.serve(cluster.url)
        primary, _ = cluster.pair()
        _healing(bench, primary.kill, primary.start)
        cluster.wait()
        print(bench.row("redis-cluster-node-killed"), flush=True)


@fault("redis-sentinel-failover")
def _sentinel_failover(bench: Bench) -> None:
    """The primary is killed, two Sentinels promote its replica, and the old one comes back as a replica."""
    (folder := bench.folder / "sentinel").mkdir()
    with running(Watched(folder)) as watched:
        bench.serve(watched.url)
        primary = watched.primary()
        _healing(bench, primary.kill, primary.start)
        watched.wait()
        print(bench.row("redis-sentinel-failover"), flush=True)


def _sqlite(bench: Bench, wrapper: tuple[str, ...] = (), **settings: str) -> Path:
    path = bench.folder / f"store-{time.monotonic_ns()}.db"
    bench.serve(f"sqlite:///{path}", wrapper, **settings)
    return path


@fault("sqlite-locked")
def _sqlite_locked(bench: Bench) -> None:
    path = _sqlite(bench)
    holder = sqlite3.connect(path, isolation_level=None)

    def end() -> None:
        time.sleep(4)
        holder.execute("ROLLBACK")

    _through(bench, lambda: holder.execute("BEGIN IMMEDIATE"), end)
    holder.close()
    print(bench.row("sqlite-locked"), flush=True)


@fault("sqlite-full")
def _sqlite_full(bench: Bench) -> None:
    """No byte more may be written to any file of the process, as on a full disk."""
    _sqlite(bench)
    assert bench.served is not None

    def limit(size: int) -> None:
        for pid in bench.served.pids():  # type: ignore[union-attr]
            with contextlib.suppress(OSError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    _through(bench, lambda: limit(4096), lambda: limit(resource.RLIM_INFINITY))
    print(bench.row("sqlite-full"), flush=True)


@fault("sqlite-disk-full")
def _sqlite_disk_full(bench: Bench) -> None:
    """The file lies on a disk of its own that fills up; needs the right to mount."""
    disk = bench.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", disk], check=False, capture_output=True).returncode:  # noqa: S607
        bench.notes.append("not run: no right to mount")
        print(f"| sqlite-disk-full | {bench.notes[-1]} | | | | | |")
        return
    try:
        bench.serve(f"sqlite:///{disk}/t.db")
        _through(bench, lambda: _fill(disk), (disk / "ballast").unlink)
        print(bench.row("sqlite-disk-full"), flush=True)
    finally:
        assert bench.served is not None
        bench.served.end()
        subprocess.run(["umount", "-l", disk], check=False)  # noqa: S607


def _fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"x" * 4096)


@fault("sqlite-corrupt")
def _sqlite_corrupt(bench: Bench) -> None:
    path = _sqlite(bench)

    def spoil() -> None:
        for name in (path, path.with_name(path.name + "-wal")):
            if name.exists() and name.stat().st_size > 200:
                with name.open("r+b") as file:
                    size = name.stat().st_size
                    for at in range(100, size, 512):
                        file.seek(at)
                        file.write(os.urandom(64))

    _through(bench, spoil, lambda: None)
    bench.notes.append("what was written before is gone with the file" if _kept_aside(path) else "")
    print(bench.row("sqlite-corrupt"), flush=True)


def _kept_aside(path: Path) -> bool:
    return any("damaged" in other.name for other in path.parent.iterdir())


@fault("sqlite-deleted")
def _sqlite_deleted(bench: Bench) -> None:
    path = _sqlite(bench)

    def delete() -> None:
        for rest in ("", "-wal", "-shm"):
            path.with_name(path.name + rest).unlink(missing_ok=True)

    _through(bench, delete, lambda: None)
    bench.notes.append("what was written before is gone with the file")
    print(bench.row("sqlite-deleted"), flush=True)


@fault("sqlite-readonly")
def _sqlite_readonly(bench: Bench) -> None:
    """The disk is mounted read-only, as a kernel does after errors."""
    disk = bench.folder / "ro"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", disk], check=False, capture_output=True).returncode:  # noqa: S607
        print("| sqlite-readonly | not run: no right to mount | | | | | |")
        return

    def mount(how: str) -> None:
        # What is open for writing keeps a real disk from being mounted read-only: the limit stands for that.
        size = 0 if how == "ro" else resource.RLIM_INFINITY
        for pid in bench.served.pids():  # type: ignore[union-attr]
            with contextlib.suppress(OSError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        done = subprocess.run(["mount", "-o", f"remount,{how}", disk], check=False, capture_output=True)  # noqa: S607
        if done.returncode and how == "ro":
            bench.notes.append("mounted read-only only in effect: the file was open")

    try:
        bench.serve(f"sqlite:///{disk}/t.db")
        _through(bench, lambda: mount("ro"), lambda: mount("rw"))
        print(bench.row("sqlite-readonly"), flush=True)
    finally:
        assert bench.served is not None
        bench.served.end()
        subprocess.run(["umount", "-l", disk], check=False)  # noqa: S607


@fault("sqlite-two-processes")
def _sqlite_two(bench: Bench) -> None:
    path = _sqlite(bench)
    other = Served(bench.upstream.url, bench.folder, store_url=f"sqlite:///{path}")
    with ThreadPoolExecutor(4) as pool:
        both = [pool.submit(served.post, long(500 + i)) for i in range(10) for served in (bench.served, other) if served]
        bench.during += [one.result() for one in both]
    other.process.send_signal(signal.SIGTERM)
    bench.notes.append(f"the other one ended with {other.process.wait(40)}")
    print(bench.row("sqlite-two-processes"), flush=True)


def _upstream_fault(name: str, mode: str, *, stream: bool = False, **settings: str) -> None:
    def run(bench: Bench) -> None:
        bench.serve(bench.plain_store, (), **settings)
        bench.upstream.mode = mode
        bench.during += bench.send(12, 4, stream=stream)
        bench.upstream.mode = "ok"
        bench.others += bench.send(8, 2)
        print(bench.row(name), flush=True)

    FAULTS[name] = run


for _mode in ("reset", "reset-after-head", "long", "short", "garbage"):
    _upstream_fault(f"upstream-{_mode}", _mode)
_upstream_fault("upstream-hang", "hang", upstream_read_timeout="2")
_upstream_fault("upstream-cut-mid-stream", "cut", stream=True)


@fault("upstream-refused")
def _upstream_refused(bench: Bench) -> None:
    bench.serve(bench.plain_store)
    assert bench.served is not None
    port = bench.upstream.port
    bench.upstream.close()
    bench.during += bench.send(12, 4)
    bench.upstream = FaultyUpstream(port)
    bench.others += bench.send(8, 2)
    print(bench.row("upstream-refused"), flush=True)


def leave(served: Served, body: dict[str, Any], after: str) -> None:
    """A client that goes away, with a reset."""
    data = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n"
    with socket.create_connection(("127.0.0.1", served.port), 10) as client:
        if after == "before-headers":
            client.sendall(head.encode()[:40])
        elif after == "mid-body":
            client.sendall(head.encode() + b"\r\n" + data[: len(data) // 2])
        else:
            client.sendall(head.encode() + b"\r\n" + data)
        if after == "mid-stream":
            client.recv(2000)
        time.sleep(0.1)
        reset(client)


def _client_fault(name: str, after: str, mode: str) -> None:
    def run(bench: Bench) -> None:
        served = bench.serve(bench.plain_store, upstream_read_timeout="30")
        bench.upstream.mode = mode
        for i in range(24):
            leave(served, long(700 + i, stream=after == "mid-stream") if i % 4 == 0 else short(after == "mid-stream"), after)
        gone = wait_for(lambda: not bench.upstream.open, 5) or mode != "endless"
        bench.notes.append(
            "24 clients left; the upstream was let go" if gone else f"{bench.upstream.open} calls of the upstream stay open"
        )
        bench.upstream.mode = "ok"
        bench.others += bench.send(8, 2)
        print(bench.row(name), flush=True)

    FAULTS[name] = run


_client_fault("client-gone-before-headers", "before-headers", "ok")
_client_fault("client-gone-mid-body", "mid-body", "ok")
_client_fault("client-gone-before-answer", "before-answer", "hang")
_client_fault("client-gone-mid-stream", "mid-stream", "endless")


@fault("sigterm-under-load")
def _sigterm(bench: Bench) -> None:
    _sqlite(bench, drain_delay="1.5", drain_timeout="15")
    served = bench.served
    assert served is not None
    bench.upstream.pause = 0.2
    readiness: list[int] = []
    with ThreadPoolExecutor(16) as pool:
        jobs = [pool.submit(served.post, long(800 + i, stream=True) if i % 4 == 0 else short(stream=True)) for i in range(12)]
        wait_for(lambda: bench.upstream.open >= 12)
        served.process.send_signal(signal.SIGTERM)
        sent = time.monotonic()
        while time.monotonic() < sent + 1.2:
            readiness.append(served.get("/readyz")[0])
            jobs.append(pool.submit(served.post, short()))
            time.sleep(0.1)
        bench.during += [job.result() for job in jobs]
    ended = served.process.wait(40)
    bench.notes.append(f"readiness {sorted(set(readiness))} at once; new requests were served for 1.5 s; exit {ended}")
    bench.notes.append(f"stopped {time.monotonic() - sent:.1f} s after the signal")
    served.start()
    bench.before = None
    print(bench.row("sigterm-under-load"), flush=True)


@fault("sigkill")
def _sigkill(bench: Bench) -> None:
    _sqlite(bench)
    served = bench.served
    assert served is not None
    bench.others += bench.send(20, 4)
    time.sleep(1.0)
    os.kill(served.process.pid, signal.SIGKILL)
    served.process.wait()
    bench.notes.append("requests answered in the last second before it may be lost")
    if not wait_for(lambda: not served.pids(), 40):
        bench.notes.append(f"{len(served.pids())} processes outlive it")
    served.start()
    bench.before = None
    bench.others += bench.send(8, 2)
    print(bench.row("sigkill"), flush=True)


@fault("worker-killed")
def _worker_killed(bench: Bench) -> None:
    bench.workers = max(2, bench.workers)
    _sqlite(bench)
    served = bench.served
    assert served is not None
    worker = next(pid for pid in served.pids() if pid != served.process.pid)
    time.sleep(1.0)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(bench.send, 200, 8)
        os.kill(worker, signal.SIGKILL)
        bench.during += job.result()
    wait_for(lambda: len([pid for pid in served.pids() if pid != served.process.pid]) >= bench.workers, 30)
    time.sleep(3)
    print(bench.row("worker-killed"), flush=True)


def _clock(name: str, offset: str) -> None:
    def run(bench: Bench) -> None:
        library = next(
            (str(p) for p in Path("/").glob("usr/lib/*/faketime/libfaketime.so.1")), os.environ.get("FAKETIME_LIBRARY")
        )
        if not library:
            print(f"| {name} | not run: libfaketime is not installed (FAKETIME_LIBRARY names the library) | | | | | |")
            return
        rc = bench.folder / "faketime"
        rc.write_text("+0", "ascii")
        variables: tuple[str, ...] = (
            f"LD_PRELOAD={library}",
            f"FAKETIME_TIMESTAMP_FILE={rc}",
            "FAKETIME_CACHE_DURATION=1",
            "DONT_FAKE_MONOTONIC=1",
        )
        variables += ("FAKETIME_DONT_FAKE_MONOTONIC=1",)
        _sqlite(bench, ("env", *variables))
        rc.write_text(offset, "ascii")
        time.sleep(1.5)  # it looks at the file once a second
        bench.during += bench.send()
        time.sleep(1)
        rc.write_text("+0", "ascii")
        bench.others += bench.send(8, 2)
        print(bench.row(name), flush=True)

    FAULTS[name] = run


_clock("clock-steady", "+0")  # what the library itself costs
_clock("clock-back-one-hour", "-1h")
_clock("clock-ahead-one-hour", "+1h")


@fault("no-descriptors-left")
def _no_descriptors(bench: Bench) -> None:
    _sqlite(bench)
    served = bench.served
    assert served is not None
    for pid in served.pids():
        held = len(os.listdir(f"/proc/{pid}/fd"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (held + 6, resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]))
    bench.upstream.pause = 0.05
    bench.during += bench.send(60, 4, at_once=32, stream=True)
    for pid in served.pids():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (resource.prlimit(pid, resource.RLIMIT_NOFILE)[1],) * 2)
    bench.upstream.pause = 0.02
    time.sleep(1)
    bench.others += bench.send(8, 2)
    lines = served.log.read_bytes().count(b"\n")
    bench.notes.append(f"{lines} lines of log")
    print(bench.row("no-descriptors-left"), flush=True)


def run(names: Sequence[str], workers: int) -> None:
    """Run these faults, one after the other."""
    print("| fault | clients saw | slowest, s | receipts lost | originals lost | at rest, before and after | |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder), FaultyUpstream(), workers)
            try:
                FAULTS[name](bench)
            except Exception as exc:
                print(f"| {name} | the trial failed: {type(exc).__name__}: {str(exc)[:300]} | | | | | |", flush=True)
            finally:
                bench.upstream.close()
                if bench.served is not None and os.environ.get("FAULTS_LOGS"):
                    print(bench.served.log.read_text("utf-8", "replace")[-4000:])
                if bench.served is not None:
                    bench.served.end()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="faults to try; all by default")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="name the faults")
    given = parser.parse_args()
    if given.list:
        print("\n".join(FAULTS))
        return
    if unknown := set(given.names) - set(FAULTS):
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    end_cleanly()
    run(given.names or list(FAULTS), given.workers)


if __name__ == "__main__":
    main()
