"""Answers to bytes that are not a valid request.

The bytes of the answer, and a log line for clients that could not read it. ``http11`` notices such bytes; requests that are
refused are in ``refusals``.
"""

from __future__ import annotations

import logging
import time
from typing import Final

import httptools
import orjson

from turnfold.proxy.http.refusals import error_body

_TLS: Final = b"\x16\x03"  # RFC 8446 section 5.1: a handshake, as any version of TLS begins
_HTTP2: Final = b"PRI * HTTP/2"  # RFC 9113 section 3.4
_LONGEST_TARGET: Final = 2**16 - 1  # bytes; httptools' own limit
_TOLD_EVERY: Final = 60.0  # seconds

_log = logging.getLogger(__name__)


def answer(status: int, phrase: str, code: str, message: str) -> bytes:
    """A whole answer, after which the connection is closed."""
    body = orjson.dumps(error_body(status, code, message, None))
    lines = (f"HTTP/1.1 {status} {phrase}", "content-type: application/json", "connection: close", f"content-length: {len(body)}")
    return "\r\n".join((*lines, "", "")).encode() + body


class NoRequests:
    """Says what is wrong with bytes that cannot be parsed."""

    def __init__(self) -> None:
        self._told = -_TOLD_EVERY

    def answer(self, data: bytes, error: httptools.HttpParserError, target: bytes) -> bytes:
        """The answer; b"" where the client could not read it.

        Args:
            data: the bytes that came last.
            target: what the newest request asks for.
        """
        if data.startswith(_TLS):
            self._tell_of_tls()
            return b""
        if data.startswith(_HTTP2):
            return answer(400, "Bad Request", "invalid_http", "Turnfold takes HTTP/1.1; this client speaks HTTP/2 without TLS.")
        if not isinstance(error, httptools.HttpParserCallbackError):  # otherwise the head was parsed, but not its target
            return answer(400, "Bad Request", "invalid_http", f"This is not an HTTP request: {error}.")
        if len(target) > _LONGEST_TARGET:
            return answer(414, "URI Too Long", "uri_too_long", f"The request's URL is longer than {_LONGEST_TARGET} bytes.")
        return answer(400, "Bad Request", "invalid_http", "The request's URL is not valid.")

    def _tell_of_tls(self) -> None:
        now = time.monotonic()
        if now - self._told >= _TOLD_EVERY:
            self._told = now
            _log.warning("a client spoke TLS: its base URL has to begin with http://, or a proxy in front has to terminate TLS")
