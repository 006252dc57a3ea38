"""Turnfold's own API as a table of operations: each is validated, served and documented from the same entry.

This module defines what an operation is, reads its body and dispatches by method. What an operation does is up to its own module;
the document is made in ``openapi``.

A path of the API belongs to Turnfold with every method: a method that is not served gives 405 and never goes upstream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from turnfold.config.serving import LimitSettings
from turnfold.proxy.api.bodies import Nothing, RequestBody
from turnfold.proxy.http.inbound import Inbound
from turnfold.proxy.http.limits import own_body
from turnfold.proxy.routes.answers import Gatekeeper, error, with_error_answers
from turnfold.proxy.routes.anything import ANYTHING
from turnfold.proxy.routes.parameters import refuse_unknown

B = TypeVar("B", bound=RequestBody)

_JSON: Final = "application/json"
_LONG: Final = 2**16  # bodies above this many bytes are validated in a thread


@dataclass(frozen=True, slots=True)
class OperationCall:
    """One call of an operation: its tenant, and everything but its body. Header names are in lower case."""

    tenant: str
    path: Mapping[str, str]
    query: QueryParams
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OperationReply:
    """An answer with its own headers."""

    answer: BaseModel
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter outside the body, for the document.

    Attributes:
        place: "path", "query" or "header".
        schema: JSON schema of its text.
    """

    name: str
    place: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operation(Generic[B]):
    """One method of one path.

    Attributes:
        path: OpenAPI's template; a ``{parameter}`` at the end may hold slashes.
        answer: model of a 200.
        body: model of the request's body; `Nothing` if there is none.
        errors: error statuses, besides those of every operation.
        most_bytes: of the body; None: the settings' limit.
        reply_headers: of a 200, name -> description.
    """

    method: str
    path: str
    summary: str
    answer: type[BaseModel]
    body: type[B]
    work: Callable[[OperationCall, B], Awaitable[BaseModel | OperationReply]]
    errors: Sequence[int] = ()
    parameters: Sequence[Parameter] = ()
    reply_headers: Mapping[str, str] | None = None
    most_bytes: int | None = None


def mount(operations: Iterable[Operation[Any]], gate: Gatekeeper, limits: LimitSettings) -> list[Route]:
    """One route per path, in the order of the table."""
    by_path: dict[str, list[Operation[Any]]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, []).append(operation)
    return [Route(path.replace("}", f":{ANYTHING}}}"), _Path(table, gate, limits)) for path, table in by_path.items()]


def served_methods(route: Route) -> set[str]:
    """The methods that a route answers, without HEAD if there is GET; none for a route that refuses every request."""
    if isinstance(route.endpoint, _Path):
        return route.endpoint.methods
    return (route.methods or set()) - {"HEAD"}


class _Path:
    """The ASGI endpoint of one path."""

    def __init__(self, operations: Sequence[Operation[Any]], gate: Gatekeeper, limits: LimitSettings) -> None:
        self._by_method = {operation.method: operation for operation in operations}
        self.methods = set(self._by_method)
        self._allow = ", ".join(self._by_method)
        self._gate = gate
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        method = "GET" if request.method == "HEAD" and "GET" in self._by_method else request.method
        operation = self._by_method.get(method)
        if operation is None:
            response = error(405, "method_not_allowed", f"{scope['path']} takes {self._allow}.")
            response.headers["allow"] = self._allow
        else:
            response = await with_error_answers(lambda request: self._serve(operation, request, receive))(request)
        await response(scope, receive, send)

    async def _serve(self, operation: Operation[Any], request: Request, receive: Receive) -> Response:
        tenant = self._gate.tenant(request.headers.raw)
        refuse_unknown(request.query_params, *(one.name for one in operation.parameters if one.place == "query"))
        call = OperationCall(tenant, request.path_params, request.query_params, request.headers)
        body = Nothing() if operation.body is Nothing else await self._read(operation, request, receive)
        made = await operation.work(call, body)
        reply = made if isinstance(made, OperationReply) else OperationReply(made, {})
        # In a thread, for an answer may have megabytes.
        content = await asyncio.to_thread(_render, reply.answer)
        return Response(content, media_type=_JSON, headers=dict(reply.headers))

    async def _read(self, operation: Operation[B], request: Request, receive: Receive) -> B:
        plain = await own_body(Inbound(request.scope, receive), operation.most_bytes or self._limits.max_text_bytes)
        validate = operation.body.model_validate_json
        return validate(plain) if len(plain) < _LONG else await asyncio.to_thread(validate, plain)


def _render(answer: BaseModel) -> bytes:
    try:
        return answer.model_dump_json(by_alias=True).encode()
    except PydanticSerializationError:
        # A lone surrogate, which a client's JSON may bring: the standard library escapes it, as the client did.
        return json.dumps(answer.model_dump(by_alias=True)).encode()
