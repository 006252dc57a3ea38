"""Threads for the API's own CPU work, beside the event loop.

Lives here: the threads, and turns between tenants. Does not belong here: folding of chat completions, which has lanes of its own
(``chat.folding``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from turnfold.proxy.lanes.threads import ThreadLane

P = ParamSpec("P")
T = TypeVar("T")


class Workshop:
    """Runs at most `threads` jobs at the same time; the others wait, and tenants take turns.

    A tenant gets all threads but one, at least one: what one sends delays another by one job at most.
    """

    def __init__(self, threads: int) -> None:
        self._lane = ThreadLane("turnfold-api", max(2, threads))

    async def run(self, tenant: str, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The job's result.

        Raises:
            Whatever the job raises.
        """
        return await self._lane.run(tenant, functools.partial(job, *args, **kwargs))

    def close(self) -> None:
        """Start no further jobs."""
        self._lane.close()
