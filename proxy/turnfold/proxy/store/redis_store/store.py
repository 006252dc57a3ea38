"""A store in Redis or Valkey, shared by every replica.

What each operation of a store does with the keys, and the batches that a server that takes over may lack. Names of keys are in
``keys``, scripts in ``scripts``, connections in ``links``, timeouts in ``guard``.

On one server each operation is one step. In a cluster a step covers one slot: some of the items that are stored together may be
visible before the others, and one log or table of a batch before another. Each is applied once, however often a batch is
repeated.

One of Turnfold's keys that holds another type, or a count that is no number, is damaged: writing removes it, and readers leave
it out. Both are told (``records.report_unreadable``); nothing is kept of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from redis import exceptions as errors

from turnfold.proxy.store.base import (
    Batch,
    Item,
    Key,
    NewestWrites,
    Room,
    Scope,
    StoreError,
    StoreFailed,
    StoreForbidden,
    StoreRefused,
    StoreUnavailable,
    blob,
    text_of,
)
from turnfold.proxy.store.records import report_unreadable
from turnfold.proxy.store.redis_store import scripts
from turnfold.proxy.store.redis_store.keys import index_of_indexes, key_of, kind_index, label_index, member
from turnfold.proxy.store.redis_store.links import ClusterLink, Link, open_link

T = TypeVar("T")

_PAGE: Final = 500
_WRONG_TYPE: Final = "WRONGTYPE"
_OF_MACHINE: Final = 0.75  # of a machine's memory, for a server without a limit of its own
_FULL: Final = 0.9  # of a server's memory: beyond that it would soon refuse receipts
_LANES: Final = 32  # simultaneous commands, each with its own connection
_MOST_BYTES: Final = 16 * 2**20
_ENTRY: Final = 100  # bytes of a counter, a line or an item besides its text
_AGE: Final = 60.0  # seconds; a replaced primary is a replica long before that


def _milliseconds(ttl: float) -> int:
    return max(1, round(ttl * 1000))


class _Step:
    """A script cached by the server, and sent again if the server lacks it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._name = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()

    async def run(self, client: Any, keys: Sequence[bytes], values: Sequence[Any]) -> Any:
        """Run the script and return its result. The server compares and writes in one step."""
        try:
            return await client.execute_command("EVALSHA", self._name, len(keys), *keys, *values)
        except errors.NoScriptError:  # a new, promoted or restarted server
            return await client.execute_command("EVAL", self._text, len(keys), *keys, *values)


_SAVE, _RECORD, _ERASE, _MERGE, _PRESENT, _DISCARD = map(
    _Step, (scripts.SAVE, scripts.RECORD, scripts.ERASE, scripts.MERGE, scripts.PRESENT, scripts.DISCARD)
)


def _size(batch: Batch) -> int:
    lines = [len(line) for found in batch.lines.values() for line in found]
    counters = [len(name) for found in batch.additions.values() for name in found]
    items = [len(item.value) for item in batch.items]
    return sum(lines) + sum(counters) + sum(items) + _ENTRY * (len(lines) + len(counters) + len(items))


class NewestBatches:
    """Implements ``NewestWrites``.

    Replication is asynchronous. A promoted replica may lack the last writes, and a replaced primary accepts writes until its
    clients leave it, which are lost when it becomes a replica. A batch's mark is stored with it, so a batch that did arrive
    counts once however often it is repeated.
    """

    def __init__(self, link: Link | ClusterLink) -> None:
        self._link = link
        self._serving = self._asked = link.serving
        self._kept: deque[tuple[float, int, Batch, float]] = deque()
        self._bytes = 0

    def add(self, batch: Batch, built: float) -> None:
        """See ``NewestWrites``."""
        self._kept.append((time.monotonic(), _size(batch), batch, built))
        self._bytes += self._kept[-1][1]
        self._drop_old()

    def to_repeat(self) -> list[tuple[Batch, float]]:
        """See ``NewestWrites``."""
        self._drop_old()
        self._asked = self._link.serving
        if not self._kept:
            self._serving = self._asked
        return [] if self._asked == self._serving else [(batch, built) for _, _, batch, built in self._kept]

    def repeated(self) -> None:
        """See ``NewestWrites``."""
        self._serving = self._asked

    def _drop_old(self) -> None:
        youngest = time.monotonic() - _AGE
        while self._kept and (self._kept[0][0] < youngest or self._bytes > _MOST_BYTES):
            self._bytes -= self._kept.popleft()[1]


