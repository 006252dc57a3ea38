"""``/``: the service's name and health. Never forwarded.

A page for browsers, JSON for programs. Probing is in ``ops``, the dashboard in ``dashboard``.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.metadata import version
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from turnfold.proxy.http.front import Endpoint
from turnfold.proxy.routes.answers import as_json, error
from turnfold.proxy.routes.ops import Readiness

_STYLE: Final = """
:root { color-scheme: light dark; }
body { max-width: 40rem; margin: 4rem auto; padding: 0 1.25rem; font: 1rem/1.6 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin-bottom: .25rem; }
code { font-family: ui-monospace, monospace; }
li { margin: .4rem 0; }
"""
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Turnfold</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main>
<h1>Turnfold {version}</h1>
<p>A proxy that makes long conversations with language models cost less.</p>
<p><strong>{health}</strong></p>
<ul>
{links}
</ul>
<p>Clients use <code>{base}/v1</code> as <code>OPENAI_BASE_URL</code> and <code>{base}</code> as <code>ANTHROPIC_BASE_URL</code>.
The documentation is in the <code>docs</code> folder of the source; <code>turnfold --help</code> lists the commands.</p>
</main>
</body>
</html>
"""
_LINKS: Final = (
    ("admin/", "Dashboard: what was saved, and every request"),
    ("docs", "API: Turnfold's own routes"),
    ("readyz", "Health: the state of each part"),
)


def welcome_route(readiness: Readiness, *, has_dashboard: bool) -> Route:
    """The route; it answers every method, so that nothing on this path goes upstream."""
    links = _LINKS if has_dashboard else _LINKS[1:]

    async def welcome(request: Request) -> Response:
        if request.method not in {"GET", "HEAD"}:
            answer = error(405, "method_not_allowed", "/ takes GET, HEAD.")
            answer.headers["allow"] = "GET, HEAD"
            return answer
        ready, parts = await readiness.look()
        if "text/html" in request.headers.get("accept", ""):
            return _page(request, ready, parts, links)
        named = {path.strip("/").removesuffix(".json"): f"/{path}" for path, _ in links}
        return as_json({"name": "turnfold", "version": version("turnfold"), "ready": ready, "checks": parts, "links": named})

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await (await welcome(Request(scope)))(scope, receive, send)

    return Route("/", Endpoint(answer))


def _page(request: Request, ready: bool, parts: dict[str, str], links: tuple[tuple[str, str], ...]) -> Response:
    down = [name for name, state in parts.items() if state != "ok"]
    health = "It is healthy." if ready and not down else f"It serves requests, but these parts are down: {', '.join(down)}."
    if not ready:
        health = f"It cannot serve requests now; these parts are down: {', '.join(down)}."
    body = _PAGE.format(
        style=_STYLE,
        version=escape(version("turnfold")),
        health=escape(health),
        links="\n".join(f'<li><a href="{escape(path)}">{escape(text)}</a></li>' for path, text in links),
        base=escape(str(request.base_url).rstrip("/")),
    )
    return Response(body, media_type="text/html", headers={"content-security-policy": _POLICY})
