"""What is fuzzed of the shell: addresses that an operator writes, what a worker says to its parent, what a damaged store holds.

There is one function for each target, with inputs to start from, as in ``fuzz_targets``, which has bodies and streams. Mutations
are in ``benchmarks.fuzz``.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any, Final, cast

from tests.support.words import prose
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.fit import fit
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldDecision, FoldOptions, Likeness, Precedent, Warmth, WrittenSummary
from turnfold.compression.warmth import WarmthCounts
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.config.values import host_name, http_url, proxy_choice, store_url
from turnfold.proxy.asking.summary_records import SummaryRecords
from turnfold.proxy.learning.abandoned_records import AbandonedFold, keep_abandoned, read_abandoned
from turnfold.proxy.learning.deciding import Decisions, Place
from turnfold.proxy.learning.decision_records import keep_first
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.warmth_records import add_counts, list_warmth, read_counts
from turnfold.proxy.learning.window_records import UpstreamModel, list_records
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.semantic.encoder import Encoder
from turnfold.proxy.semantic.vector_records import LikenessRecords, VectorRecords
from turnfold.proxy.state_records import StateRecords
from turnfold.proxy.store.base import Item, Key, Scope, StoreError, StoreFailed
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.redis_store import RedisStore
from turnfold.proxy.workers import worker_says

_SPOT: Final = UpstreamModel("t1", "https://api.example", "gpt-4o")
_PLACE: Final = Place(_SPOT, "c1", "c1")
_MESSAGES: Final = tuple({"role": ("user", "assistant")[i % 2], "content": prose(i, "en", 6)} for i in range(13))
_BODY: Final = json.dumps({"model": "gpt-4o", "messages": _MESSAGES}).encode()
_OPTIONS: Final = FoldOptions(budget=400, model="gpt-4o", belief=FoldDecision(Warmth(0.5, 0.5)))
_PRECEDENT: Final = Precedent(5, "ab" * 16, FoldDecision(Warmth(0.9, 0.8), False, (WrittenSummary(0, 4, "cd", "They met."),)))
_LIKENESS: Final = Likeness(5, "ab" * 16, (b"\x01\x02",) * 4)
_DIMENSION: Final = 8
_ENCODER: Final = cast(Encoder, SimpleNamespace(name="e", dimension=_DIMENSION))  # as much of one as records ask for


class _Damaged(MemoryStore):
    """A store in which the same bytes stand under every key."""

    def __init__(self, value: bytes) -> None:
        super().__init__()
        self._value = value

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        return [self._value] * len(keys)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        del item
        return expected == self._value

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        del limit
        return [] if offset else [Key(scope.tenant, scope.kind or "section", "1")]


async def _read_all(store: MemoryStore) -> None:
    """Everything that is read while a request waits, and what a fold makes of it."""
    windows = Windows(store)
    known = await windows.learned(_SPOT)
    await list_records(store, "t1", 0.0)
    memory = WarmthMemory(store)
    memory.decision(_SPOT, "c1", FoldDecision(Warmth(0.5, 0.5)))
    await memory.sync()
    await read_counts(store, _SPOT)
    await add_counts(store, _SPOT, WarmthCounts())
    await list_warmth(store, "t1")
    await read_abandoned(store, _PLACE)
    await keep_abandoned(store, _PLACE, AbandonedFold(True, 2))
    vectors = VectorRecords(store, 60, _ENCODER)
    for value in (await vectors.keep_first("t1", {b"m": b"\x00" * _DIMENSION}, "c1")).values():
        assert len(value) % _DIMENSION == 0, "a vector of another size"
    likeness = await LikenessRecords(store, 60).keep_first(_SPOT, _LIKENESS, "c1")
    await SummaryRecords(store, 60).find(_PLACE, 0, 4, "cd")
    await StateRecords(store, 60).get("t1", "c1")
    await keep_first(store, _SPOT, [], {1: "cd"}, 60, "c1")
    (held,) = (await keep_first(store, _SPOT, [_PRECEDENT], {}, 60, "c1")).held
    decisions = Decisions(store, 60, memory)
    options = replace(_OPTIONS, precedents=(held,), likenesses=(likeness,))

    async def work(under: FoldOptions) -> Any:
        memo = Memo()
        return fit(CHAT.read(_BODY, memo), under, memo, known).folded

    await decisions.fold(options, _PLACE, work)
    await windows.learn_from_usage(_SPOT, 1000, 1010)
    await windows.learn_from_refusal(_SPOT, 8000, 9000)


def _run(work: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.run(work)
    except (StoreError, FoldRejected):
        return


def records(data: bytes) -> None:
    """Any bytes under every key: nothing but a store's own exceptions escapes."""
    _run(_read_all(_Damaged(data)))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def addresses(data: bytes) -> None:
    """A setting is taken, or refused with words; a store's address that is taken makes a store, or is refused with words."""
    text = _text(data)[:2000]
    checks: tuple[Callable[[str], str], ...] = (host_name, http_url, proxy_choice, store_url)
    for check in checks:
        try:
            taken = check(text)
        except ValueError as exc:
            _has_words(exc)
            continue
        if check is store_url and taken.startswith("redis"):
            asyncio.run(_open(taken))