class RedisStore:
    """A store behind a URL (``links``). Nothing is sent before the first call.

    Args:
        connect_timeout: seconds that a new connection may take.

    Attributes:
        newest_writes: batches for a server that takes over, stored and repeated by whoever records them.

    Raises:
        StoreFailed: the URL is invalid.
    """

    def __init__(self, url: str, connect_timeout: float = 0.1) -> None:
        self._link = open_link(url, connect_timeout, _LANES)
        self._keys = self._link.layout
        self._lanes = asyncio.Semaphore(_LANES)
        self.newest_writes: NewestWrites = NewestBatches(self._link)

    async def _do(self, *command: Any) -> Any:
        async with self._lanes:
            return await (await self._link.ready()).execute_command(*command)

    async def _run(self, script: _Step, keys: Sequence[bytes], values: Sequence[Any]) -> Any:
        async with self._lanes:
            return await script.run(await self._link.ready(), keys, values)

    async def _call(self, work: Callable[[], Awaitable[T]], again: bool = True) -> T:
        """Run a call and translate its exceptions. If `again`, repeat it once on a new connection if a pooled one was stale."""
        try:
            return await work()
        except errors.ReadOnlyError as exc:
            # After a failover the address leads to the new primary, but these connections still lead to the old one.
            await self._link.leave()
            if not again:
                raise _translate(exc) from exc
        # AttributeError: raised by redis-py's cluster client if another call closes a connection that is just being opened.
        except (errors.ConnectionError, ConnectionError, AttributeError) as exc:
            if not again or isinstance(exc, errors.AuthenticationError):
                raise _translate(exc) from exc
        except _FAILURES as exc:
            raise _translate(exc) from exc
        return await self._call(work, again=False)

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        async def work() -> list[bytes | None]:
            found: list[bytes | None] = [None] * len(keys)

            async def read(group: Sequence[int]) -> None:
                # For a key of another type, MGET returns nothing.
                values = await self._do("MGET", *(self._keys.item(keys[position]) for position in group))
                for position, value in zip(group, values, strict=True):
                    found[position] = value

            await _all(read(group) for group in self._keys.together(keys))
            return found

        return await self._call(work) if keys else []

    def _save_arguments(self, guard: str, items: Sequence[Item]) -> tuple[list[bytes], list[Any]]:
        now = time.time()
        keys: list[bytes] = []
        values: list[Any] = [guard, now]
        for item in items:
            space = self._keys.space(item.key)
            label = item.conversation
            kind = kind_index(space, item.key.kind)
            keys += [
                self._keys.item(item.key),
                kind,
                kind if label is None else label_index(space, label),
                index_of_indexes(space),
            ]
            values += [item.value, _milliseconds(item.ttl), member(item.key), now + item.ttl, int(label is not None)]
        return keys, values

    async def put(self, items: Sequence[Item]) -> None:
        async def work() -> None:
            groups = self._keys.together(item.key for item in items)
            await _all(self._run(_SAVE, *self._save_arguments("", [items[i] for i in group])) for group in groups)

        if items:
            await self._call(work)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        guard = "absent" if expected is None else hashlib.sha1(expected, usedforsecurity=False).hexdigest()
        keys, values = self._save_arguments(guard, [item])
        # Not repeated if the connection breaks: the swap may have succeeded, and then the expected value is gone.
        return bool(await self._call(lambda: self._run(_SAVE, keys, values), again=False))

    async def _indexes(self, scope: Scope, space: bytes) -> list[bytes]:
        if scope.conversation is not None:
            return [label_index(space, scope.conversation)]
        if scope.kind is not None:
            return [kind_index(space, scope.kind)]
        names = await self._of_type("index", "ZRANGE", index_of_indexes(space), 0, -1)
        return sorted(name for name in names if name.startswith(kind_index(space, "")))

    async def _members(self, scope: Scope, name: bytes) -> list[Key]:
        named = await self._of_type("index", "ZRANGEBYSCORE", name, f"({time.time()}", "+inf")
        keys = (key for one in named if (key := key_of(scope.tenant, one)) is not None)
        return sorted(key for key in keys if scope.kind in {None, key.kind})

    async def _of_type(self, what: str, *command: Any) -> Any:
        """The result of a command; an empty list if the key has another type."""
        try:
            return await self._do(*command)
        except errors.ResponseError as exc:
            if not str(exc).startswith(_WRONG_TYPE):
                raise
            report_unreadable(what, "its key holds another type")
            return []

    async def _named(self, scope: Scope, space: bytes) -> list[Key]:
        """The keys listed in the indexes of a space."""
        return [key for name in await self._indexes(scope, space) for key in await self._members(scope, name)]

    async def _live(self, scope: Scope, space: bytes) -> list[Key]:
        found = await self._named(scope, space)
        live: list[Key] = []
        for start in range(0, len(found), _PAGE):
            page = found[start : start + _PAGE]
            present = await self._run(_PRESENT, [self._keys.item(key) for key in page], ())
            live += [key for key, there in zip(page, present, strict=True) if there]
        return live

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        async def work() -> list[Key]:
            found = await _all(self._live(scope, space) for space in self._keys.spaces(scope.tenant))
            return [key for keys in found for key in keys]

        return (await self._call(work))[offset : offset + limit]

    async def _unlink(self, keys: Sequence[Key]) -> int:
        gone = 0
        for start in range(0, len(keys), _PAGE):
            page = keys[start : start + _PAGE]
            names = [name for key in page for name in (self._keys.item(key), kind_index(self._keys.space(key), key.kind))]
            gone += await self._run(_DISCARD, names, [member(key) for key in page])
        return gone

    async def delete(self, scope: Scope) -> int:
        async def work(space: bytes) -> int:
            gone = await self._unlink(await self._named(scope, space))
            if scope.kind is None:
                await self._forget(scope, space)
            return gone

        spaces = self._keys.spaces(scope.tenant)
        return sum(await self._call(lambda: _all(work(space) for space in spaces)))

    async def _forget(self, scope: Scope, space: bytes) -> None:
        index = index_of_indexes(space)
        if scope.conversation is not None:
            name = label_index(space, scope.conversation)
            await self._do("UNLINK", name)
            await self._do("ZREM", index, name)
            return
        names = await self._of_type("index", "ZRANGE", index, 0, -1)
        for start in range(0, len(names), _PAGE):
            await self._do("UNLINK", *names[start : start + _PAGE])
        await self._do("UNLINK", index)

    async def discard(self, keys: Sequence[Key]) -> int:
        async def work() -> list[int]:
            once = list(dict.fromkeys(keys))
            return await _all(self._unlink([once[i] for i in group]) for group in self._keys.together(once))

        return sum(await self._call(work)) if keys else 0

    async def record(self, batch: Batch) -> None:
        await self.put(batch.items)
        life, lines_life = _milliseconds(batch.ttl), _milliseconds(batch.life_of_lines())
        parts: list[tuple[str, bytes, list[Any]]] = [
            (name, self._keys.own(b"l", name), ["l", lines_life, len(lines), *lines]) for name, lines in batch.lines.items()
        ]
        for name, additions in batch.additions.items():
            pairs = [value for counter, number in additions.items() for value in (blob(counter), number)]
            parts.append((name, self._keys.own(b"n", name), ["n", life, len(pairs), *pairs]))
        # In one step if all keys are on one server; a log and a table of the same name share the batch's mark.
        names = dict.fromkeys(name for name, _, _ in parts)
        groups = [[part for part in parts if part[0] == name] for name in names] if self._keys.spread else [parts]

        async def write(group: Sequence[tuple[str, bytes, list[Any]]]) -> list[bytes]:
            keys = [self._keys.mark(batch.id, group[0][0] if group else ""), *(key for _, key, _ in group)]
            values = [_milliseconds(batch.life_of_mark()), *(value for _, _, part in group for value in part)]
            damaged: list[bytes] = await self._run(_RECORD, keys, values)
            return damaged

        for damaged in await self._call(lambda: _all(map(write, groups))):
            for _ in damaged:
                report_unreadable("log or table of sums", "it was damaged and starts empty")

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        key = self._keys.own(b"l", name)
        lines: list[bytes] = await self._call(lambda: self._of_type("log", "LRANGE", key, position, position + limit))
        return lines[:limit], position + limit if len(lines) > limit else None

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        key = self._keys.own(b"l", name)
        lines: list[bytes] = await self._call(lambda: self._of_type("log", "LRANGE", key, -(skip + limit), -(skip + 1)))
        return lines[::-1]

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        async def read(name: str) -> dict[str, int]:
            return _sums(await self._of_type("table of sums", "HGETALL", self._keys.own(b"n", name)) or {})

        return await self._call(lambda: _all(map(read, names)))

    async def names(self) -> tuple[list[str], list[str]]:
        async def work(letter: bytes) -> list[str]:
            found = {key async for key in self._link.scan(self._keys.pattern(letter))}
            return sorted(self._keys.name_of(key, letter) for key in found)

        return await self._call(lambda: work(b"l")), await self._call(lambda: work(b"n"))

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        async def work() -> int:
            gone = 0
            for name, going in lines.items():
                if going:
                    gone += await self._run(_ERASE, [self._keys.own(b"l", name)], list(going))
            for name, counters in fields.items():
                for start in range(0, len(counters), _PAGE):
                    page = map(blob, counters[start : start + _PAGE])
                    gone += await self._do("HDEL", self._keys.own(b"n", name), *page)
            return gone

        return await self._call(work)

    async def merge(self, name: str, into: Mapping[str, str]) -> None:
        pairs = [blob(text) for cells in into.items() for text in cells]

        async def work() -> None:
            for start in range(0, len(pairs), 2 * _PAGE):
                await self._run(_MERGE, [self._keys.own(b"n", name)], pairs[start : start + 2 * _PAGE])

        await self._call(work)

    async def trim(self, name: str, share: float) -> None:
        key = self._keys.own(b"l", name)

        async def work() -> None:
            await self._do("LTRIM", key, math.ceil(share * await self._do("LLEN", key)), -1)

        await self._call(work)

    async def room(self) -> Room | None:
        """The fullest server's memory, if it refuses writes once that is full. Without a limit of its own, most of its machine's
        memory counts as one."""
        told = await self._call(lambda: self._do("INFO", "memory"))
        servers = list(told.values()) if all(isinstance(one, dict) for one in told.values()) else [told]
        rooms = [Room(one["used_memory"], limit) for one in servers if (limit := _limit(one))]
        return max(rooms, key=lambda room: room.used / room.limit, default=None)

    async def scrub(self) -> None:
        """Do nothing: data that a server has written to its own disk (AOF, snapshots) is replaced when it next rewrites them."""

    async def sweep(self) -> None:
        """Do nothing: the server removes expired items."""

    async def ping(self) -> None:
        await self._call(self._link.ping)

    async def eviction(self) -> str:
        """See ``MayEvict``."""
        told = await self._call(lambda: self._do("INFO", "memory"))
        return "" if not told.get("maxmemory") or told["maxmemory_policy"] == "noeviction" else told["maxmemory_policy"]

    async def close(self) -> None:
        await self._link.close()


