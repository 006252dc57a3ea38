"""Where the server listens.

This module checks an address and makes a Unix socket with its file. Serving is up to ``server``.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from turnfold.config.serving import ServerSettings
from turnfold.config.sources import SettingsError

_PORT_PROBLEMS: Final = frozenset({errno.EADDRINUSE, errno.EACCES})
_BACKLOG: Final = 2048  # as uvicorn's
#: Who may connect can use everything that this Turnfold can: the owner and the group, which a web server in front can join.
_MODE: Final = 0o660


def check_address(server: ServerSettings) -> None:
    """Check that the address can be listened on: uvicorn's own error does not name the setting."""
    problem: OSError | None = None
    try:
        found = socket.getaddrinfo(server.host, server.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as exc:
        found, problem = [], exc
    for family, kind, _, _, address in found:
        try:
            with socket.socket(family, kind) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:  # as the server's: :: does not take IPv4, nor ::ffff:127.0.0.1 anything
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind(address)
            return
        except OSError as exc:  # a name may stand for several addresses, of which one is enough
            problem = exc
    if problem is not None:
        wrong = "TURNFOLD_PORT" if problem.errno in _PORT_PROBLEMS else "TURNFOLD_HOST"
        why = (problem.strerror or str(problem)).lower()
        hint = "; stop what listens there, or choose another port" if problem.errno == errno.EADDRINUSE else ""
        raise SettingsError(f"{wrong}: cannot listen on {server.host!r}, port {server.port}: {why}{hint}") from problem


@contextlib.contextmanager
def unix_listener(path: Path) -> Iterator[socket.socket]:
    """A Unix socket that is listened on, readable by its owner and group; its file goes when the block ends.

    A file that a crash has left is replaced; one on which somebody listens, or that is no socket, is not.

    Raises:
        SettingsError: nobody can listen there; names the setting.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _clear(path)
        before = os.umask(0o777 & ~_MODE)  # so that others can never connect
        try:
            listener.bind(str(path))
        finally:
            os.umask(before)
        listener.listen(_BACKLOG)
    except OSError as exc:
        listener.close()
        why = (exc.strerror or str(exc)).lower()
        raise SettingsError(f"TURNFOLD_UDS: cannot listen on {str(path)!r}: {why}") from exc
    made = path.stat().st_ino
    try:
        yield listener
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            if path.stat().st_ino == made:  # unless a successor has replaced it
                path.unlink()


def _clear(path: Path) -> None:
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise OSError(errno.EEXIST, "the file there is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, "somebody listens there")
