"""Limits on both sides of their border: heads, hosts, bodies each and together.

These tests cover the functions by tables. They leave out bodies that stall or never finish, on the wire (``test_edges``).
"""

from __future__ import annotations

import asyncio
import gzip

import pytest
from starlette.types import Message

from tests.support.cases import each
from turnfold.config.serving import LimitSettings
from turnfold.proxy.http import inbound
from turnfold.proxy.http.inbound import Inbound, while_present
from turnfold.proxy.http.limits import UnfinishedBodies, check_head, check_host, check_path, plain_body, read_body
from turnfold.proxy.http.refusals import Refused


def refused(exc: pytest.ExceptionInfo[Refused]) -> tuple[int, str, str | None]:
    return exc.value.status, exc.value.code, exc.value.param


def test_a_head_that_is_too_large_is_refused() -> None:
    settings = LimitSettings(max_header_bytes=1024)
    check_head([(b"a" * 24, b"b" * 999), (b"c", b"")], settings)
    with pytest.raises(Refused, match=r"larger than 1024 bytes \(TURNFOLD_MAX_HEADER_BYTES\)") as exc:
        check_head([(b"a" * 24, b"b" * 999), (b"c", b"d")], settings)
    assert refused(exc) == (431, "headers_too_large", None)


@each(
    ("hosts", "version", "found"),
    [
        (1, "1.1", ""),
        (1, "1.0", ""),
        (0, "1.0", ""),
        (0, "2", ""),
        (0, "1.1", "no Host header"),
        (2, "1.0", "several Host headers"),
    ],
)
def test_one_host_is_required(hosts: int, version: str, found: str) -> None:
    given = [(b"host", b"h")] * hosts + [(b"x", b"host")]
    if not found:
        check_host(given, version)
        return
    with pytest.raises(Refused, match=found) as exc:
        check_host(given, version)
    assert refused(exc) == (400, "invalid_header", "host")


@each(("path", "found"), [("*", "begin with a slash"), ("/a/../b", "dot segments"), ("/a/%2e", "dot segments")])
def test_dot_segments_are_refused(path: str, found: str) -> None:
    check_path("/a/..b/c..")
    with pytest.raises(Refused, match=found) as exc:
        check_path(path)
    assert refused(exc) == (400, "invalid_path", None)


def test_bodies_together() -> None:
    bodies = UnfinishedBodies(101)
    bodies.add("anna", 50)
    for tenant, size in (("anna", 1), ("bert", 52)):
        with pytest.raises(Refused) as exc:
            bodies.add(tenant, size)
        assert refused(exc) == (503, "too_many_bodies", None)
        assert exc.value.headers == ((b"retry-after", b"1"),)
    bodies.add("bert", 51)  # the first of a tenant may be larger than half
    assert bodies.held == 101
    bodies.drop("bert", 50)
    assert bodies.held == 51
    bodies.add("anna", 0)
    bodies.drop("bert", 1)
    bodies.drop("bert", 0)
    assert bodies.held == 50
    bodies.drop("anna", 1)
    bodies.add("anna", 1)


async def read(pieces: list[bytes], declared: bytes | None = None, most: int = 10) -> tuple[bytes, int]:
    """What is read of a body, and what is held of it afterwards."""
    waiting = iter([{"type": "http.request", "body": piece, "more_body": True} for piece in pieces])

    async def receive() -> dict[str, object]:
        return next(waiting, {"type": "http.request", "body": b"", "more_body": False})

    headers = [] if declared is None else [(b"content-length", declared)]
    unfinished = UnfinishedBodies(100)
    inbound = Inbound({"type": "http", "headers": headers}, receive)
    try:
        return await read_body(inbound, LimitSettings.model_construct(max_body_bytes=most), unfinished, "anna"), unfinished.held
    finally:
        assert unfinished.held == 0


async def test_work_ends_when_its_client_leaves() -> None:
    async def leave() -> Message:
        return {"type": "http.disconnect"}

    watched = list[str]()

    async def stay() -> Message:
        watched.append("begins")
        try:
            await asyncio.sleep(60)
        finally:
            watched.append("ends")
        return await leave()

    task = asyncio.current_task()
    assert task is not None
    await while_present(Inbound({"type": "http", "headers": []}, leave), asyncio.sleep(60))
    assert not task.cancelling()
    await while_present(Inbound({"type": "http", "headers": []}, stay), asyncio.sleep(0))
    others = asyncio.create_task(while_present(Inbound({"type": "http", "headers": []}, stay), asyncio.sleep(60)))
    await asyncio.sleep(0)
    others.cancel()
    with pytest.raises(asyncio.CancelledError):
        await others
    await asyncio.sleep(0)
    assert watched == ["begins", "ends"] * 2, "nobody watches a client whose work is done"


@pytest.mark.parametrize("declared", [None, b"10", b"soon"])
async def test_a_body_that_is_too_large_is_refused(declared: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbound, "_LONG_JOIN", 9)
    assert await read([b"1234", b"", b"567890"], declared) == (b"1234567890", 0)
    assert await read([b"1234", b"5678"], declared) == (b"12345678", 0)
    with pytest.raises(Refused, match=r"larger than 10 bytes \(TURNFOLD_MAX_BODY_BYTES\)") as exc:
        await read([b"1234", b"5678901"], declared)
    assert refused(exc) == (413, "body_too_large", None)
    for too_long in (b"11", b"9" * 5000):
        with pytest.raises(Refused):
            await read([], too_long)


def test_a_body_without_its_coding() -> None:
    settings, coded = LimitSettings.model_construct(max_body_bytes=10), gzip.compress(b"1234567890")
    assert plain_body(coded, "gzip", settings) == b"1234567890"
    assert plain_body(coded, "", settings) == plain_body(coded, "identity", settings) == coded
    assert plain_body(coded, "compress", settings) is plain_body(coded[:-9], "gzip", settings) is None
    with pytest.raises(Refused) as exc:
        plain_body(gzip.compress(b"12345678901"), "gzip", settings)
    assert refused(exc) == (413, "body_too_large", None)
