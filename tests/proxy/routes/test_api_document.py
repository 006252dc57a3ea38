"""The API's document tells of every route, and of nothing else.

These tests cover routes against descriptions, examples against schemas, the page. They leave out answers against schemas
(``test_api_schema``).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from typing import Any

import jsonschema_rs
import pytest
import uvicorn
from starlette.routing import Route

from tests.proxy.harness import NO_LOGGING, UpstreamServer, api_server, call, running
from tests.support.readme import PAGES
from turnfold.config.fold import fold_options
from turnfold.config.settings import AuthSettings, Settings, StoreSettings
from turnfold.proxy.app import Parts, own_routes
from turnfold.proxy.routes.model_calls import WIRES
from turnfold.proxy.routes.operations import served_methods


@cache
def served() -> dict[str, Any]:
    """The document and the page, as they are served."""
    with api_server("memory://") as origin:
        found = {path: call(origin, "GET", path) for path in ("/openapi.json", "/docs", "/docs/style.css")}
    assert {answer.status for answer in found.values()} == {200}
    return {"document": found["/openapi.json"].json(), "page": found["/docs"], "style": found["/docs/style.css"]}


#: What the dashboard's page is made of: no API, it changes with the page.
OF_THE_PAGE = ("/admin/session", "/admin/overview", "/admin/assets", "/admin/inspect")
#: Documents that are the same whatever a URL says behind them.
_DOCUMENTS = {"/openapi.json", "/docs", "/docs/style.css"}
_PAGE = {("GET", "/admin"), ("GET", "/admin/"), ("GET", "/admin/requests")}


@cache
def routes() -> list[Route]:
    settings = Settings(store=StoreSettings(url="memory://"), auth=AuthSettings(admin_token="adm"))  # type: ignore[arg-type]
    return own_routes(Parts(settings), settings, partial(fold_options, settings))


def calls() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in served()["document"]["paths"].items():
        for method, described in methods.items():
            yield method.upper(), path, described


def test_every_route_is_described_and_every_description_has_a_route() -> None:
    there = {("POST", f"/v1/{ending}") for ending in WIRES} | {("GET", "/healthz"), ("GET", "/readyz")}
    for route in routes():
        if route.path.startswith(OF_THE_PAGE):
            continue
        path = re.sub(r":\w+}", "}", route.path)
        there |= {(method, path) for method in served_methods(route)}
    assert {(method, path) for method, path, _ in calls()} == there - _PAGE


def test_the_documentation_names_every_route() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in PAGES)
    stems = {path.partition("{")[0].rstrip("/") for path in served()["document"]["paths"]} - {"/docs/style.css"}
    assert {stem for stem in stems if stem not in pages} == set()


def test_names_are_unique_and_tags_are_told() -> None:
    names = [described["operationId"] for _, _, described in calls()]
    assert len(names) == len(set(names))
    told = {tag["name"] for tag in served()["document"]["tags"]}
    assert {tag for _, _, described in calls() for tag in described["tags"]} == told


def examples() -> Iterator[Any]:
    for method, path, described in calls():
        places = {"request": described.get("requestBody", {}), **described["responses"]}
        for place, body in places.items():
            for content in body.get("content", {}).values():
                if "schema" in content:
                    yield pytest.param(content, id=f"{method} {path} {place}")


def test_every_example_fits_its_schema() -> None:
    document = served()["document"]
    for case in examples():
        (content,) = case.values
        if "example" in content:
            schema = {**content["schema"], "components": document["components"]}
            jsonschema_rs.validator_for(schema).validate(content["example"])


def test_there_is_an_example_of_every_answer() -> None:
    without = []
    for method, path, described in calls():
        contents = described["responses"]["200"]["content"]
        body = described.get("requestBody", {}).get("content", {}).get("application/json")
        if "application/json" in contents and "schema" in contents["application/json"]:
            without += [] if "example" in contents["application/json"] else [(method, path, "response")]
        without += [(method, path, "request")] if body and "example" not in body else []
    assert without == []


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_page_has_every_call_and_nothing_from_elsewhere() -> None:
    answer = served()["page"]
    parsed = _Page()
    parsed.feed(answer.body.decode())
    assert not [tag for tag, attrs in parsed.tags if tag in {"script", "style", "img", "iframe"} or "style" in attrs]
    links = [attrs.get("href") or attrs.get("src") or "" for _, attrs in parsed.tags]
    assert not [link for link in links if ":" in link or link.startswith("/")]
    assert {attrs["id"] for tag, attrs in parsed.tags if tag == "details"} == {one["operationId"] for _, _, one in calls()}
    assert "default-src 'none'" in (answer.header("content-security-policy") or "")
    assert served()["style"].header("content-type") == "text/css; charset=utf-8"
    assert len(answer.body) < 150_000


@contextlib.contextmanager
def own_server() -> Iterator[tuple[str, UpstreamServer]]:
    """A Turnfold whose administrator's token is "adm", and the upstream behind it."""
    upstream = UpstreamServer()
    auth = AuthSettings.model_validate({"admin_token": "adm"})
    with (
        running(uvicorn.Config(upstream, **NO_LOGGING)) as server,
        api_server("memory://", f"{server.origin}/v1", auth=auth) as own,
    ):
        yield own, upstream


