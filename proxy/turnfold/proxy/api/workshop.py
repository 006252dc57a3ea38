"""Threads for the API's own CPU work, beside the event loop.

Lives here: the threads. Does not belong here: folding of chat completions, which has its lanes in ``service``.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Workshop:
    """Runs at most `threads` jobs at the same time; the others wait."""

    def __init__(self, threads: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="turnfold-api")

    async def run(self, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The job's result.

        Raises:
            Whatever the job raises.
        """
        return await asyncio.get_running_loop().run_in_executor(self._executor, functools.partial(job, *args, **kwargs))

    def close(self) -> None:
        """Start no further jobs."""
        self._executor.shutdown(wait=False, cancel_futures=True)
