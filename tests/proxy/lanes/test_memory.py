"""Which conversations a process is remembered to have in memory."""

from __future__ import annotations

import asyncio
import sys

from turnfold.proxy.lanes.processes import FoldProcess


async def test_a_process_is_remembered_to_have_those_that_it_worked_on_last() -> None:
    started = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    process = FoldProcess(started)
    names = [f"{i}".encode() for i in range(256)]
    for name in (*names, names[0], b"new"):
        process.remember(name)
    assert list(process.known) == [*names[2:], names[0], b"new"]
    await process.kill()
    assert started.returncode is not None
