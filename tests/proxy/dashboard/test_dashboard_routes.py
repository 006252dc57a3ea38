"""The dashboard over real HTTP: its page, signing in, its figures, and ``/``."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.proxy.harness import (
    NO_LOGGING,
    Answer,
    UpstreamServer,
    api_server,
    call,
    proxy_server,
    reply,
    running,
    settings_for,
    unhurried,
    until,
)
from tests.proxy.processes import COMPLETION, LONG, SHORT
from tests.proxy.receipts import SECTION, receipt
from turnfold.compression.errors import InvalidInput
from turnfold.config.prices import dollars
from turnfold.config.settings import AuthSettings, FoldingSettings, StoreSettings
from turnfold.proxy.app import build
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.report import Query, report
from turnfold.proxy.chat.receipts import Usage
from turnfold.proxy.dashboard.newest import newest_requests
from turnfold.proxy.dashboard.overview import by_tag, overview
from turnfold.proxy.server import configuration
from turnfold.proxy.store import Store, open_store
from turnfold.proxy.store.memory import MemoryStore

TOKEN = "letmein"
SAME = ("sec-fetch-site", "same-origin")
SLY = "<script>alert(1)</script>"
DAY = 86_400


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, shared_upstream: tuple[UpstreamServer, Any]) -> Iterator[str]:
    """A server with an admin token and some requests behind it."""
    place = tmp_path_factory.mktemp("dashboard") / "t.db"
    groups: dict[str, Any] = {"auth": AuthSettings(admin_token=SecretStr(TOKEN)), "folding": FoldingSettings(cache_hit_share=0.5)}
    with api_server(f"sqlite:///{place}", shared_upstream[0].origin + "/v1", **groups) as found:
        yield found


@pytest.fixture
def talked(origin: str, upstream: UpstreamServer) -> str:
    """It, behind one folded request with an odd name and an odd tag."""

    async def handler(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": COMPLETION})

    upstream.handler = handler
    headers = [("content-type", "application/json"), ("x-turnfold-tag", f"{SLY},b"), ("x-turnfold-conversation", SLY)]
    assert call(origin, "POST", "/v1/chat/completions", LONG, headers).header("x-turnfold-status") == "folded"
    until(lambda: asked(origin, "requests").json()["requests"])
    return origin


def asked(origin: str, path: str, *headers: tuple[str, str]) -> Answer:
    return call(origin, "GET", f"/admin/{path}", None, headers or [("x-turnfold-admin-token", TOKEN)])


def sign_in(origin: str, fields: dict[str, str], *headers: tuple[str, str]) -> Answer:
    return call(origin, "POST", "/admin/session", json.dumps(fields).encode(), headers or [SAME])


def cookie_of(answer: Answer) -> tuple[str, str]:
    return "cookie", (answer.header("set-cookie") or "").partition(";")[0]


def test_the_page_loads_nothing_from_elsewhere_and_has_no_figures_in_it(origin: str) -> None:
    page = call(origin, "GET", "/admin/")
    assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
    policy = page.header("content-security-policy") or ""
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    found = {name: page.header(name) for name in ("x-content-type-options", "referrer-policy", "cache-control")}
    assert found == {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-store"}
    assert page.header("access-control-allow-origin") is None
    loaded = re.findall(r'(?:src|href)="([^"#]+)"', page.body.decode())
    assert len(loaded) >= 3
    for target in loaded:
        answer = call(origin, "GET", f"/admin/{target}")
        assert (answer.status, answer.header("x-content-type-options")) == (200, "nosniff")


def test_no_file_of_the_page_makes_markup_of_a_text() -> None:
    folder = resources.files("turnfold.proxy.dashboard") / "static"
    files = {file.name: file.read_text("utf-8") for file in folder.iterdir()}
    assert {"index.html", "app.js", "style.css"} <= set(files)
    for name, text in files.items():
        assert not re.search(r"(?:inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function", text), (
            name
        )
        assert set(re.findall(r"https?://[\w./]+", text)) <= {"http://www.w3.org/2000/svg"}, name
    assert not re.search(r"<style|<script(?! type=\"module\" src=)|\son\w+=|\sstyle=", files["index.html"])
    imported = {target for text in files.values() for target in re.findall(r'from "\./([\w.]+)"', text)}
    assert imported <= set(files)


@pytest.mark.parametrize("path", ["assets/none.js", "assets/..%2findex.html", "assets/__init__.py", "nothing"])
def test_what_is_not_there(origin: str, path: str) -> None:
    assert call(origin, "GET", f"/admin/{path}").status in (400, 404)


def test_the_admin_token_signs_in_once(origin: str) -> None:
    assert call(origin, "GET", "/admin/session").json() == {"signed_in": False, "takes": {"token": True, "link": True}}
    answer = sign_in(origin, {"token": TOKEN})
    assert (answer.status, answer.json()) == (200, {"signed_in": True})
    kept = answer.header("set-cookie") or ""
    assert {"HttpOnly", "SameSite=Strict", "Path=/admin"} <= set(kept.split("; "))
    assert "Secure" not in kept
    cookie = cookie_of(answer)
    assert asked(origin, "session", cookie).json()["signed_in"]
    for path in ("overview", "overview/tags", "requests", "report", "ledger", "windows"):
        assert asked(origin, path, cookie).status == 200
        assert asked(origin, path, ("cookie", "a=b")).status == 401
    assert call(origin, "GET", "/metrics", None, [cookie]).status == 200


def test_a_form_signs_in_too(origin: str) -> None:
    form = [("content-type", "application/x-www-form-urlencoded"), ("origin", origin)]
    answer = call(origin, "POST", "/admin/session", f"token={TOKEN}".encode(), form)
    assert (answer.status, answer.header("location")) == (303, "./")
    assert asked(origin, "session", cookie_of(answer)).json()["signed_in"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"token": "wrong"}', 401, "invalid_admin_token"),
        (b'{"token": "\\ud800"}', 400, "invalid_value"),
        (b'{"link": "wrong"}', 401, "invalid_link"),
        (b'{"link": "wrong", "token": "letmein"}', 401, "invalid_link"),
        (b"{}", 400, "invalid_value"),
        (b"[1]", 400, "invalid_value"),
        (b'{"token": 1}', 400, "invalid_value"),
        (b"not json", 400, "invalid_value"),
        (b'{"token": "' + b"x" * 5000 + b'"}', 413, "body_too_large"),
    ],
)
def test_what_does_not_sign_in(origin: str, body: bytes, status: int, code: str) -> None:
    answer = call(origin, "POST", "/admin/session", body, [SAME])
    assert (answer.status, answer.json()["error"]["code"]) == (status, code)
    assert answer.header("set-cookie") is None


@pytest.mark.parametrize("foreign", [("x-a", "1"), ("sec-fetch-site", "same-site"), ("origin", "http://evil.example")])
def test_pages_of_other_origins_neither_sign_in_nor_change_anything(origin: str, foreign: tuple[str, str]) -> None:
    assert sign_in(origin, {"token": TOKEN}, foreign).json()["error"]["code"] == "foreign_origin"
    cookie = cookie_of(sign_in(origin, {"token": TOKEN}))
    assert call(origin, "DELETE", "/admin/session", None, [cookie, foreign]).status == 403
    assert call(origin, "DELETE", "/admin/tenants/nobody", None, [cookie, foreign]).status == 401
    assert call(origin, "POST", "/admin/inspect", LONG, [cookie, foreign]).status == 401
    assert call(origin, "DELETE", "/admin/windows", None, [cookie, SAME]).status == 200
    out = call(origin, "DELETE", "/admin/session", None, [cookie, SAME])
    assert "Max-Age=0" in (out.header("set-cookie") or "")


def test_where_nobody_can_sign_in_there_is_no_dashboard(upstream: UpstreamServer) -> None:
    closed = settings_for(upstream.origin + "/v1", server={"host": "0.0.0.0"})  # noqa: S104 - the test's own server is on loopback
    config = configuration(closed, lambda settings: build(settings, warm=lambda _: None), **NO_LOGGING, workers=1)
    with running(config) as server:
        for path in ("/admin", "/admin/", "/admin/session", "/admin/overview", "/admin/assets/app.js"):
            assert call(server.origin, "GET", path).status == 404
        assert "admin" not in call(server.origin, "GET", "/").json()["links"]
    assert upstream.seen == []


def test_the_overview(talked: str) -> None:
    found = asked(talked, "overview?from=7d").json()
    assert found["step"] == "day"
    assert found["headline"] == asked(talked, "report?from=7d").json()["headline"]
    assert sum(point["tokens"]["saved"] for point in found["series"]) == found["totals"]["tokens"]["saved"] > 0
    assert SLY in {tag["tag"] for tag in asked(talked, "overview/tags").json()["tags"]}
    hours = asked(talked, "overview?from=24h").json()
    assert (hours["step"], len(hours["series"])) == ("hour", 25)
    assert hours["totals"]["requests"] == found["totals"]["requests"]
    assert asked(talked, "overview?from=24h&tag=nobody").json()["totals"]["requests"] == 0


def test_the_newest_requests_and_what_was_folded_in_one(talked: str) -> None:
    one = asked(talked, "requests?limit=1&status=folded&tag=b").json()["requests"][0]
    assert (one["conversation"], one["tags"], one["failed"]) == (SLY, [SLY, "b"], False)
    found = asked(talked, f"requests/{one['request_id']}?from={one['at'] - 60}&to={one['at'] + 60}").json()
    assert len(found["sections"]) == one["folded_sections"] > 0
    assert asked(talked, f"requests/{one['request_id']}?from=2d&to=1d").status == 404
    assert asked(talked, f"requests/{one['request_id']}?from=1d&to=2d").status == 400


def test_a_request_is_listed_as_soon_as_it_has_a_receipt(upstream: UpstreamServer) -> None:
    upstream.handler = reply(COMPLETION)
    with api_server("memory://", upstream.origin + "/v1", auth=AuthSettings(admin_token=SecretStr(TOKEN))) as origin:

        def receipts() -> int:
            ledger = asked(origin, "ledger").json()["ledger"]
            return int(ledger["written"] + ledger["queued"])

        for number in (1, 2, 3):
            call(origin, "POST", "/v1/chat/completions", SHORT)
            until(lambda number=number: receipts() == number)  # type: ignore[misc]
            assert len(asked(origin, "requests").json()["requests"]) == number


def test_a_request_under_the_glass(origin: str) -> None:
    cookie = cookie_of(sign_in(origin, {"token": TOKEN}))
    found = call(origin, "POST", "/admin/inspect", LONG, [cookie, SAME]).json()
    assert (found["status"], len(found["messages"])) == ("folded", 121)
    assert {"before", "after", "recall", "mark", "level", "section"} <= set(found["messages"][0])
    odd = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "\ud800"}]}).encode()
    assert call(origin, "POST", "/admin/inspect", odd, [cookie, SAME]).json()["messages"][0]["before"] == "\ud800"
    assert call(origin, "POST", "/admin/inspect", b"[]", [cookie, SAME]).json()["error"]["param"] == "body"
    assert call(origin, "POST", "/admin/inspect?budget=1", LONG, [cookie, SAME]).status == 200
    assert call(origin, "POST", "/admin/inspect?budget=0", LONG, [cookie, SAME]).json()["error"]["param"] == "budget"


@pytest.mark.parametrize(
    ("path", "param"),
    [
        ("overview?from=never", "from"),
        ("overview?conversation=c", "conversation"),
        ("overview?from=20000d", "from"),
        ("overview/tags?x=1", "x"),
        ("requests?limit=0", "limit"),
        ("requests?limit=1000", "limit"),
        ("requests?limit=%C2%B2", "limit"),
        ("requests?before=x", "before"),
        ("requests?before=2026-13-01T00.0", "before"),
        ("requests?before=0000-01-01T00.0", "before"),
        ("requests?from=7d", "from"),
    ],
)
def test_a_bad_parameter_is_named(origin: str, path: str, param: str) -> None:
    answer = asked(origin, path)
    assert (answer.status, answer.json()["error"]["param"]) == (400, param)


@pytest.mark.parametrize("before", ["0001-01-01T00.0", "9999-12-31T23.0", "2026-01-01T00.999999999"])
def test_any_moment_can_be_asked_for(origin: str, before: str) -> None:
    assert asked(origin, f"requests?before={before}").json()["next"] is None


async def _filled(store: Store, now: float) -> None:
    book = Ledger(store, StoreSettings(), dollars)
    for number in range(250):
        names = {"request_id": f"r{number}", "at": now - 10 - number * 60, "tags": ("a", "b") if number % 2 else ()}
        bad = {"upstream_status": 429, "usage": ()} if number % 50 == 0 else {}
        book.record(receipt(**names, **bad, model="gpt-4o" if number % 3 else "mine"), (SECTION,) if number == 0 else ())
    book.record(receipt(at=now - 3 * DAY, request_id="old", reason="held-out", status="passthrough"), ())
    await book.flush()


async def test_pages_go_back_in_time_and_miss_nothing(store: Store) -> None:
    now = time.time()
    await _filled(store, now)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await newest_requests(store, {}, 40, cursor, now, {"anna": "Team A"})
        seen += [one["request_id"] for one in page["requests"]]
        assert all(one["tenant_name"] == "Team A" for one in page["requests"])
        if (cursor := page["next"]) is None:
            break
    assert len(seen) == len(set(seen)) == 251
    assert seen[-1] == "old"
    failed = await newest_requests(store, {"failed": "true"}, 100, None, now, {})
    assert {one["request_id"] for one in failed["requests"]} == {"r0", "r50", "r100", "r150", "r200"}
    untagged = await newest_requests(store, {"tag": "", "model": "mine"}, 200, None, now, {})
    assert all(not one["tags"] and one["model"] == "mine" for one in untagged["requests"])


async def test_a_request_is_shown_with_its_tenants_name_as_the_list_of_requests_is(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/t.db"
    store = open_store(unhurried(StoreSettings(url=url)))
    await _filled(store, time.time())
    await store.close()

    def shown() -> list[str]:
        auth = AuthSettings(admin_token=SecretStr(TOKEN))
        with api_server(url, auth=auth, tenants={"anna": "Team A"}) as origin:
            return [
                asked(origin, "requests").json()["requests"][0]["tenant_name"],
                asked(origin, "requests/r0").json()["tenant_name"],
            ]

    assert await asyncio.to_thread(shown) == ["Team A", "Team A"]


async def test_a_page_ends_where_enough_was_looked_through_and_the_next_goes_on_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnfold.proxy.dashboard.newest._MOST_READ", 100)
    now, store = time.time(), MemoryStore()
    await _filled(store, now)
    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next"] is not None:
        before = pages[-1]["next"] if pages else None
        pages.append(await newest_requests(store, {"failed": "true"}, 40, before, now, {}))
    found = [one["request_id"] for page in pages for one in page["requests"]]
    assert (len(pages), sorted(found)) == (3, ["r0", "r100", "r150", "r200", "r50"])


async def test_the_overview_says_what_the_report_says(store: Store) -> None:
    now = time.time()
    await _filled(store, now)
    found = await overview(store, now - 5 * DAY, now, {}, {"anna": "Team A"})
    whole = await report(store, Query(now - 6 * DAY, now + DAY))
    assert (found["totals"], found["headline"]) == (whole["totals"], whole["headline"])
    assert found["holds_out"]
    assert found["tenants"][0]["name"] == "Team A"
    statuses = {(one["status"], one["reason"]): (one["requests"], one["failed"]) for one in found["statuses"]}
    assert statuses == {("folded", ""): (250, 5), ("passthrough", "held-out"): (1, 0)}
    tags = await by_tag(store, now - 5 * DAY, now, {})
    assert {one["tag"]: one["requests"] for one in tags["tags"]} == {"a": 125, "b": 125, "": 126}
    with pytest.raises(InvalidInput, match="from"):
        await overview(store, now, now - DAY, {}, {})


async def test_many_models_are_the_largest_and_the_rest(store: Store) -> None:
    now = time.time()
    book = Ledger(store, StoreSettings(), dollars)
    for number in range(60):
        book.record(receipt(at=now - 5, model=f"m{number:02}", usage=Usage() and (1, 1, 0, 0)), ())
    await book.flush()
    listed = (await overview(store, now - 3600, now, {}, {}))["models"]
    assert (len(listed), listed[-1]["model"], listed[-1]["requests"]) == (51, "(10 more)", 10)


def test_the_first_page_is_ours_and_never_forwarded(upstream: UpstreamServer) -> None:
    with proxy_server(upstream.origin + "/v1") as (proxy, _):
        program = call(proxy.origin, "GET", "/")
        assert (program.json()["name"], program.json()["ready"], program.json()["links"]["admin"]) == (
            "turnfold",
            True,
            "/admin/",
        )
        browser = call(proxy.origin, "GET", "/", None, [("accept", "text/html,*/*"), ("host", "a<b>&'\"")])
        assert "It is healthy." in browser.body.decode()
        assert b"<b>" not in browser.body
        assert "unsafe" not in (browser.header("content-security-policy") or "unsafe")
        for method in ("POST", "OPTIONS", "DELETE", "PROPFIND"):
            assert call(proxy.origin, method, "/", b"").status == 405
        assert call(proxy.origin, "HEAD", "/").status == 200
        assert call(proxy.origin, "GET", "/admin").header("location") == "admin/"
    assert upstream.seen == []


def test_the_first_page_says_what_is_down() -> None:
    """Requests are served without the store, so the proxy is ready all the same."""
    with proxy_server("http://127.0.0.1:9/v1", store={"url": "redis://127.0.0.1:9/0"}) as (proxy, _):
        assert call(proxy.origin, "GET", "/").json()["ready"]
        page = call(proxy.origin, "GET", "/", None, [("accept", "text/html")]).body.decode()
    assert "these parts are down: store." in page
    assert "It is healthy." not in page


def test_the_files_are_part_of_the_package() -> None:
    """A wheel takes what lies in the source roots; nothing may be left out by a rule for other files."""
    place = Path(__file__).parents[3] / "proxy/turnfold/proxy/dashboard/static"
    assert {path.suffix for path in place.iterdir()} == {".html", ".css", ".js", ".svg"}
