"""Turnfold's own API: the list of its operations.

Lives here: which operations there are, and the parts that they share. Does not belong here: any operation.
"""

from __future__ import annotations

from typing import Any

from starlette.routing import Route

from turnfold.config.settings import Settings
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.compressions import Compressions
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.api.roundtrips import Roundtrips
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.routes.answers import Gatekeeper
from turnfold.proxy.routes.cache import cache_operations
from turnfold.proxy.routes.compress import compress_operations
from turnfold.proxy.routes.conversation import conversation_operations
from turnfold.proxy.routes.drilldown import drilldown_operations
from turnfold.proxy.routes.exchange import exchange_operations
from turnfold.proxy.routes.messages import message_operations
from turnfold.proxy.routes.openapi import openapi_route
from turnfold.proxy.routes.operations import Operation, mount
from turnfold.proxy.store import Store


def api_routes(store: Store, settings: Settings, gate: Gatekeeper, workshop: Workshop) -> list[Route]:
    """All routes of the API, and its document."""
    cache = CompressionCache(store, settings.cache)
    compressions = Compressions(store, settings.store, cache, workshop)
    operations: list[Operation[Any]] = [
        *compress_operations(compressions),
        *conversation_operations(Conversations(store, settings.store, workshop), workshop),
        *drilldown_operations(store, workshop),
        *message_operations(Roundtrips(store, settings.store, workshop)),
        *exchange_operations(compressions, store),
        *cache_operations(cache, settings.cache),
    ]
    return [*mount(operations, gate, settings.limits), openapi_route(operations)]
