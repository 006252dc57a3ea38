"""The composition root: which parts there are, how they meet, and which path leads where.

Lives here: the parts of one process, the route table, the lifespan. Does not belong here: behaviour of a part or a route.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, Final

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp

from turnfold.compression import tokens
from turnfold.compression.fold import Fold, fold
from turnfold.compression.shorten.terse import terse
from turnfold.config.fold import fold_options
from turnfold.config.prices import price_from
from turnfold.config.settings import Settings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.metrics import Health, Metrics
from turnfold.proxy.chat.receipts import Recorder
from turnfold.proxy.chat.service import Service
from turnfold.proxy.chat.windows import Windows
from turnfold.proxy.http.front import Endpoint, Front
from turnfold.proxy.http.tenancy import Gate, check_exposure
from turnfold.proxy.outbound.destinations import Destinations
from turnfold.proxy.outbound.passthrough import Passthrough
from turnfold.proxy.routes.admin import admin_routes
from turnfold.proxy.routes.answers import fault
from turnfold.proxy.routes.anything import ANYTHING
from turnfold.proxy.routes.api import api_routes
from turnfold.proxy.routes.model_calls import ModelCalls, model_routes
from turnfold.proxy.routes.ops import Readiness, ReadinessCheck, healthz, not_here
from turnfold.proxy.routes.state import state_routes
from turnfold.proxy.routes.windows import admin_window_routes
from turnfold.proxy.store import Store, StoreError, open_store
from turnfold.proxy.store.state_records import StateRecords

_OPENING: Final = 1.0  # seconds that the start waits for the store


def warm(settings: Settings) -> None:
    """Load what the first request would wait for: a vocabulary and the price list."""
    tokens.encoding(tokens.BORDER_ENCODING)
    prose = fold_options(settings, "gpt-4o").prose
    if prose.intensity != "off":
        terse("The first text is the slow one.", prose.intensity, prose.lexicon)


def build(
    settings: Settings,
    *,
    recorder: Recorder | None = None,
    engine: Fold = fold,
    warm: Callable[[Settings], Any] = warm,
) -> ASGIApp:
    """The app of one process.

    Args:
        recorder: gets one receipt per chat completion; None: the ledger does.
        engine: what folds.
        warm: what is loaded before the first request, in a thread.

    Raises:
        InvalidInput: settings that would make an open relay, or an upstream URL that is none.
    """
    check_exposure(settings)
    parts = Parts(settings)
    options_for = partial(fold_options, settings)
    records = StateRecords(parts.store, settings.store.ttl)
    service = Service(
        recorder or parts.ledger,
        options_for,
        settings.limits,
        settings.folding,
        parts.windows,
        records,
        engine,
    )
    passthrough = Passthrough(parts.destinations, parts.gate)
    table: list[BaseRoute] = [
        Route("/healthz", Endpoint(healthz), methods=["GET"]),
        Route("/readyz", Readiness([ReadinessCheck("store", partial(_answers, parts.store))]), methods=["GET"]),
        *api_routes(parts.store, settings, parts.gate, parts.workshop, parts.windows),
        *admin_routes(parts.store, parts.ledger, parts.gate, parts.metrics.render, options_for),
        *admin_window_routes(parts.windows, parts.store.patient, options_for, parts.gate),
        *state_routes(StateRecords(parts.store.patient, settings.store.ttl), partial(_tenant_of, parts.gate)),
        Route("/admin", Endpoint(not_here)),
        Route(f"/admin/{{rest:{ANYTHING}}}", Endpoint(not_here)),
        *model_routes(partial(ModelCalls, service, parts.destinations, parts.gate, settings.limits, settings.folding)),
        Route("/{rest:path}", passthrough),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        await asyncio.to_thread(warm, settings)
        async with parts.destinations.running(), parts.running():
            with _without_full_collections():
                yield
            await service.close()

    router = Router(table, default=passthrough, redirect_slashes=False, lifespan=lifespan)
    # Outermost: a bug of ours is JSON too; the exception goes on to the server, which logs it.
    return ServerErrorMiddleware(Front(router, settings.limits), handler=fault)


class Parts:
    """What the routes of one process share; it belongs to the event loop that runs it."""

    def __init__(self, settings: Settings) -> None:
        self.destinations = Destinations(settings)
        self.gate = Gate(settings.upstream.api_key, settings.auth, settings.anthropic.api_key)
        self.store = open_store(settings.store)
        self.windows = Windows(self.store, patient=self.store.patient)
        self.workshop = Workshop(settings.limits.max_fold_workers)
        self.metrics = Metrics(self._health)
        self.ledger = Ledger(self.store, settings.store, price_from(settings), self.metrics)

    def _health(self) -> Health:
        return Health(not self.store.problem, self.store.failures, self.ledger.queued, self.ledger.dropped)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Started before the first request; stopped after the last one, once what is queued is written."""
        with contextlib.suppress(StoreError, TimeoutError):  # or the first request would find it opening, and go without
            await asyncio.wait_for(self.store.patient.ping(), _OPENING)
        await self.ledger.start()
        try:
            yield
        finally:
            await self.ledger.stop()
            self.workshop.close()
            await self.store.close()


async def _answers(store: Store) -> bool:
    try:
        await store.ping()
    except StoreError:
        return False
    return True


def _tenant_of(gate: Gate, request: Request) -> str:
    return gate.tenant(request.headers.raw)


@contextlib.contextmanager
def _without_full_collections() -> Iterator[None]:
    """What was loaded at the start is not looked at again by the garbage collector: a full collection over it stops every thread
    for 40 ms (measured; seldom over 8 ms with this)."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