def test_slashes_at_the_end_of_a_route_are_told_and_go_nowhere() -> None:
    headers = [("x-turnfold-admin-token", "adm"), ("content-type", "application/json")]
    with own_server() as (own, upstream):
        for method, path, described in calls():
            if "{" in path or described["tags"] == ["Models"]:
                continue
            for place in (f"{path}/", f"{path}//?a=1"):
                refused = call(own, method, place, b"{}" if method == "POST" else None, headers)
                # A path whose last part is a name takes the slash for an empty one, and has its own answer.
                assert refused.status in (404, 405), (method, place)
                named = path.startswith("/admin/") or f"; {path} has no slash" in refused.json()["error"]["message"]
                assert named or refused.status == 405
        assert upstream.seen == []
        assert call(own, "GET", "/v1/models/", None).status == 200
        assert [seen.target for seen in upstream.seen] == ["/v1/models/"]


MISSPELT = [
    ("/v1/state", "/v1/state/preview and /v1/state/{conversation}"),
    ("/v1/states/x", "/v1/state/{conversation}"),
    ("/V1/State/x", "/v1/state/{conversation}"),
    ("//v1//state/x", "/v1/state/{conversation}"),
    ("/state/x", "/v1/state/{conversation}"),
    ("/v1/v1/state/x", "/v1/state/{conversation}"),
    ("/openai/v1/state/x", "/v1/state/{conversation}"),
    ("/v1/state;x", "/v1/state/{conversation}"),
    ("/v1/state%0a", "/v1/state/{conversation}"),
    ("/v1/cache", "/v1/cache/stats and /v1/cache/clear"),
    ("/v1/cache/clean", "/v1/cache/clear"),
    ("/v1/drilldown", "/v1/drill-down"),
    ("/v1/drill_down/x", "/v1/drill-down"),
    ("/v1/compression", "/v1/compress"),
    ("/v1/comprss", "/v1/compress"),
    ("/v1/compress/text", "/v1/compress"),
    ("/v1/compress.json", "/v1/compress"),
    ("/v1/messages/compres", "/v1/messages/compress"),
    ("/v1/messages/un-compress", "/v1/messages/uncompress"),
    ("/v1/exchnage", "/v1/exchange"),
    ("/v1/convesation/x", "/v1/conversation/{conversation_id}"),
    ("/v1/window", "/v1/windows"),
    ("/v1/data/x", "/v1/data"),
    ("/v1/admin/report", "/admin/report"),
    ("//Admin/report", "/admin/report"),
    ("/api/v1/compress", "/v1/compress"),
]


def test_a_text_does_not_leave_by_a_path_that_is_misspelt() -> None:
    with own_server() as (own, upstream):
        for path, meant in MISSPELT:
            for method in ("POST", "OPTIONS"):
                refused = call(own, method, path, b'{"text": "private"}', [("content-type", "application/json")])
                assert (path, refused.status) == (path, 404)
                assert meant in refused.json()["error"]["message"]
        assert upstream.seen == []


THEIRS = [
    *("/v1/conversations", "/v1/conversations/conv_1/items", "/v1/threads/t/messages", "/v1/messages/batches", "/v1/stats"),
    *("/v1/messages/count_tokens", "/v1/responses/compact", "/v1/moderations", "/v1/chat/completions/c/messages", "/v1/healthz"),
    *("/v1/completions", "/v1/containers", "/v1/vector_stores/v/search", "/v1/organization/admin_api_keys"),
    "/v1/models/state",
]


def test_what_providers_have_goes_to_them() -> None:
    with own_server() as (own, upstream):
        for path in THEIRS:
            assert call(own, "PUT", path, b"{}", [("content-type", "application/json")]).status == 200
        assert [seen.target for seen in upstream.seen] == THEIRS


def test_every_route_refuses_query_parameters_that_it_does_not_have() -> None:
    headers = [("x-turnfold-admin-token", "adm"), ("x-turnfold-tenant", "t")]
    with own_server() as (own, upstream):
        for method, path, described in calls():
            if described["tags"] == ["Models"] or path in _DOCUMENTS:
                continue
            place = path.replace("{", "").replace("}", "")
            refused = call(own, method, f"{place}?nonsense=1", None, headers)
            status = 422 if path.startswith("/v1/state") else 400  # as for any other value that is wrong there
            assert refused.status == status, (method, path, refused.body)
            error = refused.json()["error"]
            assert error["param"] == "nonsense", (method, path)
            assert str(status) in described["responses"], (method, path)
        assert upstream.seen == []


def test_admin_routes_are_closed_and_no_method_of_a_route_goes_upstream() -> None:
    with own_server() as (own, upstream):
        for method, path, described in calls():
            place = path.replace("{", "").replace("}", "")
            if {"admin": []} in described["security"]:
                assert call(own, method, place).status == 401
                assert call(own, method, place, None, [("authorization", "Bearer wrong")]).status == 401
            if path.startswith("/v1/") and described["tags"] == ["Models"]:
                continue
            refused = call(own, "PATCH", place, b"{}", [("authorization", "Bearer adm")])
            assert (refused.status, method in (refused.header("allow") or "")) == (405, True), place
    assert not upstream.seen
