"""``POST /v1/drill-down``: the original behind a section id.

Lives here: the body in and out (SYSTEMS.md, system C). Must not: how originals are kept (``originals``).
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnfold.proxy.originals import find_section
from turnfold.proxy.routes.answers import Gatekeeper, answered, error
from turnfold.proxy.store import Store


class DrillDown(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid")

    section_id: Annotated[str, Field(min_length=1, max_length=200)]
    target_layer: Literal[0] = 0


def drilldown_routes(store: Store, gate: Gatekeeper) -> list[Route]:
    """The route, reading the caller's own sections only.

    The answer: ``section_id``, ``layer``, ``text`` (the messages' JSON texts, a line each, byte for byte), ``tokens``. An
    unknown id, another tenant's too, is 404; one whose original is no longer kept is 410.
    """

    async def drill_down(request: Request) -> Response:
        tenant = gate.tenant(request.headers.raw)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > 10_000:
                return error(413, "body_too_large", "The body of a drill-down is a section id and a layer.")
        wanted = DrillDown.model_validate_json(bytes(body))
        section = await find_section(store, tenant, wanted.section_id)
        text = "\n".join(section.messages)
        answer = {"section_id": section.id, "layer": 0, "text": text, "tokens": section.tokens}
        # The standard library's JSON escapes a lone surrogate, where orjson refuses it.
        return Response(json.dumps(answer), media_type="application/json")

    return [Route("/v1/drill-down", answered(drill_down), methods=["POST"])]
