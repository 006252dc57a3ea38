"""What has expired goes, even while no request comes.

Lives here: asking the store for that from time to time. Does not belong here: what has expired, what else a store does with its
writes (``store``).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from turnfold.proxy.store.base import Store, StoreError

_PAUSE: Final = 60.0  # seconds


async def sweep_from_time_to_time(store: Store, pause: float = _PAUSE) -> None:
    """Sweep a store until cancelled.

    Args:
        pause: seconds in between.
    """
    while True:
        await asyncio.sleep(pause)
        with contextlib.suppress(StoreError):  # what is away sweeps with its next write
            await store.sweep()
