"""What a Redis server holds of ours.

It lists every key with its value, and checks that none lives for ever. Tests know what should be there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def dump(valkey: Any, url: str) -> dict[bytes, bytes]:
    """Every key of a server with what it holds, and that each one expires."""
    client = valkey.client(db=int(url.rpartition("/")[2]), decode_responses=False)
    readers: dict[bytes, Callable[[bytes], Any]] = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"zset": lambda key: client.zrange(key, 0, -1),
    }
    found = {}
    for key in client.keys(b"*"):
        assert client.pttl(key) > 0, f"{key!r} never expires"
        found[key] = repr(readers[client.type(key)](key)).encode()
    return found
