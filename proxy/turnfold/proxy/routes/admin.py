"""``/admin``: the report, the export of receipts, deletion, figures for Prometheus.

Parameters go in, figures come out. The arithmetic is in ``books.report``; the gate checks the admin token.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from turnfold.compression.errors import InvalidInput
from turnfold.proxy.books.csv_rows import csv_header, csv_lines
from turnfold.proxy.books.learned import learned_of
from turnfold.proxy.books.ledger import REPORT_PATIENCE, Ledger
from turnfold.proxy.books.pacing import OptionsOf
from turnfold.proxy.books.receipt_log import column_names, has_value, read_page, receipt_pages
from turnfold.proxy.books.report import FILTERS, Query, report, report_csv, with_tenant_names, with_tenants_by_name
from turnfold.proxy.books.request_details import request_details
from turnfold.proxy.books.wording import uncounted
from turnfold.proxy.deletion.forgetting import Forgetting
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.routes.answers import Gatekeeper, Handler, as_json, error, only_admins
from turnfold.proxy.routes.parameters import TENANT, refuse_unknown, time_range
from turnfold.proxy.store import OpenStore, Scope, Store
from turnfold.proxy.store.records import left_out

_DEFAULT_SINCE: Final = "30d"
_SOUGHT_SINCE: Final = "7d"
_KNOWN: Final = ("from", "to", "group_by", "format", *FILTERS)


def query_of(parameters: QueryParams, tenant: str | None, now: float, names: Mapping[str, str]) -> Query:
    """A report's query from a URL's parameters.

    Args:
        tenant: whose requests; None: those that the parameters name.
        names: of tenants, which a parameter may use.

    Raises:
        InvalidInput: names the parameter.
    """
    refuse_unknown(parameters, *_KNOWN)
    only = with_tenants_by_name({name: parameters[name] for name in FILTERS if name in parameters}, names)
    if tenant is not None:
        only["tenant"] = tenant
    query = Query(*time_range(parameters, _DEFAULT_SINCE, now, now), parameters.get("group_by", "model"), only)
    query.check()
    return query


def _format(parameters: QueryParams, *known: str) -> str:
    chosen = parameters.get("format", known[0])
    if chosen not in known:
        raise InvalidInput("format", f"must be one of {', '.join(known)}")
    return chosen


async def _export(store: Store, query: Query, form: str) -> AsyncIterator[bytes]:
    if form == "csv":
        yield csv_header(column_names()).encode()
    async for page in receipt_pages(store, query.start, query.end):
        if told := await asyncio.to_thread(_exported, page, query, form):
            yield told


def _exported(lines: Sequence[bytes], query: Query, form: str) -> bytes:
    """Those of a page of receipts that are asked for."""
    read = read_page(lines, query.start, query.end)
    chosen = [one for one in read if all(has_value(one, name, value) for name, value in query.only.items())]
    if form == "csv":
        return csv_lines(chosen).encode()
    return b"".join(orjson.dumps(receipt) + b"\n" for receipt in chosen)


def _as_lenient_json(value: Any) -> Response:
    """Originals may contain lone surrogates from a client's JSON; the standard library escapes them as the client did."""
    return Response(json.dumps(value), media_type="application/json")


def _rendered(result: dict[str, Any], tenants: Mapping[str, str], form: str) -> Response:
    """A report, which may have a group for each conversation of a large store."""
    named = with_tenant_names(result, tenants)
    return Response(report_csv(named), media_type="text/csv") if form == "csv" else as_json(named)


def _scope(request: Request) -> Scope:
    tenant = request.headers.get(TENANT)
    if not tenant:
        raise InvalidInput(TENANT, "must name the tenant whose data is to be deleted")
    refuse_unknown(request.query_params, "kind", "conversation")
    for name in ("kind", "conversation"):
        if request.query_params.get(name) == "":
            raise InvalidInput(name, "must not be empty")
    return Scope(tenant, request.query_params.get("kind"), request.query_params.get("conversation"))


