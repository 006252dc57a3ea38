"""Coroutines run to their end by tests that are none themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine comes to.

    `asyncio.run` looks its signal handler up when it ends, and for that writes the ``repr`` of its task with the whole
    result. For a fold that takes as long as the fold.
    """
    results: list[T] = []

    async def keep() -> None:
        results.append(await work)

    asyncio.run(keep())
    return results[0]
