"""Turns between tenants.

A few places, given to tenants in turn. What is done in a place is up to ``threads`` and ``processes``.

Tenants take turns, and each holds at most `each` of the places, however much it sends. So one tenant delays another by at most
one piece of work.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable


def tenant_places(number: int) -> int:
    """How many of a lane's places one tenant may hold at the same time: all but one, at least one."""
    return max(1, number - 1)


class Places:
    """Places for work; belongs to one event loop.

    Args:
        number: how many there are.
        each: how many one tenant may hold at the same time.
    """

    def __init__(self, number: int, each: int) -> None:
        self._free = number
        self._each = each
        self._held: Counter[Hashable] = Counter()
        self._waiting: OrderedDict[Hashable, deque[asyncio.Future[None]]] = OrderedDict()

    async def take(self, tenant: Hashable) -> None:
        """Wait for a place. A caller that is cancelled while waiting leaves the queue."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(turn)
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave(tenant)
            raise

    def leave(self, tenant: Hashable) -> None:
        """Give a place back."""
        self._free += 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        if tenant in self._waiting:
            self._waiting.move_to_end(tenant)
        self._grant()

    def _grant(self) -> None:
        for tenant in list(self._waiting):
            queue = self._waiting[tenant]
            while queue and queue[0].done():  # cancelled in the meantime
                queue.popleft()
            if not queue:
                del self._waiting[tenant]
            elif self._free and self._held[tenant] < self._each:
                self._free -= 1
                self._held[tenant] += 1
                queue.popleft().set_result(None)
                if queue:
                    self._waiting.move_to_end(tenant)
                else:
                    del self._waiting[tenant]
