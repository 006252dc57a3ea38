"""Error answers for requests that are not served, in the shape of the client's API, so that SDKs raise their own exception types.

The shape of an error, and the exception that carries it to the one place that sends it. ``limits``, ``tenancy`` and the routes
decide what to refuse; an upstream's own error responses pass unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

import orjson
from starlette.types import Send

from turnfold.proxy.http.own_answers import ALWAYS

RawHeaders = Sequence[tuple[bytes, bytes]]

#: The error type of each status (Anthropic, "Errors").
_ANTHROPIC_TYPES: Final = MappingProxyType(
    {
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        504: "timeout_error",
    }
)


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

    async def send(self, send: Send, *, to_anthropic: bool = False) -> None:
        """Send the answer, in OpenAI's shape or in Anthropic's."""
        anthropics = messages_error_body(self.status, self.message)
        body = anthropics if to_anthropic else error_body(self.status, self.code, self.message, self.param)
        await send_json(send, self.status, body, self.headers)


def _type_of(status: int) -> str:
    return "invalid_request_error" if status < 500 else "api_error"


def error_body(status: int, code: str, message: str, param: str | None) -> dict[str, Any]:
    """An error in OpenAI's shape."""
    return {"error": {"message": message, "type": _type_of(status), "param": param, "code": code}}


def messages_error_body(status: int, message: str) -> dict[str, Any]:
    """An error in Anthropic's shape."""
    return {"type": "error", "error": {"type": _ANTHROPIC_TYPES.get(status) or _type_of(status), "message": message}}


async def send_json(send: Send, status: int, value: Any, headers: RawHeaders = ()) -> None:
    """Send a whole JSON answer."""
    body = orjson.dumps(value)
    head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *ALWAYS, *headers]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})
