"""The proxy in a thread of this process, silent.

Its socket, its log file, and how it is started and stopped. Its settings come from the plan.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import uvicorn

from turnfold.config.paths import state_directory
from turnfold.config.settings import Settings
from turnfold.proxy.app import build
from turnfold.proxy.preflight import check_files
from turnfold.proxy.running.tally import Tally
from turnfold.proxy.server import configuration

_START_PATIENCE: Final = 60.0
_STREAMS_PATIENCE: Final = 2  # seconds for open responses after the command has ended
_STOP_PATIENCE: Final = 20.0


class ProxyNotStarted(Exception):
    """The proxy did not start; the message is one line."""


def listen() -> socket.socket:
    """A free port of the loopback address, ours from now on: nobody else can take it before the proxy serves."""
    return socket.create_server(("127.0.0.1", 0))


class RunLog(logging.FileHandler):
    """The log of one run.

    Attributes:
        path: its file.
        problem: the last line of the first error that was logged; "" while none was.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        self.path = path
        self.problem = ""

    @property
    def written(self) -> bool:
        """Whether anything was logged."""
        return self.path.stat().st_size > 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        super().emit(record)
        if record.levelno < logging.ERROR:
            return
        error = record.exc_info[1] if record.exc_info else None
        said = str(error or record.getMessage()).strip()
        self.problem = self.problem or said.rpartition("\n")[2]


@contextlib.contextmanager
def logging_to_file() -> Iterator[RunLog]:
    """Everything that is logged, and every exception that ends a thread, goes to a file; an empty one is removed at the end."""
    try:
        directory = state_directory()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(".log", time.strftime("run-%Y%m%d-%H%M%S-"), directory)
    except OSError:  # no home directory, or a read-only one
        descriptor, name = tempfile.mkstemp(".log", "turnfold-run-")
    os.close(descriptor)
    log, root, hook = RunLog(Path(name)), logging.getLogger(), threading.excepthook
    root.addHandler(log)
    threading.excepthook = _log_thread_exception
    try:
        yield log
    finally:
        threading.excepthook = hook
        root.removeHandler(log)
        log.close()
        if not log.written:
            log.path.unlink()


def _log_thread_exception(args: threading.ExceptHookArgs) -> None:
    found = (args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback)
    logging.getLogger(__name__).error("a thread ended", exc_info=found)


@contextlib.contextmanager
def serve_beside(settings: Settings, listener: socket.socket, tally: Tally, log: RunLog) -> Iterator[None]:
    """Serve on a socket until the block ends; then every receipt is written and tallied.

    Raises:
        ProxyNotStarted: it ended, or was not ready within a minute.
        InvalidInput, SettingsError: settings under which a start is refused.
    """
    check_files(settings)
    build(settings)  # report a wrong setting here instead of in a log
    config = configuration(
        settings,
        partial(build, watcher=tally),
        workers=1,
        log_config=None,
        timeout_graceful_shutdown=_STREAMS_PATIENCE,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="turnfold-proxy", daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_PATIENCE
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise ProxyNotStarted("the proxy did not start" + (f": {log.problem}" if log.problem else ""))
        time.sleep(0.01)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(_STOP_PATIENCE)
