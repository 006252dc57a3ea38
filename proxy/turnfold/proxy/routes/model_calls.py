"""The paths on which a model is asked for a turn, in each provider's format.

This module knows which path has which format, and parses a request's head into a `ChatRequest`. The stations are in
``chat.service``; ``outbound.destinations`` decides where a request goes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import MappingProxyType
from typing import Final, Protocol

from starlette.convertors import PathConvertor, register_url_convertor
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from turnfold.compression.wire.conversation import Wire
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.formats.messages import MESSAGES
from turnfold.compression.wire.formats.responses import RESPONSES
from turnfold.config.settings import Settings
from turnfold.proxy.chat.exchange import ChatRequest, RequestTrace
from turnfold.proxy.chat.service import Service
from turnfold.proxy.console.request_log import log_refused
from turnfold.proxy.http.front import MESSAGES_BEHIND
from turnfold.proxy.http.headers import first, forwarded_headers, sendable, wishes, without
from turnfold.proxy.http.inbound import Inbound, while_present
from turnfold.proxy.http.limits import UnfinishedBodies, read_body
from turnfold.proxy.http.refusals import RawHeaders, Refused
from turnfold.proxy.http.request_ids import new_request_id
from turnfold.proxy.http.tenancy import Gate
from turnfold.proxy.outbound.destinations import Destinations


class Tracer(Protocol):
    """Finds a request's place in a trace."""

    def join(self, came: RawHeaders, goes: RawHeaders) -> tuple[RequestTrace, RawHeaders]:
        """Who traces a request with these headers, and the headers that go upstream."""
        ...


#: None where nothing is traced.
Tracing = Tracer | None

#: The last part of a path, and the format of the bodies that are posted there. Gateways, Azure's included, have other beginnings.
WIRES: Final = MappingProxyType({"chat/completions": CHAT, "responses": RESPONSES, "messages": MESSAGES})


class _BeforeMessages(PathConvertor):
    regex = rf"(?:.*/)?(?:{MESSAGES_BEHIND})"


register_url_convertor("before_messages", _BeforeMessages())
_BEGINNINGS: Final = MappingProxyType({"messages": "before_messages"})


def model_routes(endpoint: Callable[[Wire], ASGIApp]) -> tuple[list[Route], list[Route]]:
    """The routes of every format: of the paths that nearly all clients ask for, and of all others."""
    endpoints = {ending: endpoint(wire) for ending, wire in WIRES.items()}

    def routes(path: str) -> list[Route]:
        paths = {ending: path.format(ending, _BEGINNINGS.get(ending, "path")) for ending in endpoints}
        return [Route(paths[ending], app, methods=["POST"]) for ending, app in endpoints.items()]

    return routes("/v1/{0}"), [*routes("/{0}"), *routes("/{{base:{1}}}/{0}")]


class ModelCalls:
    """The ASGI endpoint of one format."""

    def __init__(
        self,
        service: Service,
        destinations: Destinations,
        gate: Gate,
        settings: Settings,
        unfinished: UnfinishedBodies,
        wire: Wire,
        tracing: Tracing,
    ) -> None:
        self._service = service
        self._destinations = destinations
        self._wire = wire
        self._tracing = tracing
        self._unfinished = unfinished
        self._gate = gate
        self._limits = settings.limits
        self._folding = settings.folding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request.

        Raises:
            Refused: Turnfold answers with an error.
            ClientGone: the client left.
        """
        request_id = new_request_id()
        try:
            inbound = Inbound(scope, receive)
            # no name is bound to the request here: the service lets go of its body once it is sent
            await while_present(inbound, self._service.serve(await self._read(request_id, scope, inbound), send))
        except Refused as refused:
            refused.headers = (*refused.headers, (b"x-turnfold-request-id", request_id.encode()))
            raise

    async def _read(self, request_id: str, scope: Scope, inbound: Inbound) -> ChatRequest:
        started = time.perf_counter()
        try:
            return await self._admit(request_id, scope, inbound, started)
        except Refused as refused:
            log_refused(request_id, self._wire.name, refused, (time.perf_counter() - started) * 1000)
            raise

    async def _admit(self, request_id: str, scope: Scope, inbound: Inbound, started: float) -> ChatRequest:
        at = time.time()
        to = self._destinations.of(scope)
        admission = self._gate.admit(inbound.headers, to.keys, scope["query_string"])
        asked = wishes(inbound.headers)
        body = await read_body(inbound, self._limits, self._unfinished, admission.tenant)
        headers: RawHeaders = sendable(without(forwarded_headers(admission.headers), b"content-length"))
        trace, headers = self._tracing.join(inbound.headers, headers) if self._tracing is not None else (None, headers)
        return ChatRequest(
            id=request_id,
            at=at,
            started=started,
            received=time.perf_counter(),
            wire=self._wire,
            to=to,
            headers=tuple(headers),
            coding=(first(inbound.headers, b"content-encoding") or b"").strip().lower().decode("latin-1"),
            body=body,
            mode=asked.mode or self._folding.mode,
            budget=asked.budget or self._folding.budget,
            label=asked.conversation,
            tenant=admission.tenant,
            state=asked.state or self._folding.state,
            keep=asked.keep,
            trace=trace,
            tags=asked.tags,
        )
