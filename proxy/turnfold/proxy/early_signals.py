"""Signals that arrive before ``turnfold serve`` has a server, and those that never concern it.

A start takes a second or more, and by default each of these signals would end it without a word; later, SIGUSR1 and SIGUSR2 would
end open streams. Log rotation and process managers send those two to programs that reread their files, which Turnfold does not.

A library may swallow the exception that a signal raises while it is imported or called back (``except:`` in Python, an error that
C clears). So the signal is remembered, and obeyed before the server starts.

How a serving process stops is in ``stopping``. This module must stay quick to import.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

_STOPPING = ("SIGTERM", "SIGHUP")  # by name, because Windows lacks some of them
_IGNORED = ("SIGUSR1", "SIGUSR2")
_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)

_came: list[int] = []


@contextlib.contextmanager
def early_signals_answered() -> Iterator[None]:
    """Within the block, a signal to stop prints a line and exits. Handlers that are set already stay."""
    wanted = dict.fromkeys(_STOPPING, _stop) | dict.fromkeys(_IGNORED, signal.SIG_IGN) | {"SIGINT": _interrupt}
    known = {number: wanted[number.name] for number in signal.Signals if number.name in wanted}
    ours = {number: handler for number, handler in known.items() if signal.getsignal(number) in _DEFAULTS}
    before = {number: signal.signal(number, handler) for number, handler in ours.items()}
    _came.clear()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def obey_early_signals() -> None:
    """Act on a signal whose exception got lost; called right before the server takes over."""
    if _came:
        signal.raise_signal(_came[-1])


def _interrupt(number: int, frame: FrameType | None) -> None:
    _came.append(number)
    signal.default_int_handler(number, frame)


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    if number not in _came:
        sys.stderr.write(f"turnfold: {signal.Signals(number).name} came before the server had started; stopping\n")
    _came.append(number)
    raise SystemExit(0)
