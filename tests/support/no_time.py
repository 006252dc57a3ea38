"""An event loop in which waiting takes no time.

The loop's clock jumps to whatever is due next as soon as nothing else can run, and the loop itself does what threads would do. It
does not suit code that waits for processes or other machines: the clock would jump while they work.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.SelectSelector):
    """Instead of waiting for a time it moves the clock on by it."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select()
        ready = super().select(0.0)  # what a socket has to say comes before what is due later
        if not ready:
            self.now += max(timeout, 0.0)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        del executor
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as exc:
            done.set_exception(exc)
        return done


def in_no_time(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns; its loop's clock begins with 0."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


def now() -> float:
    """What the clock of the running loop says, to the microsecond."""
    return round(asyncio.get_running_loop().time(), 6)
