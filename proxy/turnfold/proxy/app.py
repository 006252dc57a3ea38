"""The composition root: the parts of a process, how they are wired, and the route table.

This module lists the parts of one process, its routes and its lifespan. How a part or a route behaves is up to the part or route.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import Request
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp

from turnfold.compression import tokens
from turnfold.compression.fold import Fold, fold
from turnfold.compression.shorten.terse_prose.compress import terse
from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.text.dialogue.told_before import points_back
from turnfold.compression.wire.conversation import Wire
from turnfold.config.fold import fold_options, options_by_model
from turnfold.config.prices import price_from
from turnfold.config.settings import Settings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.asking.asker import ModelAsker
from turnfold.proxy.asking.blocks import BlockSummaries
from turnfold.proxy.asking.models import StationModels
from turnfold.proxy.asking.operations import OperationModels
from turnfold.proxy.books.ledger import Ledger, Watcher, newest_at
from turnfold.proxy.books.pacing import OptionsOf
from turnfold.proxy.books.watchers import WarmthWatcher
from turnfold.proxy.chat.receipts import Recorder
from turnfold.proxy.chat.service import Remembered, Service
from turnfold.proxy.console.request_log import RequestLog, log_passed, log_refused_head
from turnfold.proxy.dashboard.entrance import Entrance
from turnfold.proxy.deletion.deletions import Deletions
from turnfold.proxy.deletion.forgetting import BookKeeping, Forgetting
from turnfold.proxy.eviction import warn_of_eviction
from turnfold.proxy.file_check import FileCheck
from turnfold.proxy.http.front import Endpoint, Front, PathShortcuts
from turnfold.proxy.http.limits import UnfinishedBodies
from turnfold.proxy.http.own_answers import hardened
from turnfold.proxy.http.tenancy import Gate, check_exposure
from turnfold.proxy.incidents import Incidents, outcome, supervise
from turnfold.proxy.lanes.processes import FoldProcesses
from turnfold.proxy.learning.deciding import Decisions
from turnfold.proxy.learning.pauses import Pauses
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.loading import Loading
from turnfold.proxy.otel.opening import traces_for
from turnfold.proxy.outbound.destinations import Destinations
from turnfold.proxy.outbound.hops import check_hops
from turnfold.proxy.outbound.passthrough import Passthrough
from turnfold.proxy.routes.admin import admin_routes
from turnfold.proxy.routes.answers import fault
from turnfold.proxy.routes.anything import ANYTHING
from turnfold.proxy.routes.api import api_routes
from turnfold.proxy.routes.dashboard import dashboard_routes
from turnfold.proxy.routes.data import admin_data_routes
from turnfold.proxy.routes.model_calls import ModelCalls, model_routes
from turnfold.proxy.routes.near_misses import NearMisses
from turnfold.proxy.routes.ops import (
    Liveness,
    Readiness,
    ReadinessCheck,
    drain_check,
    not_here,
    other_methods,
)
from turnfold.proxy.routes.state import state_routes
from turnfold.proxy.routes.welcome import welcome_route
from turnfold.proxy.routes.windows import admin_window_routes
from turnfold.proxy.semantic.likenesses import Likenesses
from turnfold.proxy.spare_memory import give_back
from turnfold.proxy.state_records import StateRecords
from turnfold.proxy.stopping import told_to_stop
from turnfold.proxy.store import Store, StoreError, open_store
from turnfold.proxy.store.records import left_out
from turnfold.proxy.sweeping import sweep_from_time_to_time
from turnfold.proxy.telemetry.in_flight import InFlight
from turnfold.proxy.telemetry.metrics import Health, Metrics

_log = logging.getLogger(__name__)
# Objects after which the garbage collector looks at the young, and how often that is until it looks at older ones. With Python's
# 700 it would after every third small request; beside a cold fold, 5,000 and 10 stop every thread for up to 17 ms, these for 8.
_YOUNG: Final = (2_000, 2, 100)
_OPENING: Final = 1.0  # seconds that the start waits for the store
_LEAVING: Final = 5.0  # seconds that background loops have to end before receipts are written without them


def warm(settings: Settings) -> None:
    """Load what the first request would wait for: a vocabulary, the price list, and the rules for requests about everything and
    about what was told before."""
    tokens.encoding(tokens.BORDER_ENCODING)
    asks_for_overall("")
    points_back("")
    prose = fold_options(settings, "gpt-4o").prose
    if prose.intensity != "off":
        terse("The first text is the slow one.", prose.intensity, prose.lexicon)


def build(
    settings: Settings,
    *,
    recorder: Recorder | None = None,
    engine: Fold = fold,
    warm: Callable[[Settings], Any] = warm,
    watcher: Watcher | None = None,
) -> ASGIApp:
    """The app of one process.

    Args:
        recorder: gets one receipt per chat completion; None: the ledger does.
        engine: what folds.
        warm: what is loaded behind the start, in a thread; requests for a model wait for it.
        watcher: sees every receipt that the ledger writes, beside the metrics.

    Raises:
        InvalidInput: settings that would make an open relay, or an upstream URL that is none.
    """
    check_exposure(settings)
    processes = FoldProcesses(settings.limits.max_fold_workers, _for_folding(settings)) if engine is fold else None
    parts = Parts(settings, watcher, recorder, processes)
    options_for = options_by_model(settings)
    service = Service(
        RequestLog(parts.recorder),
        options_for,
        settings,
        parts.remembered(),
        engine,
        parts.incidents,
        processes,
        forgetful=settings.store.is_off,
    )
    parts.forgetting.subscribe(lambda _: service.forget_in_memory())
    loading = Loading(partial(warm, settings), parts.incidents)
    usual, others = _model_routes(parts, settings, service, loading)
    unforwarded = _unforwarded(parts, settings, own_routes(parts, settings, options_for))
    passthrough = NearMisses(unforwarded, _passthrough(parts))
    table: list[BaseRoute] = [  # tried in this order: each costs every request behind it
        *usual,
        *unforwarded,
        *others,
        Route("/{rest:path}", passthrough),
    ]
    router = Router(table, default=passthrough, redirect_slashes=False, lifespan=_lifespan(parts, service, loading))
    straight = PathShortcuts({route.path: route.app for route in usual}, router)
    # Outermost: a bug of Turnfold's is answered in JSON too; the exception goes on to the server, which logs it.
    check = partial(check_hops, own=parts.destinations.hop)
    return ServerErrorMiddleware(Front(straight, settings.limits, check, log_refused_head), handler=fault)


def _lifespan(parts: Parts, service: Service, loading: Loading) -> Callable[[object], AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with parts.destinations.running(), parts.asker.running(), parts.likenesses.running(), parts.running():
            with _without_full_collections():
                loading.start()
                yield
                await loading.wait()
            await parts.close(parts.blocks.close())
            await parts.close(service.close())

    return lifespan


def _passthrough(parts: Parts) -> ASGIApp:
    return InFlight(Passthrough(parts.destinations, parts.gate, log_passed), parts.metrics.in_flight("passthrough"))


def _for_folding(settings: Settings) -> Settings:
    """What a fold depends on, and whether anything may be kept: a process that folds has no need of keys."""
    bare = Settings()
    kept = settings.upstream.model_copy(update={"api_key": None})
    groups = {name: getattr(settings, name) for name in ("folding", "limits", "models")}
    store = settings.store if settings.store.is_off else bare.store
    return bare.model_copy(update={"upstream": kept, "store": store, **groups})


def _unforwarded(parts: Parts, settings: Settings, routes: list[Route]) -> list[Route]:
    """Every route from which nothing goes upstream, whatever the method."""
    readiness = Readiness([*parts.checks(), *drain_check(settings.server.drain_file)])
    own = [
        Route("/healthz", Liveness(settings), methods=["GET"]),
        Route("/readyz", readiness, methods=["GET"]),
        *hardened([welcome_route(readiness, has_dashboard=parts.entrance.is_open)]),
        *hardened(routes),
    ]
    closed = [Route("/admin", Endpoint(not_here)), Route(f"/admin/{{rest:{ANYTHING}}}", Endpoint(not_here))]
    return [*own, *other_methods(own), *closed]


def _model_routes(parts: Parts, settings: Settings, service: Service, loading: Loading) -> tuple[list[Route], list[Route]]:
    unfinished = UnfinishedBodies(settings.limits.max_unfinished_bytes)

    def endpoint(wire: Wire) -> ASGIApp:
        gate, to, tracing = parts.gate, parts.destinations, parts.traces
        calls = loading.before(ModelCalls(service, to, gate, settings, unfinished, wire, tracing))
        return InFlight(calls, parts.metrics.in_flight("model"))

    return model_routes(endpoint)


def own_routes(parts: Parts, settings: Settings, options_for: OptionsOf) -> list[Route]:
    """The routes whose answers are Turnfold's own."""
    models = OperationModels(parts.asker, parts.recorder, settings)
    return [
        *api_routes(parts.store, settings, parts.gate, parts.workshop, parts.forgetting, parts.windows, models),
        *admin_routes(
            parts.store,
            parts.ledger,
            parts.forgetting,
            parts.gate,
            parts.metrics.render,
            options_for,
            parts.incidents,
            settings.tenants,
        ),
        *admin_data_routes(parts.forgetting, parts.gate),
        *dashboard_routes(parts.entrance, parts.gate, parts.store, parts.ledger, parts.workshop, settings),
        *admin_window_routes(parts.windows, parts.store.patient, options_for, parts.gate),
        *state_routes(
            StateRecords(parts.store.patient, settings.store.ttl), partial(_tenant_of, parts.gate), models, parts.workshop
        ),
    ]


