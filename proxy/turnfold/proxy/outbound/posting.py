"""POSTs with a whole body, over a connection of aiohttp's pool.

This module writes such a request as bytes and reads the head and body of its answer. ``upstream`` puts failures into words. Other
methods, bodies in pieces and outbound proxies are left to aiohttp's session.

Whatever else the session does beyond its connector and its parser (redirects, cookies, credentials in URLs, tracing, retries of
methods that may be retried), such a request does not need, and it takes 100 of 137 µs (measured). Both ways share the connector,
so they take connections from one pool; both write the same bytes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final, TypedDict

import aiohttp
from aiohttp import hdrs
from aiohttp.connector import Connection
from aiohttp.http import HttpProcessingError
from yarl import URL

from turnfold.proxy.http.refusals import RawHeaders

_LINE_END: Final = re.compile(rb"[\r\n\x00]")


class ParserLimits(TypedDict):
    """Bounds of what the parser of responses takes, in bytes; of headers their number too."""

    read_bufsize: int
    max_line_size: int
    max_field_size: int
    max_headers: int


class PostAnswer:
    """A response whose head has arrived; the used part of the interface of ``aiohttp.ClientResponse``."""

    def __init__(self, connection: Connection, message: Any, content: aiohttp.StreamReader) -> None:
        self.status: int = message.code
        self.raw_headers: tuple[tuple[bytes, bytes], ...] = message.raw_headers
        self.content = content
        self._connection: Connection | None = connection
        content.on_eof(self._release)

    def _release(self) -> None:
        connection = self._connection
        if connection is not None and connection.protocol is not None and not connection.protocol.upgraded:
            self._connection = None
            connection.release()

    def close(self) -> None:
        """Drop the connection unless the body came to its end."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class Posting:
    """Posts to one origin. Belongs to the event loop of its session.

    Args:
        session: whose connector and time limits hold.
        parsing: bounds of what the parser takes, as the session was given them.
    """

    def __init__(self, session: aiohttp.ClientSession, origin: str, parsing: ParserLimits) -> None:
        assert session.connector is not None  # noqa: S101 - the session is open
        self._connector = session.connector
        self._timeout = session.timeout
        self._parsing = parsing
        # Only tells the connector where to connect; it is never sent itself.
        url, loop = URL(origin, encoded=True), asyncio.get_running_loop()
        self._to = aiohttp.ClientRequest(hdrs.METH_POST, url, loop=loop, session=session)
        self._host = self._to.headers[hdrs.HOST].encode("utf-8")

    async def post(self, url: URL, headers: RawHeaders, body: bytes, meanwhile: Callable[[], None] | None = None) -> PostAnswer:
        """Send a request and wait for the head of its response. Cancelling it drops the connection.

        Args:
            meanwhile: what there is to do until then.

        Raises:
            ValueError: a header would end its line.
            aiohttp.ClientError, OSError: no head came; TimeoutError among them.
        """
        data = self._request(url, headers, body)
        try:
            connection = await self._connector.connect(self._to, [], self._timeout)
        except TimeoutError as exc:
            raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {url}") from exc
        answer: PostAnswer | None = None
        try:
            answer = await self._exchange(connection, data, meanwhile)
            return answer
        finally:
            if answer is None:
                connection.close()

    def _request(self, url: URL, headers: RawHeaders, body: bytes) -> bytes:
        lines = [b"%s: %s" % pair for pair in headers]
        if _LINE_END.search(b"".join(lines)):
            raise ValueError("a header has a line's end in it")
        head = [b"POST %s HTTP/1.1\r\nHost: %s" % (url.raw_path_qs.encode("ascii"), self._host), *lines]
        return b"%s\r\n\r\n%s" % (b"\r\n".join(head), body)

    async def _exchange(self, connection: Connection, data: bytes, meanwhile: Callable[[], None] | None) -> PostAnswer:
        protocol, transport = connection.protocol, connection.transport
        if protocol is None or transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        protocol.set_response_params(
            read_until_eof=True, auto_decompress=False, read_timeout=self._timeout.sock_read, **self._parsing
        )
        transport.write(data)
        protocol.start_timeout()
        if meanwhile is not None:  # the request is sent completely
            meanwhile()
        while True:
            try:
                message, content = await protocol.read()
            except HttpProcessingError as exc:
                raise aiohttp.ClientResponseError(
                    self._to.request_info, (), status=exc.code, message=exc.message, headers=exc.headers
                ) from exc
            if not 100 <= message.code <= 199 or message.code == 101:  # interim responses before the final one
                return PostAnswer(connection, message, content)
