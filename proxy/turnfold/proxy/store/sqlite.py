"""A store in one SQLite file, shared by the processes of a machine.

Reads and writes, with one thread for each; purging; and leaving no trace of what was deleted. The file and its connections are in
``sqlite_file``, timeouts in ``guard``.

WAL lets readers work beside the writer. With synchronous=NORMAL nothing is lost if the process dies, and at most the last
transactions if the machine does. The file contains user text, so only its owner may read it.

What is deleted, expired or overwritten is zeroed in the file (secure_delete). It may still stand in the write-ahead log, which
`scrub` empties. Files of earlier releases hold remains in free space; the first `scrub` rebuilds them.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, TypeVar

from turnfold.proxy.store.base import Batch, Item, Key, Room, Scope, StoreUnavailable, blob, text_of
from turnfold.proxy.store.fair import fair_level
from turnfold.proxy.store.records import report_unreadable
from turnfold.proxy.store.sqlite_file import CLEAN, ROW, ConnectionThread, FileIdentity, LostFiles, Transaction, pragma, release

T = TypeVar("T")

_TABLES: Final = ("items", "logs", "counts", "batches")
_UPSERT_ITEM: Final = (
    "INSERT INTO items VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires"
)
_ADD: Final = (
    "INSERT INTO counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "
    # A sum that is not an integer, because it is damaged or exceeds 64 bits, starts again.
    "SET value = CASE WHEN typeof(value + excluded.value) = 'integer' THEN value + excluded.value ELSE excluded.value END, "
    "expires = max(expires, excluded.expires)"
)
_MERGE: Final = (
    "INSERT INTO counts SELECT ?, ?, value, expires FROM counts WHERE name = ? AND field = ? AND typeof(value) = 'integer' "
    "ON CONFLICT DO UPDATE SET value = CASE WHEN typeof(counts.value + excluded.value) = 'integer' "
    "THEN counts.value + excluded.value ELSE excluded.value END, expires = max(counts.expires, excluded.expires)"
)
_UNLINK: Final = (
    "DELETE FROM links WHERE NOT EXISTS "
    "(SELECT 1 FROM items i WHERE i.tenant = links.tenant AND i.kind = links.kind AND i.id = links.id)"
)

_PURGE_EVERY: Final = 60.0
_DELETED_AT_ONCE: Final = 500  # items: between these steps, others can get the lock
_LEAST_SHARE: Final = 2  # items keep at least one in this many parts of the room, however many receipts there are
_RELEASED: Final = 1_000  # free pages that each purge releases from the file
_MOST_RELEASED: Final = 25_000  # the same where the file is too large
_SCRUB_TRIES: Final = 10
_SCRUB_PAUSE: Final = 0.2


def _key(key: Key) -> tuple[bytes, bytes, bytes]:
    return blob(key.tenant), blob(key.kind), blob(key.id)


def _where(scope: Scope) -> tuple[str, list[bytes]]:
    clause, values = "items.tenant = ?", [blob(scope.tenant)]
    if scope.kind is not None:
        clause += " AND items.kind = ?"
        values.append(blob(scope.kind))
    if scope.conversation is not None:
        clause += (
            " AND EXISTS (SELECT 1 FROM links WHERE links.tenant = items.tenant AND links.kind = items.kind"
            " AND links.id = items.id AND links.conversation = ?)"
        )
        values.append(blob(scope.conversation))
    return clause, values


def _save(connection: sqlite3.Connection, items: Iterable[Item]) -> None:
    now = time.time()
    for item in items:
        key = _key(item.key)
        connection.execute(_UPSERT_ITEM, (*key, item.value, now + item.ttl))
        if item.conversation is not None:
            link = (key[0], blob(item.conversation), key[1], key[2])
            connection.execute("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", link)


def _fetch(connection: sqlite3.Connection, key: Key) -> bytes | None:
    sql = "SELECT value FROM items WHERE tenant = ? AND kind = ? AND id = ? AND expires > ?"
    row = connection.execute(sql, (*_key(key), time.time())).fetchone()
    return None if row is None else _stored_bytes("item", row[0])


def _stored_bytes(what: str, value: Any) -> bytes | None:
    """A value as stored; None, which is logged and counted, if its type is wrong."""
    if isinstance(value, bytes):
        return value
    report_unreadable(what, f"it is {type(value).__name__} and not bytes")
    return None


def _stored_texts(row: Sequence[Any]) -> tuple[str, ...] | None:
    """The columns of a row as text; None, which is logged and counted, if they are not text."""
    try:
        return tuple(map(text_of, row))
    except (ValueError, TypeError, AttributeError) as exc:
        report_unreadable("key", f"it is no text ({type(exc).__name__})")
    return None


def _sums(rows: Iterable[tuple[Any, Any]]) -> dict[str, int]:
    """A table of counts, without invalid ones."""
    found: dict[str, int] = {}
    for counter, value in rows:
        if type(counter) is bytes and type(value) is int and counter.isascii():  # nearly all of them
            found[counter.decode()] = value
        elif (texts := _stored_texts((counter,))) is None:
            continue
        elif type(value) is int:
            found[texts[0]] = value
        else:
            report_unreadable("sum", f"it is {type(value).__name__} and no whole number")
    return found


def _bytes_used(connection: sqlite3.Connection) -> int:
    """The size of the file without its free pages."""
    return (pragma(connection, "page_count") - pragma(connection, "freelist_count")) * pragma(connection, "page_size")


def _cut(connection: sqlite3.Connection, tenant: bytes, excess: int) -> int:
    """Evict the items of a tenant that expire first. Returns how many."""
    going: list[tuple[int]] = []
    sql = "SELECT rowid, length(value) FROM items WHERE tenant = ? ORDER BY expires"
    with closing(connection.execute(sql, (tenant,))) as rows:
        while excess > 0 and (row := rows.fetchone()):
            going.append((row[0],))
            excess -= row[1] + ROW
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
        lost = LostFiles(path)
        self._writer = ConnectionThread(path, "writer", lost)
        self._reader = ConnectionThread(path, "reader", lost)
        self._max_bytes = max_bytes
        self._next_purge = time.monotonic() + 1

    async def _write(self, job: Callable[[sqlite3.Connection], T]) -> T:
        def transaction(connection: sqlite3.Connection) -> T:
            with Transaction(connection):
                result = job(connection)
            self._purge(connection)
            return result

        return await self._writer.run(transaction)

    def _purge(self, connection: sqlite3.Connection) -> None:
        if time.monotonic() < self._next_purge:
            return
        self._next_purge = time.monotonic() + _PURGE_EVERY
        with Transaction(connection):
            gone = 0
            for table in _TABLES:
                sql = f"DELETE FROM {table} WHERE expires <= ?"  # noqa: S608 - the names are ours
                gone += connection.execute(sql, (time.time(),)).rowcount
            gone += self._shrink(connection)
            if gone:
                connection.execute(_UNLINK)
        over = pragma(connection, "page_count") - self._max_bytes // pragma(connection, "page_size")
        release(connection, min(max(over, _RELEASED), _MOST_RELEASED))
        if over > 0:  # until then it is only the log that says so
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _shrink(self, connection: sqlite3.Connection) -> int:
        sizes = {bytes(tenant): int(size) for tenant, size in connection.execute("SELECT tenant, bytes FROM sizes")}
        excess = _bytes_used(connection) - self._max_bytes
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
            expires, marked = time.time() + batch.ttl, time.time() + batch.life_of_mark()
            if not connection.execute("INSERT OR IGNORE INTO batches VALUES (?, ?)", (blob(batch.id), marked)).rowcount:
                return
            _save(connection, batch.items)
            for name, lines in batch.lines.items():
                rows = ((blob(name), line, time.time() + batch.life_of_lines()) for line in lines)
                connection.executemany("INSERT INTO logs (name, line, expires) VALUES (?, ?, ?)", rows)
            for name, additions in batch.additions.items():
                connection.execute("DELETE FROM counts WHERE name = ? AND expires <= ?", (blob(name), time.time()))
                sums = ((blob(name), blob(counter), number, expires) for counter, number in additions.items())
                connection.executemany(_ADD, sums)

        await self._write(job)

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        sql = "SELECT seq, line FROM logs WHERE name = ? AND seq > ? AND expires > ? ORDER BY seq LIMIT ?"
        values = (blob(name), position, time.time(), limit + 1)
        rows = await self._reader.run(lambda connection: connection.execute(sql, values).fetchall())
        page = rows[:limit]
        lines = (_stored_bytes("line of a log", line) for _, line in page)
        return [line for line in lines if line is not None], page[-1][0] if len(rows) > limit else None

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        sql = "SELECT line FROM logs WHERE name = ? AND expires > ? ORDER BY seq DESC LIMIT ? OFFSET ?"
        values = (blob(name), time.time(), limit, skip)
        rows = await self._reader.run(lambda connection: connection.execute(sql, values).fetchall())
        lines = (_stored_bytes("line of a log", line) for (line,) in rows)
        return [line for line in lines if line is not None]

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        sql = "SELECT field, value FROM counts WHERE name = ? AND expires > ?"

        def job(connection: sqlite3.Connection) -> list[dict[str, int]]:
            tables = (connection.execute(sql, (blob(name), time.time())) for name in names)
            return [_sums(table) for table in tables]

        return await self._reader.run(job)

    async def names(self) -> tuple[list[str], list[str]]:
        def job(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
            logs, tables = (connection.execute(f"SELECT DISTINCT name FROM {of}").fetchall() for of in ("logs", "counts"))  # noqa: S608
            return [text_of(name) for (name,) in logs], [text_of(name) for (name,) in tables]

        return await self._reader.run(job)

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        going = [(blob(name), line) for name, found in lines.items() for line in found]
        cells = [(blob(name), blob(counter)) for name, found in fields.items() for counter in found]

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

    async def merge(self, name: str, into: Mapping[str, str]) -> None:
        def job(connection: sqlite3.Connection) -> None:
            cells = [(blob(name), blob(counter), blob(other)) for counter, other in into.items()]
            connection.executemany(_MERGE, ((name, other, name, counter) for name, counter, other in cells))
            connection.executemany("DELETE FROM counts WHERE name = ? AND field = ?", (cell[:2] for cell in cells))

        await self._write(job)

    async def trim(self, name: str, share: float) -> None:
        def job(connection: sqlite3.Connection) -> None:
            lines = connection.execute("SELECT count(*) FROM logs WHERE name = ?", (blob(name),)).fetchone()[0]
            oldest = "SELECT seq FROM logs WHERE name = ? ORDER BY seq LIMIT ?"
            connection.execute(f"DELETE FROM logs WHERE seq IN ({oldest})", (blob(name), math.ceil(share * lines)))  # noqa: S608 - ours

        await self._write(job)

    async def room(self) -> Room | None:
        def job(connection: sqlite3.Connection) -> Room:
            items = connection.execute("SELECT coalesce(sum(bytes), 0) FROM sizes").fetchone()[0]
            least = min(items, self._max_bytes // _LEAST_SHARE)  # what items may keep
            return Room(_bytes_used(connection) - items, self._max_bytes - least)

        return await self._reader.run(job)

    async def scrub(self) -> None:
        """Empty the write-ahead log and release free pages.

        Raises:
            StoreUnavailable: the log cannot be emptied now, because another process has been reading for too long.
        """

        def job(connection: sqlite3.Connection) -> bool:
            if pragma(connection, "user_version") < CLEAN:
                connection.execute("VACUUM")
                connection.execute(f"PRAGMA user_version = {CLEAN}")
            release(connection)
            return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]

        for _ in range(_SCRUB_TRIES):
            if await self._writer.run(job):
                return
            await asyncio.sleep(_SCRUB_PAUSE)
        raise StoreUnavailable("SQLite: another process reads; the write-ahead log cannot be emptied now")

    async def sweep(self) -> None:
        await self._writer.run(self._purge)

    async def set_aside(self, file: FileIdentity) -> None:
        """Rename a damaged file, if it is still ours; the next call begins a new one."""
        await self._writer.set_aside(file)

    async def ping(self) -> None:
        def job(connection: sqlite3.Connection) -> None:
            with closing(connection.execute("SELECT 1 FROM items LIMIT 1")) as cursor:
                cursor.fetchone()

        await self._reader.run(job)

    async def close(self) -> None:
        await self._writer.close()
        await self._reader.close()
