"""A circuit breaker.

This module decides when something that keeps failing is tried again. Callers decide what counts as a failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Breaker:
    """Opens after a number of failures in a row, longer each time; one success closes it.

    Args:
        failures: in a row, until it opens.
        first: seconds that it stays open at first; twice as long each time, up to `longest`.
        clock: a monotonic clock.
    """

    def __init__(self, failures: int, first: float, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._first, self._longest = first, longest
        self._clock = clock
        self._failed = 0
        self._pause = first
        self._until = 0.0

    @property
    def is_open(self) -> bool:
        """Whether nothing is to be tried now. Once the pause is over, one failure opens it again."""
        return self._clock() < self._until

    def succeed(self) -> None:
        """Record a success."""
        self._failed, self._pause, self._until = 0, self._first, 0.0

    def fail(self, *, for_good: bool = False) -> None:
        """Record a failure.

        Args:
            for_good: trying again at once cannot help.
        """
        self._failed = max(self._failed + 1, self._most if for_good else 0)
        if self._failed >= self._most and not self.is_open:
            self._until = self._clock() + self._pause
            self._pause = min(self._longest, 2 * self._pause)

    def rest(self, seconds: float) -> None:
        """Stay open for a time that the other side asked for."""
        self._until = max(self._until, self._clock() + min(seconds, self._longest))
