"""How a process stops: it stops being ready, then stops accepting connections, then finishes what it serves.

What SIGTERM does before the server's own handler, how a worker ends whose parent died, and the exit status. What is finished and
written at the end is up to ``app``.

A load balancer continues to send for a moment after it has told a process to stop. So readiness fails at once, and the listener
is closed only after a delay that the operator chooses. Ctrl-C waits for nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

import uvicorn

_PR_SET_PDEATHSIG: Final = 1
_HASTE: Final = 3.0  # seconds to wait after a second Ctrl-C
#: Seconds to stop beyond the time to drain: the ledger has 10 s for what is queued.
STOP_PATIENCE: Final = 20.0

#: Set once this process was told to stop.
told_to_stop: Final = threading.Event()

_log = logging.getLogger("turnfold.server")


def leave_gently(delay: float) -> None:
    """Make SIGTERM fail readiness, and reach the server `delay` seconds later; called where the server has set its handlers.

    A terminal that closes sends SIGHUP, which would end the process in the middle of its streams: it counts as SIGTERM, unless
    somebody has it ignored (nohup).
    """
    if threading.current_thread() is not threading.main_thread():
        return
    stop = signal.getsignal(signal.SIGTERM)
    if not callable(stop):
        return
    told_to_stop.clear()

    def handle(number: int, frame: FrameType | None) -> None:
        again = _note_order(number)
        if again or not delay:
            stop(signal.SIGTERM, frame)
            return
        later = threading.Timer(delay, stop, (signal.SIGTERM, frame))
        later.daemon = True
        later.start()

    signal.signal(signal.SIGTERM, handle)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handle)
    if signal.getsignal(signal.SIGINT) == stop:  # the server's own, which counts how often it was called

        def handle_interrupt(number: int, frame: FrameType | None) -> None:
            _note_order(number)
            stop(number, frame)

        signal.signal(signal.SIGINT, handle_interrupt)


def _note_order(number: int) -> bool:
    """Note that the process was told to stop, and log by what. Returns whether it was before."""
    again = told_to_stop.is_set()
    told_to_stop.set()
    if not again and not _has_parent():
        _log.info("stopping on %s; open requests may finish", signal.Signals(number).name)
    return again


def _has_parent() -> bool:
    """Whether a parent process logs for all workers why they stop."""
    parent = multiprocessing.parent_process()
    return parent is not None and parent.is_alive()


def end_with_parent() -> None:
    """Stop a worker when its parent dies, however that happens: it would keep the port, and nobody would restart it."""
    parent = multiprocessing.parent_process()
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent.pid:  # the parent died before that
        signal.raise_signal(signal.SIGTERM)


def _end_at_last(seconds: float) -> None:
    """End the process this many seconds from now, whatever still goes on: one task that swallows its cancellation, or one thread
    that is not done, would keep a process for ever that serves nobody."""

    def end() -> None:
        _log.error("not stopped within %g s after the listener was closed; ending now", seconds)
        logging.shutdown()
        os._exit(1)

    last = threading.Timer(seconds, end)
    last.daemon = True
    last.start()


class GracefulServer(uvicorn.Server):
    """The server of a separate process. After SIGTERM it ends with status 0, not by the signal, and in bounded time."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As the parent does; after a second Ctrl-C too, which cuts streams off, what is known of them is written."""
        _end_at_last((self.config.timeout_graceful_shutdown or 0) + STOP_PATIENCE)
        await super().shutdown(sockets)
        if not self.force_exit:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HASTE):
                open_requests = tuple(self.server_state.tasks)
                for request in open_requests:
                    request.cancel()
                await asyncio.gather(*open_requests, return_exceptions=True)
                await self.lifespan.shutdown()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """As the parent does, which raises what it captured once more at the end."""
        with super().capture_signals():
            yield
            self._captured_signals = [number for number in self._captured_signals if number != signal.SIGTERM]
