"""The store's SQLite file, and a thread that is connected to it.

The schema, making the file and setting a damaged one aside, connections, transactions. ``sqlite`` reads and writes;
``proxy.file_check`` looks for damage.

A file that turns out damaged is kept beside the new one that takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from turnfold.proxy.store.base import StoreFailed, StoreRefused, StoreUnavailable
from turnfold.proxy.store.records import left_out

T = TypeVar("T")

#: Identifies the file at a path: device and inode.
FileIdentity = tuple[int, int]

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS items (tenant BLOB, kind BLOB, id BLOB, value BLOB NOT NULL, expires REAL NOT NULL, PRIMARY KEY (tenant, kind, id));
CREATE INDEX IF NOT EXISTS items_expires ON items (expires);
CREATE TABLE IF NOT EXISTS links (tenant BLOB, conversation BLOB, kind BLOB, id BLOB, PRIMARY KEY (tenant, conversation, kind, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_item ON links (tenant, kind, id);
CREATE TABLE IF NOT EXISTS logs (seq INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL, line BLOB NOT NULL, expires REAL NOT NULL);
CREATE INDEX IF NOT EXISTS logs_name ON logs (name, seq);
CREATE INDEX IF NOT EXISTS logs_expires ON logs (expires);
CREATE TABLE IF NOT EXISTS counts (name BLOB, field BLOB, value INTEGER NOT NULL, expires REAL NOT NULL, PRIMARY KEY (name, field)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches (id BLOB PRIMARY KEY, expires REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sizes (tenant BLOB PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
"""  # noqa: E501 - a table a line
ROW: Final = 300  # weight of a row besides its value: key, indexes, label
# As triggers, so that an earlier release that uses the same file keeps the sums correct.
_SIZES: Final = tuple(
    statement.replace("ROW", str(ROW))
    for statement in (
        "CREATE INDEX IF NOT EXISTS items_tenant ON items (tenant, expires)",
        "INSERT OR REPLACE INTO sizes SELECT tenant, sum(length(value) + ROW) FROM items GROUP BY tenant",
        "CREATE TRIGGER IF NOT EXISTS items_added AFTER INSERT ON items BEGIN"
        " INSERT INTO sizes VALUES (new.tenant, length(new.value) + ROW)"
        " ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes; END",
        "CREATE TRIGGER IF NOT EXISTS items_changed AFTER UPDATE OF value ON items BEGIN"
        " UPDATE sizes SET bytes = bytes + length(new.value) - length(old.value) WHERE tenant = new.tenant; END",
        "CREATE TRIGGER IF NOT EXISTS items_gone AFTER DELETE ON items BEGIN"
        " UPDATE sizes SET bytes = bytes - length(old.value) - ROW WHERE tenant = old.tenant;"
        " DELETE FROM sizes WHERE tenant = old.tenant AND bytes <= 0; END",
    )
)
# user_version of the file: from the first release, without sums; upgraded from that, with remains in free space; clean.
_UNSUMMED, _UNSCRUBBED, CLEAN = 0, 1, 2

_log = logging.getLogger(__name__)

_CREATING: Final = threading.Lock()
_LOCK_WAIT: Final = 5.0
_LONGEST_WAL: Final = 4 * 2**20  # what stays of a write-ahead log that one large transaction has stretched


def _create(path: Path) -> None:
    """Create the file, readable only by its owner.

    An existing file is never opened here: closing it would drop this process's locks (POSIX advisory locks end when the process
    closes any of its descriptors).
    """
    with _CREATING:
        if not path.exists():
            for rest in ("-wal", "-shm"):  # left over from a deleted file; SQLite would use them for the new one
                path.with_name(path.name + rest).unlink(missing_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _aside(path: Path) -> Path:
    """The path for a damaged file of this name."""
    return path.with_name(path.name + ".damaged")


def _set_aside(path: Path, seen: FileIdentity | None) -> None:
    """Rename a damaged store file, unless another thread or process has done so. Replaces one renamed earlier.

    A file that is not a database stays, since a setting may name the wrong one.
    """
    with _CREATING:
        if seen is None or _identity(path) != seen:
            return
        aside = _aside(path)
        for rest in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + rest).replace(aside.with_name(aside.name + rest))
        path.replace(aside)
        _log.error("%s is damaged; Turnfold renamed it to %s and starts a new one", path, aside.name)
        left_out["store file"] += 1


def is_damage(exc: sqlite3.Error) -> bool:
    """Whether an error means that the file is a damaged database."""
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT


