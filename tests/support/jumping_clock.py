"""An event loop whose clock jumps to the next timer once nothing else is left to do: a wait of an hour takes no time.

Lives here: the loop. Does not belong here: what waits. Sockets and threads answer by real time, so they are no part of such a
test: what waits for them and for a timer at once would always see the timer.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class JumpingClock(selectors.DefaultSelector):
    """The clock of one event loop.

    Attributes:
        now: seconds since the loop began.
    """

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready; where nothing is, the time of the wait has passed."""
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout:
            self.now += timeout
        return ready

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs by this clock."""
        with asyncio.Runner(loop_factory=self._loop) as runner:
            return runner.run(work)

    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.SelectorEventLoop(self)
        loop.time = lambda: self.now  # type: ignore[method-assign]
        return loop
