"""What the thread of an event loop calls while a server serves.

It counts calls of Python and of C functions in one thread. There is no bound in seconds, which would say more about the machine
than about the code.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class LoopCalls:
    """Calls in a loop's thread, by name."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._counted: Counter[str] = Counter()

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """Those that are made meanwhile; whole when it ends."""
        found = self._counted = Counter()
        self._set(self._count)
        try:
            yield found
        finally:
            self._set(None)

    def _count(self, frame: FrameType, event: str, given: Any) -> None:
        if event == "call":
            self._counted[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            self._counted[given.__qualname__] += 1

    def _set(self, profile: Any) -> None:
        async def set_in_loop() -> None:
            sys.setprofile(profile)

        asyncio.run_coroutine_threadsafe(set_in_loop(), self._loop).result(60)
