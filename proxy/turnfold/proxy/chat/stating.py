"""The state station: what becomes of a request under the state that its conversation's user laid down.

A conversation goes in; an answer of Turnfold's own comes out, or the conversation under its state. The rules of the state and the
places of its blocks are in ``compression.state``; failures are left to the service.

If the client names the conversation, the record in the store is the truth, and messages add to it. Otherwise, and while the store
is unavailable, the state follows from the messages alone.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from turnfold.compression.errors import InvalidInput
from turnfold.compression.fold import state_written
from turnfold.compression.memo import Memo
from turnfold.compression.state import Placement, Record, StateOptions, Turn, place, read_record
from turnfold.compression.text.private import REDACTED
from turnfold.compression.wire.conversation import Conversation, OwnReply
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.folding import Lanes, OptionsFor, is_instant_body
from turnfold.proxy.chat.recovering import PeekedResponse
from turnfold.proxy.state_records import StateRecords
from turnfold.proxy.store import Key, StoreError
from turnfold.proxy.store.compare_and_set import Turns

_TRIES: Final = 16  # each one lost means that another process's change was kept

_log = logging.getLogger(__name__)


class OwnAnswer:
    """An answer of our own, to be relayed as if an upstream had given it (``outbound.relay``)."""

    status = 200

    def __init__(self, reply: OwnReply) -> None:
        head = [(b"content-type", reply.content_type.encode("ascii"))]
        if len(reply.pieces) == 1:
            head.append((b"content-length", b"%d" % len(reply.pieces[0])))
        self.headers: Sequence[tuple[bytes, bytes]] = head
        self._pieces = reply.pieces

    async def chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """The body, piece by piece."""
        for number, piece in enumerate(self._pieces, start=1):
            yield piece, number == len(self._pieces)

    def close(self) -> None:
        """There is no connection."""


@dataclass(frozen=True, slots=True)
class _Decision:
    """What the station hands on, what is kept of it, and whether the last message lays something down."""

    exchange: Exchange
    record: Record
    lays_down: bool = False


class Stating:
    """The station.

    Args:
        acknowledge: who answers a message that is a directive and nothing else.
        options_for: fold options of a model's name and a budget.
        records: what is kept of named conversations.
    """

    def __init__(
        self, acknowledge: Literal["local", "forward"], options_for: OptionsFor, records: StateRecords, lanes: Lanes, memo: Memo
    ) -> None:
        self._options = StateOptions(acknowledge=acknowledge)
        self._options_for = options_for
        self._records = records
        self._lanes = lanes
        self._memo = memo
        self._turns = Turns()

    async def apply_state(self, exchange: Exchange) -> Exchange:
        """Replay the conversation and say what becomes of the request; keep its state under its name."""
        request, conversation = exchange.request, exchange.conversation
        if conversation is None:
            return exchange
        turn = contextlib.nullcontext() if request.label is None else self._turns.of(Key(request.tenant, "", request.label))
        async with turn:  # of one conversation's requests at once none loses what another one laid down
            decision, is_away = await self._stated(exchange, conversation, self._records)
            if is_away and decision.lays_down:  # the client may hear that it is in force, and send this message only
                decision, _ = await self._stated(exchange, conversation, self._records.patient)
            return decision.exchange

    async def _stated(self, exchange: Exchange, conversation: Conversation, records: StateRecords) -> tuple[_Decision, bool]:
        """What becomes of it, and whether the store was away meanwhile."""
        request, decision = exchange.request, _Decision(exchange, Record())
        for _ in range(_TRIES):
            try:
                held = None if request.label is None else await records.get(request.tenant, request.label)
                is_away = False
            except StoreError as exc:
                _log.warning("state of a named conversation: %s", type(exc).__name__)
                held, is_away = None, True
            record, foreign = _readable(held)

            def work(record: Record = record) -> _Decision:
                return self._decide(exchange, conversation, record)

            decision = work() if is_instant_body(request) else await self._lanes.run(request, work)
            if request.label is None or foreign or decision.record == record:
                return decision, is_away
            try:
                if await records.swap(request.tenant, request.label, held, decision.record):
                    return decision, False
            except StoreError as exc:
                _log.warning("state of a named conversation: %s", type(exc).__name__)
                return decision, True
        _log.warning("state of a named conversation: other requests kept changing it, so this request's directive was not stored")
        return decision, False

    def _decide(self, exchange: Exchange, conversation: Conversation, record: Record) -> _Decision:
        """Runs in a lane's thread, unless the body is small."""
        placement = self._placement(conversation, record)
        verdict, kept = placement.verdict, placement.record
        if exchange.request.state != "enforce":
            return _Decision(exchange.but(verdict=f"would-{verdict.kind}"), kept.without_question())
        # A history that the provider keeps would lack Turnfold's own answer.
        is_forwarded = verdict.kind == "forward" or not conversation.keeps_history
        last = len(conversation.messages) - 1
        lays_down = kept.machine != record.machine and (
            verdict.kind == "clarify" or any(index == last for index, _ in placement.changes)
        )
        exchange = exchange.but(verdict="forward" if is_forwarded else verdict.kind)
        if is_forwarded:
            return _Decision(self._with_blocks(exchange, conversation, placement), kept, lays_down)
        reply = conversation.wire.reply(conversation, verdict.text, int(exchange.request.at))
        answered = exchange.settle("answered", f"state-{verdict.kind}").but(answer=PeekedResponse(OwnAnswer(reply)))
        return _Decision(answered, kept, lays_down)

    def _placement(self, conversation: Conversation, record: Record) -> Placement:
        """The messages placed on the record; placed alone if the record lacks private text and they contain everything."""
        turns = [Turn(m.role, m.sole, m.own) for m in conversation.messages]
        options = self._options
        if not conversation.keeps_history:  # nothing is answered here, and no later message may come to say what this one changes
            options = replace(options, acknowledge="forward", keeps_history=False)
        placement = place(turns, options, record)
        if not record.has(REDACTED):
            return placement
        whole = place(turns, options)
        same = whole.record.redacted().machine == placement.record.redacted().machine
        return replace(whole, verdict=placement.verdict) if same else placement

    def _with_blocks(self, exchange: Exchange, conversation: Conversation, placement: Placement) -> Exchange:
        """The exchange with every block in its place: what goes out when nothing is folded."""
        if not placement.pins or not any(m.role == "user" and m.holds for m in conversation.messages):
            return exchange
        stated = conversation.with_state(placement.blocks())
        sent = state_written(stated, self._options_for(conversation.model, None), self._memo)
        return exchange.but(conversation=stated, sent=sent, body=sent.body)


def _readable(held: bytes | None) -> tuple[Record, bool]:
    """The record; an empty one, and that it must be left alone, where another release wrote it otherwise."""
    if held is None:
        return Record(), False
    try:
        return read_record(held), False
    except InvalidInput:
        _log.warning("a stored state has another version and is ignored")
        return Record(), True
