"""Counting requests while they are served.

The count, and an ASGI layer around an endpoint. The gauge is in ``metrics``.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class InFlightCount:
    """A count of current requests; entered when a request starts, and left when it ends."""

    def __init__(self) -> None:
        self.now = 0

    def __enter__(self) -> None:
        self.now += 1

    def __exit__(self, *_: object) -> None:
        self.now -= 1


class InFlight:
    """An endpoint whose requests are counted until they end, including streams.

    Args:
        count: the counter.
    """

    def __init__(self, app: ASGIApp, count: InFlightCount) -> None:
        self._app = app
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        with self._count:
            await self._app(scope, receive, send)
