"""Whether a function's time grows no faster than its input.

A run is compared with a smaller run of the same process. There is no bound in seconds: that would say more about the machine, and
about who else is on it, than about the code. Whatever hangs is ended by pytest's timeout.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from tests.support.known_texts import read_anew
from tests.support.known_tokens import encoded_anew

T = TypeVar("T")

#: How much larger the large input is.
FACTOR: Final = 8
# Linear growth gives 8, n log n about 10, either up to 25 where the large run outgrows the caches; quadratic gives 64.
_MOST: Final = 32
# The first also pays for what is loaded and compiled at the first call.
_SMALL_RUNS: Final = 2
# The large run is repeated when it was too slow, for the best of so many.
_TRIES: Final = 4
# Seconds. A smaller run is mostly what a call costs whatever its input.
_LEAST: Final = 0.0005


def assert_linear(function: Callable[[T], object], make: Callable[[int], T], size: int) -> None:
    """Assert that the function, given `make(8 * size)`, takes at most 32 times as long as given `make(size)`.

    Measured is this thread's time on a processor: the best of several runs, without the garbage collector and without the
    making of the input. Each run gets an input made anew, so that one that a run uses up or changes does no harm.

    Raises:
        AssertionError: it grows faster; the message has both times.
    """
    small = min(_seconds(function, make(size)) for _ in range(_SMALL_RUNS))
    bound = _MOST * max(small, _LEAST)
    large = _seconds(function, make(FACTOR * size))
    for _ in range(_TRIES - 1):
        if large <= bound:
            break
        large = min(large, _seconds(function, make(FACTOR * size)))
    assert large <= bound, f"{FACTOR} times the input takes {large / small:.0f} times as long: {small:.4f} s, then {large:.4f} s"


def _seconds(function: Callable[[T], object], given: T) -> float:
    with _no_collection(), encoded_anew(), read_anew():
        start = time.thread_time()
        function(given)
        return time.thread_time() - start


@contextmanager
def _no_collection() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def repeated(unit: str) -> Callable[[int], str]:
    """Makes texts of about the asked number of characters out of one piece."""
    return lambda size: unit * (size // len(unit))
