"""A SQLite file that goes away under a running process: noticed, opened anew, told; and what a store without originals holds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.proxy.harness import UpstreamServer, api_server, call, reply, unhurried, until
from tests.proxy.processes import ADMIN
from turnfold.config.settings import AuthSettings, FoldingSettings, StoreSettings
from turnfold.proxy.file_check import FileCheck, find_damage
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.store import Batch, Item, Key, OpenStore, StoreError, open_store
from turnfold.proxy.store.records import left_out
from turnfold.proxy.store.sqlite import SqliteStore

KEY = Key("anna", "note", "1")


def delete(path: Path) -> None:
    path.unlink()


def delete_all(path: Path) -> None:
    for rest in ("", "-wal", "-shm"):
        path.with_name(path.name + rest).unlink(missing_ok=True)


def move(path: Path) -> None:
    path.rename(path.with_suffix(".old"))


def replace(path: Path) -> None:
    other = path.with_suffix(".new")
    sqlite3.connect(other).close()
    other.touch()
    delete_all(path)
    os.replace(other, path)


def delete_directory(path: Path) -> None:
    delete_all(path)
    path.parent.rmdir()


@pytest.mark.parametrize("vanish", [delete, delete_all, move, replace, delete_directory])
async def test_a_file_that_is_gone_is_noticed(
    vanish: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "data" / "t.db"
    store = SqliteStore(path)
    await store.put([Item(KEY, b"old", 60)])
    await store.record(Batch("one", {"log": [b"old"]}, {"sums": {"a": 1}}, 60))
    assert await store.get([KEY]) == [b"old"]
    vanish(path)
    with caplog.at_level(logging.WARNING):
        await store.record(Batch("two", {"log": [b"new"]}, {"sums": {"a": 1}}, 60))
        await store.put([Item(KEY, b"new", 60)])
        assert await store.get([KEY]) == [b"new"]
    assert caplog.text.count("deleted or replaced") == 1, "one line, though two threads notice"
    vanish(path)
    with caplog.at_level(logging.WARNING):
        await store.put([Item(KEY, b"new", 60)])
        assert await store.get([KEY]) == [b"new"]
    assert caplog.text.count("deleted or replaced") == 2, "another file, another line"
    await store.record(Batch("two again", {"log": [b"new"]}, {"sums": {"a": 1}}, 60))
    assert await store.counts(["sums"]) == [{"a": 1}]
    await store.close()
    again = SqliteStore(path)
    assert await again.get([KEY]) == [b"new"], "what is written is in the file of that name"
    assert await again.log("log") == ([b"new"], None)
    await again.close()


async def test_two_processes_meet_in_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    one, other = SqliteStore(path), SqliteStore(path)
    for number, store in enumerate((one, other)):
        await store.put([Item(Key("anna", "note", str(number)), b"x", 60)])
    delete(path)
    for number, store in enumerate((one, other, one, other)):
        await store.put([Item(Key("anna", "note", f"after-{number}"), b"x", 60)])
    keys = [Key("anna", "note", f"after-{number}") for number in range(4)]
    assert await one.get(keys) == await other.get(keys) == [b"x"] * 4
    await one.close()
    await other.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT count(*) FROM items").fetchone() == (4,)
    connection.close()


def words(number: int) -> str:
    return " ".join(f"zyx{number}q{at} was decided by the council in March." for at in range(60))


def stored(path: Path) -> bytes:
    """Everything in the file, packed values unpacked."""
    found = [path.read_bytes()]
    with sqlite3.connect(path) as connection:
        for table in ("items", "logs", "counts", "links"):
            for row in connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - ours
                for value in (one for one in row if isinstance(one, bytes)):
                    found.append(value)
                    if value[:1] == b"x":
                        found.append(zlib.decompress(value))
    connection.close()
    return b"\n".join(found)


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_kept_without_originals_is_what_the_setting_says(keeps: bool, upstream: UpstreamServer, tmp_path: Path) -> None:
    upstream.handler = reply(b'{"model": "gpt-4o", "usage": {"prompt_tokens": 4000, "completion_tokens": 10}}')
    path = tmp_path / "t.db"
    groups: dict[str, Any] = {"auth": AuthSettings(admin_token=SecretStr("adm")), "folding": FoldingSettings(budget=2000)}
    own = [("content-type", "application/json"), ("authorization", "Bearer k")]
    messages = [{"role": ("user", "assistant")[at % 2], "content": words(at)} for at in range(9)]
    bodies = {
        "/v1/chat/completions": {"model": "gpt-4o", "messages": messages},
        "/v1/compress": {"text": words(100)},
        "/v1/messages/compress": {"messages": messages},
        "/v1/conversation": {"conversation_id": "kept", "message": {"role": "user", "content": words(200)}},
    }
    settings = {"save_originals": keeps}
    with api_server(f"sqlite:///{path}", upstream.origin + "/v1", store_settings=settings, **groups) as origin:
        for target, body in bodies.items():
            named = [*own, ("x-turnfold-conversation", "a-label"), ("x-turnfold-state", "enforce")]
            assert call(origin, "POST", target, json.dumps(body).encode(), named).status == 200
        until(lambda: call(origin, "GET", "/admin/report", None, [ADMIN]).json()["totals"]["requests"] == 1)
    held = stored(path)
    assert (b"zyx2q7" in held) is keeps, "folded text"
    assert (b"zyx100q7" in held) is keeps, "compressed text"
    assert b"a-label" in held
    assert b"gpt-4o" in held
    assert b"zyx200q7" in held, "what is added to a conversation is kept"


def test_originals_that_a_conversation_still_carries_are_kept_in_the_new_file(upstream: UpstreamServer, tmp_path: Path) -> None:
    upstream.handler = reply(b'{"model": "gpt-4o", "usage": {"prompt_tokens": 4000, "completion_tokens": 10}}')
    path = tmp_path / "t.db"
    groups: dict[str, Any] = {"auth": AuthSettings(admin_token=SecretStr("adm")), "folding": FoldingSettings(budget=2000)}
    own = [("content-type", "application/json"), ("authorization", "Bearer k")]
    messages = [{"role": ("user", "assistant")[at % 2], "content": words(at)} for at in range(9)]
    body = json.dumps({"model": "gpt-4o", "messages": messages}).encode()
    with api_server(f"sqlite:///{path}", upstream.origin + "/v1", **groups) as origin:

        def ask(count: int) -> str:
            """A request's id, once its receipt is written."""
            name = call(origin, "POST", "/v1/chat/completions", body, own).header("x-turnfold-request-id")
            until(lambda: call(origin, "GET", "/admin/ledger", None, [ADMIN]).json()["ledger"]["written"] == count)
            return name or ""

        ask(1)
        delete_all(path)
        ask(2)  # notices it
        name = ask(3)
        again = call(origin, "GET", f"/admin/requests/{name}", None, [ADMIN]).json()["sections"]
        assert again
        for section in again:
            drilled = call(origin, "POST", "/v1/drill-down", json.dumps({"section_id": section["id"]}).encode(), own)
            assert drilled.status == 200, drilled.body


