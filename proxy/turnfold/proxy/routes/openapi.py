"""``GET /openapi.json``: our own API, as the table of operations says it (OpenAPI 3.1).

Lives here: operations to a document. Does not belong here: a schema written by hand; the models that validate make them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import orjson
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnfold.proxy.api.bodies import ErrorAnswer, Nothing
from turnfold.proxy.routes.operations import Operation, Parameter

_REFERENCE: Final = "#/components/schemas/{model}"
#: What every operation can answer: credentials, size of the head, the store.
_ALWAYS: Final = (401, 403, 431, 503)
#: What every operation with a body can answer.
_WITH_BODY: Final = (413, 415, 422)


def document(operations: Sequence[Operation[Any]]) -> dict[str, Any]:
    """The OpenAPI document."""
    bodies = {operation.body for operation in operations if operation.body is not Nothing}
    answers = {operation.answer for operation in operations} | {ErrorAnswer}
    modes: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        *((model, "validation") for model in sorted(bodies, key=lambda model: model.__name__)),
        *((model, "serialization") for model in sorted(answers, key=lambda model: model.__name__)),
    ]
    references, definitions = models_json_schema(modes, ref_template=_REFERENCE)
    schemas: dict[Any, Any] = {model: schema for (model, _), schema in references.items()}
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Turnfold", "version": _version(), "description": "Turnfold's own API; other paths go upstream."},
        "paths": paths,
        "components": {
            "schemas": definitions["$defs"],
            "securitySchemes": {"credential": {"type": "http", "scheme": "bearer", "description": "Names the tenant."}},
        },
        "security": [{}, {"credential": []}],
    }


def _version() -> str:
    try:
        return version("turnfold")
    except PackageNotFoundError:
        return "0"


def _describe(operation: Operation[Any], schemas: dict[Any, Any]) -> dict[str, Any]:
    has_body = operation.body is not Nothing
    statuses = sorted({*_ALWAYS, *operation.errors, *(_WITH_BODY if has_body else ())})
    refused = {"application/json": {"schema": schemas[ErrorAnswer]}}
    headers = {
        name: {"description": text, "schema": {"type": "string"}} for name, text in (operation.reply_headers or {}).items()
    }
    done = {"description": "Done.", "content": {"application/json": {"schema": schemas[operation.answer]}}}
    described: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{operation.method.lower()} {operation.path.removeprefix('/v1/')}").strip("_"),
        "summary": operation.summary,
        "parameters": [_parameter(parameter) for parameter in operation.parameters],
        "responses": {
            "200": done | ({"headers": headers} if headers else {}),
            **{str(status): {"description": HTTPStatus(status).phrase, "content": refused} for status in statuses},
        },
    }
    if has_body:
        content = {"application/json": {"schema": schemas[operation.body]}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.place == "path",
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def openapi_route(operations: Sequence[Operation[Any]]) -> Route:
    """The document, made once; anybody may read it."""
    body = orjson.dumps(document(operations))

    async def get_document(_: Request) -> Response:
        return Response(body, media_type="application/json")

    return Route("/openapi.json", get_document, methods=["GET"])
