"""Processes for work that may have to be killed.

A few processes are kept warm: started when first needed, killed when whoever waits for them gives up, and started again. What
they do is in ``fold_process``.

A thread that works on megabytes cannot be stopped, and some of its calls (JSON, a regular expression, a copy) hold the
interpreter for hundreds of milliseconds, during which the event loop serves nobody. A separate process costs others no more than
a core.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Any, Final

from turnfold.proxy.lanes.fair import Places, tenant_places
from turnfold.proxy.lanes.frames import Frame, receive_frame, send_frame

_START: Final = """
from turnfold.proxy.uncollected import uncollected
with uncollected():
    from turnfold.proxy.fold_process import main
main()
"""
_COMMAND: Final = ("-c", _START)
_KNOWN: Final = 256  # conversations per process that it is known to have in memory


class ProcessFailed(Exception):
    """The process ended, or could not be started."""


class FoldProcess:
    """One process, and what passes to and fro."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.known: OrderedDict[bytes, None] = OrderedDict()

    async def send(self, value: Any, first: bytes = b"", second: bytes = b"") -> None:
        """Send it something.

        Raises:
            ProcessFailed: it is gone.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was started with pipes
        try:
            await send_frame(self._process.stdin, value, first, second)
        except OSError as exc:
            raise ProcessFailed from exc

    async def receive(self) -> Frame:
        """What it sends.

        Raises:
            ProcessFailed: it is gone.
        """
        assert self._process.stdout is not None  # noqa: S101 - it was started with pipes
        try:
            return await receive_frame(self._process.stdout)
        except (EOFError, OSError) as exc:
            raise ProcessFailed from exc

    async def kill(self) -> None:
        """Kill it, whatever it does."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def remember(self, conversation: bytes) -> None:
        """Note that it has this conversation in memory now."""
        self.known[conversation] = None
        self.known.move_to_end(conversation)
        while len(self.known) > _KNOWN:
            self.known.popitem(last=False)


class FoldProcesses:
    """At most `number` processes; one tenant gets all but one of them, and at least one.

    Args:
        settings: the first thing that each process is sent.
    """

    def __init__(self, number: int, settings: Any) -> None:
        self._settings = settings
        self._places = Places(number, tenant_places(number))
        self._idle: list[FoldProcess] = []
        self._ending: set[asyncio.Task[None]] = set()
        self._closed = False
        self._generation = 0

    @contextlib.asynccontextmanager
    async def session(self, tenant: str, conversation: bytes) -> AsyncIterator[FoldProcess]:
        """A process for one job. If the block ends with an exception, a timeout included, the process is killed.

        Args:
            conversation: where there is a choice, the process that worked on it last is taken.

        Raises:
            ProcessFailed: none could be started.
        """
        await self._places.take(tenant)
        generation = self._generation
        with contextlib.ExitStack() as unless_started:
            unless_started.callback(self._places.leave, tenant)
            process = self._pick(conversation) or await self._start()
            unless_started.pop_all()
        with contextlib.ExitStack() as unless_done:
            unless_done.callback(self._end, process, tenant)
            yield process
            if generation != self._generation:
                return
            unless_done.pop_all()
        process.remember(conversation)
        self._idle.append(process)
        self._places.leave(tenant)

    def _pick(self, conversation: bytes) -> FoldProcess | None:
        known = next((process for process in self._idle if conversation in process.known), None)
        chosen = known or (self._idle[-1] if self._idle else None)
        if chosen is not None:
            self._idle.remove(chosen)
        return chosen

    async def _start(self) -> FoldProcess:
        paths = os.pathsep.join(path for path in sys.path if path)
        try:
            started = await asyncio.create_subprocess_exec(
                sys.executable,
                *_COMMAND,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": paths},
            )
        except OSError as exc:
            raise ProcessFailed from exc
        process = FoldProcess(started)
        with contextlib.ExitStack() as unless_ready:
            unless_ready.callback(self._end, process, None)
            await process.send(self._settings)
            unless_ready.pop_all()
        return process

    def _end(self, process: FoldProcess, tenant: str | None) -> None:
        """Kill a process; its place becomes free once it is gone, and the next job starts another one."""

        async def end() -> None:
            try:
                await process.kill()
                if tenant is not None and not self._closed and not self._idle:
                    with contextlib.suppress(ProcessFailed):
                        self._idle.append(await self._start())
            finally:
                if tenant is not None:
                    self._places.leave(tenant)

        task = asyncio.get_running_loop().create_task(end(), name="turnfold-end-process")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def renew(self) -> None:
        """Stop idle processes now, and busy ones once they are done."""
        self._generation += 1
        idle, self._idle = self._idle, []
        for process in idle:
            self._end(process, None)

    async def close(self) -> None:
        """Stop all processes."""
        self._closed = True
        if self._ending:
            await asyncio.gather(*self._ending, return_exceptions=True)
        idle, self._idle = self._idle, []
        await asyncio.gather(*(process.kill() for process in idle), return_exceptions=True)
