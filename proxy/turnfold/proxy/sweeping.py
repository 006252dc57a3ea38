"""Deleting expired data, and making room in a full store, even while there are no requests.

This module asks the store periodically. The store decides what has expired; ``books.rolling_up`` decides what a full one can do
without.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Final

from turnfold.proxy.books.rolling_up import roll_up, roll_up_hours
from turnfold.proxy.store.base import Store, StoreError

_PAUSE: Final = 60.0  # seconds
_LOOK_AGAIN: Final = 6 * 3600.0  # for old hours: listing a store's tables takes long


async def sweep_from_time_to_time(store: Store, pause: float = _PAUSE) -> None:
    """Sweep a store until cancelled.

    Args:
        pause: seconds in between.
    """
    looked = -_LOOK_AGAIN
    while True:
        await asyncio.sleep(pause)
        with contextlib.suppress(StoreError):  # a store that is down sweeps with its next write
            await store.sweep()
            await roll_up(store)
            if time.monotonic() - looked >= _LOOK_AGAIN:
                looked = time.monotonic()
                await roll_up_hours(store, time.time())
