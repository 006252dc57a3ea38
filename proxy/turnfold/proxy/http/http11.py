"""uvicorn's HTTP/1.1 protocol with three fixes that a proxy needs.

Lives here: a size limit for request heads, bodies of requests whose upgrade is declined, and answers to HTTP/1.0. Does not belong
here: anything that an ASGI app can do for itself.

uvicorn collects a head of any size before an app sees it. The app's own limit sends a proper answer; the limit here is larger and
protects memory. Also, httptools ends a request after its head if it asks for an upgrade, which servers may ignore (RFC 9110
section 7.8): Java's client asks for h2c with its first request, whose body would be lost.
"""

from __future__ import annotations

from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST: Final = 2**20
_MESSAGE: Final = (
    b'{"error":{"message":"The request\'s headers are far larger than limits.max_header_bytes.",'
    b'"type":"invalid_request_error","param":null,"code":"headers_too_large"}}'
)
_HEAD_TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_MESSAGE), _MESSAGE)
)
_FRAMING: Final = (b"content-length", b"transfer-encoding")


class _AnyLength(int):
    """The length of a body that ends with its connection, as uvicorn counts it down: never too short, never too long."""

    def __lt__(self, other: int) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return False

    def __sub__(self, other: int) -> _AnyLength:
        return self

    __hash__ = int.__hash__


class Http11(HttpToolsProtocol):
    """One client connection."""

    def connection_made(self, transport: Any) -> None:
        """As the parent does."""
        self._head_size = 0
        self._in_head = True
        self._resuming = False
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parse the next bytes, unless the head has grown beyond the limit."""
        if self._in_head:
            if self._head_size > _MOST:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
            self._head_size += len(data)
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        except httptools.HttpParserUpgrade as upgrade:
            self._decline_upgrade(data[upgrade.args[0] :])

    def _decline_upgrade(self, rest: bytes) -> None:
        """Continue the same request: a new parser is given the framing headers, then the bytes behind the head."""
        framing = b"".join(b"%s: %s\r\n" % pair for pair in self.headers if pair[0] in _FRAMING)
        self.parser = httptools.HttpRequestParser(self)
        self._resuming = True
        self.parser.feed_data(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
        self._resuming = False
        if rest:
            self.data_received(rest)

    def on_message_begin(self) -> None:
        """A head begins."""
        if not self._resuming:
            self._in_head, self._head_size = True, 0
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Part of the head."""
        if not self._resuming:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Part of the head."""
        if not self._resuming:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """A head ends."""
        if not self._resuming:
            self._in_head = False
            super().on_headers_complete()
            if self.scope.get("http_version") == "1.0" and self.cycle is not None:
                # A client of HTTP/1.0 knows no chunks (RFC 9112 section 6.1): the body ends with the connection.
                self.cycle.chunked_encoding = False
                self.cycle.expected_content_length = _AnyLength()

    def on_message_complete(self) -> None:
        """A request ends, unless this is a head with an upgrade whose body is still to come."""
        if not self.parser.should_upgrade():
            super().on_message_complete()
