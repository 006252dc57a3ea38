"""Requests whose headers are forwarded byte for byte, even if they are not UTF-8.

This module turns bytes into text that aiohttp accepts and back into the same bytes on the wire, and names what aiohttp adds.
Which headers are sent is decided elsewhere.

aiohttp encodes header values as UTF-8, and there is no text whose UTF-8 is just any bytes. Where a value is not UTF-8 (RFC 9110
section 5.5 calls it opaque; clients send ISO 8859-1), every byte outside of ASCII in the request's headers becomes one character
of a private range, and what is written for these is turned back into the bytes, in the head alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

import aiohttp
from aiohttp import hdrs
from aiohttp.connector import Connection

_FIRST: Final = 0xF600  # stands for byte 0; UTF-8 of U+F680 to U+F6FF is EF 9A 80 to EF 9B BF
_OPAQUE: Final = re.compile("[\uf680-\uf6ff]")
_WRITTEN: Final = re.compile(rb"\xef([\x9a\x9b])([\x80-\xbf])")


def as_text(values: Iterable[bytes]) -> list[str]:
    """The values as text that `RawHeadersRequest` writes as these bytes."""
    values = list(values)
    try:
        texts = [value.decode("utf-8") for value in values]
    except UnicodeDecodeError:
        texts = None
    if texts is not None and not any(map(_OPAQUE.search, texts)):
        return texts
    return ["".join(chr(_FIRST + byte) if byte > 0x7F else chr(byte) for byte in value) for value in values]


def _byte(match: re.Match[bytes]) -> bytes:
    return bytes((0x80 + (match[1][0] - 0x9A) * 0x40 + match[2][0] - 0x80,))


def _as_sent(data: bytes) -> bytes:
    """The beginning of a request, its head as it came."""
    head, end, body = bytes(data).partition(b"\r\n\r\n")
    return _WRITTEN.sub(_byte, head) + end + body


class _Restoring:
    """A transport whose first write is a request's head."""

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._transport = protocol.transport
        protocol.transport = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _step_aside(self) -> Any:
        if self._protocol.transport is self:
            self._protocol.transport = self._transport
        return self._transport

    def write(self, data: bytes) -> None:
        """Write the head, and anything after it."""
        self._step_aside().write(_as_sent(data))

    def writelines(self, pieces: Iterable[bytes]) -> None:
        """Write several pieces."""
        first, *rest = pieces
        self._step_aside().writelines([_as_sent(first), *rest])


class RawHeadersRequest(aiohttp.ClientRequest):
    """A request that writes its headers' original bytes."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """As the parent does, but without the ``content-length: 0`` that it gives to a DELETE without a body."""
        if self.method == hdrs.METH_DELETE and not self.body and self.headers.get(hdrs.CONTENT_LENGTH) == "0":
            del self.headers[hdrs.CONTENT_LENGTH]
        if conn.protocol is not None and any(map(_OPAQUE.search, self.headers.values())):
            _Restoring(conn.protocol)
        return await super().send(conn)
