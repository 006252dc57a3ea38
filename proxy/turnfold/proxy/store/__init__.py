"""Where conversation state, originals and receipts are kept: one protocol, four back-ends."""

from turnfold.proxy.store.base import (
    Batch,
    Item,
    Key,
    NewestWrites,
    Room,
    Scope,
    Store,
    StoreAway,
    StoreError,
    StoreFailed,
    StoreForbidden,
    StoreOff,
    StoreRefused,
    StoreTimedOut,
    StoreUnavailable,
)
from turnfold.proxy.store.opening import OpenStore, open_store

__all__ = [
    "Batch",
    "Item",
    "Key",
    "NewestWrites",
    "OpenStore",
    "Room",
    "Scope",
    "Store",
    "StoreAway",
    "StoreError",
    "StoreFailed",
    "StoreForbidden",
    "StoreOff",
    "StoreRefused",
    "StoreTimedOut",
    "StoreUnavailable",
    "open_store",
]
