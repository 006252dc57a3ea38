"""How long conversations have rested.

A bounded memory of when the newest request of each conversation came, in front of what was recorded. What a rest means for a
cache is in ``compression.warmth``.

Time within this process is measured by a clock that nobody sets; what others recorded, by the time of day. If the two disagree,
the shorter rest counts, so that setting a clock never makes a cache seem cold.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from turnfold.proxy.store.base import StoreError

_KEPT: Final = 20_000
_AT_ONCE: Final = 1.0  # second: after such a short time, the cache does not have the previous request yet
#: Seconds: the shortest pause that matters, minus the time for writing a record.
LONG: Final = 240.0

# The first also counts while a machine sleeps, as the second does on macOS; Windows has neither.
_CLOCK: Final[int | None] = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def steady() -> float:
    """Seconds by a monotonic clock."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


async def _none_recorded(tenant: str, conversation: str) -> float | None:
    del tenant, conversation
    return None


class _Newest(NamedTuple):
    """When a conversation's newest request came, and the pause before it."""

    at: float
    rest: float | None


class Pauses:
    """Seconds since the previous request of a conversation, on whichever replica it was served.

    Args:
        recorded: returns the Unix time of the newest recorded request of a tenant's conversation, or None.
        clock: Unix time.
        steady: a clock like :func:`steady`.
    """

    def __init__(
        self,
        recorded: Callable[[str, str], Awaitable[float | None]] = _none_recorded,
        clock: Callable[[], float] = time.time,
        steady: Callable[[], float] = steady,
    ) -> None:
        self._recorded = recorded
        self._clock = clock
        self._steady = steady
        self._newest: OrderedDict[tuple[str, str], _Newest] = OrderedDict()

    def forget_in_memory(self) -> None:
        """Forget everything; it will be read again from the records."""
        self._newest.clear()

    async def since(self, tenant: str, conversation: str) -> float | None:
        """The pause before the current request, in seconds; 0 if unknown.

        None if this process has not served the conversation before. Simultaneous requests have the same pause.
        """
        now, name = self._steady(), (tenant, conversation)
        known = self._newest.get(name)
        if known is not None and now - known.at < _AT_ONCE:
            return known.rest
        rest = None if known is None else now - known.at
        if rest is not None and rest >= LONG:
            recorded = await self.recorded(tenant, conversation)
            rest = rest if recorded is None else min(rest, recorded)
        self._newest[name] = _Newest(now, rest)
        self._newest.move_to_end(name)
        if len(self._newest) > _KEPT:
            self._newest.popitem(last=False)
        return rest

    async def recorded(self, tenant: str, conversation: str) -> float | None:
        """The pause according to the records; None if there are none."""
        try:
            at = await self._recorded(tenant, conversation)
        except StoreError:
            return 0.0
        return None if at is None else max(0.0, self._clock() - at)
