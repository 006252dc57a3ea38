"""A store written by the last release is served as that release served it: see ``tests/support/last_release.py``."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

import httpx
import pytest
import redis
from pydantic import SecretStr

from tests.proxy.harness import api_server
from tests.support.cases import each
from tests.support.last_release import (
    READ_AT,
    ask,
    expected,
    ids_here,
    lacks,
    load_redis,
    load_sqlite,
    packed,
    slow,
    unpacked,
    upstream,
)
from tests.support.overflow_upstream import served as upstream_served
from turnfold.compression.options import ENGINE_VERSION
from turnfold.config.settings import AuthSettings

_TRIES = 5  # the store has 0.1 s for an answer, which is short on a busy machine

#: Of a conversation: what is told of it is chosen anew for each answer, and an export carries its settings since.
_TOLD_ANEW = frozenset({"context", "context_tokens", "compression_ratio", "export"})

#: Writes the last release's data into an empty store, with some items renamed; gives its URL.
Load = Callable[[Mapping[str, str]], str]


@pytest.fixture(params=["sqlite", "redis"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def load(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Load:
    def sqlite(ids: Mapping[str, str]) -> str:
        path = tmp_path / "t.db"
        path.unlink(missing_ok=True)
        load_sqlite(path, ids)
        return f"sqlite:///{path}"

    def valkey(ids: Mapping[str, str]) -> str:
        url: str = request.getfixturevalue("redis_url")
        with redis.Redis.from_url(url) as client:
            client.flushdb()
            load_redis(client, ids)
        return url

    return {"sqlite": sqlite, "redis": valkey}[kind]


def _with_a_clock() -> Iterator[FunctionType]:
    """Methods of ours whose argument is the clock where they are given no other."""
    modules = [module for name, module in sys.modules.items() if name.startswith("turnfold.")]
    for kind in {value for module in modules for value in vars(module).values() if isinstance(value, type)}:
        for method in vars(kind).values():
            if isinstance(method, FunctionType) and time.time in (method.__defaults__ or ()):
                yield method


@contextlib.contextmanager
def _served(store_url: str, upstream_url: str) -> Iterator[str]:
    """A server as ``turnfold serve`` starts it, in this process; it is the day of the data as long as it is up."""
    clock, begun = time.time, time.time()

    def dated() -> float:
        return READ_AT + clock() - begun

    with pytest.MonkeyPatch.context() as patch:
        for method in _with_a_clock():
            patch.setattr(method, "__defaults__", tuple(dated if one is clock else one for one in method.__defaults__ or ()))
        patch.setattr(time, "time", dated)
        with api_server(store_url, upstream_url, auth=AuthSettings(admin_token=SecretStr("admin"))) as origin:
            yield origin


def test_a_store_of_the_last_release_is_served(kind: str, load: Load) -> None:
    found = expected(kind)
    for _ in range(_TRIES):
        with upstream_served(upstream()) as origin:
            url = load(ids_here(found, origin))
            with _served(url, f"{origin}/v1") as turnfold, httpx.Client(base_url=turnfold, timeout=60) as client:
                faults = list(_faults(client, found))
                if not slow(client):
                    break
    else:
        pytest.fail(f"the store did not answer within its time in {_TRIES} tries")
    assert not faults, "\n".join(faults)


def _faults(client: httpx.Client, found: Mapping[str, Any]) -> Iterator[str]:
    for one in found["calls"]:
        call, had = one["call"], one["back"]
        if "cached" in call.get("only", ()) and found["engine_version"] != str(ENGINE_VERSION):
            had = {**had, "answer": False}  # another engine makes its results anew
        if call["path"].startswith("/v1/conversation") and isinstance(had.get("answer"), dict):
            had = {**had, "answer": {name: value for name, value in had["answer"].items() if name not in _TOLD_ANEW}}
        if call["path"].startswith("/admin/report") and "conversation" in call["path"]:
            # The first release named hours where it summed whole days.
            had = {**had, "answer": {name: value for name, value in had["answer"].items() if name not in {"from", "to"}}}
        for fault in lacks(had, ask(client, call)):
            yield f"{call['method']} {call['path']}{fault}"


@each(
    ("had", "has", "faults"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, 0),
        ({"a": {"b": [1, None]}}, {"a": {"b": [1, None]}}, 0),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, 1),
        ({"a": 1, "b": 2}, {"c": 1}, 2),
        ([1], [1, 2], 1),
        ({"a": 1}, [1], 1),
        ({"state": {"policies": {"x": "use"}}}, {"state": {"policies": {"x": "use", "y": "use"}}}, 1),
    ],
)
def test_what_an_answer_lacks(had: Any, has: Any, faults: int) -> None:
    assert len(list(lacks(had, has))) == faults


@each("value", [b"", b"plain", b"base64:", b"base64:xx", b"\x00\xff", "ü".encode()])
def test_packed_bytes_come_back(value: bytes) -> None:
    assert unpacked(packed(value)) == value
