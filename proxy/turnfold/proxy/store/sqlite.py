"""A store in one SQLite file, shared by the processes of a machine.

Lives here: the schema, one thread that writes and one that reads, purging. Does not belong here: time-outs (``guard``).

WAL lets readers work beside the writer. With synchronous=NORMAL nothing is lost if the process dies, and at most the last
transactions if the machine does. The file contains user text, so only its owner may read it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Final, TypeVar

from turnfold.proxy.store.base import Batch, Item, Key, Scope, StoreFailed, StoreUnavailable

T = TypeVar("T")

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
"""  # noqa: E501 - a table a line
_TABLES: Final = ("items", "logs", "counts", "batches")

_UPSERT_ITEM: Final = (
    "INSERT INTO items VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires"
)
_ADD: Final = (
    "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
    "SET value = value + excluded.value, expires = max(expires, excluded.expires)"
)
_UNLINK: Final = (
    "DELETE FROM links WHERE NOT EXISTS "
    "(SELECT 1 FROM items i WHERE i.tenant = links.tenant AND i.kind = links.kind AND i.id = links.id)"
)
_CREATING: Final = threading.Lock()
_LOCK_WAIT: Final = 5.0
_PURGE_EVERY: Final = 60.0


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
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


class _Thread:
    """One thread with one connection, opened when it is first needed."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"turnfold-store-{name}")
        self._connection: sqlite3.Connection | None = None
        self._closed = threading.Event()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _create(self._path)
            connection = sqlite3.connect(self._path, timeout=_LOCK_WAIT, isolation_level=None)
            try:
                connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.executescript(_SCHEMA)
            except sqlite3.Error:  # no database, or a full disk
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _work(self, job: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return job(self._connect())
        except sqlite3.OperationalError as exc:
            raise StoreUnavailable(f"SQLite: {exc}") from exc
        except sqlite3.Error as exc:
            raise StoreFailed(f"SQLite: {exc}") from exc
        except OSError as exc:
            raise StoreUnavailable(f"{self._path}: {exc.strerror or exc}") from exc

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed.is_set():
            raise StoreUnavailable("the store is closed")
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._work, job)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            await asyncio.get_running_loop().run_in_executor(self._executor, self._disconnect)
            self._executor.shutdown(wait=False)


class _Transaction:
    """BEGIN IMMEDIATE to COMMIT: the lock is taken before the first read, so nothing read here is stale."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        self._connection.execute("BEGIN IMMEDIATE")
        return self._connection

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        self._connection.execute("COMMIT" if kind is None else "ROLLBACK")


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
    return None if row is None else bytes(row[0])


class SqliteStore:
    """A store in a file.

    Args:
        path: the file; a missing directory is created.
        max_bytes: maximum size of the file; above it the items that expire first are evicted.
    """

    def __init__(self, path: Path, max_bytes: int = 4 * 2**30) -> None:
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
        def pragma(name: str) -> int:
            return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

        excess = (pragma("page_count") - pragma("freelist_count")) * pragma("page_size") - self._max_bytes
        going: list[tuple[int]] = []
        with closing(connection.execute("SELECT rowid, length(value) FROM items ORDER BY expires")) as rows:
            while excess > 0 and (row := rows.fetchone()):
                going.append((row[0],))
                excess -= row[1]
        connection.executemany("DELETE FROM items WHERE rowid = ?", going)
        return len(going)

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
        return [Key(*map(_text, row)) for row in rows]

    async def delete(self, scope: Scope) -> int:
        clause, values = _where(scope)

        def job(connection: sqlite3.Connection) -> int:
            count = f"SELECT count(*) FROM items WHERE {clause} AND expires > ?"  # noqa: S608 - the clause is ours
            live = int(connection.execute(count, (*values, time.time())).fetchone()[0])
            connection.execute(f"DELETE FROM items WHERE {clause}", values)  # noqa: S608 - the clause is ours
            connection.execute(_UNLINK)
            return live

        return await self._write(job)

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
        return [bytes(line) for _, line in page], page[-1][0] if len(rows) > limit else None

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        sql = "SELECT field, value FROM counts WHERE name = ? AND expires > ?"

        def job(connection: sqlite3.Connection) -> list[dict[str, int]]:
            tables = (connection.execute(sql, (_blob(name), time.time())) for name in names)
            return [{_text(counter): value for counter, value in table} for table in tables]

        return await self._reader.run(job)

    async def ping(self) -> None:
        def job(connection: sqlite3.Connection) -> None:
            with closing(connection.execute("SELECT 1 FROM items LIMIT 1")) as cursor:
                cursor.fetchone()

        await self._reader.run(job)

    async def close(self) -> None:
        await self._writer.close()
        await self._reader.close()
