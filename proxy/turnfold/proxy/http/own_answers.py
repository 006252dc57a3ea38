"""Headers on Turnfold's own answers, for browsers and caches between.

Which headers, and the layer that adds them to Turnfold's routes. An upstream's answers pass unchanged.

None of Turnfold's own answers carries a CORS header, so no page of another origin can read one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: On each of Turnfold's own answers: no content sniffing, and no caching by anyone but the caller.
ALWAYS: Final = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
#: On pages: nothing from other origins, no framing.
_ON_PAGES: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)


def hardened(routes: Iterable[Route]) -> list[Route]:
    """The same routes, with these headers on their answers."""
    found = list(routes)
    for route in found:
        route.app = _hardened(route.app)
    return found


def _hardened(app: ASGIApp) -> ASGIApp:
    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_hardened(message: Message) -> None:
            await send(_with_headers(message) if message["type"] == "http.response.start" else message)

        await app(scope, receive, send_hardened)

    return answer


def _with_headers(message: Message) -> Message:
    """Add the headers that the route has not set itself."""
    headers = list(message.get("headers", ()))
    own = {key.lower(): value for key, value in headers}
    is_page = own.get(b"content-type", b"").startswith(b"text/html")
    wanted = (*ALWAYS, *(_ON_PAGES if is_page else ()))
    return {**message, "headers": [*headers, *((key, value) for key, value in wanted if key not in own)]}