class Parts:
    """What the routes of one process share; it belongs to the event loop that runs it."""

    def __init__(
        self,
        settings: Settings,
        watcher: Watcher | None = None,
        recorder: Recorder | None = None,
        processes: FoldProcesses | None = None,
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self.settings = settings
        self.destinations = Destinations(settings)
        self.entrance = Entrance(settings)
        self.gate = Gate(settings.upstream.api_key, settings.auth, settings.anthropic.api_key, self.entrance)
        self.incidents = Incidents()
        self.store = open_store(settings.store, self.incidents)
        self.windows = Windows(self.store, patient=self.store.patient)
        self.workshop = Workshop(settings.limits.max_fold_workers, processes)
        self.metrics = Metrics(self._health)
        self.traces = traces_for(settings.otel)
        self.warmth = WarmthMemory(self.store.patient)
        self.asker = ModelAsker(settings, None if settings.store.is_off else self.store.patient)
        watchers: list[Watcher] = [self.metrics, WarmthWatcher(self.warmth), *([watcher] if watcher else [])]
        deletions = Deletions(self.store.patient)
        erasures = BookKeeping(deletions, self.store.patient)
        price, newest = price_from(settings), self.store.newest_writes
        self.ledger = Ledger(self.store.background, settings.store, price, watchers, self.incidents, erasures, newest)
        self.recorder: Recorder = recorder or self.ledger
        self.blocks = BlockSummaries(self.asker, self.store.patient, settings, self.incidents, self.recorder)
        self.likenesses = Likenesses(settings, self.store, self.store.patient, self.incidents, self.recorder)
        learns = settings.folding.cache_hit_share is None
        pauses = Pauses(partial(newest_at, self.store))
        self.decisions = Decisions(self.store, settings.store.ttl, self.warmth, self.blocks.of, learns=learns, pauses=pauses)
        self.forgetting = Forgetting(self.store, self.ledger, deletions)
        self.forgetting.subscribe(lambda deletion: self.windows.forget_in_memory(deletion.is_of))
        self.forgetting.subscribe(lambda deletion: self.warmth.forget_in_memory(deletion.takes))
        self.forgetting.subscribe(lambda _: self.asker.forget_in_memory())
        self.forgetting.subscribe(lambda _: self.blocks.forget_in_memory())
        self.forgetting.subscribe(lambda _: self.likenesses.forget_in_memory())

    def _health(self) -> Health:
        return Health(
            store_up=not self.store.problem and not self.ledger.problem,
            store_failures=self.store.failures,
            queued=self.ledger.queued,
            dropped=self.ledger.dropped,
            tasks=0 if self._loop is None else len(asyncio.all_tasks(self._loop)),
            incidents=dict(self.incidents.counts),
            left_out=dict(left_out),
            vectors=dict(self.likenesses.failures),
        )

    def remembered(self) -> Remembered:
        """What is known of conversations and upstreams beyond one request."""
        states = StateRecords(self.store, self.settings.store.ttl, self.store.patient)
        models = StationModels(self.asker, self.blocks, self.settings.summary)
        return Remembered(
            self.windows, states, self.decisions, models, self.likenesses, store=self.store, patient=self.store.patient
        )

    def checks(self) -> list[ReadinessCheck]:
        """What readiness looks at. Requests are served without any of it."""
        return [
            ReadinessCheck("store", partial(_answers, self.store)),
            ReadinessCheck("receipts", self._takes_receipts),
            ReadinessCheck("background", self._is_at_work, failures=self._failures),
            ReadinessCheck("serving", _is_running, required=True),
        ]

    def _failures(self) -> int:
        return sum(self.incidents.counts.values())

    async def _takes_receipts(self) -> bool:
        return not self.ledger.problem

    async def _is_at_work(self) -> bool:
        return not self.incidents.waiting

    async def close(self, ending: Awaitable[None]) -> None:
        """Close one part; a failure does not keep the others from closing."""
        failure = await outcome(ending)
        if isinstance(failure, Exception):
            self.incidents.add("stop", failure)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Started before the first request; stopped after the last one, once what is queued is written."""
        self._loop = asyncio.get_running_loop()
        try:  # otherwise the first request would go without the store
            await asyncio.wait_for(self.store.patient.ping(), _OPENING)
        except (StoreError, TimeoutError) as exc:
            _log.error("Requests are served without the store until it works: %s", str(exc) or "it does not answer")
        await self.ledger.start()
        if self.traces is not None:
            self.traces.start()
        sweeping = partial(sweep_from_time_to_time, self.store.background)
        loops: dict[str, Callable[[], Awaitable[None]]] = {
            "warmth": self.warmth.run,
            "deletions": self.forgetting.watch,
            "memory": give_back,
            "sweeping": sweeping,
        }
        if self.store.file is not None:
            loops["store-check"] = FileCheck(self.store.file, self.store.patient, self.incidents).run
        if self.store.evicting is not None:
            loops["store-eviction"] = partial(warn_of_eviction, self.store.evicting)
        tasks = [
            asyncio.create_task(supervise(part, loop, self.incidents), name=f"turnfold-{part}") for part, loop in loops.items()
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=_LEAVING)  # a client of the store may swallow a cancellation
            await self.close(self.ledger.stop())
            await self.close(self.warmth.sync())
            if self.traces is not None:
                await self.close(asyncio.to_thread(self.traces.stop))
            self.workshop.close()
            await self.close(self.store.close())


async def _answers(store: Store) -> bool:
    try:
        await store.ping()
    except StoreError:
        return False
    return True


async def _is_running() -> bool:
    return not told_to_stop.is_set()


def _tenant_of(gate: Gate, request: Request) -> str:
    return gate.tenant(request.headers.raw)


@contextlib.contextmanager
def _without_full_collections() -> Iterator[None]:
    """What was loaded at the start is not looked at again by the garbage collector: a full collection over it stops every thread
    for 40 ms (measured; seldom over 8 ms with this). Nor does it look at what requests are about to let go of by themselves."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_YOUNG)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
