"""Storing a result that its caller gets in any case.

Lives here: how long an answer that does not need the store waits for it. Does not belong here: what is stored of a result.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Final

from turnfold.proxy.store import Batch, Item, Store, StoreError

_AT_ONCE: Final = 500  # items of a batch
_LONGEST: Final = 2.0  # seconds for a batch; a busy machine's file takes a good part of one
_BRIEF: Final = 0.2  # seconds for a batch after one that the store did not take
_PAUSE: Final = 10.0  # seconds in which the store then gets only as much

_log = logging.getLogger(__name__)


class Keeping:
    """Stores results, for as long as an answer may wait.

    A store that took too long once costs the next calls hardly any time: a file that another program has locked stays locked.

    Args:
        patience: most seconds for a batch; background work may wait longer for one.
    """

    def __init__(self, store: Store, patience: float) -> None:
        self._store = store
        self._longest = min(patience, _LONGEST)
        self._brief_until = 0.0

    async def keep(self, items: Sequence[Item], what: str) -> bool:
        """Store items. Returns whether all of them are stored; says what is not."""
        is_brief = time.monotonic() < self._brief_until
        try:
            for start in range(0, len(items), _AT_ONCE):
                async with asyncio.timeout(min(self._longest, _BRIEF) if is_brief else self._longest):
                    await self._store.record(Batch.of_items(items[start : start + _AT_ONCE]))
                await asyncio.sleep(0)  # a store in memory takes them at once, on the event loop
        except (StoreError, TimeoutError) as exc:
            self._brief_until = time.monotonic() + _PAUSE
            _log.warning("%s are not stored: %s", what, str(exc) or "no answer in time")
            return False
        self._brief_until = 0.0
        return True
