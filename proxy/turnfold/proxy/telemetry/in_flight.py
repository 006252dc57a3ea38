"""Counting requests while they are served.

Lives here: an ASGI layer around an endpoint. Does not belong here: the gauge (``books.metrics``).
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from starlette.types import ASGIApp, Receive, Scope, Send


class InFlight:
    """An endpoint whose requests are counted as long as they last, streams to their end.

    Args:
        count: entered for each request, and left when it has ended; several at a time.
    """

    def __init__(self, app: ASGIApp, count: AbstractContextManager[object]) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        with self._count:
            await self._app(scope, receive, send)
