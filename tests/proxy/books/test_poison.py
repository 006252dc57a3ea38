"""No data ends a loop: whatever an upstream reports or the store holds, later receipts arrive and the report answers."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
import redis
from pydantic import SecretStr

from tests.proxy.harness import Answer, Running, UpstreamServer, api_server, call, reply, until
from tests.proxy.processes import ADMIN, chat
from tests.proxy.receipts import SECTION, receipt
from tests.support.effort import every
from tests.support.warm import warm_fold
from turnfold.compression.fold import Section
from turnfold.config.prices import TokenUse
from turnfold.config.settings import AuthSettings, FoldingSettings, StoreSettings
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import receipts_between
from turnfold.proxy.books.report import Query, report
from turnfold.proxy.incidents import Incidents, supervise
from turnfold.proxy.store import Batch, StoreRefused, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

MOST_64 = 2**63 - 1
#: Figures that no upstream means, as JSON texts.
FIGURES = ("9007199254740991", "-5", "NaN", "1e400", '"1000"', '{"a": 1}', "[1]", "9" * 30, "1.5", "true", "123456789012", "-0.0")
WIRES = {
    "/v1/chat/completions": ("prompt_tokens", "completion_tokens", "prompt_tokens_details"),
    "/v1/responses": ("input_tokens", "output_tokens", "input_tokens_details"),
    "/v1/messages": ("input_tokens", "output_tokens", "cache_creation"),
}
KEY = ("authorization", "Bearer sk-anna")
SETTINGS: dict[str, Any] = {"auth": AuthSettings(admin_token=SecretStr("adm")), "folding": FoldingSettings(budget=3000)}


def body(path: str, turns: int = 0) -> bytes:
    messages = chat(turns)
    whole = {"input": messages} if path.endswith("responses") else {"messages": messages}
    return json.dumps({"model": "gpt-4o", "max_tokens": 10, **whole}).encode()


def ask(origin: str, path: str, turns: int = 0, *headers: tuple[str, str]) -> Answer:
    return call(origin, "POST", path, body(path, turns), [("content-type", "application/json"), KEY, *headers])


def totals(origin: str) -> dict[str, Any]:
    answer = call(origin, "GET", "/admin/report", None, [ADMIN])
    assert answer.status == 200, answer.body
    found: dict[str, Any] = answer.json()["totals"]
    return found


def is_whole(origin: str) -> bool:
    return bool(call(origin, "GET", "/readyz").json()["checks"]["background"] == "ok")


def usages(path: str) -> list[str]:
    """Usage objects with one figure that is none, at each place where a figure may stand."""
    prompt, completion, details = WIRES[path]
    whole = f'"{prompt}": %s, "{completion}": %s, "{details}": %s'
    rows = [(one, "7", "{}") for one in FIGURES] + [("7", one, "{}") for one in FIGURES] + [("7", "7", one) for one in FIGURES]
    rows += [("7", "7", f'{{"cached_tokens": {one}, "ephemeral_1h_input_tokens": {one}}}') for one in FIGURES]
    return ["{" + whole % row + "}" for row in rows]


@pytest.mark.parametrize("path", WIRES)
def test_no_usage_ends_the_books(path: str, upstream: UpstreamServer, tmp_path: Path) -> None:
    sent = usages(path)
    good = b'{"model": "gpt-4o", "usage": {"%s": 1000, "%s": 10}}' % tuple(name.encode() for name in WIRES[path][:2])
    auth = AuthSettings(admin_token=SecretStr("adm"))
    with api_server(f"sqlite:///{tmp_path}/t.db", upstream.origin + "/v1", auth=auth) as origin:
        for usage in sent:
            upstream.handler = reply(b'{"model": "gpt-4o", "usage": %s}' % usage.encode())
            assert ask(origin, path).status == 200
        upstream.handler = reply(good)
        assert ask(origin, path).status == 200
        until(lambda: totals(origin)["requests"] == len(sent) + 1, pause=0.1)
        found = totals(origin)
        assert found["usage"]["prompt_tokens"] <= 1000 + 7 * len(sent)
        assert found["dollars"]["paid"] < 1
        assert is_whole(origin)


@pytest.mark.parametrize("sections", [(SECTION,), ()])
async def test_what_cannot_be_written_is_set_aside_with_its_id(sections: tuple[Section, ...]) -> None:
    store, told = MemoryStore(), Incidents()

    def price(model: str, used: TokenUse, at: float) -> float:
        del model, at
        return 1 / (used.prompt - 13)  # a fault that one receipt meets

    book = Ledger(store, StoreSettings(), price, incidents=told)
    good = receipt(request_id="good")
    poison = receipt(request_id="poison", usage=(13, 5, 0, 0))
    await book.start()
    for number in range(20):
        book.record(poison if number == 7 else good, sections if number == 7 else ())
    await book.flush()
    await book.stop()
    written = [line["request_id"] async for line in receipts_between(store, good.at - 1, good.at + 1)]
    assert sorted(written) == ["good"] * 19 + ["poison"], "it is written without what failed"
    assert {one["subject"] for one in told.listed()} == {"poison"}
    assert (book.written, book.queued, book.dropped, book.dropped_originals) == (20, 0, 0, len(sections))


class Erasing:
    """Implements ``Erasures``: nothing was deleted, and to find that out fails as it is told."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)

    async def refresh(self) -> None:
        """There is nothing to learn."""

    def of_receipt(self, *_: Any) -> tuple[bool, bool]:
        return False, False

    def without_deleted(self, batch: Batch, built: float) -> Batch:
        del built
        return batch

    async def take_back(self, *_: Any) -> None:
        if self.failures:
            raise self.failures.pop(0)


