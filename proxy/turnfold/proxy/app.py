"""The composition root: which parts there are, and which path leads where.

Lives here: the route table, the lifespan, the outermost layer. Must not: behaviour of a route.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.compression import tokens
from turnfold.compression.fold import fold_request
from turnfold.compression.options import FoldOptions
from turnfold.config.settings import LimitSettings, Settings
from turnfold.proxy.chat.passthrough import Passthrough
from turnfold.proxy.chat.receipts import Recorder
from turnfold.proxy.chat.service import OptionsFor, Service
from turnfold.proxy.chat.state_records import StateRecords
from turnfold.proxy.chat.stating import FoldFunction, Stating
from turnfold.proxy.chat.upstream import Upstream
from turnfold.proxy.chat.windows import Windows
from turnfold.proxy.http.headers import first
from turnfold.proxy.http.limits import check_head
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.http.tenancy import Gate, check_exposure
from turnfold.proxy.routes.anything import ANYTHING
from turnfold.proxy.routes.chat import ChatCompletions
from turnfold.proxy.routes.ops import Readiness, ReadinessCheck, healthz, not_here
from turnfold.proxy.store import Store

# A thread that folds keeps the interpreter for this long when the event loop wants it; 5 ms is Python's own value, and a
# small request wants it about ten times.
_SWITCH_INTERVAL: Final = 0.0005


@runtime_checkable
class Startable(Protocol):
    """A recorder (or store) that has work to do on the event loop."""

    async def start(self) -> None:
        """Called once before the first request."""
        ...

    async def stop(self) -> None:
        """Called once after the last one; what is queued is written first."""
        ...


def warm_vocabulary() -> None:
    """Load the vocabulary that every fold counts with; it takes most of a second."""
    tokens.encoding(tokens.BORDER_ENCODING)


def options_from(settings: Settings) -> OptionsFor:
    """Fold options without knowledge of prices and windows, which ``turnfold.config`` adds."""
    folding = settings.folding

    def options_for(model: str, budget: int | None) -> FoldOptions:
        return FoldOptions(
            model=model,
            cache_hit_share=folding.cache_hit_share,
            budget=budget,
            recall_tool_text=folding.recall_tool_text,
            cache_breakpoints=folding.cache_breakpoints == "on",
        )

    return options_for


def create_app(
    settings: Settings,
    recorder: Recorder,
    *,
    fold: FoldFunction = fold_request,
    options_for: OptionsFor | None = None,
    routes: Sequence[BaseRoute] = (),
    checks: Sequence[ReadinessCheck] = (),
    warm: Callable[[], Any] = warm_vocabulary,
    store: Store | None = None,
) -> ASGIApp:
    """Put the proxy together.

    Args:
        recorder: gets one receipt per chat completion; started and stopped with the app when it is `Startable`.
        fold: the engine.
        options_for: fold options of a model's name and a budget.
        routes: further routes of ours; they come before everything that goes upstream.
        checks: further parts that readiness looks at.
        warm: what is loaded before the first request, in a thread.
        store: keeps what was learned of upstreams' models, and conversations' states. None: the one is learned anew by this
            process, for itself, and the others follow from the messages alone.

    Raises:
        InvalidInput: settings that would make an open relay, or an upstream URL that is none.
    """
    check_exposure(settings)
    upstream = Upstream(settings.upstream)
    gate = Gate(settings.upstream.api_key, settings.auth)
    folding = settings.folding
    options_for = options_for or options_from(settings)
    records = None if store is None else StateRecords(store, settings.store.ttl)
    stating = Stating(folding.state_acknowledge, options_for, settings.limits, records)
    service = Service(upstream, recorder, fold, options_for, settings.limits, Windows(store), stating, folding.holdout_share)
    passthrough = Passthrough(upstream, gate)
    chat = ChatCompletions(service, upstream, gate, settings.limits, folding)

    table = [
        Route("/healthz", _Endpoint(healthz), methods=["GET"]),
        Route("/readyz", Readiness(checks), methods=["GET"]),
        *routes,
        Route("/admin", _Endpoint(not_here)),
        Route(f"/admin/{{rest:{ANYTHING}}}", _Endpoint(not_here)),
        Route("/chat/completions", chat, methods=["POST"]),
        Route("/{base:path}/chat/completions", chat, methods=["POST"]),
        Route("/{rest:path}", passthrough),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        await asyncio.to_thread(warm)
        async with upstream, _started(recorder):
            with _tuned_interpreter():
                yield
            await service.close()

    return Front(Router(table, default=passthrough, redirect_slashes=False, lifespan=lifespan), settings.limits)


@contextlib.contextmanager
def _tuned_interpreter() -> Iterator[None]:
    """Keep the event loop quick while threads fold: quick switches, and no full collections over what was loaded at the start.

    Such a collection stops every thread for 40 ms (measured; seldom over 8 ms with it).
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(interval)


@contextlib.asynccontextmanager
async def _started(recorder: Recorder) -> AsyncIterator[None]:
    if not isinstance(recorder, Startable):
        yield
        return
    await recorder.start()
    try:
        yield
    finally:
        await recorder.stop()


class _Endpoint:
    """A plain ASGI function as a class's instance, which is how Starlette tells it from a request handler."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class Front:
    """The outermost layer: bounds the head, turns WebSockets away, renders what is refused further in."""

    def __init__(self, app: ASGIApp, limits: LimitSettings) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            if scope["type"] == "websocket" or (first(scope["headers"], b"upgrade") or b"").lower() == b"websocket":
                raise _no_websockets()
            check_head(scope["headers"], self._limits)
            await self._app(scope, receive, send)
        except Refused as refused:
            await refused.send(_as_denial(send) if scope["type"] == "websocket" else send)


def _no_websockets() -> Refused:
    never = ((b"x-should-retry", b"false"),)
    return Refused(501, "websocket_unsupported", "Turnfold does not relay WebSockets; use HTTP.", headers=never)


def _as_denial(send: Send) -> Send:
    """An HTTP answer to a WebSocket handshake (ASGI's denial response extension)."""

    async def denied(message: Any) -> None:
        await send({**message, "type": "websocket." + message["type"]})

    return denied