def _why_not_opened(path: Path, exc: sqlite3.Error) -> str:
    """The reason that SQLite omits: which of its files, or their directory, is not writable, and its owner."""
    if getattr(exc, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return ""
    if path.is_dir():
        return f"; {path} is a directory"
    for one in (path.parent, path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        if one.exists() and not os.access(one, os.R_OK | os.W_OK):
            return f"; {one} cannot be written to{_whose(one)}"
    return ""


def _why_not_understood(path: Path, exc: sqlite3.Error) -> str:
    """What SQLite cannot know where it has another table than this release asks for: a newer release has changed the file."""
    if getattr(exc, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR:
        return ""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as connection:
        version = pragma(connection, "user_version")
        if version > CLEAN:
            return f"; a newer Turnfold has changed {path} (version {version}, and this one knows up to {CLEAN})"
    return ""


def _whose(path: Path) -> str:
    owner, mine = path.stat().st_uid, getattr(os, "geteuid", lambda: -1)()  # Windows has no such ids
    return "" if mine in (-1, owner) else f" (it belongs to user {owner}, and Turnfold runs as user {mine})"


def _identity(path: Path) -> FileIdentity | None:
    """The identity of the file at a path; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class Transaction:
    """From BEGIN IMMEDIATE to COMMIT: the lock is taken before the first read, so nothing read within is stale."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """The value of an integer pragma."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def release(connection: sqlite3.Connection, pages: int = 0) -> None:
    """Return free pages of the file to the system; 0: all of them.

    As a script, which runs to its end. `execute` stops at the first step of a statement without columns, and each step of this
    one releases a single page.
    """
    connection.executescript(f"PRAGMA incremental_vacuum({pages})")


def _prepare(connection: sqlite3.Connection) -> None:
    """Create the tables, and the sums by tenant if an earlier release kept none."""
    fresh = not pragma(connection, "schema_version")
    connection.executescript(_SCHEMA)
    if pragma(connection, "user_version") != _UNSUMMED:
        return
    with Transaction(connection):
        if pragma(connection, "user_version") == _UNSUMMED:  # another process may have been first
            for statement in _SIZES:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {CLEAN if fresh else _UNSCRUBBED}")


class LostFiles:
    """The lost files of a path, shared by all threads connected to it, so that each is reported once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._told: FileIdentity | None = None
        self._telling = threading.Lock()

    def tell(self, file: FileIdentity | None) -> None:
        """Log and count a deleted or replaced file, unless another thread has done so, or it was renamed as damaged, which is
        reported separately.
        """
        with self._telling:
            if file in (self._told, _identity(_aside(self._path))):
                return
            self._told = file
        _log.warning("%s was deleted or replaced: Turnfold opens the file of that name; the old data is lost", self._path)
        left_out["store file"] += 1


class ConnectionThread:
    """A thread with a connection, opened on first use."""

    def __init__(self, path: Path, name: str, lost: LostFiles) -> None:
        self._path = path
        self._lost = lost
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"turnfold-store-{name}")
        self._connection: sqlite3.Connection | None = None
        self._file: FileIdentity | None = None
        self._closed = threading.Event()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and _identity(self._path) != self._file:
            # Otherwise it would be written to forever, and nobody could read it again.
            self._lost.tell(self._file)
            self._disconnect()
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create(self._path)
            connection = sqlite3.connect(self._path, timeout=_LOCK_WAIT, isolation_level=None)
            try:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA secure_delete = ON")
                connection.execute(f"PRAGMA journal_size_limit = {_LONGEST_WAL}")
                _prepare(connection)
            except sqlite3.Error as exc:  # not a database, or a full disk
                connection.close()
                if is_damage(exc):
                    _set_aside(self._path, _identity(self._path))
                raise
            self._connection, self._file = connection, _identity(self._path)
        return self._connection

    def _work(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return job(self._connect())
        except sqlite3.OperationalError as exc:
            why = _why_not_opened(self._path, exc) or _why_not_understood(self._path, exc)
            raise StoreUnavailable(f"SQLite: {exc}{why}") from exc
        except (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.ProgrammingError, OverflowError, ValueError, TypeError) as exc:
            raise StoreRefused(f"SQLite: {type(exc).__name__}") from exc
        except sqlite3.Error as exc:
            if is_damage(exc):
                _set_aside(self._path, self._file)  # the next call opens a new file
            raise StoreFailed(f"SQLite: {exc}") from exc
        except OSError as exc:
            if isinstance(exc, FileExistsError | NotADirectoryError) and exc.filename:
                raise StoreUnavailable(f"{self._path}: {exc.filename} is no directory") from exc
            raise StoreUnavailable(f"{self._path}: {exc.strerror or exc}") from exc

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Run a job with the connection, in the thread.

        Raises:
            StoreError: it failed.
        """
        if self._closed.is_set():
            raise StoreUnavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._work, job)

    async def set_aside(self, file: FileIdentity) -> None:
        """Rename the file after pending writes to it."""

        def job() -> None:
            with contextlib.suppress(OSError):
                _set_aside(self._path, file)

        if not self._closed.is_set():
            await asyncio.get_running_loop().run_in_executor(self._executor, job)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def close(self) -> None:
        """Close the connection and end the thread."""
        if not self._closed.is_set():
            self._closed.set()
            await asyncio.get_running_loop().run_in_executor(self._executor, self._disconnect)
            self._executor.shutdown(wait=False)
