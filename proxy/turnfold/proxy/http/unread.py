"""The bytes that a client has not read yet.

They are counted here and in the system's buffers. ``http11`` draws the consequences.
"""

from __future__ import annotations

import contextlib
import struct
import sys
from typing import Any

if sys.platform != "win32":
    import fcntl
    import termios


def unread_bytes(transport: Any) -> int:
    """Bytes that wait for the client at the other end of a connection.

    The system has megabytes of them, and takes more only when a third of that has gone: without these a slow client would seem to
    read nothing for minutes.
    """
    waiting: int = transport.get_write_buffer_size()
    if sys.platform != "win32":
        with contextlib.suppress(OSError):  # on systems that do not report it
            number = transport.get_extra_info("socket").fileno()
            waiting += struct.unpack("i", fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4)))[0]
    return waiting
