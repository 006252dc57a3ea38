"""``/v1/state``: read, set and delete a conversation's state, and preview a message.

This module parses and renders these four calls. The caller passes `authorise`, which decides who may call, and a store of three
methods; the rules of the state are in the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import MappingProxyType
from typing import Any, Final, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from turnfold.compression.errors import InvalidInput, require
from turnfold.compression.state import (
    Engine,
    Record,
    RecordUnreadable,
    certainty,
    preprocess,
    preview,
    read_record,
    render_block,
    turn_of,
    why_ordinary,
)
from turnfold.compression.state.draft import DirectiveDraft, draft_steps
from turnfold.compression.state.machine import FRESH, Machine
from turnfold.compression.state.placement import place
from turnfold.compression.state.serial import checkpoint_value, parse_json, read_checkpoint, read_state, state_value
from turnfold.compression.text.private import is_private
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.asking.operations import ModelMissing, OperationModels
from turnfold.proxy.http.front import Endpoint
from turnfold.proxy.http.headers import LONGEST_NAME
from turnfold.proxy.http.inbound import Inbound
from turnfold.proxy.http.limits import own_body
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.routes.answers import Answers, as_json, error, missing_model, with_error_answers
from turnfold.proxy.routes.anything import ANYTHING
from turnfold.proxy.routes.parameters import refuse_unknown
from turnfold.proxy.store.records import report_unreadable

#: A state is small; a preview may bring a conversation.
MAX_BODY: Final = 8 * 2**20
_METHODS: Final = "GET, PUT, DELETE"
_PREVIEW: Final = "/v1/state/preview"
_UNREADABLE: Final = "This conversation's state was written by a newer Turnfold; update this one, or delete the state."

_STARTS: Final = ("conversation", "state", "checkpoint", "messages")
_SWITCHES: Final = ("with_preprocessor", "with_model")
_PREVIEW_FIELDS: Final = frozenset({"input", *_STARTS, *_SWITCHES})

#: Says whose data a request may reach; refuses by raising what the app renders.
Authorise = Callable[[Request], str]


#: Where these routes answer otherwise than the API: a value that cannot be understood is 422 here.
_ANSWERS: Final[Answers] = MappingProxyType(
    {
        RecordUnreadable: lambda _: error(409, "state_unreadable", _UNREADABLE, "conversation"),
        ModelMissing: missing_model,
        InvalidInput: lambda exc: error(422, "invalid_value", str(exc), exc.field),
    }
)


class RecordStore(Protocol):
    """The store of records, by tenant and conversation."""

    async def get(self, tenant: str, conversation: str) -> bytes | None:
        """The record; None if there is none."""
        ...

    async def update(self, tenant: str, conversation: str, change: Callable[[Record], Record]) -> Record:
        """Change a record (an empty one if there is none) without losing another change. Returns the new record."""
        ...

    async def delete(self, tenant: str, conversation: str) -> bool:
        """Delete a record. Returns whether there was one."""
        ...


def state_routes(store: RecordStore, authorise: Authorise, models: OperationModels, workshop: Workshop) -> list[Route]:
    """The routes.

    GET, PUT (body: a state or a checkpoint), DELETE ``/v1/state/{conversation}``; POST ``/v1/state/preview``.
    """
    calls = _Calls(store, models, workshop)

    def route(path: str, call: Callable[[Request, str], Awaitable[Response]], method: str) -> Route:
        async def endpoint(request: Request) -> Response:
            tenant = authorise(request)

            async def work(request: Request) -> Response:
                refuse_unknown(request.query_params)
                return await call(request, tenant)

            return await with_error_answers(work, _ANSWERS)(request)

        return Route(path, endpoint, methods=[method])

    one = f"/v1/state/{{conversation:{ANYTHING}}}"
    return [
        route(_PREVIEW, calls.preview, "POST"),
        route(one, calls.read, "GET"),
        route(one, calls.write, "PUT"),
        route(one, calls.forget, "DELETE"),
        Route(one, Endpoint(_refuse_method)),  # otherwise the upstream would answer a browser's preflight
    ]


async def _refuse_method(scope: Scope, receive: Receive, send: Send) -> None:
    allow = "POST" if scope["path"] == _PREVIEW else _METHODS
    refusal = error(405, "method_not_allowed", f"{scope['path']} takes {allow}.")
    refusal.headers["allow"] = allow
    await refusal(scope, receive, send)


class _Calls:
    def __init__(self, store: RecordStore, models: OperationModels, workshop: Workshop) -> None:
        self._store = store
        self._models = models
        self._workshop = workshop

    async def read(self, request: Request, tenant: str) -> Response:
        name = _name(request)
        record = await self._record(tenant, name)
        if record is None:
            raise _unknown(name)
        return await asyncio.to_thread(_answer, name, record)

    async def write(self, request: Request, tenant: str) -> Response:
        name = _name(request)
        machine = await asyncio.to_thread(_machine_in, await _body(request))
        record = await self._store.update(tenant, name, lambda kept: kept.put(machine))
        return await asyncio.to_thread(_answer, name, record)

    async def forget(self, request: Request, tenant: str) -> Response:
        name = _name(request)
        if not await self._store.delete(tenant, name):
            raise _unknown(name)
        return as_json({"object": "conversation.state.deleted", "conversation": name, "deleted": True})

    async def preview(self, request: Request, tenant: str) -> Response:
        data = await _body(request)
        body = await asyncio.to_thread(_parsed, data)
        text = body.get("input")
        if not isinstance(text, str):
            raise InvalidInput("input", "must be a text")
        for name, value in body.items():
            require(
                (name, name in _PREVIEW_FIELDS, "is not a field of a preview"),
                (name, name not in _SWITCHES or value is None or isinstance(value, bool), "must be true or false"),
            )
        machine = await self._machine_for(body, tenant, len(data))
        taken, drafted, rewrites = text, {}, bool(body.get("with_preprocessor"))
        if body.get("with_model"):
            draft = await self._draft(machine, text, request, tenant)
            taken, rewrites = text if draft is None else draft.directive, False
            told = None if draft is None else {"directive": taken, "by_model": draft.by_model, "prompt_to_user": draft.prompt}
            drafted = {"draft": told}
        shown = await self._workshop.run_sized(tenant, len(taken), _previewed, machine, taken, rewrites)
        return await asyncio.to_thread(as_json, {**shown, **drafted})

    async def _draft(self, machine: Machine, text: str, request: Request, tenant: str) -> DirectiveDraft | None:
        """A directive that the user may have meant, by rules or by the model; nothing is applied."""
        if await asyncio.to_thread(is_private, text):
            return None
        self._models.require("with_model")
        drafted, _ = await self._models.drive(draft_steps(_engine(machine), text), tenant, request.headers, "state")
        return drafted

    async def _record(self, tenant: str, name: str) -> Record | None:
        data = await self._store.get(tenant, name)
        try:
            return None if data is None else read_record(data)
        except RecordUnreadable as exc:
            report_unreadable("conversation state", str(exc))
            return None

    async def _machine_for(self, body: dict[str, Any], tenant: str, size: int) -> Machine:
        """Where the preview begins: at most one of the four fields of a body of so many bytes."""
        given = [field for field in _STARTS if body.get(field) is not None]
        if len(given) > 1:
            raise InvalidInput(given[1], f"cannot be combined with {given[0]}")
        if not given:
            return FRESH
        value = body[given[0]]
        if given[0] == "conversation":
            if not isinstance(value, str):
                raise InvalidInput("conversation", "must be a text")
            record = await self._record(tenant, value)
            if record is None:
                raise _unknown(value)
            return record.machine
        return await self._workshop.run_sized(tenant, size, _READERS[given[0]], value)


def _replay(value: object) -> Machine:
    if not isinstance(value, list) or not all(isinstance(message, dict) for message in value):
        raise InvalidInput("messages", "must be a list of messages")
    return place([turn_of(message) for message in value]).machine


def _begin(value: object) -> Machine:
    return Machine(read_state(value))


_READERS: Final[dict[str, Callable[[object], Machine]]] = {
    "state": _begin,
    "checkpoint": read_checkpoint,
    "messages": _replay,
}


def _engine(machine: Machine) -> Engine:
    engine = Engine()
    engine.machine = machine
    return engine


def _previewed(machine: Machine, text: str, rewrites: bool) -> dict[str, Any]:
    """The effect that a message would have.

    Args:
        rewrites: near forms into the exact one, by rules, first.
    """
    engine = _engine(machine)
    taken = preprocess(engine, text) if rewrites else text
    sure = certainty(taken, machine.state)
    return {**preview(engine, taken), "input": taken, "guard": why_ordinary(taken), "certainty": sure}


def _machine_in(data: bytes) -> Machine:
    body = _parsed(data)
    return read_checkpoint(body) if "checkpoint_version" in body else Machine(read_state(body))


def _answer(name: str, record: Record) -> Response:
    machine = record.machine
    value = {
        "object": "conversation.state",
        "conversation": name,
        "state": state_value(machine.state),
        "pending": None if machine.pending is None else machine.pending.prompt,
        "checkpoint": checkpoint_value(machine),
        "block": render_block(machine.state),
        "messages_seen": record.seen,
    }
    return as_json(value)


def _name(request: Request) -> str:
    name = str(request.path_params["conversation"])
    if len(name) > LONGEST_NAME:
        raise InvalidInput("conversation", f"must have at most {LONGEST_NAME} characters")
    return name


def _unknown(name: str) -> Refused:
    return Refused(404, "conversation_not_found", f"no state is kept for conversation {name[:80]!r}", "conversation")


async def _body(request: Request) -> bytes:
    return await own_body(Inbound(request.scope, request.receive), MAX_BODY)


def _parsed(data: bytes) -> dict[str, Any]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise InvalidInput("body", f"is not UTF-8 (byte {exc.start})") from exc
    body = parse_json(text, "body")
    if not isinstance(body, dict):
        raise InvalidInput("body", "must be an object")
    return body
