"""What a SQLite file looks like inside, when what has expired leaves it, and what is made of damaged rows."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.no_time import in_no_time, now
from turnfold.proxy.store import Batch, Item, Key, Scope, StoreRefused, StoreUnavailable
from turnfold.proxy.store import sqlite as module
from turnfold.proxy.store.base import StoreError
from turnfold.proxy.store.records import left_out, log_once
from turnfold.proxy.store.sqlite import SqliteStore
from turnfold.proxy.store.sqlite_file import ConnectionThread, LostFiles, pragma


class Clock:
    at = 1000.0

    def time(self) -> float:
        return self.at

    monotonic = time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture(autouse=True)
def _no_line_is_said_yet() -> Iterator[None]:
    log_once.cache_clear()
    yield
    log_once.cache_clear()


def rows(file: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(sql).fetchall()


def item(name: str, ttl: float = 10.0, size: int = 1) -> Item:
    return Item(Key("anna", "section", name), bytes(size), ttl, "c")


async def test_what_has_expired_leaves_the_file_once_a_minute(clock: Clock, file: Path) -> None:
    store, left = SqliteStore(file), list[tuple[float, int, int, int]]()
    batch = Batch("b", {"l": [b"x"]}, {"n": {"f": 1}}, 10.0)
    await store.put([item("old")])
    await store.record(batch)
    for at in (1.0, 11.0, 60.9, 61.0):
        clock.at = 1000.0 + at
        await store.put([item(str(at))])
        tables = [len(rows(file, f"SELECT * FROM {name}")) for name in ("items", "links", "logs")]  # noqa: S608 - ours
        left.append((at, *tables))  # type: ignore[arg-type]
        assert (await store.get([Key("anna", "section", "old")]) != [None]) == (at < 10)
    # A second after the start at the earliest, and then a minute after the last time.
    assert left == [(1.0, 2, 2, 1), (11.0, 3, 3, 1), (60.9, 4, 4, 1), (61.0, 2, 2, 0)]
    assert [len(rows(file, f"SELECT * FROM {name}")) for name in ("counts", "batches")] == [0, 0]  # noqa: S608 - ours
    await store.close()


async def test_a_closed_store_has_no_threads(file: Path) -> None:
    before = set(threading.enumerate())
    store = SqliteStore(file)
    await store.put([item("a")])
    await store.get([item("a").key])
    made = set(threading.enumerate()) - before
    assert sorted(thread.name for thread in made) == ["turnfold-store-reader_0", "turnfold-store-writer_0"]
    await store.close()
    for thread in made:
        thread.join(60)
        assert not thread.is_alive()


async def test_the_form_of_a_file(file: Path) -> None:
    """Other releases open it, too."""
    store = SqliteStore(file)
    await store.put([item("a", size=100), item("b", size=50), Item(Key("bert", "state", "s"), b"1", 60)])
    await store.put([item("b", size=5)])
    assert sorted(rows(file, "SELECT * FROM sizes")) == [(b"anna", 705), (b"bert", 301)]
    await store.discard([item("a").key])
    await store.delete(Scope("bert"))
    assert rows(file, "SELECT * FROM sizes") == [(b"anna", 305)]
    pragmas = [rows(file, f"PRAGMA {name}")[0][0] for name in ("user_version", "auto_vacuum", "journal_mode")]
    assert pragmas == [2, 2, "wal"]
    for name, found in (("secure_delete", 1), ("synchronous", 1), ("busy_timeout", 5000)):  # of a connection, not of the file
        assert await store._writer.run(lambda connection, name=name: pragma(connection, name)) == found  # type: ignore[misc]
    assert rows(file, "SELECT tenant, conversation, kind, id FROM links") == [(b"anna", b"c", b"section", b"b")]
    await store.close()


async def test_a_large_deletion_leaves_the_lock_to_others_in_between(clock: Clock, file: Path) -> None:
    store, steps = SqliteStore(file), list[int]()
    await store.put([item(str(number), ttl=5.0 if number < 10 else 60.0) for number in range(1001)])
    clock.at += 6
    writes = store._write

    async def noting(job: Callable[[sqlite3.Connection], Any]) -> Any:
        found = await writes(job)
        steps.append(found[0])
        return found

    store._write = noting  # type: ignore[method-assign]
    assert await store.delete(Scope("anna", conversation="c")) == 991
    assert sum(steps) == 991
    assert len(steps) == 3
    assert rows(file, "SELECT count(*) FROM links") == [(0,)]
    await store.close()


def test_a_log_that_another_process_reads_is_tried_again_five_times_a_second(file: Path) -> None:
    class Busy:
        async def run(self, _: object) -> bool:
            tried.append(now())
            return False

    async def scrub() -> None:
        store = SqliteStore(file)
        store._writer = Busy()  # type: ignore[assignment]
        with pytest.raises(StoreUnavailable, match="another process reads"):
            await store.scrub()

    tried = list[float]()
    in_no_time(scrub())
    assert tried == pytest.approx([number / 5 for number in range(10)])


async def test_damaged_rows_are_left_out_and_told(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = SqliteStore(file)
    sound, odd = item("sound", 1e6), item("odd", 1e6)
    await store.put([sound, odd])
    await store.record(Batch("b", {"l": [b"sound", b"odd"]}, {"n": {"sound": 1, "odd": 2, "größe": 3}}, 1e6))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE items SET value = 'text' WHERE id = ?", (b"odd",))
        connection.execute("UPDATE logs SET line = 5 WHERE line = ?", (b"odd",))
        connection.execute("UPDATE counts SET value = 'many' WHERE field = ?", (b"odd",))
        connection.execute("INSERT INTO counts VALUES (?, ?, 4, 1e18)", (b"n", b"\xff"))
        connection.execute("INSERT INTO counts VALUES (?, 'text', 5, 1e18)", (b"n",))
        connection.execute("INSERT INTO items VALUES (?, ?, ?, ?, 1e18)", (b"anna", b"section", b"\xff", b"v"))
        connection.commit()
    before = left_out.copy()
    assert await store.get([sound.key, odd.key]) == [sound.value, None]
    assert await store.log("l") == ([b"sound"], None)
    assert await store.newest("l") == [b"sound"]
    assert await store.counts(["n"]) == [{"sound": 1, "größe": 3}]
    assert await store.keys(Scope("anna")) == [odd.key, sound.key]
    assert left_out - before == {"item": 1, "line of a log": 2, "sum": 1, "key": 3}
    assert sorted(caplog.messages) == [
        "A stored item is skipped: it is str and not bytes.",
        "A stored key is skipped: it is no text (AttributeError).",
        "A stored key is skipped: it is no text (UnicodeDecodeError).",
        "A stored line of a log is skipped: it is int and not bytes.",
        "A stored sum is skipped: it is str and no whole number.",
    ]
    await store.close()


@pytest.mark.parametrize(
    ("raised", "kind", "said"),
    [
        (sqlite3.OperationalError("locked"), StoreUnavailable, "SQLite: locked"),
        (sqlite3.DataError("too big"), StoreRefused, "SQLite: DataError"),
        (OverflowError("int"), StoreRefused, "SQLite: OverflowError"),
        (sqlite3.DatabaseError("odd"), StoreError, "SQLite: odd"),
        (OSError(28, "No space left on device"), StoreUnavailable, "{file}: No space left on device"),
        (OSError("odd"), StoreUnavailable, "{file}: odd"),
        (NotADirectoryError(20, "Not a directory", "/a/b"), StoreUnavailable, "{file}: /a/b is no directory"),
    ],
)
async def test_what_an_error_means(file: Path, raised: Exception, kind: type[StoreError], said: str) -> None:
    thread = ConnectionThread(file, "writer", LostFiles(file))

    def job(connection: sqlite3.Connection) -> None:
        assert connection.in_transaction is False
        raise raised

    with pytest.raises(kind) as caught:
        await thread.run(job)
    assert str(caught.value) == said.format(file=file)
    assert isinstance(caught.value, StoreRefused) == (kind is StoreRefused)
    await thread.close()
    with pytest.raises(StoreUnavailable, match="the store is closed"):
        await thread.run(job)


@pytest.mark.parametrize(
    ("code", "denied", "said"),
    [(14, "..", True), (8, "..", True), (8, "{}", True), (14, "{}-wal", True), (14, "other", False), (5, "..", False)],
)
async def test_what_cannot_be_written_to_is_named(
    file: Path, monkeypatch: pytest.MonkeyPatch, code: int, denied: str, said: bool
) -> None:
    """By SQLite's own words nobody finds a log that another user has left beside the file."""
    one = file.parent if denied == ".." else file.with_name(denied.format(file.name))
    monkeypatch.setattr("turnfold.proxy.store.sqlite_file.os.access", lambda path, mode: path != one)
    monkeypatch.setattr("turnfold.proxy.store.sqlite_file.os.geteuid", lambda: 10001, raising=False)
    mine = file.parent.stat().st_uid
    whose = f"; {one} cannot be written to (it belongs to user {mine}, and Turnfold runs as user 10001)"
    thread = ConnectionThread(file, "writer", LostFiles(file))

    def job(connection: sqlite3.Connection) -> None:
        problem = sqlite3.OperationalError("unable to open")
        problem.sqlite_errorcode = code + 256  # SQLite's extended codes
        raise problem

    with pytest.raises(StoreUnavailable) as caught:
        await thread.run(job)
    assert str(caught.value) == "SQLite: unable to open" + (whose if said else "")
    await thread.close()


@pytest.mark.parametrize("change", ["ALTER TABLE items ADD COLUMN more", "ALTER TABLE items RENAME COLUMN expires TO until"])
@pytest.mark.parametrize(("version", "is_newer"), [(99, True), (2, False)])
async def test_a_file_that_a_newer_release_has_changed_is_named(file: Path, change: str, version: int, is_newer: bool) -> None:
    before = SqliteStore(file)
    await before.ping()
    await before.close()
    with closing(sqlite3.connect(file)) as other:
        other.execute(change)
        other.execute(f"PRAGMA user_version = {version}")
        other.commit()
    store = SqliteStore(file)
    with pytest.raises(StoreUnavailable) as caught:
        await store.put([Item(Key("anna", "section", "a"), b"x", 60.0)])
    await store.close()
    assert (f"a newer Turnfold has changed {file} (version 99" in str(caught.value)) is is_newer
