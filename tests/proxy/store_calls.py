"""One call of each kind that a store takes.

Tests decide what the calls should give.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from turnfold.proxy.store import Item, Key, Scope, Store
from turnfold.proxy.store.base import Batch

KEY = Key("anna", "section", "s")
ITEM = Item(KEY, b"v", 60)
#: Every call of a store by its name.
CALLS: dict[str, Callable[[Store], Awaitable[Any]]] = {
    "get": lambda store: store.get([KEY]),
    "put": lambda store: store.put([ITEM]),
    "swap": lambda store: store.swap(None, ITEM),
    "keys": lambda store: store.keys(Scope("anna")),
    "delete": lambda store: store.delete(Scope("anna")),
    "discard": lambda store: store.discard([KEY]),
    "record": lambda store: store.record(Batch.of_items([ITEM])),
    "log": lambda store: store.log("l"),
    "newest": lambda store: store.newest("l"),
    "counts": lambda store: store.counts(["n"]),
    "names": lambda store: store.names(),
    "erase": lambda store: store.erase({}, {}),
    "merge": lambda store: store.merge("n", {}),
    "trim": lambda store: store.trim("l", 0.0),
    "room": lambda store: store.room(),
    "scrub": lambda store: store.scrub(),
    "ping": lambda store: store.ping(),
}
#: Those that a request waits for.
AT_ONCE = frozenset({"get", "put", "swap", "ping"})
