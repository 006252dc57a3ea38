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
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.supervisors import multiprocess

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
    monkeypatch.setattr(workers, "STOP_PATIENCE", 0.5)
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
        "worker 1 has not answered for 15 s; replacing it",
        "worker 1 died (-9); replacing it",
        "worker 2 has not answered for 90 s; replacing it",
        "worker 2 died during startup (-9); restarting it in 1 s",
        "worker 3 died during startup (-9); restarting it in 2 s",
        "worker 4 died (-9); replacing it",
        "worker 5 died during startup (-9); restarting it in 1 s",
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
    assert caplog.messages == ["worker 2 did not stop in time; killing it"]
    parent.sockets[0].close()


class Rolled(Worker):
    """A worker that may take another's place: it is ready at once, or never."""

    def __init__(self, pid: int, ready: bool = True) -> None:
        super().__init__(pid)
        self._ready = ready
        self.told = False

    def is_ready(self, timeout: float) -> bool:
        del timeout
        return self._ready

    def terminate(self) -> None:
        self.told = True


@pytest.fixture
def rolling(monkeypatch: pytest.MonkeyPatch, signals: None) -> Iterator[tuple[GracefulWorkers, list[float], list[Any]]]:
    """A parent of two workers that serve, the time, and the workers that it starts next."""
    del signals
    parent, now, started = _parent("tells_its_process", 2), [1000.0], [Rolled(3), Rolled(4), Rolled(5)]

    def later(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=later))
    waiting = iter(started)
    for module in (workers, multiprocess):
        monkeypatch.setattr(module, "Process", lambda *_: next(waiting))
    places: list[Any] = parent.processes
    places[:] = [Rolled(1), Rolled(2)]
    parent.keep_subprocess_alive()
    for worker in places:
        worker.says(True)
    parent.keep_subprocess_alive()
    assert parent.serving == 2
    yield parent, now, started
    parent.sockets[0].close()


Rolling = tuple[GracefulWorkers, list[float], list[Any]]


def test_workers_that_took_over_are_watched_from_then_on(rolling: Rolling) -> None:
    parent, now, started = rolling
    old: list[Any] = list(parent.processes)
    now[0] += 10  # the old ones were asked so long ago
    parent.signal_queue.append(signal.SIGHUP)
    parent.handle_signals()
    assert [worker.pid for worker in parent.processes] == [3, 4]
    assert [worker.told for worker in old] == [True, True]
    for _ in range(3):
        now[0] += 10
        parent.keep_subprocess_alive()
        for worker in started[:2]:
            worker.says(True)
    assert ([worker.pid for worker in parent.processes], parent.serving) == ([3, 4], 2)
    old[0].kill()  # it has ended: looking whether it lives is what frees its entry in the system's table
    parent.keep_subprocess_alive()
    assert parent._retired == old[1:]
    parent.join_all()  # nothing that was told to stop is forgotten
    assert not any(worker.is_alive() for worker in (*old, *started[:2]))


def test_an_order_to_stop_is_heeded_while_workers_are_replaced(rolling: Rolling, caplog: pytest.LogCaptureFixture) -> None:
    parent, _, started = rolling
    started[0]._ready = False
    parent.signal_queue.extend([signal.SIGHUP, signal.SIGTERM])
    caplog.set_level(logging.WARNING, "turnfold.server")
    parent.handle_signals()
    assert parent.should_exit.is_set()
    assert ([worker.pid for worker in parent.processes], started[0].alive, caplog.messages) == ([1, 2], False, [])


def test_the_parent_says_for_all_workers_what_they_stop_for(rolling: Rolling, caplog: pytest.LogCaptureFixture) -> None:
    parent, _, _ = rolling
    caplog.set_level(logging.INFO, "turnfold")
    for number, said in ((signal.SIGHUP, "replacing the workers on SIGHUP"), (signal.SIGTERM, "stopping on SIGTERM")):
        parent.signal_queue.append(number)
        parent.handle_signals()
        assert [line.partition(";")[0] for line in caplog.messages] == [said]
        caplog.clear()


def test_the_old_workers_stay_where_new_ones_do_not_start(rolling: Rolling, caplog: pytest.LogCaptureFixture) -> None:
    parent, now, started = rolling
    started[0]._ready = False
    parent.restart_all()
    assert now[0] >= 1090
    assert ([worker.pid for worker in parent.processes], started[0].alive) == ([1, 2], False)
    assert caplog.messages == ["a new worker did not start; keeping the old ones"]


def test_workers_come_and_go_by_signals(rolling: Rolling) -> None:
    parent, now, _ = rolling
    parent.signal_queue.append(signal.SIGTTIN)
    for pids in ([1, 2, 3], [1, 2], [1], [1]):
        parent.handle_signals()
        for worker in parent.processes:
            cast(Any, worker).says(True)
        parent.keep_subprocess_alive()
        now[0] += 1
        assert [worker.pid for worker in parent.processes] == pids
        parent.signal_queue.append(signal.SIGTTOU)
