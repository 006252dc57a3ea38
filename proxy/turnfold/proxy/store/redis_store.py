"""A store in Redis or Valkey, shared by every replica.

Lives here: the layout of keys and the scripts that write. Does not belong here: time-outs and reconnection (``guard``).

Layout (``T`` the tenant; braces keep a tenant in one slot):

    turnfold:{T}:i:KIND:ID   string   an item
    turnfold:{T}:k:KIND      zset     [kind, id] of the items of a kind, scored by expiry
    turnfold:{T}:c:LABEL     zset     [kind, id] of the items put under a conversation, likewise
    turnfold:{T}:s           zset     the names of these zsets, likewise
    turnfold:{}:l:NAME       list     a log
    turnfold:{}:n:NAME       hash     a table of counts
    turnfold:{}:b:ID         string   a batch that was taken

A key of ours that holds another type, or a count that is no number, is damaged: the scripts remove it and write on, and readers
leave it out. Both are told (``records.report_unreadable``); nothing is kept of it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar
from urllib.parse import quote

from redis import asyncio as aioredis
from redis import exceptions as errors
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from turnfold.proxy.store.base import Batch, Item, Key, Scope, StoreError, StoreFailed, StoreRefused, StoreUnavailable
from turnfold.proxy.store.records import report_unreadable

T = TypeVar("T")

# KEYS: four an item (item, zset of its kind, zset of its conversation, zset of zsets).
# ARGV: "" or "absent" or the SHA-1 of what the first key must hold; now; then five an item (value, milliseconds to live,
# member, expiry, whether it has a conversation).
_SAVE: Final = """
local function clear(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
end
if ARGV[1] ~= '' then
  clear(KEYS[1], 'string')
  local held = redis.call('GET', KEYS[1])
  if ARGV[1] == 'absent' then
    if held then return 0 end
  elseif not held or redis.sha1hex(held) ~= ARGV[1] then
    return 0
  end
end
local function index(key, expiry, member, life)
  clear(key, 'zset')
  redis.call('ZADD', key, 'GT', expiry, member)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', ARGV[2])
  if redis.call('PTTL', key) < tonumber(life) then redis.call('PEXPIRE', key, life) end
end
for i = 0, #KEYS / 4 - 1 do
  local k, a = 4 * i, 5 * i + 2
  local life, expiry = ARGV[a + 2], ARGV[a + 4]
  redis.call('SET', KEYS[k + 1], ARGV[a + 1], 'PX', life)
  index(KEYS[k + 2], expiry, ARGV[a + 3], life)
  index(KEYS[k + 4], expiry, KEYS[k + 2], life)
  if ARGV[a + 5] == '1' then
    index(KEYS[k + 3], expiry, ARGV[a + 3], life)
    index(KEYS[k + 4], expiry, KEYS[k + 3], life)
  end
end
return 1
"""

# KEYS: the batch, then logs and tables. ARGV: milliseconds to live for the batch's name; then for each key "l" or "n",
# milliseconds to live, how many values, the values.
_RECORD: Final = """
if not redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then return {} end
local a, damaged = 2, {}
for k = 2, #KEYS do
  local kind, life, n = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2])
  a = a + 3
  local found = redis.call('TYPE', KEYS[k]).ok
  if found ~= 'none' and found ~= (kind == 'l' and 'list' or 'hash') then
    redis.call('UNLINK', KEYS[k])
    table.insert(damaged, KEYS[k])
  end
  if kind == 'l' then
    for i = a, a + n - 1 do redis.call('RPUSH', KEYS[k], ARGV[i]) end
  else
    for i = a, a + n - 1, 2 do
      local sum = redis.pcall('HINCRBY', KEYS[k], ARGV[i], ARGV[i + 1])
      if type(sum) == 'table' then
        redis.call('HSET', KEYS[k], ARGV[i], ARGV[i + 1])
        table.insert(damaged, KEYS[k])
      end
    end
  end
  a = a + n
  if redis.call('PTTL', KEYS[k]) < tonumber(life) then redis.call('PEXPIRE', KEYS[k], life) end