def spoil(path: Path) -> None:
    """Damage every page but the head, which says that it is SQLite's."""
    for name in (path, path.with_name(path.name + "-wal")):
        if name.exists():
            with name.open("r+b") as file:
                for at in range(100, name.stat().st_size, 256):
                    file.seek(at)
                    file.write(b"\xa5" * 200)


async def test_a_damaged_file_is_kept_beside_a_new_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.db"
    first = SqliteStore(path)
    await first.put([Item(Key("anna", "note", str(number)), b"x" * 2000, 60) for number in range(50)])
    await first.close()
    spoil(path)
    store = SqliteStore(path)
    for _ in range(4):  # the first calls find it out
        with contextlib.suppress(StoreError):
            await store.put([Item(KEY, b"new", 60)])
            await store.get([KEY])
    assert await store.get([KEY]) == [b"new"]
    assert (tmp_path / "t.db.damaged").exists()
    assert "t.db is damaged" in caplog.text
    await store.close()


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_bytes(b"ten years of work " * 1000)
    store = SqliteStore(path)
    for _ in range(3):
        with pytest.raises(StoreError):
            await store.put([Item(KEY, b"new", 60)])
    await store.close()
    assert path.read_bytes() == b"ten years of work " * 1000
    assert os.listdir(tmp_path) == ["thesis.txt"]


def spoil_unread_page(path: Path) -> None:
    """Damage pages with old originals alone: nothing that a start or a new request reads."""
    with path.open("r+b") as file:
        data = file.read()
        at = data.index(b"old original 60 ")
        file.seek(at - at % 4096 + 2)
        file.write(b"\xa5" * 6)  # the page's count of cells, and where they begin


