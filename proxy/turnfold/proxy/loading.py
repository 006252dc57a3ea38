"""Loading after startup what requests need.

This module loads things once and lets earlier requests wait for them. ``app.warm`` says what is loaded.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.proxy.incidents import Incidents


class Loading:
    """Loads in a thread. A failure is an incident: requests are then sent unchanged, with a reason.

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
        """Wait until loading has ended, in success or failure."""
        if self._task is not None and not self._task.done():
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        await asyncio.to_thread(self._load)
        gc.freeze()  # as the start does with what was loaded before: see `app`

    def before(self, endpoint: ASGIApp) -> ASGIApp:
        """The endpoint, with early requests waiting until loading has ended."""

        async def loaded(scope: Scope, receive: Receive, send: Send) -> None:
            await self.wait()
            await endpoint(scope, receive, send)

        return loaded
