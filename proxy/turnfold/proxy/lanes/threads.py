"""Threads for work of bounded size.

An executor whose threads are shared fairly between tenants. Work that may have to be killed goes to ``processes``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from turnfold.proxy.lanes.fair import Places, tenant_places

T = TypeVar("T")


class ThreadLane:
    """A number of threads; one tenant gets all but one of them, and at least one. Threads start when first needed."""

    def __init__(self, name: str, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, name)
        self._places = Places(threads, tenant_places(threads))

    async def run(self, tenant: str, work: Callable[[], T]) -> T:
        """The work's result.

        Its place is free again when the work has ended, and not before: a thread cannot be stopped. Work that still waits for its
        place when the caller is cancelled is never begun.

        Raises:
            Whatever the work raises.
        """
        await self._places.take(tenant)
        loop = asyncio.get_running_loop()

        def ended(_: Future[T]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and nobody waits for a place
                loop.call_soon_threadsafe(self._places.leave, tenant)

        with contextlib.ExitStack() as unless_begun:
            unless_begun.callback(self._places.leave, tenant)
            job = self._executor.submit(work)
            unless_begun.pop_all()
        job.add_done_callback(ended)
        return await asyncio.wrap_future(job)

    def close(self) -> None:
        """Let go of the threads; work that is queued is dropped."""
        self._executor.shutdown(wait=False, cancel_futures=True)
