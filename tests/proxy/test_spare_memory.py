"""What is free in the middle of the heap goes back to the system while the process goes on."""

from __future__ import annotations

import asyncio
import contextlib
import platform
from pathlib import Path

from turnfold.proxy.spare_memory import give_back

_PAGE = 4096


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE


async def _give_back_for(seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await give_back(0.05)


def test_what_is_free_goes_back() -> None:
    blocks = [bytes([n % 251]) * 4000 for n in range(20_000)]
    kept = blocks[::50]
    full = _resident() if platform.libc_ver()[0] == "glibc" else None
    del blocks
    asyncio.run(_give_back_for(1.0))
    assert len(kept) == 400
    if full is not None:  # others keep nothing back
        assert full - _resident() > 40_000_000