end
return damaged
"""
# KEYS: a log. ARGV: the lines to delete. Every line is taken from the left, and what stays is put back at the right: this keeps
# the order and the time to live.
_ERASE: Final = """
local going, life = {}, redis.call('PTTL', KEYS[1])
for i = 1, #ARGV do going[ARGV[i]] = true end
local left, gone = redis.call('LLEN', KEYS[1]), 0
while left > 0 do
  local page = redis.call('LPOP', KEYS[1], math.min(left, 1000))
  local stays = {}
  for i = 1, #page do
    if going[page[i]] then gone = gone + 1 else stays[#stays + 1] = page[i] end
  end
  if #stays > 0 then redis.call('RPUSH', KEYS[1], unpack(stays)) end
  left = left - #page
end
if life > 0 then redis.call('PEXPIRE', KEYS[1], life) end
return gone
"""
_PAGE: Final = 500
_WRONG_TYPE: Final = "WRONGTYPE"
_SCANNED: Final = 1000  # keys that a server looks at in one step
_MAX_CONNECTIONS: Final = 32
_SOCKET_TIMEOUT: Final = 10.0  # the last resort; what a caller waits for is the guard's affair


def _blob(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(blob: bytes) -> str:
    return blob.decode("utf-8", "surrogatepass")


def _space(tenant: str) -> bytes:
    return b"turnfold:{" + quote(_blob(tenant), safe="").encode() + b"}:"


def _milliseconds(ttl: float) -> int:
    return max(1, round(ttl * 1000))


def _item_key(key: Key) -> bytes:
    return _space(key.tenant) + b"i:" + quote(_blob(key.kind), safe="").encode() + b":" + _blob(key.id)


def _scope_key(tenant: str, letter: bytes, name: str) -> bytes:
    return _space(tenant) + letter + b":" + _blob(name)


def _member(key: Key) -> bytes:
    return json.dumps([key.kind, key.id]).encode()


def _own(letter: bytes, name: str) -> bytes:
    return b"turnfold:{}:" + letter + b":" + _blob(name)


def _pool(url: str, connect_timeout: float) -> aioredis.BlockingConnectionPool:
    try:
        pool: aioredis.BlockingConnectionPool = aioredis.BlockingConnectionPool.from_url(
            url,
            max_connections=_MAX_CONNECTIONS,
            timeout=None,
            socket_connect_timeout=connect_timeout,
            socket_timeout=_SOCKET_TIMEOUT,
            retry=Retry(NoBackoff(), 0),
            client_name="turnfold",
        )
        # Options of the URL are looked at only here; this connects to nothing.
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, ValueError, errors.RedisError) as exc:
        raise StoreFailed(f"the store's URL is not understood: {exc}") from exc
    return pool


class RedisStore:
    """A store behind a redis-py URL; nothing is sent before the first call.

    Args:
        connect_timeout: seconds that a new connection may take.

    Raises:
        StoreFailed: redis-py does not understand the URL.
    """

    def __init__(self, url: str, connect_timeout: float = 0.1) -> None:
        self._redis: Any = aioredis.Redis.from_pool(_pool(url, connect_timeout))
        self._save = self._redis.register_script(_SAVE)
        self._record = self._redis.register_script(_RECORD)
        self._erase = self._redis.register_script(_ERASE)

    async def _call(self, work: Callable[[], Awaitable[T]], again: bool = True) -> T:
        """Run and translate exceptions; with `again`, repeat the call once on a new connection if a pooled one went stale."""
        try:
            return await work()
        except errors.ReadOnlyError as exc:
            # After a failover the address leads to the new primary, but these connections still lead to the old one.
            await self._redis.connection_pool.disconnect(inuse_connections=False)
            if not again:
                raise _translate(exc) from exc
        except (errors.ConnectionError, ConnectionError) as exc:
            if not again or isinstance(exc, errors.AuthenticationError):
                raise _translate(exc) from exc
        except (errors.RedisError, OSError, ValueError, TypeError, OverflowError) as exc:
            raise _translate(exc) from exc
        return await self._call(work, again=False)

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        if not keys:
            return []
        # Of a key that holds another type MGET says that there is nothing.
        return await self._call(lambda: self._redis.mget([_item_key(key) for key in keys]))

    def _save_arguments(self, guard: str, items: Sequence[Item]) -> tuple[list[bytes], list[Any]]:
        now = time.time()
        keys: list[bytes] = []
        values: list[Any] = [guard, now]
        for item in items:
            tenant = item.key.tenant
            label = item.conversation
            kind = _scope_key(tenant, b"k", item.key.kind)
            keys += [_item_key(item.key), kind, kind if label is None else _scope_key(tenant, b"c", label), _space(tenant) + b"s"]
            values += [item.value, _milliseconds(item.ttl), _member(item.key), now + item.ttl, int(label is not None)]
        return keys, values

    async def put(self, items: Sequence[Item]) -> None:
        if items:
            keys, values = self._save_arguments("", items)
            await self._call(lambda: self._save(keys, values))

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        guard = "absent" if expected is None else hashlib.sha1(expected, usedforsecurity=False).hexdigest()
        keys, values = self._save_arguments(guard, [item])
        # Not repeated when the connection breaks: it may have been done, and then the expected value is gone.
        return bool(await self._call(lambda: self._save(keys, values), again=False))

    async def _scopes(self, scope: Scope) -> list[bytes]:
        if scope.conversation is not None:
            return [_scope_key(scope.tenant, b"c", scope.conversation)]
        if scope.kind is not None:
            return [_scope_key(scope.tenant, b"k", scope.kind)]
        names = await self._of_type(self._redis.zrange(_space(scope.tenant) + b"s", 0, -1), "index")
        return sorted(name for name in names if name.startswith(_space(scope.tenant) + b"k:"))

    async def _members(self, scope: Scope, name: bytes) -> list[Key]:
        members = await self._of_type(self._redis.zrangebyscore(name, f"({time.time()}", "+inf"), "index")
        keys = (key for member in members if (key := _key_of(scope.tenant, member)) is not None)
        return sorted(key for key in keys if scope.kind in {None, key.kind})

    async def _of_type(self, reading: Awaitable[list[bytes]], what: str) -> list[bytes]:
        """What a command reads; nothing where the key holds another type."""
        try:
            return await reading
        except errors.ResponseError as exc:
            if not str(exc).startswith(_WRONG_TYPE):
                raise
            report_unreadable(what, "its key holds another type")
            return []

    async def _live(self, scope: Scope) -> list[Key]:
        found = [key for name in await self._scopes(scope) for key in await self._members(scope, name)]
        live: list[Key] = []
        for start in range(0, len(found), _PAGE):
            page = found[start : start + _PAGE]
            pipe = self._redis.pipeline(transaction=False)
            for key in page:
                pipe.exists(_item_key(key))
            live += [key for key, exists in zip(page, await pipe.execute(), strict=True) if exists]
        return live

    async def keys(self, scope: Scope, offset: int = 0, limit: int = 1000) -> list[Key]:
        return (await self._call(lambda: self._live(scope)))[offset : offset + limit]

    async def _unlink(self, keys: Sequence[Key]) -> int:
        gone = 0
        for start in range(0, len(keys), _PAGE):
            page = keys[start : start + _PAGE]
            pipe = self._redis.pipeline(transaction=True)
            pipe.unlink(*map(_item_key, page))
            for key in page:
                pipe.zrem(_scope_key(key.tenant, b"k", key.kind), _member(key))
            gone += (await pipe.execute())[0]
        return gone

    async def delete(self, scope: Scope) -> int:
        async def work() -> int:
            scopes = await self._scopes(scope)
            keys = [key for name in scopes for key in await self._members(scope, name)]
            gone = await self._unlink(keys)
            if scope.kind is None:
                await self._forget(scope)
            return gone

        return await self._call(work)

    async def _forget(self, scope: Scope) -> None:
        index = _space(scope.tenant) + b"s"
        if scope.conversation is not None:
            name = _scope_key(scope.tenant, b"c", scope.conversation)
            await self._redis.unlink(name)
            await self._redis.zrem(index, name)
        else:
            await self._redis.unlink(*await self._of_type(self._redis.zrange(index, 0, -1), "index"), index)

    async def discard(self, keys: Sequence[Key]) -> int:
        return await self._call(lambda: self._unlink(list(dict.fromkeys(keys)))) if keys else 0

    async def record(self, batch: Batch) -> None:
        await self.put(batch.items)
        keys = [_own(b"b", batch.id)]
        life, lines_life = _milliseconds(batch.ttl), _milliseconds(batch.life_of_lines())
        values: list[Any] = [max(life, lines_life)]
        for name, lines in batch.lines.items():
            keys.append(_own(b"l", name))
            values += ["l", lines_life, len(lines), *lines]
        for name, additions in batch.additions.items():
            keys.append(_own(b"n", name))
            values += ["n", life, 2 * len(additions)]
            for counter, number in additions.items():
                values += [_blob(counter), number]
        for _ in await self._call(lambda: self._record(keys, values)):
            report_unreadable("log or table of sums", "it was damaged, and begins anew")

    async def log(self, name: str, position: int = 0, limit: int = 1000) -> tuple[list[bytes], int | None]:
        key = _own(b"l", name)
        lines = await self._call(lambda: self._of_type(self._redis.lrange(key, position, position + limit), "log"))
        return lines[:limit], position + limit if len(lines) > limit else None

    async def newest(self, name: str, skip: int = 0, limit: int = 100) -> list[bytes]:
        key = _own(b"l", name)
        lines = await self._call(lambda: self._of_type(self._redis.lrange(key, -(skip + limit), -(skip + 1)), "log"))
        return lines[::-1]

    async def counts(self, names: Sequence[str]) -> list[dict[str, int]]:
        async def work() -> list[dict[str, int]]:
            pipe = self._redis.pipeline(transaction=False)
            for name in names:
                pipe.hgetall(_own(b"n", name))
            return [_sums(table) for table in await pipe.execute(raise_on_error=False)]

        return await self._call(work)

    async def names(self) -> tuple[list[str], list[str]]:
        async def work(letter: bytes) -> list[str]:
            start = _own(letter, "")
            found = {key async for key in self._redis.scan_iter(match=start + b"*", count=_SCANNED)}
            return sorted(_text(key.removeprefix(start)) for key in found)

        return await self._call(lambda: work(b"l")), await self._call(lambda: work(b"n"))

    async def erase(self, lines: Mapping[str, Sequence[bytes]], fields: Mapping[str, Sequence[str]]) -> int:
        async def work() -> int:
            gone = 0
            for name, going in lines.items():
                if going:
                    gone += await self._erase([_own(b"l", name)], list(going))
            for name, counters in fields.items():
                for start in range(0, len(counters), _PAGE):
                    gone += await self._redis.hdel(_own(b"n", name), *map(_blob, counters[start : start + _PAGE]))
            return gone

        return await self._call(work)

    async def scrub(self) -> None:
        """Nothing: what a server has written to its own disk (AOF, snapshots) is replaced when it next rewrites them."""

    async def ping(self) -> None:
        await self._call(self._redis.ping)

    async def close(self) -> None:
        await self._redis.aclose()


def _key_of(tenant: str, member: bytes) -> Key | None:
    """The key that an index names; None, which is told, where it names none."""
    try:
        kind, name = json.loads(member)
    except (ValueError, TypeError, RecursionError):
        kind = name = None
    if isinstance(kind, str) and isinstance(name, str):
        return Key(tenant, kind, name)
    report_unreadable("index", "it names no key")
    return None


def _sums(table: dict[bytes, bytes] | Exception) -> dict[str, int]:
    """A table of counts, without what is no count.

    Raises:
        RedisError: the table could not be read.
    """
    if isinstance(table, Exception):
        if not str(table).startswith(_WRONG_TYPE):
            raise table
        report_unreadable("table of sums", "its key holds another type")
        return {}
    found: dict[str, int] = {}
    for counter, value in table.items():
        try:
            found[_text(counter)] = int(value)
        except ValueError:
            report_unreadable("sum", "it is no whole number")
    return found


def _translate(exc: Exception) -> StoreError:
    away = (errors.ConnectionError, errors.TimeoutError, errors.BusyLoadingError, OSError)
    if isinstance(exc, (errors.DataError, ValueError, TypeError, OverflowError)) or str(exc).startswith(_WRONG_TYPE):
        return StoreRefused(f"Redis: {exc}")
    refused = isinstance(exc, errors.AuthenticationError)
    return (StoreUnavailable if isinstance(exc, away) and not refused else StoreFailed)(f"Redis: {exc or type(exc).__name__}")