async def _all(works: Iterable[Awaitable[T]]) -> list[T]:
    """The results of all works, which run concurrently.

    The first failure is raised once all have ended, so that a repeated call does not overlap with running ones.
    """
    pending = list(works)
    if len(pending) == 1:
        return [await pending[0]]
    done = await asyncio.gather(*pending, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
    return [one for one in done if not isinstance(one, BaseException)]


def _sums(table: dict[bytes, bytes]) -> dict[str, int]:
    """A table of counts, without invalid ones."""
    found: dict[str, int] = {}
    for counter, value in table.items():
        try:
            found[text_of(counter)] = int(value)
        except ValueError:
            report_unreadable("sum", "it is no whole number")
    return found


_FAILURES: Final = (errors.RedisError, errors.RedisClusterException, OSError, ValueError, TypeError, OverflowError)
_AWAY: Final = (
    errors.ConnectionError, errors.TimeoutError, errors.BusyLoadingError, errors.ClusterError, errors.TryAgainError,
    errors.RedisClusterException, OSError, AttributeError,
)  # fmt: skip
#: How Redis 6 and 7, Valkey 8 and 9, and their scripts report a missing permission; the last two are for a key.
_FORBIDDEN: Final = (
    "no permissions to",
    "can't run this command or subcommand",
    "can't access at least one of the keys",
    "can't access one of the keys",
)
_TRUST: Final = "its certificate is not trusted: name its authority's file in the URL, as in ?ssl_ca_certs=/etc/redis-ca.pem"
#: The permissions that Turnfold needs; in a cluster also those for finding keys.
_GRANTS: Final = "~turnfold:* +@read +@write +@scripting +@connection +info"
_GRANTS_OF_CLUSTER: Final = "+cluster +command"
#: Answers of servers of another kind than the URL says, and what to do.
_KNOWN_CAUSES: Final = (
    ("Cluster mode is not enabled", "the server is not part of a cluster: use redis://"),
    ("cluster support disabled", "the server is not part of a cluster: use redis://"),
    ("unknown command 'EVALSHA'", "it seems to be a Sentinel: use redis+sentinel://HOST:PORT/NAME"),
    ("unknown command 'MGET'", "it seems to be a Sentinel: use redis+sentinel://HOST:PORT/NAME"),
    ("unknown command 'SENTINEL", "the server is not a Sentinel: use redis://"),
    ("unknown command `SENTINEL", "the server is not a Sentinel: use redis://"),
    ("HELLO must be called", "the server asks for a password, and the URL has none"),
    ("NOAUTH", "the server asks for a password, and the URL has none"),
    ("used memory > 'maxmemory'", "the server is full (maxmemory), and may evict nothing: give it more memory"),
    ("no such file or directory", "a file that TURNFOLD_STORE_URL names, for example with ssl_ca_certs, is not there"),
    ("NO_CERTIFICATE_OR_CRL_FOUND", "the file that TURNFOLD_STORE_URL names with ssl_ca_certs holds no certificate"),
    ("read only replica", "the server is a replica, which takes no writes: name its primary"),
)


def _translate(exc: Exception) -> StoreError:
    said = str(exc)
    if isinstance(exc, errors.NoPermissionError) or any(words in said for words in _FORBIDDEN):
        grants = f"{_GRANTS} (in a cluster also {_GRANTS_OF_CLUSTER})"
        return StoreForbidden(f"Redis: {said}; Turnfold's user needs: ACL SETUSER NAME {grants}")
    if isinstance(exc, (errors.DataError, ValueError, TypeError, OverflowError)) or said.startswith(_WRONG_TYPE):
        return StoreRefused(f"Redis: {exc}")
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return StoreUnavailable(f"Redis: {_TRUST} ({exc})")
    advice = next((advice for words, advice in _KNOWN_CAUSES if words.lower() in said.lower()), "")
    if isinstance(exc, errors.MovedError):
        advice = "the server belongs to a cluster: use redis+cluster://"
    if advice:
        return StoreFailed(f"Redis: {advice} ({exc})")
    refused = isinstance(exc, errors.AuthenticationError)
    return (StoreUnavailable if isinstance(exc, _AWAY) and not refused else StoreFailed)(f"Redis: {said or type(exc).__name__}")


def _limit(memory: Mapping[str, Any]) -> int:
    """Bytes from which on a server counts as full, by what it tells of its memory; 0 if it evicts what is old instead."""
    if memory.get("maxmemory"):
        return int(_FULL * memory["maxmemory"]) if memory["maxmemory_policy"] == "noeviction" else 0
    return int(_OF_MACHINE * memory.get("total_system_memory", 0))
