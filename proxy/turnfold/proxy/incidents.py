"""Supervision of background work, so that no data can end it.

The one supervisor of loops, a way to run a step whose failure is a value, and the record of what went wrong, which readiness,
metrics and the admin routes show. It does not know what any loop does; failures of requests are handled in ``chat.service``.

The loops of a process are the ledger's (receipts, originals, metrics), those of ``app.Parts`` (warmth, deletions, memory, the
store's file), and the store's probe while it is set aside. Everything else is a single task that ends by itself
(`Incidents.watch`).
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Final, TypeVar

T = TypeVar("T")

_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 30.0
_LONG_RUN: Final = 60.0  # seconds without a failure after which a loop counts as recovered
_MOST_KEPT: Final = 100  # incidents that the admin routes list; all are counted
_LONGEST_SUBJECT: Final = 200
_PANICS: Final = "pyo3_runtime"  # the module of PyO3's exception, which cannot be imported

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Incident:
    """One failure in the background.

    Attributes:
        at: Unix time.
        part: the loop or task, as a slug.
        subject: id of the item that was set aside; "" if there was none.
        problem: class of the exception, what the operating system says of it, and where it was raised. Never text of a message.
        kept: what is kept of the item.
    """

    at: float
    part: str
    subject: str
    problem: str
    kept: str


class Incidents:
    """What went wrong in the background of this process, bounded.

    Attributes:
        counts: incidents by part.
        waiting: loops that failed and wait to be started again.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.waiting: set[str] = set()
        self._recent: deque[Incident] = deque(maxlen=_MOST_KEPT)

    def add(self, part: str, exc: BaseException, subject: str = "", kept: str = "nothing") -> None:
        """Count a failure and log it, with the item's id where it was an item."""
        incident = Incident(time.time(), part, subject[:_LONGEST_SUBJECT], describe(exc), kept)
        self.counts[part] += 1
        self._recent.append(incident)
        _log.error("%s: %s set aside, kept of it: %s: %s", part, incident.subject or "one step", kept, incident.problem)

    def listed(self) -> list[dict[str, Any]]:
        """The last incidents, oldest first, ready for JSON."""
        return [asdict(incident) for incident in self._recent]

    def watch(self, task: asyncio.Task[Any], part: str, subject: str = "") -> None:
        """Record a failure of a task that nobody awaits."""

        def ended(done: asyncio.Task[Any]) -> None:
            if not done.cancelled() and (exc := done.exception()) is not None:
                self.add(part, exc, subject)

        task.add_done_callback(ended)


def describe(exc: BaseException) -> str:
    """What went wrong, and where, without any text of a message."""
    frames = traceback.extract_tb(exc.__traceback__)
    where = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    cause = f" ({exc.strerror})" if isinstance(exc, OSError) and isinstance(exc.strerror, str) else ""
    return type(exc).__name__ + cause + where


class Panicked(Exception):
    """A library that is written in Rust panicked."""


class catchable_panics:  # noqa: N801 - a context manager, and no generator: each request enters three
    """Raise `Panicked` instead of a panic, which PyO3 does not derive from ``Exception``, so that handlers can catch it."""

    __slots__ = ()

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None and kind.__module__ == _PANICS:
            raise Panicked(str(exc)) from exc


async def outcome(work: Awaitable[T]) -> T | Exception:
    """The result of a step, or the exception that ended it: for whoever decides what becomes of the item."""
    try:
        with catchable_panics():
            return await work
    except Exception as exc:
        return exc


def attempt(work: Callable[[], T]) -> T | Exception:
    """The same of a step that does not wait."""
    try:
        with catchable_panics():
            return work()
    except Exception as exc:
        return exc


async def supervise(
    part: str,
    loop: Callable[[], Awaitable[None]],
    incidents: Incidents,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Run a loop until it returns. Whatever ends it earlier is an incident, and it is started again, later each time.

    Returns early only if it is cancelled.
    """
    wait = _FIRST_WAIT
    while True:
        started = time.monotonic()
        failure = await outcome(loop())
        if not isinstance(failure, Exception):
            return
        wait = _FIRST_WAIT if time.monotonic() - started > _LONG_RUN else wait
        incidents.add(part, failure)
        incidents.waiting.add(part)
        await sleep(wait)
        incidents.waiting.discard(part)
        wait = min(2 * wait, _LONGEST_WAIT)
