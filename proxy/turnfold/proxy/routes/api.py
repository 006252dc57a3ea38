"""Turnfold's own API: the list of its operations.

The operations and the parts that they share; each operation has a module of its own.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from starlette.routing import Route

from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.compressions import Compressions
from turnfold.proxy.api.conversations import Conversations
from turnfold.proxy.api.roundtrips import Roundtrips
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.asking.operations import OperationModels
from turnfold.proxy.deletion.forgetting import Forgetting
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.routes.answers import Gatekeeper
from turnfold.proxy.routes.cache import cache_operations
from turnfold.proxy.routes.compress import compress_operations
from turnfold.proxy.routes.conversation import conversation_operations
from turnfold.proxy.routes.data import data_operations
from turnfold.proxy.routes.docs_page import docs_routes
from turnfold.proxy.routes.drilldown import drilldown_operations
from turnfold.proxy.routes.exchange import exchange_operations
from turnfold.proxy.routes.messages import message_operations
from turnfold.proxy.routes.openapi import document, openapi_route
from turnfold.proxy.routes.operations import Operation, mount
from turnfold.proxy.routes.windows import window_operations
from turnfold.proxy.store import OpenStore


def api_routes(
    store: OpenStore,
    settings: Settings,
    gate: Gatekeeper,
    workshop: Workshop,
    forgetting: Forgetting,
    windows: Windows,
    models: OperationModels,
) -> list[Route]:
    """All routes of the API, and its document.

    What cannot be answered without the store gets the patient one; compression passes its cache by when that is slow.

    Args:
        windows: those that this process's requests use.
        models: asks the server's model.
    """
    patient = store.patient
    compressions = Compressions(patient, settings.store, CompressionCache(store, settings.cache), workshop)
    conversations = Conversations(patient, settings.store, workshop)
    forgetting.subscribe(lambda deletion: conversations.forget_in_memory(deletion.is_of))
    operations: list[Operation[Any]] = [
        *compress_operations(compressions, models),
        *conversation_operations(conversations, workshop),
        *drilldown_operations(patient, workshop),
        *message_operations(Roundtrips(patient, settings.store, workshop), models),
        *exchange_operations(compressions, patient),
        *cache_operations(CompressionCache(patient, settings.cache), settings.cache),
        *data_operations(forgetting),
        *window_operations(windows, partial(fold_options, settings)),
    ]
    described = cache(partial(document, operations))
    return [*mount(operations, gate, settings.limits), openapi_route(described), *docs_routes(described)]
