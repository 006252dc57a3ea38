"""The parent of workers: one that hangs is replaced, and keeps nobody from stopping."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn

from tests.proxy.harness import NO_LOGGING, call, until
from turnfold.proxy import workers
from turnfold.proxy.workers import GracefulWorkers, worker_says


@pytest.fixture
def signals() -> Iterator[None]:
    """The handlers of this process, which the parent of workers takes for itself."""
    kept = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTTIN, signal.SIGTTOU)
    }
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def _parent(name: str, number: int, **flags: Any) -> GracefulWorkers:
    config = uvicorn.Config(
        f"tests.support.worker_apps:{name}", port=0, workers=number, **NO_LOGGING, **{"lifespan": "off", "ws": "none"} | flags
    )
    return GracefulWorkers(config, [config.bind_socket()], 0.5)


def ask(origin: str, served: list[int]) -> bool:
    """Whether a worker answers; its process's id is added."""
    try:
        served.append(int(call(origin, "GET", "/").body))
    except OSError:
        return False
    return True


@pytest.mark.usefixtures("signals")
def test_a_worker_that_hangs_is_replaced_and_keeps_nobody_from_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_PATIENCE", 2.0)
    monkeypatch.setattr(workers, "_STOP_PATIENCE", 0.5)
    parent = _parent("tells_its_process", 1)
    origin = f"http://127.0.0.1:{parent.sockets[0].getsockname()[1]}"
    served: list[int] = []

    def drive() -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(parent.should_exit.set)
            for _ in range(2):
                until(lambda: parent.serving, pause=0.05)
                until(lambda: ask(origin, served), pause=0.05)
                os.kill(served[-1], signal.SIGSTOP)
                if len(served) == 1:
                    until(lambda: parent.processes[0].pid != served[0], pause=0.05)

    driver = threading.Thread(target=drive)
    driver.start()
    parent.run()
    driver.join()
    assert len(set(served)) == 2
    assert not parent.failed
    for pid in served:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.usefixtures("signals")
def test_workers_that_cannot_start_end_the_parent() -> None:
    parent = _parent("does_not_start", 1, lifespan="on")
    parent.run()
    assert parent.failed


class Worker:
    """A worker without a process: it says what it is told to, and lives as long as it is told to."""

    def __init__(self, pid: int) -> None:
        self.pid, self.exitcode, self.process = pid, -9, self
        self.parent_conn, self._own = Pipe()
        self.alive = True
        self.asked = 0

    def is_alive(self) -> bool:
        return self.alive

    def says(self, *serves: bool) -> None:
        """Answer what was asked."""
        while self._own.poll():
            assert self._own.recv() == b"ping"
            self.asked += 1
        for one in serves:
            self._own.send(one)

    def kill(self) -> None:
        self.alive = False

    def join(self, timeout: float = 0) -> None:
        del timeout

    start = join


def test_what_a_worker_says_is_whether_it_serves() -> None:
    worker = Worker(1)
    assert worker_says(worker.parent_conn) is None
    worker.says(False)
    assert worker_says(worker.parent_conn) is False
    worker.says(False, True)
    assert worker_says(worker.parent_conn) is True
    assert worker_says(worker.parent_conn) is None


@pytest.mark.usefixtures("signals")
def test_when_a_worker_is_replaced(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Seconds, what its place's worker says or does then, and which worker has the place afterwards."""
    parent, now, pids = _parent("tells_its_process", 1), [1000.0], iter(range(1, 99))
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(workers, "Process", lambda *_: Worker(next(pids)))
    caplog.set_level(logging.WARNING, "turnfold")
    place: list[Any] = parent.processes
    place[:] = [Worker(next(pids))]
    for seconds, does, serving, pid in (
        (0, (), 0, 1),
        (90, (), 0, 1),  # it starts
        (0, (False,), 0, 1),
        (89, (True,), 1, 1),
        (0, (), 1, 1),
        (15, (), 1, 1),
        (0, (False,), 1, 1),  # it stops: it served all the same
        (15.1, (), 0, 2),  # silent
        (0.5, (), 0, 2),  # it is asked for the first time
        (90, (), 0, 2),
        (0.1, (), 0, 2),  # while it started, so the next one waits
        (0.9, (), 0, 2),
        (0.2, (), 0, 3),
        (1, "dies", 0, 3),
        (1.9, (), 0, 3),
        (0.2, (), 0, 4),
        (0, (True,), 1, 4),
        (1, "dies", 0, 5),
        (1, "dies", 0, 5),
        (0.9, (), 0, 5),
        (0.2, (), 0, 6),
    ):
        now[0] += seconds
        worker: Worker = place[0]
        if does == "dies":
            worker.kill()
        elif isinstance(does, tuple):
            worker.says(*does)
        parent.keep_subprocess_alive()
        assert (parent.serving, place[0].pid) == (serving, pid), (now, does, caplog.messages)
    assert caplog.messages == [
        "worker 1 has not answered for 15 s, and is replaced",
        "worker 1 died (-9), and is replaced",
        "worker 2 has not answered for 90 s, and is replaced",
        "worker 2 died while it started (-9); again in 1 s",
        "worker 3 died while it started (-9); again in 2 s",
        "worker 4 died (-9), and is replaced",
        "worker 5 died while it started (-9); again in 1 s",
    ]
    for _ in range(5):
        now[0] += 31
        parent.keep_subprocess_alive()
        place[0].kill()
        parent.keep_subprocess_alive()
    assert [line.rpartition(" in ")[2] for line in caplog.messages[-5:]] == ["2 s", "4 s", "8 s", "16 s", "30 s"]
    place[0].kill()  # by a signal to the whole group, as systemd sends it: nothing is said of it, and nobody takes its place
    parent.should_exit.set()
    pid = place[0].pid
    parent.keep_subprocess_alive()
    assert (place[0].pid, len(caplog.messages), parent.failed) == (pid, 12, False)
    parent.sockets[0].close()


@pytest.mark.usefixtures("signals")
def test_all_workers_together_have_twenty_seconds_beyond_the_drain_to_stop(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    parent, now, waited = _parent("tells_its_process", 1), [1000.0], list[float | None]()

    class Stopping(Worker):
        """One that takes so long to stop."""

        def __init__(self, pid: int, takes: float) -> None:
            super().__init__(pid)
            self._takes = takes

        def join(self, timeout: float | None = None) -> None:
            waited.append(timeout)
            if timeout is not None:
                now[0] += min(self._takes, timeout + 1)  # as on a busy machine
                self.alive = self._takes > timeout

    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now[0]))
    caplog.set_level(logging.WARNING, "turnfold")
    place: list[Any] = parent.processes
    place[:] = [Stopping(1, 18), Stopping(2, 30), Stopping(3, 0)]
    parent.join_all()
    assert waited == [20.5, 2.5, None, 0.0]
    assert not any(worker.is_alive() for worker in place)
    assert caplog.messages == ["worker 2 did not stop in time, and is ended"]
    parent.sockets[0].close()
