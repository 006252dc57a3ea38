"""A trial of every kind of store operation: a Redis user may be allowed one command and not the next.

One call of each kind, under a key that nothing else uses. Advice is up to ``checkup``. The list of all logs is left out, since it
takes long in a large store.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import Final

from turnfold.proxy.store import Batch, Item, Key, Scope, Store

_LIFE: Final = 60.0  # seconds to live of what an interrupted trial leaves behind


async def try_store(store: Store) -> float | None:
    """Write, read and delete items, a log and a table.

    Returns:
        Seconds that one write and one read took; None if the store did not give back what it was given.

    Raises:
        StoreError: it does not do one of these.
    """
    name = f"doctor-{uuid.uuid4().hex}"
    item = Item(Key(name, "doctor", "probe"), b"1", _LIFE, conversation=name)
    started = time.perf_counter()
    await store.put([item])
    held = await store.get([item.key])
    took = time.perf_counter() - started
    whole = [held == [item.value], await _swap(store, item), await _keep_books(store, name)]
    whole.append(await store.delete(Scope(name, conversation=name)) == 1)
    whole.append(await store.delete(Scope(name)) == 0)
    return took if all(whole) else None


async def _swap(store: Store, item: Item) -> bool:
    changed = replace(item, value=b"2")
    swapped = await store.swap(item.value, changed)
    found = await store.get([item.key]), await store.keys(Scope(item.key.tenant))
    await store.discard([item.key])
    await store.put([item])
    return swapped and found == ([changed.value], [item.key])


async def _keep_books(store: Store, name: str) -> bool:
    batch = Batch(name, {name: [b"1", b"2"]}, {name: {"n": 1}}, _LIFE)
    await store.record(batch)
    await store.record(replace(batch, id=f"{name}-2", lines={}))
    found = await store.log(name), await store.newest(name), await store.counts([name])
    await store.erase({name: [b"1", b"2"]}, {name: ["n"]})
    return found == (([b"1", b"2"], None), [b"2", b"1"], [{"n": 2}])