def admin_routes(
    store: OpenStore,
    ledger: Ledger,
    forgetting: Forgetting,
    gate: Gatekeeper,
    metrics: Callable[[], tuple[bytes, str]],
    options_of: OptionsOf,
    incidents: Incidents,
    tenants: Mapping[str, str],
) -> list[Route]:
    """The admin routes; they require the admin token.

    - ``GET /admin/report?from=&to=&group_by=&model=&status=&...&format=json|csv``
    - ``GET /admin/receipts?from=&to=&...&format=jsonl|csv``: every receipt, for other tools.
    - ``GET /admin/requests/{id}?from=&to=``: everything about one request: its receipt, and each section folded in it with
      originals and replacements. With ``x-turnfold-tenant``: only if it belongs to that tenant.
    - ``GET /admin/ledger``: what this process has written, queued and dropped, the store's health, the last failures in the
      background, and how many damaged records were left out.
    - ``DELETE /admin/data?conversation=&kind=`` with ``x-turnfold-tenant``: delete stored data of a tenant's conversations.
    - ``GET /metrics``.
    """

    return [
        Route("/admin/report", only_admins(_reporter(store, ledger, options_of, tenants), gate), methods=["GET"]),
        Route("/admin/receipts", only_admins(_exporter(store, tenants), gate), methods=["GET"]),
        Route("/admin/requests/{request_id}", only_admins(_request_finder(store, ledger, tenants), gate), methods=["GET"]),
        Route("/admin/ledger", only_admins(_ledger_teller(store, ledger, incidents), gate), methods=["GET"]),
        Route("/admin/data", only_admins(_data_deleter(store, ledger, forgetting), gate), methods=["DELETE"]),
        _metrics_route(metrics, gate),
    ]


def _reporter(store: OpenStore, ledger: Ledger, options_of: OptionsOf, tenants: Mapping[str, str]) -> Handler:
    async def get_report(request: Request) -> Response:
        form = _format(request.query_params, "json", "csv")
        complete = await ledger.flush(REPORT_PATIENCE)
        await store.check()
        query = query_of(request.query_params, request.headers.get(TENANT), time.time(), tenants)
        result = await report(store.patient, query, options_of)
        if form == "json":
            more = "" if complete else f" {uncounted(ledger.queued, ledger.problem)}"
            learned = await learned_of(store.patient, query, time.time(), options_of)
            result |= {"headline": f"{result['headline']}{more}", **learned}
        return await asyncio.to_thread(_rendered, result, tenants, form)

    return get_report


def _exporter(store: OpenStore, tenants: Mapping[str, str]) -> Handler:
    async def get_receipts(request: Request) -> Response:
        form = _format(request.query_params, "jsonl", "csv")
        query = query_of(request.query_params, request.headers.get(TENANT), time.time(), tenants)
        await store.check()
        kind = "text/csv" if form == "csv" else "application/jsonl"
        return StreamingResponse(_export(store.patient, query, form), media_type=kind)

    return get_receipts


def _ledger_teller(store: OpenStore, ledger: Ledger, incidents: Incidents) -> Handler:
    async def get_ledger(request: Request) -> Response:
        refuse_unknown(request.query_params)
        queue = {"written": ledger.written, "queued": ledger.queued, "dropped": ledger.dropped, "problem": ledger.problem}
        state = {"problem": store.problem, "failures": store.failures}
        told = {"background": incidents.listed(), "damaged_records": dict(left_out)}
        return as_json({"ledger": {**queue, "dropped_originals": ledger.dropped_originals}, "store": state, **told})

    return get_ledger


def _data_deleter(store: OpenStore, ledger: Ledger, forgetting: Forgetting) -> Handler:
    async def delete_data(request: Request) -> Response:
        scope = _scope(request)
        await store.check()
        if scope.kind is None:
            return as_json({"deleted": (await forgetting.forget(scope.tenant, scope.conversation, books=False)).items})
        await ledger.flush()
        gone = await store.deleting.delete(scope)
        ledger.forget(scope.tenant.__eq__)
        await store.deleting.scrub()
        return as_json({"deleted": gone})

    return delete_data


def _request_finder(store: OpenStore, ledger: Ledger, tenants: Mapping[str, str]) -> Handler:
    async def get_request(request: Request) -> Response:
        now, sought = time.time(), request.path_params["request_id"]
        refuse_unknown(request.query_params, "from", "to")
        since, until = time_range(request.query_params, _SOUGHT_SINCE, now, now + 1)
        Query(since, until).check()
        await ledger.flush(REPORT_PATIENCE)
        await store.check()
        found = await request_details(store.patient, sought, since, until, request.headers.get(TENANT))
        if found is None:
            return error(404, "request_unknown", f"There is no receipt of {sought!r} in this range of time.", "request_id")
        found["tenant_name"] = tenants.get(found["receipt"]["tenant"], "")
        return await asyncio.to_thread(_as_lenient_json, found)  # its originals may have megabytes

    return get_request


def _metrics_route(render: Callable[[], tuple[bytes, str]], gate: Gatekeeper) -> Route:
    async def get_metrics(request: Request) -> Response:
        refuse_unknown(request.query_params)
        body, kind = await run_in_threadpool(render)
        return Response(body, media_type=kind)

    return Route("/metrics", only_admins(get_metrics, gate), methods=["GET"])
