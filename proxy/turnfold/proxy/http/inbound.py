"""The client's side of one exchange: what it sends, and whether it is still connected.

Only this module calls ASGI's ``receive``. It sends nothing and knows no upstream.

``receive`` delivers both the body and the disconnect. While the body streams, `Inbound.chunks` sees a disconnect; afterwards
`while_present` watches for it: our own server tells it (`DEPARTURE`), which is cheap; any other one is asked by a task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any, Final

from starlette.types import Message, Receive, Scope

from turnfold.proxy.http.headers import with_content_codings
from turnfold.proxy.http.refusals import RawHeaders, Refused

#: An extension in ASGI's scope. Its "tell" takes a function, to be called when the client has disconnected, and gives one that
#: ends this.
DEPARTURE: Final = "turnfold.departure"
#: Another one. Its "is_here" tells whether ``receive`` would return at once.
ARRIVAL: Final = "turnfold.arrival"
#: Seconds between two pieces of a body, as in nginx. Clients that vanished without a word would hold their share of the room for
#: unfinished bodies for ever, and two tenants that stall on purpose all of it; one that is passed on holds a connection upstream.
STALL: Final = 60.0
_LONG_JOIN: Final = 2**21


class ClientGone(Exception):
    """The client disconnected before its request was complete."""


class ClientStalled(Refused):
    """408: the client is connected, but has sent nothing more of its request for too long."""

    def __init__(self) -> None:
        message = f"No more of the request body arrived for {STALL:.0f} seconds."
        super().__init__(408, "body_stalled", message, headers=((b"connection", b"close"),))


async def joined(chunks: Sequence[bytes], size: int) -> bytes:
    """Join pieces of a known total size.

    Joining 60 MB takes as long as hundreds of small requests; of large ones Python lets go of the interpreter meanwhile.
    """
    return b"".join(chunks) if size < _LONG_JOIN else await asyncio.to_thread(b"".join, chunks)


class Inbound:
    """A request as it arrives.

    Attributes:
        headers: as received, transfer codings told as content codings.
        stalled: what `next_chunk` raised when the client stalled.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.stalled: ClientStalled | None = None
        self.headers: RawHeaders = with_content_codings(scope["headers"])
        self._receive = receive
        extensions = scope.get("extensions") or {}
        self._departure = extensions.get(DEPARTURE, {}).get("tell")
        self._is_here: Callable[[], bool] | None = extensions.get(ARRIVAL, {}).get("is_here")
        self._read = asyncio.Event()
        self._more = True
        self._left = False

    @property
    def has_body(self) -> bool:
        """Whether the head announces a body (RFC 9112 section 6)."""
        return any(
            key == b"transfer-encoding" or (key == b"content-length" and value.strip(b" 0") != b"") for key, value in self.headers
        )

    @property
    def has_left(self) -> bool:
        """Whether the client disconnected before its body was read."""
        return self._left

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body in the pieces in which it arrived.

        Raises:
            ClientGone: the client disconnected.
            ClientStalled: a piece did not come within `STALL` seconds of being waited for.
        """
        while (chunk := await self.next_chunk()) is not None:
            yield chunk

    async def next_chunk(self) -> bytes | None:
        """The next piece of the body; None: it is whole.

        Raises:
            ClientGone: the client disconnected.
            ClientStalled: it did not come within `STALL` seconds.
        """
        while self._more:
            message = await self._next_message()
            if message["type"] == "http.disconnect":
                self._left = True
                self._read.set()
                raise ClientGone
            self._more = message.get("more_body", False)
            if chunk := message.get("body", b""):
                return bytes(chunk)
        self._read.set()
        return None

    async def _next_message(self) -> Message:
        if self._is_here is not None and self._is_here():  # nearly always; a time limit would take longer
            return await self._receive()
        try:
            async with asyncio.timeout(STALL):
                return await self._receive()
        except TimeoutError:
            self.stalled = ClientStalled()
            raise self.stalled from None

    async def body(self, most: int) -> bytes | None:
        """The whole body; None if it is larger than the limit.

        Raises:
            ClientGone, ClientStalled: see `chunks`.
        """
        chunks: list[bytes] = []
        size = 0
        async for chunk in self.chunks():
            size += len(chunk)
            if size > most:
                return None
            chunks.append(chunk)
        return await joined(chunks, size)

    def on_departure(self, leave: Callable[[], None]) -> Callable[[], None]:
        """Call a function when the client has disconnected. Returns a function that cancels this."""
        if self._departure is not None and (self._read.is_set() or not self.has_body):
            ends: Callable[[], None] = self._departure(leave)
            return ends

        def gone(watcher: asyncio.Task[None]) -> None:
            if not watcher.cancelled():
                leave()

        watcher = asyncio.create_task(self.wait_until_gone())
        watcher.add_done_callback(gone)

        def end() -> None:
            watcher.cancel()

        return end

    async def wait_until_gone(self) -> None:
        """Return when the client has disconnected (or has received its whole answer)."""
        if self.has_body:
            await self._read.wait()
        while not self._left:
            self._left = (await self._receive())["type"] == "http.disconnect"


async def while_present(inbound: Inbound, work: Coroutine[Any, Any, None]) -> None:
    """Run work; cancel it when the client disconnects.

    Raises:
        Whatever `work` raises.
    """
    worker, left = asyncio.current_task(), False
    assert worker is not None  # noqa: S101 - a coroutine runs in a task

    def leave() -> None:
        nonlocal left
        left = True
        worker.cancel()

    stop_watching = inbound.on_departure(leave)
    try:
        await work
    except asyncio.CancelledError:
        if not left or worker.uncancel():  # it was cancelled from outside too
            raise
    finally:
        stop_watching()
