"""Store, ledger, metrics and their routes, put together from settings.

Lives here: the wiring of everything that is kept. Must not: the request path (``app`` mounts and starts this).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from starlette.routing import Route

from turnfold.compression.fold import Section
from turnfold.config.fold import fold_options
from turnfold.config.prices import TokenUse, dollars
from turnfold.config.settings import Settings
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.ledger import Ledger, PriceOf
from turnfold.proxy.books.metrics import Health, Metrics
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.routes.admin import admin_routes
from turnfold.proxy.routes.answers import Gatekeeper
from turnfold.proxy.routes.api import api_routes
from turnfold.proxy.store import StoreError, open_store


def price_from(settings: Settings) -> PriceOf:
    """Dollars by the settings' upstream and the operator's own figures."""

    def price(model: str, use: TokenUse, at: float) -> float | None:
        return dollars(model, use, at, settings.upstream.url, settings.models.get(model))

    return price


class Books:
    """A process's books: a ``Recorder`` that is started before the first request and stopped after the last.

    Attributes:
        store: belongs to the event loop that starts the books.
        ledger: what `record` feeds.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.store = open_store(settings.store)
        self._workshop = Workshop(settings.limits.max_fold_workers)
        self._metrics = Metrics(self._health)
        self.ledger = Ledger(self.store, settings.store, price_from(settings), self._metrics)

    def _health(self) -> Health:
        return Health(not self.store.problem, self.store.failures, self.ledger.queued, self.ledger.dropped)

    def record(self, receipt: Receipt, sections: tuple[Section, ...]) -> None:
        """Queue both for storing; returns at once, never raises."""
        self.ledger.record(receipt, sections)

    async def start(self) -> None:
        """Begin to write."""
        await self.ledger.start()

    async def stop(self) -> None:
        """Write what is queued and let go of the store."""
        await self.ledger.stop()
        self._workshop.close()
        await self.store.close()

    async def works(self) -> bool:
        """Whether the store answers now."""
        try:
            await self.store.ping()
        except StoreError:
            return False
        return True

    def routes(self, gate: Gatekeeper) -> list[Route]:
        """The API, the admin routes and the metrics."""
        render: Callable[[], tuple[bytes, str]] = self._metrics.render
        api = api_routes(self.store, self._settings, gate, self._workshop)
        return [*api, *admin_routes(self.store, self.ledger, gate, render, partial(fold_options, self._settings))]
