"""Counting requests while they are served.

Lives here: the count, and an ASGI layer around an endpoint. Does not belong here: the gauge (``metrics``).
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class InFlightCount:
    """How many there are now; entered for each request, and left when it has ended, several at a time."""

    def __init__(self) -> None:
        self.now = 0

    def __enter__(self) -> None:
        self.now += 1

    def __exit__(self, *_: object) -> None:
        self.now -= 1


class InFlight:
    """An endpoint whose requests are counted as long as they last, streams to their end.

    Args:
        count: counts them.
    """

    def __init__(self, app: ASGIApp, count: InFlightCount) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        with self._count:
            await self._app(scope, receive, send)
