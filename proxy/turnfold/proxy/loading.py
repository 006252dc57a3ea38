"""What requests need and a start does not wait for.

Lives here: loading it once, behind the start, and the wait of a request that comes before. Does not belong here: what is loaded
(``app.warm``).
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.proxy.incidents import Incidents


class Loading:
    """Loads in a thread. What cannot be loaded is an incident: requests go out as they came, and say why.

    Args:
        load: the work; called once.
    """

    def __init__(self, load: Callable[[], Any], incidents: Incidents) -> None:
        self._load = load
        self._incidents = incidents
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        self._task = asyncio.create_task(self._run(), name="turnfold-loading")
        self._incidents.watch(self._task, "loading")

    async def wait(self) -> None:
        """Wait until it has ended, one way or the other."""
        if self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        await asyncio.to_thread(self._load)
        gc.freeze()  # as the start does with what was loaded before: see `app`

    def before(self, endpoint: ASGIApp) -> ASGIApp:
        """The same endpoint; a request that comes too early waits."""

        async def loaded(scope: Scope, receive: Receive, send: Send) -> None:
            await self.wait()
            await endpoint(scope, receive, send)

        return loaded
