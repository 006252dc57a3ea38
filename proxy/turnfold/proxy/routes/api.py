"""Our own API, put together.

Lives here: which operations there are, and the parts that they share. Does not belong here: any of them.
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
from turnfold.proxy.store import OpenStore


def api_routes(store: OpenStore, settings: Settings, gate: Gatekeeper, workshop: Workshop) -> list[Route]:
    """Every route of the API and its document.

    What cannot be answered without the store gets the patient one; compression passes its cache by when that is slow.
    """
    patient = store.patient
    compressions = Compressions(patient, settings.store, CompressionCache(store, settings.cache), workshop)
    operations: list[Operation[Any]] = [
        *compress_operations(compressions),
        *conversation_operations(Conversations(patient, settings.store, workshop), workshop),
        *drilldown_operations(patient, workshop),
        *message_operations(Roundtrips(patient, settings.store, workshop)),
        *exchange_operations(compressions, patient),
        *cache_operations(CompressionCache(patient, settings.cache), settings.cache),
    ]
    return [*mount(operations, gate, settings.limits), openapi_route(operations)]
