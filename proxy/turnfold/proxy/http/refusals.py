"""Error answers for requests that are not served, in OpenAI's shape, so that SDKs raise their own exception types.

Lives here: the shape, and the exception that carries it to the one place that sends it. Does not belong here: deciding what is
refused (``limits``, ``tenancy`` and the routes do), the upstream's own error responses (they pass unchanged).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from starlette.types import Send

RawHeaders = Sequence[tuple[bytes, bytes]]


class Refused(Exception):
    """The request is not processed further; the client gets this answer.

    Args:
        status: HTTP status.
        code: slug for programs (``error.code``).
        message: one sentence for people; names the field or header, never quotes its value at length.
        param: what the message is about (``error.param``), or None.
        headers: further response headers.
    """

    def __init__(self, status: int, code: str, message: str, param: str | None = None, headers: RawHeaders = ()) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.headers = headers

    async def send(self, send: Send) -> None:
        """Send the answer."""
        kind = "invalid_request_error" if self.status < 500 else "api_error"
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        await send_json(send, self.status, {"error": error}, self.headers)


async def send_json(send: Send, status: int, value: Any, headers: RawHeaders = ()) -> None:
    """Send a whole JSON answer."""
    body = orjson.dumps(value)
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
