"""Non-blocking log output: lines that nobody reads are dropped and counted.

The log handler of a serving process. What a line looks like is up to ``log_lines``.

A pipe that nobody reads is full after 64 KiB; a plain write to it then blocks for good, and the event loop with it.
"""

from __future__ import annotations

import io
import logging
import os
import select
import stat
import sys
from typing import Final

#: As much as a pipe takes at once when it is said to be writable (POSIX).
_ATOMIC: Final = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512


class LinesHandler(logging.Handler):
    """Writes lines to standard error as long as somebody reads them; then says how many were dropped meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, or count it as dropped."""
        try:
            text = f"{self.format(record)}\n"
            if self._dropped:
                text = f"{self.format(_telling(self._dropped))}\n{text}"
        except (ValueError, TypeError, KeyError):  # a message and its arguments that do not fit: logging shows where
            self.handleError(record)
            return
        try:
            _write(text)
        except OSError:
            self._dropped += 1
        else:
            self._dropped = 0


def _telling(dropped: int) -> logging.LogRecord:
    message = "log lines dropped because nobody read them: %d"
    return logging.LogRecord("turnfold", logging.WARNING, __file__, 0, message, (dropped,), None)


def _write(text: str) -> None:
    """Write to standard error in pieces, without waiting if it is a pipe, a socket or a terminal.

    Raises:
        OSError: it takes no more now, or is closed.
    """
    stream = sys.stderr
    if stream is None or stream.closed:
        raise BrokenPipeError
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:  # it stands for something in memory: nothing to wait for
        stream.write(text)
        return
    line = memoryview(text.encode(errors="backslashreplace"))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.write(descriptor, line)
        return
    while line:
        if not _takes_more(descriptor):
            raise BlockingIOError
        line = line[os.write(descriptor, line[:_ATOMIC]) :]


def _takes_more(descriptor: int) -> bool:
    if not hasattr(select, "poll"):
        return True
    watched = select.poll()
    watched.register(descriptor, select.POLLOUT)
    return any(event & select.POLLOUT for _, event in watched.poll(0))