def _has_words(refusal: Exception) -> None:
    assert str(refusal), "a refusal without words"


async def _open(url: str) -> None:
    try:
        store = RedisStore(url)
    except StoreFailed as exc:
        _has_words(exc)
        return
    await store.close()


def worker(data: bytes) -> None:
    """Whatever a worker writes to its parent, the parent neither waits nor fails."""
    ours, theirs = socket.socketpair()
    with ours, theirs, Connection(os.dup(ours.fileno())) as connection:
        theirs.settimeout(1.0)
        theirs.sendall(data[:60_000])
        for _ in range(3):
            worker_says(connection)


def _record_corpus() -> list[bytes]:
    """Records as they are written."""
    store = MemoryStore()

    async def write() -> list[bytes]:
        await keep_first(store, _SPOT, [_PRECEDENT], {}, 60, "c1")
        await add_counts(store, _SPOT, WarmthCounts())
        await keep_abandoned(store, _PLACE, AbandonedFold(True, 2))
        await LikenessRecords(store, 60).keep_first(_SPOT, _LIKENESS, "c1")
        await VectorRecords(store, 60, _ENCODER).keep_first("t1", {b"m": b"\x00" * _DIMENSION}, "c1")
        await SummaryRecords(store, 60).keep(_PLACE, _PRECEDENT.decision.summaries[0])
        windows = Windows(store)
        await windows.learn_from_refusal(_SPOT, 8000, 9000)
        for _ in range(40):
            await windows.learn_from_usage(_SPOT, 1000, 1300)
        keys = await store.keys(Scope("t1"))
        return [value for value in await store.get(keys) if value is not None]

    return asyncio.run(write())


def shell_corpus(name: str) -> list[bytes]:
    """Inputs to start from."""
    if name == "records":
        return [*_record_corpus(), b"", b"\x00", b"null", b"[]", b'{"record_version": 99}']
    if name == "worker":
        said = [b"\x88\x04", b"\x80\x04\x88.", b"\x80\x04\x89.", b""]
        return [struct.pack("!i", len(one)) + one for one in said] + [struct.pack("!i", -1), struct.pack("!i", 2**31 - 1)]
    return [
        b"redis://user:p%40ss@host:6379/0?ssl_cert_reqs=none",
        b"redis+cluster://u:p@a:7000,b,[::1]:7002/0",
        b"rediss+sentinel://u:p@a,b:26380/mymaster/3?sentinel_username=s&health_check_interval=5",
        b"sqlite:////var/lib/t.db",
        b"https://api.example:8443/v1",
        b"http://[fe80::1%eth0]:80",
        b"none",
    ]
