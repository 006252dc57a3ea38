"""Looking for damage in a SQLite file.

The check itself, and a server's check of its own file after startup. ``store.sqlite`` deals with a damaged file; ``checkup``
advises the operator.

A running Turnfold notices damage only where it reads, and whatever it writes until then goes into the damaged file. So the file
is checked once after a start: by one of the processes that share it, with the lowest priority, for a few seconds at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from turnfold.proxy.incidents import Incidents
from turnfold.proxy.store.base import Item, Key, Store, StoreError
from turnfold.proxy.store.sqlite import SqliteStore
from turnfold.proxy.store.sqlite_file import FileIdentity, is_damage

_AFTER: Final = 5.0  # seconds after startup: the first requests go first
_SECONDS: Final = 10.0
_LARGEST: Final = 2**30  # bytes: a second or two of processor time, and about as much disk time
_ONCE_IN: Final = 600.0  # seconds until another process, or the same after a restart, checks again
_OPCODES: Final = 10_000
_IDLE: Final = 19

_log = logging.getLogger(__name__)


class FileLook(NamedTuple):
    """The result of a check.

    Attributes:
        problem: what is wrong; "" if nothing is.
        damaged: whether the file is a database with damage, and not out of reach or something else.
        whole: whether the whole file was checked.
    """

    problem: str = ""
    damaged: bool = False
    whole: bool = True


def find_damage(path: Path, seconds: float) -> FileLook:
    """Check a file, for at most the given number of seconds."""
    end = time.monotonic() + seconds
    try:
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
    except sqlite3.Error as exc:
        return FileLook(str(exc))
    with contextlib.closing(connection):
        connection.set_progress_handler(lambda: time.monotonic() > end, _OPCODES)
        try:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.Error as exc:
            interrupted = getattr(exc, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT
            return FileLook(whole=False) if interrupted else FileLook(str(exc), is_damage(exc))
    return FileLook() if found == "ok" else FileLook(" ".join(found.split()), damaged=True)


class DamagedFile(Exception):
    """The check after startup found damage."""


class FileCheck:
    """A server's check of its own file.

    Args:
        store: whose file it is, as all processes share it.
    """

    def __init__(self, backend: SqliteStore, store: Store, incidents: Incidents) -> None:
        self._backend = backend
        self._store = store
        self._incidents = incidents

    async def run(self) -> None:
        """Look once; a damaged file is set aside, logged and counted, like one that is found damaged later."""
        await asyncio.sleep(_AFTER)
        path = self._backend.path
        with contextlib.suppress(FileNotFoundError, PermissionError, NotADirectoryError):  # the store reports the problem itself
            found = path.stat()
            if found.st_size > _LARGEST:
                _log.info("%s is not checked for damage: it has %d MB; turnfold doctor checks it", path, found.st_size >> 20)
            elif await self._is_ours():
                await self._look(path, (found.st_dev, found.st_ino))

    async def _is_ours(self) -> bool:
        """Whether no other process has checked recently. If the store cannot tell, it may be damaged: check it."""
        try:
            return await self._store.swap(None, Item(Key("", "check", "file"), b"1", _ONCE_IN))
        except StoreError:
            return True

    async def _look(self, path: Path, file: FileIdentity) -> None:
        done: asyncio.Future[FileLook] = asyncio.get_running_loop().create_future()
        loop = asyncio.get_running_loop()

        def look() -> None:
            found = _look_idly(path)
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(lambda: None if done.done() else done.set_result(found))

        # A separate thread, because its priority cannot be raised again; shutdown does not wait for it.
        threading.Thread(target=look, name="turnfold-store-check", daemon=True).start()
        found = await done
        if not found.whole:
            _log.info("%s is too large to be checked for damage in %.0f s; turnfold doctor checks it", path, _SECONDS)
        elif found.damaged:
            _log.error("%s: %s", path, found.problem)
            self._incidents.add("store-check", DamagedFile(), path.name, "the file, under another name")
            await self._backend.set_aside(file)


def _look_idly(path: Path) -> FileLook:
    with contextlib.suppress(OSError, AttributeError):
        if sys.platform == "linux":  # on other systems this would be the priority of the whole process
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _IDLE)
    return find_damage(path, _SECONDS)
