"""The outermost layer of the app.

This module bounds the head of every request, refuses invalid hosts, paths and WebSockets, renders refusals from further in, ends
requests whose client has left, and takes shortcuts from paths to endpoints. The route table is in ``app``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.config.serving import LimitSettings
from turnfold.proxy.http.headers import check_names, first
from turnfold.proxy.http.inbound import ClientGone
from turnfold.proxy.http.limits import check_head, check_host, check_path
from turnfold.proxy.http.refusals import RawHeaders, Refused

#: The part of a path before ``/messages`` if it is Anthropic's route, not a collection in another resource.
MESSAGES_BEHIND: Final = r"v\d\w*|anthropic"
_MESSAGES: Final = re.compile(rf"(?:^|/(?:{MESSAGES_BEHIND}))/messages$")


class Endpoint:
    """An ASGI function wrapped in an instance, so that Starlette does not take it for a request handler."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class Front:
    """The outermost layer: bounds the head, turns WebSockets away, renders what is refused further in.

    Args:
        check: an additional check of the head.
        log: gets the path of each request that is refused for its head, and the refusal.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: LimitSettings,
        check: Callable[[RawHeaders], None],
        log: Callable[[str, Refused], None] = lambda *_: None,
    ) -> None:
        self._app = app
        self._limits = limits
        self._check = check
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            if scope["type"] == "websocket" or (first(scope["headers"], b"upgrade") or b"").lower() == b"websocket":
                raise _no_websockets(scope["path"])
            self._check_head(scope)
            await self._app(scope, receive, send)
        except ClientGone:  # the client has left
            return
        except Refused as refused:
            answer = _as_denial(send) if scope["type"] == "websocket" else send
            await refused.send(answer, to_anthropic=_speaks_anthropic(scope))

    def _check_head(self, scope: Scope) -> None:
        headers = scope["headers"]
        try:
            check_head(headers, self._limits)
            check_host(headers, scope.get("http_version", "1.1"))
            check_names(headers)
            self._check(headers)
            check_path((scope.get("raw_path") or scope["path"].encode()).decode("ascii", "replace"))
        except Refused as refused:
            self._log(scope["path"], refused)
            raise


class PathShortcuts:
    """The most frequent paths, found without trying any route.

    Args:
        endpoints: by path, for POST.
        app: gets all other requests.
    """

    def __init__(self, endpoints: Mapping[str, ASGIApp], app: ASGIApp) -> None:
        self._endpoints = endpoints
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        found = self._endpoints.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        await (found or self._app)(scope, receive, send)


def _speaks_anthropic(scope: Scope) -> bool:
    """Whether the client's API is Anthropic's: its path says so, or the header that it asks for (which a client may forget)."""
    return _MESSAGES.search(scope["path"]) is not None or first(scope["headers"], b"anthropic-version") is not None


def _no_websockets(path: str) -> Refused:
    """Clients of the Responses API that try a WebSocket first (Codex) fall back to HTTP at once on 426, and only on that."""
    never = ((b"x-should-retry", b"false"),)
    if path.rstrip("/").endswith("/responses"):
        spoken = ((b"upgrade", b"HTTP/1.1"), (b"connection", b"upgrade"))
        return Refused(426, "websocket_unsupported", "This route speaks HTTP, not WebSocket.", headers=(*never, *spoken))
    return Refused(501, "websocket_unsupported", "Turnfold does not relay WebSockets; use HTTP.", headers=never)


def _as_denial(send: Send) -> Send:
    """An HTTP answer to a WebSocket handshake (ASGI's denial response extension)."""

    async def denied(message: Any) -> None:
        await send({**message, "type": "websocket." + message["type"]})

    return denied