async def fill(path: Path) -> None:
    store = SqliteStore(path)
    await store.put(
        [Item(Key("anna", "section", str(at)), b"old original %d " % at + os.urandom(3000), 600) for at in range(120)]
    )
    await store.close()


async def checks(url: str) -> tuple[Incidents, OpenStore]:
    """What a start does, without the wait."""
    incidents = Incidents()
    store = open_store(unhurried(StoreSettings(url=url)), incidents)
    assert store.file is not None
    await FileCheck(store.file, store.patient, incidents).run()
    return incidents, store


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnfold.proxy.file_check._AFTER", 0.0)


@pytest.mark.usefixtures("at_once")
async def test_damage_that_nobody_reads_is_found_behind_the_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.db"
    await fill(path)
    spoil_unread_page(path)
    before = left_out["store file"]
    with api_server(f"sqlite:///{path}", auth=AuthSettings(admin_token=SecretStr("adm"))) as origin:
        until((tmp_path / "t.db.damaged").exists)
        assert call(origin, "GET", "/readyz").status == 200
        (told,) = call(origin, "GET", "/admin/ledger", None, [ADMIN]).json()["background"]
        assert (told["part"], told["subject"]) == ("store-check", "t.db")
        assert call(origin, "GET", "/readyz").json()["failures"] == {"background": 1}
    assert left_out["store file"] > before
    assert "t.db is damaged; Turnfold renamed it to t.db.damaged" in caplog.text
    assert "was deleted or replaced" not in caplog.text, "it is kept beside the new one"
    assert find_damage(path, 10) == ("", False, True), "the new one is whole"


@pytest.mark.usefixtures("at_once")
async def test_a_file_is_looked_at_once_and_a_whole_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    await fill(path)
    incidents, store = await checks(f"sqlite:///{path}")
    await store.close()
    spoil_unread_page(path)
    incidents, store = await checks(f"sqlite:///{path}")  # another process, or a restart, within ten minutes
    await store.close()
    assert not incidents.counts
    assert not (tmp_path / "t.db.damaged").exists()


@pytest.mark.usefixtures("at_once")
async def test_a_large_file_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("turnfold.proxy.file_check._LARGEST", 10_000)
    path = tmp_path / "t.db"
    await fill(path)
    spoil_unread_page(path)
    with caplog.at_level(logging.INFO):
        incidents, store = await checks(f"sqlite:///{path}")
    await store.close()
    assert not incidents.counts
    assert "is not checked for damage" in caplog.text


@pytest.mark.usefixtures("at_once")
async def test_the_check_leaves_alone_what_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_bytes(b"ten years of work " * 1000)
    incidents, store = await checks(f"sqlite:///{path}")
    await store.close()
    assert not incidents.counts
    assert os.listdir(tmp_path) == ["thesis.txt"]


def test_a_check_ends_in_time(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    asyncio.run(fill(path))
    with sqlite3.connect(path) as connection:
        rows = [(os.urandom(8), b"n", os.urandom(8), b"x", 2e9) for _ in range(30_000)]
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    assert find_damage(path, 0.0) == ("", False, False)
    assert find_damage(path, 60) == ("", False, True)


async def problem_of(path: Path) -> str:
    store = SqliteStore(path, 10**9)
    try:
        with pytest.raises(StoreError) as raised:
            await store.ping()
        return str(raised.value)
    finally:
        await store.close()


async def test_a_file_where_a_directory_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine")
    assert f"{tmp_path / 'data'} is no directory" in await problem_of(tmp_path / "data" / "t.db")
    assert f"{tmp_path} is a directory" in await problem_of(tmp_path)


@pytest.mark.usefixtures("at_once")
async def test_a_file_that_cannot_be_reached_is_not_checked(tmp_path: Path) -> None:
    """The store says what is wrong; that no check was made is no failure of its own."""
    (tmp_path / "data").write_text("mine")
    _, store = await checks(f"sqlite:///{tmp_path}/data/t.db")
    await store.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_nobody_may_write_to_is_named(tmp_path: Path) -> None:
    """SQLite alone says that it is unable to open the file, which is there."""
    sqlite3.connect(tmp_path / "t.db").close()
    tmp_path.chmod(0o500)
    try:
        assert f"{tmp_path} cannot be written to" in asyncio.run(problem_of(tmp_path / "t.db"))
    finally:
        tmp_path.chmod(0o700)
