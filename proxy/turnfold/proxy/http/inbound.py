"""The client's side of one exchange: what it sends, and whether it is still connected.

Lives here: the only calls of ASGI's ``receive``. Does not belong here: sending, knowledge of upstreams.

``receive`` delivers both the body and the disconnect. While the body streams, `Inbound.chunks` sees a disconnect; afterwards
`while_present` watches for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from typing import Any

from starlette.types import Receive, Scope


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


class ClientStalled(Exception):
    """The client is connected, but has sent nothing more of its request for too long."""


class Inbound:
    """A request as it arrives."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._receive = receive
        self._read = asyncio.Event()
        self._left = False

    @property
    def has_body(self) -> bool:
        """Whether the head announces a body (RFC 9112 section 6)."""
        return any(
            key == b"transfer-encoding" or (key == b"content-length" and value.strip(b" 0") != b"") for key, value in self.headers
        )

    async def chunks(self, patience: float | None = None) -> AsyncIterator[bytes]:
        """The body in the pieces in which it arrived.

        Args:
            patience: seconds to wait for each piece; None: for ever.

        Raises:
            ClientGone: the client disconnected.
            ClientStalled: a piece did not come in time.
        """
        more = True
        while more:
            try:
                async with asyncio.timeout(patience):
                    message = await self._receive()
            except TimeoutError:
                raise ClientStalled from None
            if message["type"] == "http.disconnect":
                self._left = True
                self._read.set()
                raise ClientGone
            more = message.get("more_body", False)
            if chunk := message.get("body", b""):
                yield chunk
        self._read.set()

    async def wait_until_gone(self) -> None:
        """Return when the client has disconnected (or has received its whole answer)."""
        if self.has_body:
            await self._read.wait()
        while not self._left:
            self._left = (await self._receive())["type"] == "http.disconnect"


async def while_present(inbound: Inbound, work: Coroutine[Any, Any, None]) -> None:
    """Do the work; cancel it when the client disconnects.

    Raises:
        Whatever `work` raises.
    """
    worker, left = asyncio.current_task(), False
    assert worker is not None  # noqa: S101 - a coroutine runs in a task

    def leave(watcher: asyncio.Task[None]) -> None:
        nonlocal left
        left = not watcher.cancelled()
        if left:
            worker.cancel()

    watcher = asyncio.create_task(inbound.wait_until_gone())
    watcher.add_done_callback(leave)
    try:
        await work
    except asyncio.CancelledError:
        if not left or worker.uncancel():  # somebody else cancels it too
            raise
    finally:
        watcher.remove_done_callback(leave)
        watcher.cancel()
