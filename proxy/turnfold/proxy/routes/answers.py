"""Answers of Turnfold's own routes.

JSON answers, and the translation of exceptions into answers. A route decides what to answer.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Protocol

import orjson
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from turnfold.compression.errors import InvalidInput, SectionUnknown
from turnfold.proxy.api.conversation_records import TokenTaken
from turnfold.proxy.api.conversations import ConversationUnknown, ConversationUnreadable, HistoryIncomplete
from turnfold.proxy.asking.operations import ModelMissing
from turnfold.proxy.books.section_records import SectionExpired
from turnfold.proxy.http.refusals import Refused, error_body
from turnfold.proxy.incidents import catchable_panics
from turnfold.proxy.store import StoreAway, StoreError, StoreFailed, StoreOff

Handler = Callable[[Request], Awaitable[Response]]
#: Exceptions, and the answer to each.
Answers = Mapping[type[Exception], Callable[[Any], Response]]

_ADMIN_NEEDED: Final = (
    "This route needs the admin token (TURNFOLD_ADMIN_TOKEN), in x-turnfold-admin-token or as 'Authorization: Bearer ...'."
)


_STORE_OFF: Final = "This Turnfold keeps nothing (TURNFOLD_STORE_URL is none://), so this call has nothing to work on."


#: The client's message; the store's own may name users and hosts.
_STORE_FAILED: Final = "The store answers with an error. Run `turnfold doctor` on Turnfold's machine for its cause."


class Gatekeeper(Protocol):
    """Determines whose data a request is about. May raise its own refusal, which passes through."""

    def tenant(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """The caller's tenant, or the tenant that an administrator names."""
        ...

    def is_admin(self, headers: Sequence[tuple[bytes, bytes]], method: str = "") -> bool:
        """Whether the request carries the admin token, in its own header or as a bearer token, or comes from a browser that
        signed in on the dashboard."""
        ...


def as_json(value: Any, status: int = 200) -> Response:
    """A JSON answer."""
    try:
        data = orjson.dumps(value)
    except TypeError:  # a lone surrogate, which a client's JSON may bring, can only be written as an escape
        data = json.dumps(value).encode()
    return Response(data, status, media_type="application/json")


def error(status: int, code: str, message: str, param: str | None = None) -> Response:
    """An error in OpenAI's shape, so that SDKs raise their own exception types."""
    return as_json(error_body(status, code, message, param), status)


def fault(request: Request, exc: Exception) -> Response:
    """The answer when Turnfold has a bug. The log has the details."""
    del request, exc
    return error(500, "internal_error", "Turnfold failed on this request; its log says why.")


def _invalid_body(exc: ValidationError) -> Response:
    first = exc.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"])) or "body"
    problem = first["msg"].removeprefix("Value error, ")
    return error(422, "invalid_body", f"{field}: {problem}", field)


def missing_model(exc: ModelMissing) -> Response:
    """The answer if a request needs a model and none is set."""
    return error(409, "model_missing", str(exc), exc.field)


def _store_failure(exc: StoreFailed) -> Response:
    return error(503, "store_unavailable", f"The store answers with an error: {str(exc).rstrip('.')}.")


def _refusal(refused: Refused) -> Response:
    answer = error(refused.status, refused.code, refused.message, refused.param)
    for name, value in refused.headers:
        answer.headers[name.decode()] = value.decode()
    return answer


#: What a handler may raise on purpose, and its answer; the first row that fits counts.
_ANSWERS: Final[Answers] = MappingProxyType(
    {
        Refused: _refusal,
        ModelMissing: missing_model,
        InvalidInput: lambda exc: error(400, "invalid_value", str(exc), exc.field),
        ValidationError: _invalid_body,
        SectionExpired: lambda exc: error(410, "section_expired", f"The {exc}.", exc.field),
        SectionUnknown: lambda exc: error(404, "section_unknown", f"There is no section {exc.section_id!r}.", exc.field),
        ConversationUnknown: lambda exc: error(404, "conversation_unknown", str(exc), "conversation_id"),
        ConversationUnreadable: lambda exc: error(409, "conversation_unreadable", str(exc), "conversation_id"),
        TokenTaken: lambda exc: error(409, "idempotency_key_taken", str(exc), "idempotency-key"),
        HistoryIncomplete: lambda exc: error(410, "conversation_incomplete", str(exc), "conversation_id"),
        StoreOff: lambda _: error(501, "store_off", _STORE_OFF),
        StoreAway: lambda exc: error(
            503, "store_unavailable", f"{exc} Requests are served without it; nothing is lost, try again."
        ),
        StoreFailed: lambda _: error(503, "store_unavailable", _STORE_FAILED),
        StoreError: lambda _: error(503, "store_unavailable", "The store does not answer now; nothing is lost, try again."),
    }
)


#: As above, for those who may see what the store says.
_FOR_ADMINS: Final[Answers] = MappingProxyType(
    {kind: _store_failure if kind is StoreFailed else render for kind, render in _ANSWERS.items()}
)


def with_error_answers(handler: Handler, own: Answers = MappingProxyType({})) -> Handler:
    """Turn a handler's expected exceptions into answers.

    Args:
        own: where its routes answer otherwise than others.
    """
    answers = {**own, **{kind: render for kind, render in _ANSWERS.items() if kind not in own}}

    async def answer(request: Request) -> Response:
        try:
            with catchable_panics():
                return await handler(request)
        except tuple(answers) as exc:
            return next(render for kind, render in answers.items() if isinstance(exc, kind))(exc)

    return answer


def refuse_strangers(request: Request, gate: Gatekeeper) -> Response | None:
    """A 401 for a request without the admin token; None if it has the token."""
    if gate.is_admin(request.headers.raw, request.method):
        return None
    refusal = error(401, "invalid_admin_token", _ADMIN_NEEDED)
    refusal.headers["www-authenticate"] = "Bearer"
    return refusal


def only_admins(work: Handler, gate: Gatekeeper) -> Handler:
    """A handler for requests with the admin token, whose expected exceptions are answers."""
    handler = with_error_answers(work, _FOR_ADMINS)

    async def check_admin(request: Request) -> Response:
        return refuse_strangers(request, gate) or await handler(request)

    return check_admin
