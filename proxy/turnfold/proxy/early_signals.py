"""Signals that reach ``turnfold serve`` before there is a server, and those that never concern it.

Lives here: what they do. Does not belong here: how a process stops that serves (``stopping``); anything whose import takes time.

A start takes a second or more, and by default each of these signals would end it without a word; later, SIGUSR1 and SIGUSR2 would
end open streams. Log rotation and process managers send those two to programs that read files anew, which Turnfold does not.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

_STOPPING = ("SIGTERM", "SIGHUP")  # by name, since Windows has not all of them
_IGNORED = ("SIGUSR1", "SIGUSR2")


@contextlib.contextmanager
def early_signals_answered() -> Iterator[None]:
    """Meanwhile an order to stop is obeyed with a line that says so. What somebody has set already stays."""
    wanted = dict.fromkeys(_STOPPING, _stop) | dict.fromkeys(_IGNORED, signal.SIG_IGN)
    known = {number: wanted[number.name] for number in signal.Signals if number.name in wanted}
    ours = {number: handler for number, handler in known.items() if signal.getsignal(number) is signal.SIG_DFL}
    for number, handler in ours.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    del frame
    sys.stderr.write(f"turnfold: {signal.Signals(number).name} came before the server had started, which therefore stops\n")
    raise SystemExit(0)
