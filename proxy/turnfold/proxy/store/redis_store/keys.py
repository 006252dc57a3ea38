"""Names of keys in Redis, and which of them lie together.

Only the layout; ``store`` and ``scripts`` use the keys.

On one server (``T`` the tenant):

    turnfold:{T}:i:KIND:ID   string   an item
    turnfold:{T}:k:KIND      zset     [kind, id] of the items of a kind, scored by expiry
    turnfold:{T}:c:LABEL     zset     [kind, id] of the items put under a conversation; scores as above
    turnfold:{T}:s           zset     the names of these zsets; scores as above
    turnfold:{}:l:NAME       list     a log
    turnfold:{}:n:NAME       hash     a table of counts
    turnfold:{}:b:ID         string   a batch that was taken

In a cluster, where what stands in braces chooses the node, a tenant has `_SHARDS` such spaces (``{T/0}`` to ``{T/15}``), each
with its own indexes: otherwise an installation with one credential would fill one node. A hash of kind and id chooses the space,
so an item lies in one slot with its indexes. Every log and table has a slot of its own, with the marks of its batches:

    turnfold:books:{NAME}:l  :n  :b:ID
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from turnfold.proxy.store.base import Key, blob, text_of
from turnfold.proxy.store.records import report_unreadable

_SHARDS: Final = 16
_BOOKS: Final = b"turnfold:books:{"


def _quoted(text: str) -> bytes:
    return quote(blob(text), safe="").encode()


def member(key: Key) -> bytes:
    """The name of an item in an index."""
    return json.dumps([key.kind, key.id]).encode()


def key_of(tenant: str, named: bytes) -> Key | None:
    """The key for a name in an index; None, which is logged and counted, if the name is invalid."""
    try:
        kind, name = json.loads(named)
    except (ValueError, TypeError, RecursionError):
        kind = name = None
    if isinstance(kind, str) and isinstance(name, str):
        return Key(tenant, kind, name)
    report_unreadable("index", "it names no key")
    return None


def kind_index(space: bytes, kind: str) -> bytes:
    """The zset of all items of a kind."""
    return space + b"k:" + blob(kind)


def label_index(space: bytes, conversation: str) -> bytes:
    """The zset of all items stored under a conversation."""
    return space + b"c:" + blob(conversation)


def index_of_indexes(space: bytes) -> bytes:
    """The zset of all zsets of a space."""
    return space + b"s"


class OneServer:
    """Keys on a single server."""

    spread = False

    def spaces(self, tenant: str) -> list[bytes]:
        """The prefixes of a tenant's keys."""
        return [b"turnfold:{" + _quoted(tenant) + b"}:"]

    def space(self, key: Key) -> bytes:
        """The space of an item and its indexes."""
        return self.spaces(key.tenant)[0]

    def item(self, key: Key) -> bytes:
        """The key of an item."""
        return self.space(key) + b"i:" + _quoted(key.kind) + b":" + blob(key.id)

    def together(self, keys: Iterable[Key]) -> list[list[int]]:
        """The positions of keys, in groups that a single command may name."""
        positions = [position for position, _ in enumerate(keys)]
        return [positions] if positions else []

    def own(self, letter: bytes, name: str) -> bytes:
        """The key of a log ("l") or table ("n")."""
        return b"turnfold:{}:" + letter + b":" + blob(name)

    def mark(self, batch: str, name: str) -> bytes:
        """The key that marks a batch as applied to a log or table."""
        del name
        return b"turnfold:{}:b:" + blob(batch)

    def pattern(self, letter: bytes) -> bytes:
        """The pattern of the keys of all logs, or of all tables."""
        return self.own(letter, "*")

    def name_of(self, key: bytes, letter: bytes) -> str:
        """The name of a log or table, from its key."""
        return text_of(key.removeprefix(self.own(letter, "")))


class Spread(OneServer):
    """Keys spread over the slots of a cluster."""

    spread = True

    def spaces(self, tenant: str) -> list[bytes]:
        """See `OneServer`."""
        return [b"turnfold:{%b/%d}:" % (_quoted(tenant), shard) for shard in range(_SHARDS)]

    def space(self, key: Key) -> bytes:
        """See `OneServer`."""
        shard = zlib.crc32(member(key)) % _SHARDS
        return b"turnfold:{%b/%d}:" % (_quoted(key.tenant), shard)

    def together(self, keys: Iterable[Key]) -> list[list[int]]:
        """See `OneServer`."""
        groups: dict[bytes, list[int]] = {}
        for position, key in enumerate(keys):
            groups.setdefault(self.space(key), []).append(position)
        return list(groups.values())

    def own(self, letter: bytes, name: str) -> bytes:
        """See `OneServer`."""
        return _BOOKS + _quoted(name) + b"}:" + letter

    def mark(self, batch: str, name: str) -> bytes:
        """See `OneServer`."""
        return self.own(b"b:", name) + blob(batch)

    def pattern(self, letter: bytes) -> bytes:
        """See `OneServer`."""
        return _BOOKS + b"*}:" + letter

    def name_of(self, key: bytes, letter: bytes) -> str:
        """See `OneServer`."""
        return text_of(unquote_to_bytes(key.removeprefix(_BOOKS).removesuffix(b"}:" + letter)))
