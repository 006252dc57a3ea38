"""The parent of several workers: it starts them, replaces those that die or hang, and stops them.

This module decides how long a worker may be silent, and what happens then. How one process stops is in ``stopping``, the server's
flags are in ``server``.

uvicorn's own supervisor waits for one worker's answer before it looks at the next, and ignores signals meanwhile, so a worker
that hangs would keep it from stopping. This one asks all workers, and reads the answers as they arrive.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from socket import socket
from typing import Final

import uvicorn
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from turnfold.proxy.stopping import STOP_PATIENCE

_STARTUP_FAILURE: Final = 3  # exit status of a uvicorn worker that could not start
_PATIENCE: Final = 15.0  # seconds in which a serving worker must answer; a separate thread answers, whatever it folds
_START_PATIENCE: Final = 90.0  # and a starting one: under load a start takes longer than uvicorn's 5 s
_SERVES: Final = pickle.dumps(True)  # as uvicorn's `Process.pong` sends it
_MOST_SAID: Final = 65_536
_LONGEST_WAIT: Final = 30.0  # between two starts of a worker that dies during startup

_log = logging.getLogger("turnfold.server")


@dataclass(slots=True)
class _WorkerWatch:
    """What the parent knows of one worker.

    Attributes:
        asked: when it was last asked without having answered; None if it has answered.
        started: whether it serves.
        failures: how often the worker in this place has died before it served.
        again: when it will be started again; None if it runs.
    """

    asked: float | None = None
    started: bool = False
    failures: int = 0
    again: float | None = None


def worker_says(connection: Connection) -> bool | None:
    """What a worker has answered since the last call: whether it serves; None if it has not answered.

    Nothing is waited for, and nothing is unpickled: a worker that stops in the middle of an answer, or is no longer itself, must
    not hold or end the parent of the others.

    Raises:
        OSError: there is no connection any more.
    """
    if not connection.poll():
        return None
    return _SERVES in os.read(connection.fileno(), _MOST_SAID)


class GracefulWorkers(Multiprocess):
    """Workers that stop accepting when they stop: what the parent holds open would collect connections that nobody serves.

    Args:
        drain: seconds that a worker may take to finish what it serves.

    Attributes:
        failed: whether the parent stopped because no worker can start.
    """

    def __init__(self, config: uvicorn.Config, sockets: Sequence[socket], drain: float) -> None:
        super().__init__(config, sockets=list(sockets))
        self.failed = False
        self._drain = drain
        self._watches = [_WorkerWatch() for _ in range(self.processes_num)]
        self._retired: list[Process] = []  # told to stop, because another one has replaced them

    @property
    def serving(self) -> int:
        """How many workers have said that they serve, and have not died or hung since."""
        return sum(watch.started for watch in self._watches)

    def terminate_all(self) -> None:
        """Tell all workers to stop."""
        super().terminate_all()
        for held in self.sockets:
            held.close()

    def join_all(self) -> None:
        """Wait until all have stopped; kill those that do not."""
        end = time.monotonic() + self._drain + STOP_PATIENCE
        for process in (*self._retired, *self.processes):
            process.process.join(max(0.0, end - time.monotonic()))
            if process.process.is_alive():
                _log.warning("worker %s did not stop in time; killing it", process.pid)
                process.process.kill()
                process.process.join()

    def restart_all(self) -> None:
        """Replace every worker (SIGHUP), each once its successor serves. Nobody waits for what the old ones still serve, and an
        order to stop that comes meanwhile is heeded."""
        for place, old in enumerate(self.processes):
            new = Process(self.config, self.sockets)
            new.start()
            if not self._comes_to_serve(new):
                new.kill()
                new.join()
                if not self._must_stop():
                    _log.error("a new worker did not start; keeping the old ones")
                return
            self.processes[place], self._watches[place] = new, _WorkerWatch(started=True)
            old.terminate()
            self._retired.append(old)

    def _comes_to_serve(self, worker: Process) -> bool:
        deadline = time.monotonic() + _START_PATIENCE
        while worker.process.is_alive() and time.monotonic() < deadline and not self._must_stop():
            if worker.is_ready(timeout=1):
                return True
            time.sleep(0.1)
        return False

    def _must_stop(self) -> bool:
        return not {signal.SIGINT, signal.SIGTERM}.isdisjoint(self.signal_queue)

    def handle_int(self) -> None:
        """As the parent does, and say so."""
        _log.info("stopping on SIGINT; open requests may finish")
        super().handle_int()

    def handle_term(self) -> None:
        """Stop; logged once, not for each worker."""
        _log.info("stopping on SIGTERM; open requests may finish")
        super().handle_term()

    def handle_hup(self) -> None:
        """Replace every worker."""
        _log.info("replacing the workers on SIGHUP; open requests may finish")
        super().handle_hup()

    def handle_ttin(self) -> None:
        """Add a worker."""
        super().handle_ttin()
        self._watches.append(_WorkerWatch())

    def handle_ttou(self) -> None:
        """Remove a worker, unless it is the last one."""
        newest = self.processes[-1]
        super().handle_ttou()
        if newest not in self.processes:
            self._watches.pop()
            self._retired.append(newest)

    def keep_subprocess_alive(self) -> None:
        """Replace workers that died or hang; called twice a second. Once the parent stops, none is: a signal to the whole group
        (systemd, Ctrl-C) has ended them too."""
        if self.should_exit.is_set():
            return
        self._retired = [one for one in self._retired if one.process.is_alive()]  # this reaps ended processes
        now = time.monotonic()
        for place, (process, watch) in enumerate(zip(self.processes, self._watches, strict=True)):
            if watch.again is not None:
                if now >= watch.again:
                    self._start(place, _WorkerWatch(failures=watch.failures))
                continue
            silent = self._silent(process, watch, now)
            if process.process.is_alive() and silent <= (_PATIENCE if watch.started else _START_PATIENCE):
                continue
            if process.process.is_alive():
                _log.warning("worker %s has not answered for %.0f s; replacing it", process.pid, silent)
            process.kill()
            process.join()
            if process.exitcode == _STARTUP_FAILURE:
                _log.error("a worker could not start; giving up")
                self.failed = True
                self.should_exit.set()
                return
            self._replace(place, watch, process, now)

    def _silent(self, process: Process, watch: _WorkerWatch, now: float) -> float:
        """Seconds since a worker was asked without an answer."""
        with contextlib.suppress(OSError, EOFError):
            said = worker_says(process.parent_conn)
            if said is not None:
                watch.started = said or watch.started
                watch.asked = None
            if watch.asked is None:
                process.parent_conn.send(b"ping")
                watch.asked = now
        return now - (now if watch.asked is None else watch.asked)

    def _replace(self, place: int, watch: _WorkerWatch, process: Process, now: float) -> None:
        if watch.started:
            _log.warning("worker %s died (%s); replacing it", process.pid, process.exitcode)
            self._start(place, _WorkerWatch())
            return
        watch.failures += 1
        wait = min(_LONGEST_WAIT, 0.5 * 2 ** min(watch.failures, 10))
        _log.warning("worker %s died during startup (%s); restarting it in %.0f s", process.pid, process.exitcode, wait)
        watch.again = now + wait

    def _start(self, place: int, watch: _WorkerWatch) -> None:
        self._watches[place] = watch
        self.processes[place] = Process(self.config, self.sockets)
        self.processes[place].start()
