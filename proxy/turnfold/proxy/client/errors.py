"""The exceptions of the Python client.

The exception tree, and which answer raises which exception. No HTTP call is made here.

    ClientError
    ├── InvalidArgument         an argument that cannot be sent; nothing was sent
    ├── ConnectionFailed        no answer: refused, broken off, not a URL
    │   └── TimedOut            none in time
    ├── UnexpectedAnswer        an answer that is not Turnfold's
    └── ApiError                an error answer: status, code, param
        ├── BadRequest          400, 405, 413, 415, 422 and others: the call is wrong
        ├── NotAllowed          401, 403
        ├── NotFound            404
        ├── NoLongerKept        410
        ├── RateLimited         429
        └── ServerFailed        5xx
"""

from __future__ import annotations

from typing import Any, Final


class ClientError(Exception):
    """Base of the client's exceptions."""


class InvalidArgument(ClientError, ValueError):
    """An argument cannot be sent, for example text with half of a surrogate pair.

    Attributes:
        param: the argument or field, as in ``messages[2].content``.
    """

    def __init__(self, param: str, problem: str) -> None:
        super().__init__(f"{param} {problem}")
        self.param = param


class ConnectionFailed(ClientError):
    """No answer came."""


class TimedOut(ConnectionFailed):
    """No answer came in time."""


class UnexpectedAnswer(ClientError):
    """The answer is not what this route returns."""


class ApiError(ClientError):
    """An error answer.

    Attributes:
        status: HTTP status.
        code: slug for programs, None where the answer has none.
        param: the field or header that it is about, or None.
    """

    def __init__(self, status: int, message: str, code: str | None = None, param: str | None = None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.code = code
        self.param = param


class BadRequest(ApiError):
    """The call is wrong."""


class NotAllowed(ApiError):
    """The credential is missing or not accepted."""


class NotFound(ApiError):
    """There is no such section or conversation."""


class NoLongerKept(ApiError):
    """The section or conversation is no longer stored."""


class RateLimited(ApiError):
    """Too many calls."""


class ServerFailed(ApiError):
    """The server failed."""


_KINDS: Final[dict[int, type[ApiError]]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    410: NoLongerKept,
    429: RateLimited,
}


def error_of(status: int, body: Any) -> ApiError:
    """The exception for an error answer.

    Args:
        body: decoded JSON, or a text where it is none.
    """
    kind = _KINDS.get(status, ServerFailed if status >= 500 else BadRequest)
    detail = body.get("error") if isinstance(body, dict) else None
    if not isinstance(detail, dict):
        return kind(status, str(body)[:200])
    return kind(status, str(detail.get("message")), detail.get("code"), detail.get("param"))
