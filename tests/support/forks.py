"""A script that becomes several processes, for tests of what they do to one store at the same time.

It starts the script and makes several processes of it. The script says what they do.

One start serves all: what the script imports takes longer than what its processes do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Final

_PATIENCE: Final = 90


async def run_processes(script: str, number: int, arguments: Sequence[str]) -> None:
    """Run a script that calls `fork_into`, with the number and the arguments, until all its processes have ended well."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path])}
    command = [sys.executable, script, str(number), *arguments]
    process = await asyncio.create_subprocess_exec(*command, env=environment, start_new_session=True)
    try:
        assert await asyncio.wait_for(process.wait(), _PATIENCE) == 0
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


def fork_into(number: int, work: Callable[[int], object]) -> None:
    """Do a piece of work in each of so many processes; this one ends with 1 if one of them fails."""
    children = []
    for one in range(number):
        if child := os.fork():
            children.append(child)
            continue
        try:
            work(one)
        except BaseException:  # it is told, and the process ends
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    sys.exit(any(codes))
