"""The state station: what becomes of a request under the state that its conversation's user laid down.

Lives here: from a request to an answer of our own, or to the request with its blocks. Must not: rules of the state and where
its blocks stand (``compression``), failures (the service has their one home), HTTP routes.

The state follows from the messages; the store adds what was set from outside (``PUT /v1/state/...``), for conversations that
the client names. A store that is away costs that and nothing else.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Protocol

from turnfold.compression.errors import FoldRejected, InvalidInput
from turnfold.compression.fold import FoldedRequest, stated_request
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions, StateBlocks
from turnfold.compression.state import (
    Placement,
    Record,
    StateOptions,
    Turn,
    completion,
    place,
    read_record,
    reply_to,
    stream,
    turn_of,
)
from turnfold.compression.state.reply import JSON_TYPE, STREAM_TYPE
from turnfold.compression.wire.chat import Message, Request, parse_request
from turnfold.config.settings import LimitSettings
from turnfold.proxy.chat.state_records import StateRecords
from turnfold.proxy.http.limits import plain_body
from turnfold.proxy.store import StoreError

FoldFunction = Callable[[bytes, FoldOptions, Memo], FoldedRequest]

_TRIES: Final = 3  # a record that changes under our hands this often is left to whoever changes it

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the station needs to know of a request.

    Attributes:
        body: as received, in its content coding.
        at: Unix time, the `created` of an answer of ours.
        enforce: whether to act; else only to say what would be done.
    """

    body: bytes
    coding: str
    tenant: str
    conversation: str | None
    at: float
    enforce: bool


class Local:
    """An answer of our own, to be relayed as if an upstream had given it (``recovering.Answer``)."""

    status = 200

    def __init__(self, kind: str, pieces: Sequence[bytes]) -> None:
        head = [(b"content-type", kind.encode("ascii"))]
        if len(pieces) == 1:
            head.append((b"content-length", b"%d" % len(pieces[0])))
        self.headers: Sequence[tuple[bytes, bytes]] = head
        self._pieces = pieces

    async def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """The body, piece by piece."""
        for number, piece in enumerate(self._pieces, start=1):
            yield piece, number == len(self._pieces)

    def close(self) -> None:
        """There is no connection."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A request with its state.

    Attributes:
        body: with every block in its place: what goes out when nothing is folded.
        lean: with the block in force alone, in front of the last user message: what is made smaller where even a fold does not
            fit, so that no cut can lose the state.
        plain: as received.
    """

    body: bytes
    lean: bytes
    plain: bytes
    blocks: StateBlocks

    def fold(self, fold: FoldFunction) -> FoldFunction:
        """The engine, taking `lean` for the request with all its blocks; other bodies (parts of it) are folded as texts."""

        def folded(body: bytes, options: FoldOptions, memo: Memo) -> FoldedRequest:
            if body != self.lean:
                return fold(body, options, memo)
            return fold(self.plain, replace(options, state=self.blocks), memo)

        return folded


@dataclass(frozen=True, slots=True)
class Decided:
    """What the station hands on.

    Attributes:
        verdict: a slug for header and receipt: "forward", "clarify", "acknowledge", each with "would-" in front where the
            state is only observed; "" where the body could not be read.
        model: as the client named it.
        local: the answer, where none of the upstream's is needed.
        stated: the request with its blocks, where there are any.
    """

    verdict: str
    model: str = ""
    local: Local | None = None
    stated: Stated | None = None


