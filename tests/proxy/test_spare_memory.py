"""What is free in the middle of the heap goes back to the system while the process goes on."""

from __future__ import annotations

import subprocess
import sys

#: A process of its own: in one that runs other tests' servers, what these take in the meantime would be counted too.
PROGRAM = """
import asyncio
import platform
import time
from pathlib import Path
from turnfold.proxy.spare_memory import give_back

def resident():
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096

async def give_back_until(enough):
    giving = asyncio.ensure_future(give_back(0.01))
    end = time.monotonic() + 60
    while not enough() and time.monotonic() < end and not giving.done():
        await asyncio.sleep(0.01)
    giving.cancel()
    await asyncio.gather(giving, return_exceptions=True)

blocks = [bytes([n % 251]) * 4000 for n in range(20_000)]
kept = blocks[::50]
full = resident() if platform.libc_ver()[0] == "glibc" else None  # others keep nothing back
del blocks
asyncio.run(give_back_until(lambda: full is None or full - resident() > 40_000_000))
assert len(kept) == 400
assert full is None or full - resident() > 40_000_000
"""


def test_what_is_free_goes_back() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True, timeout=120)  # noqa: S603
    assert (ran.returncode, ran.stderr) == (0, "")
