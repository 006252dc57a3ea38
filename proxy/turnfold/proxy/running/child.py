"""The command as a process: its signals and its exit status.

This module starts the command, passes signals on, and waits. Its environment comes from ``environment``.

The command stays in our process group, as under ``env`` or ``nice``, so terminals and job control treat both as one job: whatever
is typed (Ctrl-C, Ctrl-Z) reaches it from the terminal itself and is not passed on a second time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final

_FORWARDED: Final = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_TYPED: Final = frozenset({signal.SIGINT, signal.SIGQUIT})
#: Exit statuses of shells for commands that do not start.
NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126


class CommandNotStarted(Exception):
    """The command did not start.

    Attributes:
        status: the exit status that a shell would give.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def find_program(name: str, environment: Mapping[str, str]) -> str:
    """The file of a program.

    Raises:
        CommandNotStarted: there is none, or it is not executable.
    """
    path = environment.get("PATH", os.defpath)
    if found := shutil.which(name, path=path):
        return found
    if shutil.which(name, os.F_OK, path) or os.path.isdir(name):
        raise CommandNotStarted(f"{name}: not executable", NOT_EXECUTABLE)
    raise CommandNotStarted(f"{name}: command not found", NOT_FOUND)


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command to its end; gives its exit status, 128 + n where signal n ended it.

    Raises:
        CommandNotStarted: it did not start.
    """
    with _forwarding() as forwarding:
        process = _start(command, environment, forwarding.starting)
        forwarding.begin(process)
        status = process.wait()
    return status if status >= 0 else 128 - status


def _start(command: Sequence[str], environment: Mapping[str, str], starting: Callable[[], None]) -> subprocess.Popen[bytes]:
    program = find_program(command[0], environment)
    starting()
    try:
        return subprocess.Popen(command, executable=program, env=environment)  # noqa: S603 - the user's own command
    except OSError as exc:
        if exc.errno == errno.ENOEXEC:  # a script without a first line that names its shell
            starting()
            return subprocess.Popen(["/bin/sh", program, *command[1:]], env=environment)  # noqa: S603 - the same
        status = NOT_FOUND if exc.errno == errno.ENOENT else NOT_EXECUTABLE
        raise CommandNotStarted(f"{command[0]}: {(exc.strerror or str(exc)).lower()}", status) from exc


class _Forwarding:
    """Passes signals on to the command; those that come before it has started as soon as it has.

    What is typed while it starts has reached it from the terminal already: nearly all of that time it is there.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._before = 0  # how many of these came before it was being started

    def starting(self) -> None:
        self._before = len(self._early)

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        for at, number in enumerate(self._early):
            if at < self._before or not _is_typed(number, process.pid):
                process.send_signal(number)

    def handle(self, number: int, frame: FrameType | None) -> Any:
        del frame
        if self._process is None:
            self._early.append(number)
        elif not _is_typed(number, self._process.pid):
            self._process.send_signal(number)


def _is_typed(number: int, pid: int) -> bool:
    """Whether the terminal sent a signal, to the command as well: only one in the foreground gets any from there."""
    if number not in _TYPED:
        return False
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp() == os.getpgid(pid)
    except OSError:
        return False
    finally:
        os.close(terminal)


@contextlib.contextmanager
def _forwarding() -> Iterator[_Forwarding]:
    """Handlers for as long as the command runs. What is ignored (``nohup``) stays so, here and in the command."""
    forwarding = _Forwarding()
    before = {number: signal.getsignal(number) for number in _FORWARDED}
    taken = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in taken:
        signal.signal(number, forwarding.handle)
    try:
        yield forwarding
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
