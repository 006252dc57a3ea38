"""Ports for servers that are started as processes of their own.

A port that the kernel chose (port 0) may be given again as soon as it is closed, to another test's server or to an outgoing
connection; so these lie below those that the kernel chooses from, and each test process has a stretch of its own.
"""

from __future__ import annotations

import itertools
import os
import random
import socket
from collections.abc import Iterator
from typing import Final

_FIRST: Final = 16384  # up to 32,767: Linux chooses from 32,768 on, the others from 49,152 on
_STRETCH: Final = 1024


def _own_ports() -> Iterator[int]:
    """The ports of this process's stretch, round and round; from anywhere, since two test runs may share a machine."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % (_FIRST // _STRETCH)
    begin = random.SystemRandom().randrange(_STRETCH)  # others are seeded alike in every test process
    for number in itertools.count(begin):
        yield _FIRST + worker * _STRETCH + number % _STRETCH


_ports: Final = _own_ports()


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens, and which nobody gets who does not ask for it."""
    for port in itertools.islice(_ports, _STRETCH):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no port is free")
