"""How long conversations have rested.

Lives here: when the newest request of each came, in memory with a bound, in front of what was recorded. Does not belong here:
what a rest means for a cache (``compression.warmth``), records.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from turnfold.proxy.store.base import StoreError

_KEPT: Final = 20_000
_ASKED_FROM: Final = 240.0  # seconds: the shortest rest that matters, less what a record takes to be written


async def _none_recorded(tenant: str, conversation: str) -> float | None:
    del tenant, conversation
    return None


class Pauses:
    """Seconds since the request before of a conversation, wherever that was served.

    Args:
        recorded: Unix time of the newest request that was recorded of a tenant's conversation; None: of none.
        clock: Unix time.
    """

    def __init__(
        self,
        recorded: Callable[[str, str], Awaitable[float | None]] = _none_recorded,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._recorded = recorded
        self._clock = clock
        self._newest: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def since(self, tenant: str, conversation: str) -> float:
        """How long the conversation has rested before the request that comes now; 0 where nobody can say."""
        now, name = self._clock(), (tenant, conversation)
        known = self._newest.pop(name, None)
        self._newest[name] = now
        if len(self._newest) > _KEPT:
            self._newest.popitem(last=False)
        if known is not None and now - known < _ASKED_FROM:
            return now - known
        try:
            recorded = await self._recorded(tenant, conversation)
        except StoreError:
            return 0.0
        newest = max((at for at in (known, recorded) if at is not None), default=now)
        return max(0.0, now - newest)
