"""``/v1/windows`` and ``/admin/windows``: what was learned of upstreams' windows, and forgetting it.

Parameters become records, records become answers. Learning and remembering is up to ``learning.windows``.
"""

from __future__ import annotations

import time
from typing import Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turnfold.proxy.api.bodies import LearnedWindow, LearnedWindows, Nothing, WindowsForgotten
from turnfold.proxy.books.learned import learned_rows
from turnfold.proxy.books.pacing import OptionsOf
from turnfold.proxy.learning.window_records import tenants
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.routes.answers import Gatekeeper, as_json, only_admins
from turnfold.proxy.routes.operations import Operation, OperationCall, Parameter
from turnfold.proxy.routes.parameters import TENANT, refuse_unknown
from turnfold.proxy.store import Store

_UPSTREAM: Final = Parameter("upstream", "query", "Only this upstream: its URL without a path.", {"type": "string"})
_MODEL: Final = Parameter("model", "query", "Only this model.", {"type": "string"})


def _chosen(query: QueryParams) -> tuple[str | None, str | None]:
    """Upstream and model; None is any."""
    refuse_unknown(query, "upstream", "model")
    return query.get("upstream"), query.get("model")


def window_operations(windows: Windows, options_of: OptionsOf) -> list[Operation[Nothing]]:
    """List and forget what the caller's own requests have taught.

    To forget takes effect in this process at once, in others within half a minute.
    """

    async def read(call: OperationCall, _: Nothing) -> LearnedWindows:
        rows = learned_rows(await windows.records(call.tenant), time.time(), options_of)
        return LearnedWindows(windows=[LearnedWindow.model_validate(row) for row in rows])

    async def forget(call: OperationCall, _: Nothing) -> WindowsForgotten:
        return WindowsForgotten(forgotten=await windows.forget_matching(call.tenant, *_chosen(call.query)))

    return [
        Operation("GET", "/v1/windows", "List learned windows", LearnedWindows, Nothing, read),
        Operation(
            "DELETE", "/v1/windows", "Forget learned windows", WindowsForgotten, Nothing, forget, (400,), (_UPSTREAM, _MODEL)
        ),
    ]


def admin_window_routes(windows: Windows, store: Store, options_of: OptionsOf, gate: Gatekeeper) -> list[Route]:
    """``GET`` and ``DELETE /admin/windows?upstream=&model=``: the same for all tenants, or for that in ``x-turnfold-tenant``."""

    async def concerned(request: Request) -> list[str]:
        own = request.headers.get(TENANT)
        return sorted(await tenants(store)) if own is None else [own]

    async def read(request: Request) -> Response:
        upstream, model = _chosen(request.query_params)
        records = [one for tenant in await concerned(request) for one in await windows.records(tenant)]
        rows = learned_rows(records, time.time(), options_of)
        return as_json(
            {"windows": [row for row in rows if upstream in (None, row["upstream"]) and model in (None, row["model"])]}
        )

    async def forget(request: Request) -> Response:
        chosen = _chosen(request.query_params)
        gone = [await windows.forget_matching(tenant, *chosen) for tenant in await concerned(request)]
        return as_json({"forgotten": sum(gone)})

    return [
        Route("/admin/windows", only_admins(read, gate), methods=["GET"]),
        Route("/admin/windows", only_admins(forget, gate), methods=["DELETE"]),
    ]
