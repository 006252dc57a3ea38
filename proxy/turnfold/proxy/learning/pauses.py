"""How long conversations have rested.

Lives here: when the newest request of each came, in memory with a bound, in front of what was recorded. Does not belong here:
what a rest means for a cache (``compression.warmth``), records.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from turnfold.proxy.store.base import StoreError

_KEPT: Final = 20_000
_ASKED_FROM: Final = 240.0  # seconds: the shortest rest that matters, less what a record takes to be written


async def _none_recorded(tenant: str, conversation: str) -> float | None:
    del tenant, conversation
    return None


class Rest(NamedTuple):
    """How long a conversation has rested.

    Attributes:
        seconds: 0 where nobody can say.
        is_new: whether this process has not served it before.
    """

    seconds: float
    is_new: bool = False

    @property
    def is_long(self) -> bool:
        """Whether it may have been served, and folded, elsewhere meanwhile."""
        return self.seconds >= _ASKED_FROM


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

    def forget_in_memory(self) -> None:
        """Forget all: what was recorded tells it anew."""
        self._newest.clear()

    async def since(self, tenant: str, conversation: str) -> Rest:
        """How long the conversation has rested before the request that comes now."""
        now, name = self._clock(), (tenant, conversation)
        known = self._newest.pop(name, None)
        self._newest[name] = now
        if len(self._newest) > _KEPT:
            self._newest.popitem(last=False)
        if known is None:
            return Rest(0.0, is_new=True)
        if now - known < _ASKED_FROM:
            return Rest(now - known)
        try:
            recorded = await self._recorded(tenant, conversation)
        except StoreError:
            return Rest(0.0)
        return Rest(max(0.0, now - max(known, recorded or 0.0)))