@pytest.mark.parametrize(
    ("failure", "passes", "incidents"),
    [(LookupError(), False, 1), (StoreRefused("read-only"), False, 1), (StoreUnavailable("away"), True, 0)],
)
async def test_a_written_batch_that_cannot_be_looked_at_again_counts_once(
    failure: Exception, passes: bool, incidents: int
) -> None:
    """What may pass is tried again with the same batch; anything else is told, and the batch stands."""
    store, told = MemoryStore(), Incidents()
    book = Ledger(store, StoreSettings(), lambda *_: None, incidents=told, erasures=Erasing(failure))
    book.record(receipt(), ())
    assert await book.flush() is not passes
    assert await book.flush()
    assert dict(told.counts) == ({"deletions": 1} if incidents else {})
    assert (book.written, book.queued, book.dropped) == (1, 0, 0)
    found = (await report(store, Query(receipt().at, receipt().at + 3600)))["totals"]
    assert found["requests"] == 1


async def test_a_store_that_refuses_one_receipt_gets_all_others() -> None:
    class Picky(MemoryStore):
        async def record(self, batch: Any) -> None:
            if any(b"poison" in line for lines in batch.lines.values() for line in lines):
                raise OverflowError
            await super().record(batch)

    store = Picky()
    book = Ledger(store, StoreSettings(), lambda *_: None)
    for number in range(9):
        book.record(receipt(request_id=f"poison-{number}" if number % 4 == 2 else f"good-{number}"), ())
    assert await book.flush()
    assert (book.written, book.dropped, book.queued) == (7, 2, 0)


async def test_a_loop_is_started_again_and_says_so() -> None:
    told, runs = Incidents(), 0
    waits: list[float] = []

    async def loop() -> None:
        nonlocal runs
        runs += 1
        if runs < 5:
            raise LookupError

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        assert told.waiting == {"one"}

    await supervise("one", loop, told, sleep)
    assert runs == 5
    assert waits == sorted(waits)
    assert waits[0] < waits[-1]
    assert told.counts["one"] == 4
    assert not told.waiting


# What may stand in a store where a value of ours stood: each is made from the value that it replaces.


def _leaves(value: bytes, leaf: Any) -> bytes:
    """Every leaf of a JSON value replaced; where it is none, bytes that are."""

    def change(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: 1 if key == "record_version" else change(each) for key, each in one.items()}
        return [change(each) for each in one] if isinstance(one, list) else leaf

    try:
        return orjson.dumps(change(orjson.loads(value)))
    except ValueError:
        return orjson.dumps({"record_version": 1, "x": leaf})


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "noise": lambda value: bytes(byte ^ 0x5A for byte in value),
    "half": lambda value: value[: len(value) // 2],
    "a list": lambda _: b"[]",
    "deep": lambda _: b"[" * 900 + b"]" * 900,
    "texts": lambda value: _leaves(value, "\u00e9"),
    "nulls": lambda value: _leaves(value, None),
    "huge": lambda value: _leaves(value, MOST_64),
    "small": lambda value: _leaves(value, -7.5),
}


def story(origin: str) -> list[int]:
    """Calls that write every kind of record, and read it; their statuses."""
    asked = ask(origin, "/v1/chat/completions", 25, ("x-turnfold-conversation", "c1"), ("x-turnfold-state", "enforce"))
    own = [KEY, ("content-type", "application/json")]
    text = " ".join(f"Sentence number {number} is here." for number in range(80))
    add = json.dumps({"conversation_id": "own", "message": {"role": "user", "content": text}}).encode()
    answers = [
        asked,
        call(origin, "POST", "/v1/compress", json.dumps({"text": text}).encode(), own),
        call(origin, "POST", "/v1/conversation", add, own),
        *(call(origin, "POST", "/v1/conversation", add, own) for _ in range(3)),
        *(call(origin, "GET", path, None, own) for path in ("/v1/conversation/own", "/v1/cache/stats")),
    ]
    seen = (
        "report",
        "report?group_by=conversation&from=2h",
        "receipts?from=2h",
        "receipts?format=csv&from=2h",
        "windows",
        "ledger",
    )
    one = f"requests/{asked.header('x-turnfold-request-id')}"
    answers += [call(origin, "GET", path, None, [ADMIN]) for path in ("/metrics", *(f"/admin/{name}" for name in (*seen, one)))]
    return [answer.status for answer in answers]


