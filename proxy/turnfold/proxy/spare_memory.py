"""Returning the memory that a large fold leaves behind to the system.

This module asks the C library for that periodically. Caches and their sizes are in ``compression.memo``.

Memory that is freed in the middle of a heap stays with the process until somebody asks for it: after cold folds of 100,000
tokens, two fifths of what they took. Only glibc does this; elsewhere there is nothing to do.
"""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable
from typing import Final

_PAUSE: Final = 30.0  # seconds


def _trimmer() -> Callable[[int], int] | None:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return None


async def give_back(pause: float = _PAUSE) -> None:
    """Give free memory back periodically until cancelled; in a thread, as it takes milliseconds.

    Args:
        pause: seconds in between.
    """
    trim = _trimmer()
    while trim is not None:
        await asyncio.sleep(pause)
        await asyncio.to_thread(trim, 0)
