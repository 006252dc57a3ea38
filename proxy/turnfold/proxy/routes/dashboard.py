"""``/admin/``: the dashboard's page, signing in, and the figures that only the page asks for.

Requests go in, answers come out. Who may sign in is decided in ``dashboard.entrance``; figures come from ``dashboard.overview``
and ``dashboard.newest``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final
from urllib.parse import parse_qs

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from turnfold.compression.errors import InvalidInput
from turnfold.config.settings import Settings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.inspection import inspect, without_keys
from turnfold.proxy.books.ledger import REPORT_PATIENCE, Ledger
from turnfold.proxy.books.report import BY_DAY_ONLY, FILTERS, with_tenants_by_name
from turnfold.proxy.books.wording import uncounted
from turnfold.proxy.dashboard.entrance import Entrance, is_same_origin
from turnfold.proxy.dashboard.newest import MOST, NARROWED_BY, newest_requests
from turnfold.proxy.dashboard.overview import by_tag, overview
from turnfold.proxy.dashboard.static_files import static_file
from turnfold.proxy.http.inbound import Inbound
from turnfold.proxy.http.limits import own_body
from turnfold.proxy.http.tenancy import Gate
from turnfold.proxy.routes.answers import Handler, as_json, error, only_admins, with_error_answers
from turnfold.proxy.routes.parameters import refuse_unknown, time_range
from turnfold.proxy.store import OpenStore

_PAGE: Final = "index.html"
_DEFAULT_SINCE: Final = "7d"
_MOST_SIGN_IN: Final = 4096
_FOREIGN: Final = (
    "A page of another origin made this request. Behind a proxy of your own, pass the host on"
    " (nginx: proxy_set_header Host $host)."
)
_NO_LINK: Final = "This link was used already, or it is older than ten minutes. `turnfold dashboard` prints a new one."


def dashboard_routes(
    entrance: Entrance, gate: Gate, store: OpenStore, ledger: Ledger, workshop: Workshop, settings: Settings
) -> list[Route]:
    """The routes; none where nobody can sign in.

    - ``GET /admin/``, ``GET /admin/assets/{name}``: the page. It has no figures in it.
    - ``GET``, ``POST``, ``DELETE /admin/session``: who is signed in; sign in with ``token`` or ``link``; sign out.
    - ``GET /admin/overview?from=&to=&model=&tenant=&tag=...``: what the page shows at a glance; ``/admin/overview/tags``: by tag.
    - ``GET /admin/requests?limit=&before=&tenant=&conversation=&...``: the newest requests.
    - ``POST /admin/inspect?budget=``: what a fold makes of a request in the body; nothing is sent or kept.
    """
    if not entrance.is_open:
        return []
    admin: list[tuple[str, str, Handler]] = [
        ("/admin/overview", "GET", _overview(store, ledger, settings.tenants)),
        ("/admin/overview/tags", "GET", _tags(store, settings.tenants)),
        ("/admin/requests", "GET", _requests(store, ledger, settings.tenants)),
        ("/admin/inspect", "POST", _inspection(workshop, settings)),
    ]
    return [
        Route("/admin", _to_page, methods=["GET"]),
        Route("/admin/", _page, methods=["GET"]),
        Route("/admin/assets/{name}", _asset, methods=["GET"]),
        *_session_routes(entrance, gate),
        *(Route(path, only_admins(work, gate), methods=[method]) for path, method, work in admin),
    ]


async def _to_page(_: Request) -> Response:
    return RedirectResponse("admin/", 307)


async def _page(request: Request) -> Response:
    if request.scope["path"] != "/admin/":  # a line break behind it, which Starlette's routes do not see
        return error(404, "not_found", "Turnfold has no such route.")
    body, kind = static_file(_PAGE) or (b"", "text/html")
    return Response(body, media_type=kind)


async def _asset(request: Request) -> Response:
    found = static_file(request.path_params["name"])
    if found is None:
        return error(404, "not_found", "Turnfold has no such route.")
    return Response(found[0], media_type=found[1])


def _session_routes(entrance: Entrance, gate: Gate) -> list[Route]:
    async def get_session(request: Request) -> Response:
        signed_in = entrance.is_signed_in(request.headers.raw)
        return as_json({"signed_in": signed_in, "takes": {"token": entrance.takes_token, "link": entrance.takes_link}})

    async def sign_in(request: Request) -> Response:
        headers = request.headers.raw
        if not is_same_origin(headers):
            return error(403, "foreign_origin", _FOREIGN)
        fields, is_form = await _sign_in_fields(request)
        token, link = fields.get("token"), fields.get("link")
        if token is None and link is None:
            raise InvalidInput("token", "is missing; it is the admin token")
        if link is not None and not entrance.redeem(link, headers):
            return error(401, "invalid_link", _NO_LINK, "link")
        if link is None and not gate.is_token(token or ""):
            return error(401, "invalid_admin_token", "This is not the admin token.", "token")
        session = entrance.new_session()
        if session is None:
            return error(503, "no_session", "This user's key file cannot be read, so nobody can sign in.")
        answer: Response = RedirectResponse("./", 303) if is_form else as_json({"signed_in": True})
        answer.headers["set-cookie"] = entrance.set_cookie(session, headers, request.url.scheme)
        return answer

    async def sign_out(request: Request) -> Response:
        if not is_same_origin(request.headers.raw):
            return error(403, "foreign_origin", _FOREIGN)
        answer = as_json({"signed_in": False})
        answer.headers["set-cookie"] = entrance.set_cookie("", request.headers.raw, request.url.scheme)
        return answer

    handlers = {"GET": get_session, "POST": sign_in, "DELETE": sign_out}
    return [Route("/admin/session", with_error_answers(work), methods=[method]) for method, work in handlers.items()]


async def _body(request: Request, most: int) -> bytes:
    return await own_body(Inbound(request.scope, request.receive), most)


async def _sign_in_fields(request: Request) -> tuple[dict[str, str], bool]:
    """The fields, and whether they came as a form, which a browser without scripts sends."""
    body = await _body(request, _MOST_SIGN_IN)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10)
        return {name: values[0] for name, values in fields.items()}, True
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise InvalidInput("body", "must be a JSON object of texts")
    return value, False


_KNOWN: Final = tuple(name for name in FILTERS if name not in BY_DAY_ONLY)


def _range(given: QueryParams, names: Mapping[str, str]) -> tuple[float, float, dict[str, str]]:
    """Beginning, end, filters."""
    refuse_unknown(given, "from", "to", *_KNOWN)
    now = time.time()
    only = with_tenants_by_name({name: given[name] for name in _KNOWN if name in given}, names)
    return *time_range(given, _DEFAULT_SINCE, now, now), only


def _overview(store: OpenStore, ledger: Ledger, names: Mapping[str, str]) -> Handler:
    async def get_overview(request: Request) -> Response:
        asked = _range(request.query_params, names)
        complete = await ledger.flush(REPORT_PATIENCE)
        await store.check()
        found = await overview(store.patient, *asked, names)
        more = "" if complete else f" {uncounted(ledger.queued, ledger.problem)}"
        return as_json({**found, "headline": f"{found['headline']}{more}"})

    return get_overview


def _tags(store: OpenStore, names: Mapping[str, str]) -> Handler:
    async def get_tags(request: Request) -> Response:
        asked = _range(request.query_params, names)
        await store.check()
        return as_json(await by_tag(store.patient, *asked))

    return get_tags


def _requests(store: OpenStore, ledger: Ledger, names: Mapping[str, str]) -> Handler:
    async def get_requests(request: Request) -> Response:
        given = request.query_params
        refuse_unknown(given, "limit", "before", *NARROWED_BY)
        limit = given.get("limit", "50")
        if not (limit.isascii() and limit.isdigit() and 0 < int(limit[:9]) <= MOST):
            raise InvalidInput("limit", f"must be a whole number from 1 to {MOST}")
        only = with_tenants_by_name({name: given[name] for name in NARROWED_BY if name in given}, names)
        await ledger.flush(REPORT_PATIENCE)
        await store.check()
        return as_json(await newest_requests(store.patient, only, int(limit), given.get("before"), time.time(), names))

    return get_requests


def _inspection(workshop: Workshop, settings: Settings) -> Handler:
    kept = without_keys(settings)

    async def post_inspect(request: Request) -> Response:
        refuse_unknown(request.query_params, "budget")
        budget = request.query_params.get("budget") or None
        if budget is not None and not (budget.isascii() and budget.isdigit() and int(budget[:12]) > 0):
            raise InvalidInput("budget", "must be a positive whole number of tokens")
        body = await _body(request, settings.limits.max_text_bytes)
        data = await workshop.run_sized("", len(body), _inspected, body, kept, budget and int(budget[:12]))
        return Response(data, media_type="application/json")

    return post_inspect


def _inspected(body: bytes, settings: Settings, budget: int | None) -> bytes:
    found = inspect(body, settings, budget)
    rows = [asdict(row) for row in found["messages"]]
    # The standard library's JSON, for a text may hold lone surrogates, as a client's JSON did.
    return json.dumps({**found, "messages": rows}).encode("ascii")