def damage_sqlite(path: Path, change: Callable[[bytes], Any]) -> None:
    with sqlite3.connect(path) as connection:
        for table, column in (("items", "value"), ("logs", "line")):
            for row, value in connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall():  # noqa: S608 - ours
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (change(value), row))  # noqa: S608
        for name, field in connection.execute("SELECT name, field FROM counts").fetchall():
            connection.execute("UPDATE counts SET value = ? WHERE name = ? AND field = ?", (change(b"12"), name, field))
    connection.close()


REPORTING = reply(b'{"model": "gpt-4o", "usage": {"prompt_tokens": 4000, "completion_tokens": 10}}')


@pytest.fixture
def reporting(upstream: UpstreamServer) -> UpstreamServer:
    upstream.handler = REPORTING
    return upstream


def tell(url: str, upstream: UpstreamServer) -> None:
    """Fill a store."""
    upstream.handler = REPORTING
    with api_server(url, upstream.origin + "/v1", engine=warm_fold, **SETTINGS) as origin:
        assert [status for status in story(origin) if status >= 400] == []


@pytest.fixture(scope="module")
def filled_file(shared_upstream: tuple[UpstreamServer, Running], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store that holds every kind of record, to be copied."""
    path = tmp_path_factory.mktemp("filled") / "t.db"
    tell(f"sqlite:///{path}", shared_upstream[0])
    return path


#: A database of the Valkey that no test gets for itself (`redis_url`).
BESIDE = 64
Rows = list[tuple[bytes, int, bytes]]  # keys with their time to live in milliseconds, and what they hold in the server's own form


@pytest.fixture(scope="module")
def filled_rows(shared_upstream: tuple[UpstreamServer, Running], valkey: Any) -> Rows:
    """The same of a Valkey."""
    url = f"{valkey.connection_url}/{BESIDE}"
    with contextlib.closing(redis.Redis.from_url(url)) as client:
        client.flushdb()
        tell(url, shared_upstream[0])
        rows: Rows = [(cast(bytes, key), max(0, client.pttl(key)), cast(bytes, client.dump(key))) for key in client.keys("*")]
        client.flushdb()
    return rows


def check_it_goes_on(origin: str) -> None:
    assert [status for status in story(origin) if status >= 500] == []
    before = totals(origin)["requests"]
    assert [status for status in story(origin) if status >= 500] == []
    until(lambda: totals(origin)["requests"] == before + 1, pause=0.1)
    assert is_whole(origin)


@pytest.mark.parametrize("kind", [*every(2, list(DAMAGE)), "no bytes", "a real"])  # what a value holds is read above the store
def test_damaged_values_in_sqlite_are_left_out(kind: str, reporting: UpstreamServer, filled_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    for part in filled_file.parent.iterdir():  # what SQLite keeps beside its file too
        shutil.copy(part, tmp_path)
    others: dict[str, Callable[[bytes], Any]] = {"no bytes": lambda _: 10**15, "a real": lambda _: 9.5e18}
    damage_sqlite(path, (DAMAGE | others)[kind])
    with api_server(f"sqlite:///{path}", reporting.origin + "/v1", engine=warm_fold, **SETTINGS) as origin:
        check_it_goes_on(origin)
        told = call(origin, "GET", "/admin/ledger", None, [ADMIN]).json()
        assert sum(told["damaged_records"].values()) > 0


def damage_valkey(client: Any, change: Callable[[bytes], bytes] | None) -> None:
    """Change every value; None: put a value of another type under every key."""
    for key in client.keys("*"):
        kind = client.type(key).decode()
        if change is None:
            client.delete(key)
            _ = client.set(key, b"x") if kind != "string" else client.rpush(key, b"x")
        elif kind == "string":
            client.set(key, change(client.get(key)))
        elif kind == "list":
            lines = client.lrange(key, 0, -1)
            client.delete(key)
            client.rpush(key, *map(change, lines))
        elif kind == "hash":
            client.hset(key, mapping={name: change(value) for name, value in client.hgetall(key).items()})
            client.hset(key, mapping={change(b"paid"): b"5", b"": b"", b"no-row:": b"4"})
        else:
            client.zadd(key, {change(b'["kind", "id"]') or b"-": 4e9})


@pytest.mark.parametrize("kind", [*every(2, list(DAMAGE), start=1), "another type"])
def test_damaged_values_in_valkey_are_left_out(kind: str, reporting: UpstreamServer, filled_rows: Rows, redis_url: str) -> None:
    client = redis.Redis.from_url(redis_url)
    for key, milliseconds, value in filled_rows:
        client.restore(key, milliseconds, value)
    damage_valkey(client, DAMAGE.get(kind))
    with api_server(redis_url, reporting.origin + "/v1", engine=warm_fold, **SETTINGS) as origin:
        check_it_goes_on(origin)
        told = call(origin, "GET", "/admin/ledger", None, [ADMIN]).json()
        assert kind != "another type" or "log or table of sums" in told["damaged_records"]
    client.close()
