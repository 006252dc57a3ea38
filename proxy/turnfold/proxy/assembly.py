"""The whole proxy: the app with its books, and how it is served.

Lives here: which parts meet which. Must not: any part.
"""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.types import ASGIApp

from turnfold.compression.shorten.terse import terse
from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings
from turnfold.proxy import server
from turnfold.proxy.app import create_app, warm_vocabulary
from turnfold.proxy.books.metrics import shared_by_workers
from turnfold.proxy.chat.state_records import StateRecords
from turnfold.proxy.http.tenancy import Gate
from turnfold.proxy.routes.ops import ReadinessCheck
from turnfold.proxy.routes.state import state_routes
from turnfold.proxy.shelf import Books


def warm(settings: Settings) -> None:
    """Load what the first request would wait for: a vocabulary and the price list."""
    warm_vocabulary()
    prose = fold_options(settings, "gpt-4o").prose
    if prose.intensity != "off":
        terse("The first text is the slow one.", prose.intensity, prose.lexicon)


def build(settings: Settings) -> ASGIApp:
    """The app of one process."""
    books = Books(settings)
    gate = Gate(settings.upstream.api_key, settings.auth)

    def whose(request: Request) -> str:
        return gate.tenant(request.headers.raw)

    return create_app(
        settings,
        books,
        options_for=partial(fold_options, settings),
        routes=[*books.routes(gate), *state_routes(StateRecords(books.store, settings.store.ttl), whose)],
        checks=[ReadinessCheck("store", books.works)],
        warm=partial(warm, settings),
        store=books.store,
    )


def serve(settings: Settings) -> None:
    """Serve until a signal comes.

    Raises:
        InvalidInput: settings under which the start is refused.
    """
    if settings.server.workers == 1:
        server.serve(settings, build)
        return
    with shared_by_workers():
        server.serve(settings, build)
