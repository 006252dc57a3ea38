"""Where conversation state, originals and receipts are kept: one protocol, three back-ends."""

from turnfold.proxy.store.base import (
    Batch,
    Item,
    Key,
    Scope,
    Store,
    StoreError,
    StoreFailed,
    StoreTimedOut,
    StoreUnavailable,
)
from turnfold.proxy.store.opening import OpenStore, open_store

__all__ = [
    "Batch",
    "Item",
    "Key",
    "OpenStore",
    "Scope",
    "Store",
    "StoreError",
    "StoreFailed",
    "StoreTimedOut",
    "StoreUnavailable",
    "open_store",
]
