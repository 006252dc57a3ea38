"""The API's document (OpenAPI 3.1): every route that Turnfold serves.

Operations and descriptions become a document, served at ``GET /openapi.json``. Schemas are generated from the models, never
written by hand; the page is in ``docs_page``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Final

import orjson
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnfold.proxy.api.bodies import ErrorAnswer, MessagesErrorAnswer, Nothing
from turnfold.proxy.routes.described import DESCRIBED, Described
from turnfold.proxy.routes.examples import EXAMPLES, error_example, messages_error_example
from turnfold.proxy.routes.operations import Operation, Parameter

_REFERENCE: Final = "#/components/schemas/{model}"
_JSON: Final = "application/json"
#: What every operation can answer: credentials, size of the head, no store, the store.
_ALWAYS: Final = (400, 401, 403, 431, 501, 503)
#: What every operation with a body can answer.
_WITH_BODY: Final = (413, 415, 422)
#: Tag by the beginning of an operation's path.
_TAGS: Final = (
    ("/v1/conversation", "Conversations"),
    ("/v1/cache", "Cache"),
    ("/v1/data", "Your data"),
    ("/v1/windows", "Your data"),
    ("/v1/", "Compression"),
)
TAGS: Final[Mapping[str, str]] = {
    "Models": "Where clients point their base URL.",
    "Compression": "Compress texts and messages, and restore them.",
    "Conversations": "Conversations that Turnfold keeps within a token budget.",
    "State": "Rules that users set and that no fold loses.",
    "Cache": "Cached results of /v1/compress.",
    "Your data": "The caller's stored data, and its deletion.",
    "Admin": "For operators of Turnfold.",
    "Operation": "For orchestrators and monitoring.",
}
_SECURITY: Final[Mapping[str, list[dict[str, list[str]]]]] = {
    "credential": [{}, {"credential": []}],
    "admin": [{"admin": []}, {"admin_header": []}],
    "open": [{}],
}
_SCHEMES: Final = {
    "credential": {"type": "http", "scheme": "bearer", "description": "Sent upstream; identifies the tenant."},
    "admin": {"type": "http", "scheme": "bearer", "description": "The admin token (TURNFOLD_ADMIN_TOKEN)."},
    "admin_header": {"type": "apiKey", "in": "header", "name": "x-turnfold-admin-token", "description": "The same, in a header."},
}


def document(operations: Sequence[Operation[Any]]) -> dict[str, Any]:
    """The OpenAPI document of these operations and of every other route."""
    calls = [*map(_as_described, operations), *DESCRIBED]
    order = list(TAGS)
    schemas, definitions = _schemas(calls)
    paths: dict[str, dict[str, Any]] = {}
    for call in sorted(calls, key=lambda call: order.index(call.tag)):
        paths.setdefault(call.path, {})[call.method.lower()] = _describe(call, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Turnfold",
            "version": version("turnfold"),
            "description": "Turnfold's own API, and the paths that it folds; every other path goes upstream.",
        },
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {"schemas": definitions, "securitySchemes": _SCHEMES},
        "security": _SECURITY["credential"],
    }


def _as_described(operation: Operation[Any]) -> Described:
    has_body = operation.body is not Nothing
    return Described(
        operation.method,
        operation.path,
        next(tag for beginning, tag in _TAGS if operation.path.startswith(beginning)),
        operation.summary,
        operation.answer,
        operation.body,
        (*_ALWAYS, *operation.errors, *(_WITH_BODY if has_body else ())),
        operation.parameters,
        reply_headers=operation.reply_headers,
    )


def _schemas(calls: Iterable[Described]) -> tuple[dict[Any, Any], dict[str, Any]]:
    """Schemas by model, and the definitions that they refer to."""
    bodies = {call.body for call in calls if call.body is not Nothing}
    answers: set[type[BaseModel]] = {call.answer for call in calls if not isinstance(call.answer, tuple)}
    answers |= {ErrorAnswer, MessagesErrorAnswer}
    modes: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for model in sorted(bodies, key=lambda model: model.__name__)),
        *((model, "serialization") for model in sorted(answers, key=lambda model: model.__name__)),
    ]
    references, definitions = models_json_schema(modes, ref_template=_REFERENCE)
    return {model: schema for (model, _), schema in references.items()}, definitions["$defs"]


def _describe(call: Described, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    example = EXAMPLES.get((call.method, call.path), {})
    described: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{call.method.lower()} {call.path.removeprefix('/v1/')}").strip("_"),
        "tags": [call.tag],
        "summary": call.summary,
        **({"description": call.description} if call.description else {}),
        "parameters": [_parameter(parameter) for parameter in call.parameters],
        "responses": {"200": _success_response(call, schemas, example), **_refusals(call, schemas)},
        "security": _SECURITY[call.access],
    }
    if call.body is not Nothing:
        content = {"schema": schemas[call.body]} | ({"example": example["request"]} if "request" in example else {})
        described["requestBody"] = {"required": True, "content": {_JSON: content}}
    return described


def _success_response(call: Described, schemas: Mapping[Any, Any], example: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(call.answer, tuple):
        content: dict[str, Any] = {kind: {} for kind in call.answer}
    else:
        content = {_JSON: {"schema": schemas[call.answer]}}
    if "response" in example:
        content[next(iter(content))]["example"] = example["response"]
    if any(parameter.name == "format" and "csv" in parameter.schema["enum"] for parameter in call.parameters):
        content.setdefault("text/csv", {})
    headers = {name: {"description": text, "schema": {"type": "string"}} for name, text in (call.reply_headers or {}).items()}
    return {"description": "Done.", "content": content} | ({"headers": headers} if headers else {})


def _refusals(call: Described, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    """Errors; of a model's call they are the provider's own too, in whatever form it has."""
    found = {}
    to_anthropic = call.path == "/v1/messages"
    shape, example = (MessagesErrorAnswer, messages_error_example) if to_anthropic else (ErrorAnswer, error_example)
    for status in sorted(set(call.errors)):
        content: dict[str, Any] = {"schema": schemas[shape], "example": example(status)}
        if call.path == "/readyz":
            content = {"schema": schemas[call.answer]} if status == 503 else content
        found[str(status)] = {"description": HTTPStatus(status).phrase, "content": {_JSON: content}}
    if call.tag == "Models":
        found["default"] = {"description": "The provider's error, unchanged."}
    return found


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path" or parameter.description.endswith("required."),
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def openapi_route(described: Callable[[], Mapping[str, Any]]) -> Route:
    """The document; it needs no credential. It is made when first asked for, in a thread: it takes 45 ms."""
    body = functools.cache(lambda: orjson.dumps(described()))

    def get_document(_: Request) -> Response:
        return Response(body(), media_type=_JSON)

    return Route("/openapi.json", get_document, methods=["GET"])
