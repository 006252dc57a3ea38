"""A store in one SQLite file, shared by the processes of a machine.

Lives here: the schema, one thread that writes and one that reads, purging, leaving no trace of what was deleted. Does not belong
here: time-outs (``guard``).

WAL lets readers work beside the writer. With synchronous=NORMAL nothing is lost if the process dies, and at most the last
transactions if the machine does. The file contains user text, so only its owner may read it.

A file that turns out damaged is kept beside the new one that takes its place.

What is deleted, expired or overwritten is zeroed in the file (secure_delete). It may still stand in the write-ahead log, which
`scrub` empties. Files of earlier releases hold remains in free space; the first `scrub` rebuilds them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeVar

from turnfold.proxy.store.base import Batch, Item, Key, Scope, StoreFailed, StoreRefused, StoreUnavailable
from turnfold.proxy.store.fair import fair_level
from turnfold.proxy.store.records import left_out, report_unreadable

T = TypeVar("T")

#: Which file a path names: device and inode.
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
_TABLES: Final = ("items", "logs", "counts", "batches")
_ROW: Final = 300  # what a row weighs beside its value: key, indexes, label
# By triggers and not by this module, so that an earlier release on the same file keeps the sums too.
_SIZES: Final = tuple(
    statement.replace("ROW", str(_ROW))
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
# user_version of the file. Of the first release: no sums. Of one that had a predecessor: with sums, remains in free space.
_UNSUMMED, _UNSCRUBBED, _CLEAN = 0, 1, 2

_UPSERT_ITEM: Final = (
    "INSERT INTO items VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires"
)
_ADD: Final = (
    "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
    # A sum that is no whole number, because it is damaged or has outgrown 64 bits, starts anew.
    "SET value = CASE WHEN typeof(value + excluded.value) = 'integer' THEN value + excluded.value ELSE excluded.value END, "
    "expires = max(expires, excluded.expires)"
)
_UNLINK: Final = (
    "DELETE FROM links WHERE NOT EXISTS "
    "(SELECT 1 FROM items i WHERE i.tenant = links.tenant AND i.kind = links.kind AND i.id = links.id)"
)
_log = logging.getLogger(__name__)

_CREATING: Final = threading.Lock()
_LOCK_WAIT: Final = 5.0
_PURGE_EVERY: Final = 60.0
_DELETED_AT_ONCE: Final = 500  # items: the lock is free for others in between
_LEAST_SHARE: Final = 2  # items keep at least half of the room, however many receipts there are
_SCRUB_TRIES: Final = 10
_SCRUB_PAUSE: Final = 0.2


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")


def _key(key: Key) -> tuple[bytes, bytes, bytes]:
    return _blob(key.tenant), _blob(key.kind), _blob(key.id)


def _create(path: Path) -> None:
    """Create the file, readable by its owner only. An existing file is never opened here: closing it would drop this process's
    locks (POSIX advisory locks end with the first close of any of a process's descriptors)."""
    with _CREATING:
        if not path.exists():
            for rest in ("-wal", "-shm"):  # of a file that was deleted: it would be taken for the new one's
                path.with_name(path.name + rest).unlink(missing_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def _set_aside(path: Path, seen: FileIdentity | None) -> None:
    """Move a damaged file of ours out of the way, unless another thread or process has done so; it replaces one set aside before.

    A file that is no database stays: a setting may name the wrong one.
    """
    with _CREATING:
        if seen is None or _identity(path) != seen:
            return
        aside = path.with_name(path.name + ".damaged")
        for rest in ("-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + rest).replace(aside.with_name(aside.name + rest))
        path.replace(aside)
        _log.error("%s is damaged; it is kept as %s, and a new one is begun", path, aside.name)
        left_out["store file"] += 1


def is_damage(exc: sqlite3.Error) -> bool:
    """Whether an error means that the file is a database with damage."""
    return getattr(exc, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_CORRUPT


def _identity(path: Path) -> FileIdentity | None:
    """Which file a path names; None: none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class _Transaction:
    """BEGIN IMMEDIATE to COMMIT: the lock is taken before the first read, so nothing read here is stale."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _prepare(connection: sqlite3.Connection) -> None:
    """Tables, and the sums by tenant where an earlier release kept none."""
    fresh = not _pragma(connection, "schema_version")
    connection.executescript(_SCHEMA)
    if _pragma(connection, "user_version") != _UNSUMMED:
        return
    with _Transaction(connection):
        if _pragma(connection, "user_version") == _UNSUMMED:  # another process may have been first
            for statement in _SIZES:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {_CLEAN if fresh else _UNSCRUBBED}")


class _Thread:
    """One thread with one connection, opened when it is first needed."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"turnfold-store-{name}")
        self._connection: sqlite3.Connection | None = None
        self._file: FileIdentity | None = None
        self._closed = threading.Event()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is not None and _identity(self._path) != self._file:
            # It would be written to for ever, and nobody could read it again.
            _log.warning(
                "%s was deleted or replaced: the file of that name is opened, what was in the old one is lost", self._path
            )
            left_out["store file"] += 1
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
                _prepare(connection)
            except sqlite3.Error as exc:  # no database, or a full disk
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
            raise StoreUnavailable(f"SQLite: {exc}") from exc
        except (sqlite3.DataError, sqlite3.IntegrityError, sqlite3.ProgrammingError, OverflowError, ValueError, TypeError) as exc:
            raise StoreRefused(f"SQLite: {type(exc).__name__}") from exc
        except sqlite3.Error as exc:
            if is_damage(exc):
                _set_aside(self._path, self._file)  # the next call opens a new one
            raise StoreFailed(f"SQLite: {exc}") from exc
        except OSError as exc:
            raise StoreUnavailable(f"{self._path}: {exc.strerror or exc}") from exc

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed.is_set():
            raise StoreUnavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._work, job)

    async def set_aside(self, file: FileIdentity) -> None:
        """Move the file out of the way, behind what is being written to it."""

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
        if not self._closed.is_set():
            self._closed.set()
            await asyncio.get_running_loop().run_in_executor(self._executor, self._disconnect)
            self._executor.shutdown(wait=False)


def _where(scope: Scope) -> tuple[str, list[bytes]]:
    clause, values = "items.tenant = ?", [_blob(scope.tenant)]
    if scope.kind is not None:
        clause += " AND items.kind = ?"
        values.append(_blob(scope.kind))
    if scope.conversation is not None:
        clause += (
            " AND EXISTS (SELECT 1 FROM links WHERE links.tenant = items.tenant AND links.kind = items.kind"
            " AND links.id = items.id AND links.conversation = ?)"
        )
        values.append(_blob(scope.conversation))
    return clause, values


def _save(connection: sqlite3.Connection, items: Iterable[Item]) -> None:
    now = time.time()
    for item in items:
        key = _key(item.key)
        connection.execute(_UPSERT_ITEM, (*key, item.value, now + item.ttl))
        if item.conversation is not None:
            link = (key[0], _blob(item.conversation), key[1], key[2])
            connection.execute("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", link)


def _fetch(connection: sqlite3.Connection, key: Key) -> bytes | None:
    sql = "SELECT value FROM items WHERE tenant = ? AND kind = ? AND id = ? AND expires > ?"
    row = connection.execute(sql, (*_key(key), time.time())).fetchone()
    return None if row is None else _stored_bytes("item", row[0])


def _stored_bytes(what: str, value: Any) -> bytes | None:
    """A value as it was stored; None, which is told, where something else stands in its place."""
    if isinstance(value, bytes):
        return value
    report_unreadable(what, f"it is {type(value).__name__} and not bytes")
    return None


def _stored_texts(row: Sequence[Any]) -> tuple[str, ...] | None:
    """The columns of a row as text; None, which is told, where they are none."""
    try:
        return tuple(map(_text, row))
    except (ValueError, TypeError, AttributeError) as exc:
        report_unreadable("key", f"it is no text ({type(exc).__name__})")
    return None


def _sums(rows: Iterable[tuple[Any, Any]]) -> dict[str, int]:
    """A table of counts, without what is no count."""
    found: dict[str, int] = {}
    for counter, value in rows:
        if type(counter) is bytes and type(value) is int and counter.isascii():  # nearly all, and there are many
            found[counter.decode()] = value
        elif (texts := _stored_texts((counter,))) is None:
            continue
        elif type(value) is int:
            found[texts[0]] = value
        else:
            report_unreadable("sum", f"it is {type(value).__name__} and no whole number")
    return found


def _cut(connection: sqlite3.Connection, tenant: bytes, excess: int) -> int:
    """Evict a tenant's items that expire first. Returns how many."""
    going: list[tuple[int]] = []
    sql = "SELECT rowid, length(value) FROM items WHERE tenant = ? ORDER BY expires"
    with closing(connection.execute(sql, (tenant,))) as rows:
        while excess > 0 and (row := rows.fetchone()):
            going.append((row[0],))
            excess -= row[1] + _ROW
    connection.executemany("DELETE FROM items WHERE rowid = ?", going)
    return len(going)


class SqliteStore:
    """A store in a file.

    Args:
        path: the file; a missing directory is created.
        max_bytes: maximum size of the file; above it the items of the largest tenants that expire first are evicted.
        share: maximum part of it that one tenant's items may take.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path, max_bytes: int = 4 * 2**30, share: float = 1.0) -> None:
        self.path = path
        self._share = share
        self._writer = _Thread(path, "writer")
        self._reader = _Thread(path, "reader")
        self._max_bytes = max_bytes
        self._next_purge = time.monotonic() + 1

    async def _write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        def transaction(connection: sqlite3.Connection) -> T:
            with _Transaction(connection):
                result = job(connection)
            self._purge(connection)
            return result

        return await self._writer.run(transaction)

    def _purge(self, connection: sqlite3.Connection) -> None:
        if time.monotonic() < self._next_purge:
            return
        self._next_purge = time.monotonic() + _PURGE_EVERY
        with _Transaction(connection):
            gone = 0
            for table in _TABLES:
                sql = f"DELETE FROM {table} WHERE expires <= ?"  # noqa: S608 - the names are ours
                gone += connection.execute(sql, (time.time(),)).rowcount
            gone += self._shrink(connection)
            if gone:
                connection.execute(_UNLINK)
        connection.execute("PRAGMA incremental_vacuum(1000)").fetchall()

    def _shrink(self, connection: sqlite3.Connection) -> int:
        sizes = {bytes(tenant): int(size) for tenant, size in connection.execute("SELECT tenant, bytes FROM sizes")}
        pages = _pragma(connection, "page_count") - _pragma(connection, "freelist_count")
        excess = pages * _pragma(connection, "page_size") - self._max_bytes
        room, level = max(sum(sizes.values()) - excess, self._max_bytes // _LEAST_SHARE), int(self._max_bytes * self._share)
        if excess > 0:
            level = min(level, fair_level(sizes.values(), room))
        return sum(_cut(connection, tenant, size - level) for tenant, size in sizes.items() if size > level)

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        return await self._reader.run(lambda connection: [_fetch(connection, key) for key in keys])

    async def put(self, items: Sequence[Item]) -> None:
        await self._write(lambda connection: _save(connection, items))

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        def job(connection: sqlite3.Connection) -> bool:
            if _fetch(connection, item.key) != expected:
                return False
            _save(connection, [item])
            return True

        return await self._write(job)

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        clause, values = _where(scope)
        sql = (
            f"SELECT tenant, kind, id FROM items WHERE {clause} AND expires > ? "  # noqa: S608 - the clause is ours
            "ORDER BY tenant, kind, id LIMIT ? OFFSET ?"
        )
        rows = await self._reader.run(
            lambda connection: connection.execute(sql, (*values, time.time(), limit, offset)).fetchall()
        )
        return [Key(*texts) for row in rows if (texts := _stored_texts(row)) is not None]

    async def delete(self, scope: Scope) -> int:
        clause, values = _where(scope)
        sql = f"SELECT tenant, kind, id, expires FROM items WHERE {clause} LIMIT {_DELETED_AT_ONCE}"  # noqa: S608 - ours

        def job(connection: sqlite3.Connection) -> tuple[int, bool]:
            rows = connection.execute(sql, values).fetchall()
            for table in ("items", "links"):
                going = ((tenant, kind, name) for tenant, kind, name, _ in rows)
                connection.executemany(f"DELETE FROM {table} WHERE tenant = ? AND kind = ? AND id = ?", going)  # noqa: S608
            return sum(expires > time.time() for *_, expires in rows), len(rows) < _DELETED_AT_ONCE

        gone, done = 0, False
        while not done:
            more, done = await self._write(job)
            gone += more
        return gone

    async def discard(self, keys: Sequence[Key]) -> int:
        def job(connection: sqlite3.Connection) -> int:
            live = 0
            for key in keys:
                live += _fetch(connection, key) is not None
                for table in ("items", "links"):
                    sql = f"DELETE FROM {table} WHERE tenant = ? AND kind = ? AND id = ?"  # noqa: S608 - the names are ours
                    connection.execute(sql, _key(key))
            return live

        return await self._write(job)

    async def record(self, batch: Batch) -> None:
        def job(connection: sqlite3.Connection) -> None:
            expires = time.time() + batch.ttl
            if not connection.execute("INSERT OR IGNORE INTO batches VALUES (?, ?)", (_blob(batch.id), expires)).rowcount:
                return
            _save(connection, batch.items)
            for name, lines in batch.lines.items():
                rows = ((_blob(name), line, time.time() + batch.life_of_lines()) for line in lines)
                connection.executemany("INSERT INTO logs (name, line, expires) VALUES (?, ?, ?)", rows)
            for name, additions in batch.additions.items():
                connection.execute("DELETE FROM counts WHERE name = ? AND expires <= ?", (_blob(name), time.time()))
                sums = ((_blob(name), _blob(counter), number, expires) for counter, number in additions.items())
                connection.executemany(_ADD, sums)

        await self._write(job)

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        sql = "SELECT seq, line FROM logs WHERE name = ? AND seq > ? AND expires > ? ORDER BY seq LIMIT ?"
        values = (_blob(name), position, time.time(), limit + 1)
        rows = await self._reader.run(lambda connection: connection.execute(sql, values).fetchall())
        page = rows[:limit]
        lines = (_stored_bytes("line of a log", line) for _, line in page)
        return [line for line in lines if line is not None], page[-1][0] if len(rows) > limit else None

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        sql = "SELECT line FROM logs WHERE name = ? AND expires > ? ORDER BY seq DESC LIMIT ? OFFSET ?"
        values = (_blob(name), time.time(), limit, skip)
        rows = await self._reader.run(lambda connection: connection.execute(sql, values).fetchall())
        lines = (_stored_bytes("line of a log", line) for (line,) in rows)
        return [line for line in lines if line is not None]

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        sql = "SELECT field, value FROM counts WHERE name = ? AND expires > ?"

        def job(connection: sqlite3.Connection) -> list[dict[str, int]]:
            tables = (connection.execute(sql, (_blob(name), time.time())) for name in names)
            return [_sums(table) for table in tables]

        return await self._reader.run(job)

    async def names(self) -> tuple[list[str], list[str]]:
        def job(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
            logs, tables = (connection.execute(f"SELECT DISTINCT name FROM {of}").fetchall() for of in ("logs", "counts"))  # noqa: S608
            return [_text(name) for (name,) in logs], [_text(name) for (name,) in tables]

        return await self._reader.run(job)

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        going = [(_blob(name), line) for name, found in lines.items() for line in found]
        cells = [(_blob(name), _blob(counter)) for name, found in fields.items() for counter in found]

        def job(connection: sqlite3.Connection) -> int:
            gone = 0
            for name in {name for name, _ in going}:
                sought = {line for of, line in going if of == name}
                rows = connection.execute("SELECT seq, line FROM logs WHERE name = ?", (name,)).fetchall()
                numbers = [(number,) for number, line in rows if bytes(line) in sought]
                gone += connection.executemany("DELETE FROM logs WHERE seq = ?", numbers).rowcount if numbers else 0
            sql = "DELETE FROM counts WHERE name = ? AND field = ?"
            return gone + (connection.executemany(sql, cells).rowcount if cells else 0)

        return await self._write(job)

    async def scrub(self) -> None:
        """Empty the write-ahead log and give free pages back.

        Raises:
            StoreUnavailable: another process reads for so long that the log cannot be emptied now.
        """

        def job(connection: sqlite3.Connection) -> bool:
            if _pragma(connection, "user_version") < _CLEAN:
                connection.execute("VACUUM")
                connection.execute(f"PRAGMA user_version = {_CLEAN}")
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

        for _ in range(_SCRUB_TRIES):
            if await self._writer.run(job):
                return
            await asyncio.sleep(_SCRUB_PAUSE)
        raise StoreUnavailable("SQLite: another process reads; the write-ahead log cannot be emptied now")

    async def set_aside(self, file: FileIdentity) -> None:
        """Keep a file that was found damaged under another name, if it is still ours; the next call begins a new one."""
        await self._writer.set_aside(file)

    async def ping(self) -> None:
        def job(connection: sqlite3.Connection) -> None:
            with closing(connection.execute("SELECT 1 FROM items LIMIT 1")) as cursor:
                cursor.fetchone()

        await self._reader.run(job)

    async def close(self) -> None:
        await self._writer.close()
        await self._reader.close()
