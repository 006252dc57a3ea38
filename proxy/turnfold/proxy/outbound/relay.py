"""Relaying bytes from the upstream to the client, unchanged and without buffering.

This module changes no byte of a body, never ends what the upstream did not end, and buffers nothing: ASGI's ``send`` waits while
the client does not read, and so does our reading from the upstream.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from starlette.types import Send

from turnfold.proxy.http.refusals import RawHeaders


class RelayableAnswer(Protocol):
    """A response whose head has arrived (``upstream.Answer``, or one of our own)."""

    status: int
    headers: Sequence[tuple[bytes, bytes]]

    def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """The body's bytes as they arrive, each with whether it is known to be the last."""
        ...

    def close(self) -> None:
        """Drop the connection unless the response was read to its end."""
        ...


async def relay(answer: RelayableAnswer, headers: RawHeaders, send: Send, watch: Callable[[bytes], None]) -> None:
    """Pass a response on, showing each chunk to `watch` first (so that the last one is seen even if the client goes then).

    Raises:
        UpstreamFailed: it broke off. Nothing was ended: the caller returns, and the server cuts the client's connection.
    """
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    ended = False
    async for chunk, ended in answer.chunks():
        watch(chunk)
        await send({"type": "http.response.body", "body": chunk, "more_body": not ended})
    if not ended:
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def see_nothing(_: bytes) -> None:
    """The watch of responses that are not read."""
