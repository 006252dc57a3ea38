"""The parent of workers: one that hangs is replaced, and keeps nobody from stopping."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from tests.proxy.harness import NO_LOGGING, call, until
from turnfold.proxy import workers
from turnfold.proxy.workers import GracefulWorkers


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
                until(lambda: parent.serving, timeout=60, pause=0.05)
                until(lambda: ask(origin, served), timeout=60, pause=0.05)
                os.kill(served[-1], signal.SIGSTOP)
                if len(served) == 1:
                    until(lambda: parent.processes[0].pid != served[0], timeout=30, pause=0.05)

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
