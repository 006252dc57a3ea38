"""CPU work of Turnfold's own API, outside the event loop.

Most work runs in threads, large work in a process, and tenants take turns in both. Folding chat completions has lanes of its own
(``chat.folding``).
"""

from __future__ import annotations

import asyncio
import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar

from turnfold.compression.errors import InvalidInput
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.lanes.processes import FoldProcesses, ProcessFailed
from turnfold.proxy.lanes.threads import ThreadLane

P = ParamSpec("P")
T = TypeVar("T")

#: Texts longer than this many characters are processed in another process: single calls on them hold the interpreter too long.
LARGE: Final = 200_000
#: Seconds after which such work is killed: ten times what the largest text takes on a quiet machine.
_LONGEST: Final = 300.0


@dataclass(frozen=True, slots=True)
class ApiWork:
    """A job for the other process. Its body is a pickled function, which that process can import too, and its arguments: pickling
    them takes as long as hundreds of small requests, so it is done in a thread."""


@dataclass(frozen=True, slots=True)
class ApiResult:
    """The end of a job; its body is the pickled result."""


@dataclass(frozen=True, slots=True)
class _Invalid:
    """The fields of an `InvalidInput`, which cannot be pickled itself."""

    field: str
    problem: str


def _run_job(job: Callable[..., T], args: tuple[Any, ...]) -> T | _Invalid:
    """A job's result, or its complaint about the input."""
    try:
        return job(*args)
    except InvalidInput as exc:
        return _Invalid(exc.field, exc.problem)


class Workshop:
    """Runs at most `threads` jobs at the same time; the others wait, and tenants take turns.

    A tenant gets all threads but one, at least one: what one sends delays another by one job at most.

    Args:
        processes: for large work; None: threads do that too.
    """

    def __init__(self, threads: int, processes: FoldProcesses | None = None) -> None:
        self._lane = ThreadLane("turnfold-api", max(2, threads))
        self._processes = processes

    async def run(self, tenant: str, job: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The job's result.

        Raises:
            Whatever the job raises.
        """
        return await self._lane.run(tenant, functools.partial(job, *args, **kwargs))

    async def run_sized(self, tenant: str, size: int, job: Callable[..., T], *args: Any) -> T:
        """The same for a job on a text of `size` characters; its arguments and its result can be pickled.

        Raises:
            InvalidInput: the job does; it raises nothing else.
            Refused: it took too long, or its process ended.
        """
        if self._processes is None or size < LARGE:
            return await self.run(tenant, job, *args)
        try:
            packed = await self.run(tenant, pickle.dumps, (_run_job, (job, args)))
            async with asyncio.timeout(_LONGEST), self._processes.session(tenant, b"") as process:
                await process.send(ApiWork(), packed)
                done, result, _ = await process.receive()
        except (TimeoutError, ProcessFailed) as exc:
            raise Refused(503, "too_slow", "This text takes too long or too much memory to process.") from exc
        if not isinstance(done, ApiResult):
            raise Refused(503, "too_slow", "This text could not be processed.")
        found: T | _Invalid = await self.run(tenant, pickle.loads, result)
        if isinstance(found, _Invalid):
            raise InvalidInput(found.field, found.problem)
        return found

    def close(self) -> None:
        """Start no further jobs."""
        self._lane.close()