class Run(Protocol):
    """Does CPU work off the event loop where it is worth that."""

    def __call__(self, work: Callable[[], Decision], /) -> Awaitable[Decision]:
        """The result of the work."""
        ...


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision and what is kept of it."""

    decided: Decided
    record: Record


class Stating:
    """The station.

    Args:
        acknowledge: who answers a message that is a directive and nothing else.
        options_for: fold options of a model's name and a budget.
        limits: bounds on what a body may unpack to.
        records: what is kept of named conversations; None: nothing.
    """

    def __init__(
        self,
        acknowledge: Literal["local", "forward"],
        options_for: Callable[[str, int | None], FoldOptions],
        limits: LimitSettings,
        records: StateRecords | None = None,
    ) -> None:
        self._options = StateOptions(acknowledge=acknowledge)
        self._options_for = options_for
        self._limits = limits
        self._records = records

    async def decide(self, asked: Asked, memo: Memo, run: Run) -> Decided:
        """Replay the conversation and say what becomes of the request; keep its state under its name.

        Raises:
            Refused: the body unpacks to more than the limit.
        """
        decision = Decision(Decided(""), Record())
        for _ in range(_TRIES):
            held = await self._held(asked)
            record, foreign = _readable(held)

            def work(record: Record = record) -> Decision:
                return self._decide(asked, record, memo)

            decision = await run(work)
            if foreign or decision.record == record or await self._kept(asked, held, decision.record):
                break
        return decision.decided

    async def _held(self, asked: Asked) -> bytes | None:
        if self._records is None or asked.conversation is None:
            return None
        try:
            return await self._records.get(asked.tenant, asked.conversation)
        except StoreError as exc:
            _log.warning("state of a named conversation: %s", type(exc).__name__)
            return None

    async def _kept(self, asked: Asked, held: bytes | None, record: Record) -> bool:
        """Whether the record needs no further try: kept, or the store is away."""
        if self._records is None or asked.conversation is None:
            return True
        try:
            return await self._records.swap(asked.tenant, asked.conversation, held, record)
        except StoreError as exc:
            _log.warning("state of a named conversation: %s", type(exc).__name__)
            return True

    def _decide(self, asked: Asked, record: Record, memo: Memo) -> Decision:
        """Runs in a lane's thread, unless the body is small."""
        plain = plain_body(asked.body, asked.coding, self._limits)
        try:
            request = None if plain is None else parse_request(plain, memo)
        except FoldRejected:
            request = None
        if plain is None or request is None:
            return Decision(Decided(""), record)
        placed = place([_turn(message) for message in request.messages], self._options, record.anchor())
        kept = record.with_observation(placed.machine, len(request.messages))
        verdict = placed.verdict
        if not asked.enforce:
            return Decision(Decided(f"would-{verdict.kind}", request.model), kept)
        if verdict.kind != "forward":
            return Decision(Decided(verdict.kind, request.model, _local(plain, asked.at, verdict.text)), kept)
        stated = self._stated(plain, request, placed, memo)
        return Decision(Decided(verdict.kind, request.model, stated=stated), kept)

    def _stated(self, plain: bytes, request: Request, placed: Placement, memo: Memo) -> Stated | None:
        last = _last_user(request.messages)
        if not placed.pins or last is None:
            return None
        options, blocks = self._options_for(request.model, None), placed.blocks()
        in_force = StateBlocks(((last, placed.pins[-1].text),))
        body, lean = (stated_request(request, replace(options, state=state), memo) for state in (blocks, in_force))
        return Stated(body, lean, plain, blocks)


def _readable(held: bytes | None) -> tuple[Record, bool]:
    """The record; an empty one, and that it must be left alone, where another release wrote it otherwise."""
    if held is None:
        return Record(), False
    try:
        return read_record(held), False
    except InvalidInput:
        _log.warning("a kept state is of another version: left out")
        return Record(), True


def _turn(message: Message) -> Turn:
    if message.is_list:
        return turn_of(json.loads(message.raw))
    return Turn(message.role, message.texts[0].text if message.texts else None)


def _last_user(messages: Sequence[Message]) -> int | None:
    return next((i for i in range(len(messages) - 1, -1, -1) if messages[i].role == "user" and messages[i].holds), None)


def _local(plain: bytes, at: float, text: str) -> Local:
    request: dict[str, Any] = json.loads(plain)
    seed = digest(plain.decode("utf-8")).hex()
    reply = reply_to(request, text, created=int(at), seed=seed)
    if request.get("stream") is True:
        return Local(STREAM_TYPE, stream(reply))
    return Local(JSON_TYPE, [completion(reply)])
