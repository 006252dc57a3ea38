"""The stations around the upstream: send, recover if the context was full, learn from the response.

This module leads from the outgoing request to the client's response. ``recovering`` reads responses and drives a recovery;
``compression.calibration`` knows what a figure means.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Final

from turnfold.compression.calibration import is_evident, is_truncated
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.overflow import Overflow, detect
from turnfold.compression.fit.recover import Outcome, Resend, recover
from turnfold.compression.fit.unpriced import explain, hidden_in, is_notable, outweighs, text_ratio
from turnfold.compression.fold.thinking import binds_thinking, misses_thinking, refuses_thinking
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.wire.conversation import SERVER_HISTORY, Conversation
from turnfold.proxy.chat.exchange import Exchange, Watch
from turnfold.proxy.chat.folding import Folding
from turnfold.proxy.chat.own_models import OwnModels
from turnfold.proxy.chat.process_folding import BareBody, ProcessFolding, RecoveryPlan, replayed
from turnfold.proxy.chat.receipts import OwnCall
from turnfold.proxy.chat.recovering import Flow, PeekedResponse, Recovered, Run, resend
from turnfold.proxy.chat.refused_thinking import RefusedThinking
from turnfold.proxy.chat.usage import UsageReader
from turnfold.proxy.lanes.processes import ProcessFailed
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.outbound.betas import with_betas
from turnfold.proxy.outbound.relay import RelayableAnswer
from turnfold.proxy.outbound.upstream import UpstreamFailed, refusal
from turnfold.proxy.store.fair import FairMemory
from turnfold.proxy.trails.trail import trails_of

#: Why a request whose context was full could not be recovered.
_WHY_NOT: Final = MappingProxyType(
    {
        "output-too-large": "the room that it reserves for the answer leaves none for the prompt",
        "nothing-to-cut": "system messages, tool schemas and the last message alone do not fit",
        "refused-again": "the upstream refused the smaller request too",
        "failed": "making it smaller failed",
    }
)

_TELL_AGAIN: Final = 600.0  # seconds between two log lines about the same model
_MOST_TOLD: Final = 1000

_log = logging.getLogger(__name__)


class Sending:
    """The stations.

    Args:
        run_step: runs a step of a recovery outside of the event loop; whatever goes wrong in it, an outcome comes back.
        in_background: takes what nobody waits for.
        patience: maximum seconds for making a request smaller.
        count: finds what its fold says of a request that was sent before that was asked.
        models: asks for a summary of what a recovery leaves out.
    """

    def __init__(
        self,
        folding: Folding,
        windows: Windows,
        run_step: Callable[[Exchange], Run[Resend | ModelCall | Outcome]],
        in_background: Callable[[asyncio.Task[None]], None],
        patience: float,
        count: Callable[[Exchange], Exchange],
        models: OwnModels,
    ) -> None:
        self._models = models
        self._folding = folding
        self._windows = windows
        self._run_step = run_step
        self._in_background = in_background
        self._patience = patience
        self._count = count
        self._told: FairMemory[UpstreamModel, float] = FairMemory(_MOST_TOLD)
        self._refused = RefusedThinking()

    def forget_in_memory(self) -> None:
        """Forget what upstreams have refused."""
        self._refused.forget()

    async def send_request(self, exchange: Exchange) -> Exchange:
        """Send it, and read the beginning of the answer if that may report a full context.

        Raises:
            Refused: no answer came.
        """
        exchange = await self._without_refused_thinking(exchange)
        counted = exchange

        def count() -> None:
            nonlocal counted
            counted = self._count(counted)

        try:
            answer = PeekedResponse(await self._send(exchange, exchange.outgoing, count if exchange.uncounted else None))
        except UpstreamFailed as exc:
            _log.warning("%s: %s: %s", exchange.request.id, exchange.request.to.origin, exc)
            raise refusal(exc) from exc
        exchange = self._count(counted)
        known = exchange.known
        suspect = exchange.tokens is not None and (exchange.unpriced or known.may_overflow(known.theirs(exchange.tokens[1])))
        if exchange.recoverable and (suspect or answer.status != 200):
            with contextlib.ExitStack() as unless_served:
                unless_served.callback(answer.close)
                await answer.look(inside=suspect)
                unless_served.pop_all()
        return exchange.but(answer=answer, upstream_status=answer.status)

    async def _send(self, exchange: Exchange, body: bytes, meanwhile: Callable[[], None] | None = None) -> RelayableAnswer:
        request = exchange.request
        headers = [pair for pair in request.headers if body is request.body or pair[0] != b"content-encoding"]
        if body is exchange.body:
            headers = with_betas(headers, exchange.betas)
        return await request.to.upstream.send("POST", request.to.url, headers, body, meanwhile)

    async def recover_request(self, exchange: Exchange) -> Exchange:
        """Where its context was full and we may touch it, make it smaller and send it once more."""
        answer, conversation = exchange.answer, exchange.conversation
        if answer is None or conversation is None or not exchange.recoverable or answer.says_nothing_yet:
            return exchange
        if refuses_thinking(answer.status, answer.head):
            return await self._resend_without_thinking(exchange, answer)
        if misses_thinking(answer.status, answer.head):
            return await self._resend_unfolded(exchange, answer)
        overflow = detect(answer.status, answer.head, in_stream=answer.in_stream)
        if overflow is None:
            return exchange
        plan, flow = await self._plan(exchange, conversation, overflow)
        send = partial(self._send, exchange)
        calls: list[OwnCall] = []

        async def ask(call: ModelCall) -> ModelReply | None:
            reply, made = await self._models.ask(call, exchange)
            calls.extend(made)
            return reply

        recovered = await resend(flow, answer, send, self._run_step(exchange), (UpstreamFailed,), ask)
        with contextlib.ExitStack() as unless_served:
            unless_served.callback(recovered.answer.close)
            recovering = await self._after_overflow(exchange, conversation, overflow, recovered, plan)
            recovering = recovering.but(calls=(*recovering.calls, *calls))
            unless_served.pop_all()
        return recovering

    async def _plan(self, exchange: Exchange, conversation: Conversation, overflow: Overflow) -> tuple[RecoveryPlan | None, Flow]:
        """The recovery plan, made in the process that read the request."""
        folding = self._folding
        if folding.elsewhere is not None and exchange.plain is not None:
            plan, body = await self._plan_elsewhere(folding.elsewhere, exchange, overflow)
            return plan, replayed(plan, body, overflow, exchange.request.wire)
        options = folding.options_of(exchange, conversation.model)
        most = self._models.recovery_tokens
        return None, recover(conversation, overflow, options, folding.memo, exchange.known, exchange.sent, folding.engine, most)

    async def _plan_elsewhere(
        self, elsewhere: ProcessFolding, exchange: Exchange, overflow: Overflow
    ) -> tuple[RecoveryPlan, bytes]:
        ours = exchange.tokens[1] if exchange.tokens else 0
        try:
            async with asyncio.timeout(self._patience):
                return await elsewhere.plan_recovery(exchange, overflow)
        except (TimeoutError, FoldRejected, ProcessFailed) as exc:
            _log.warning("%s: recovery: %s", exchange.request.id, type(exc).__name__)
            return RecoveryPlan(False, Outcome(False, "failed", None, ours, ours, window=overflow.limit)), b""

    async def _resend_without_thinking(self, exchange: Exchange, answer: PeekedResponse) -> Exchange:
        """Send it again without any thinking, and remember that this model binds it; if that fails, send it unfolded."""
        request, spot = exchange.request, _spot(exchange)
        is_ours = exchange.folded and not (exchange.known.binds_thinking or binds_thinking(exchange.model))
        known = await self._windows.learn_binding(spot)
        bare = await self._bare(exchange)
        second = None if bare is None or bare.body is None else await self._accepted(exchange, bare.body)
        if bare is None or second is None:
            return await self._resend_unfolded(exchange.but(known=known), answer)
        answer.close()
        if not is_ours:  # a fold of ours takes what it must, now that this is known of the model
            self._refused.remember(spot, exchange.thoughts)
        _log.warning("%s: the upstream refused earlier thinking; sent again without it", request.id)
        return _with_bare(exchange, bare).but(
            answer=second, upstream_status=second.status, known=known, status="recovered", reason="thinking-refused"
        )

    async def _resend_unfolded(self, exchange: Exchange, answer: PeekedResponse) -> Exchange:
        """Send what came in, where a fold lacks thinking that the upstream wants; if that fails, the client gets the error."""
        second = await self._accepted(exchange, exchange.request.body) if exchange.folded else None
        if second is None:
            return exchange
        answer.close()
        _log.warning("%s: the upstream refused the fold for its thinking; sent again unfolded", exchange.request.id)
        return _unfolded(exchange).but(answer=second, upstream_status=second.status)

    async def _accepted(self, exchange: Exchange, body: bytes) -> PeekedResponse | None:
        """The answer to another body of a request; None if the upstream refuses that too."""
        try:
            answer = PeekedResponse(await self._send(exchange, body))
        except UpstreamFailed:
            return None
        if answer.status < 400:
            return answer
        answer.close()
        return None

    async def _without_refused_thinking(self, exchange: Exchange) -> Exchange:
        """The request without thinking that was refused before."""
        if not exchange.recoverable:
            return exchange
        refused = self._refused.among(_spot(exchange), exchange.thoughts)
        bare = await self._bare(exchange, refused) if refused else None
        if bare is None or bare.body is None:
            return exchange
        made = _with_bare(exchange, bare)
        return made if exchange.folded else made.but(status="recovered", reason="thinking-refused")

    async def _bare(self, exchange: Exchange, refused: frozenset[bytes] | None = None) -> BareBody | None:
        """What goes out without the thinking of these messages, or without any; None if making it failed."""
        try:
            async with asyncio.timeout(self._patience):
                return await self._folding.take_thinking_out(exchange, refused)
        except (TimeoutError, FoldRejected, ProcessFailed):
            return None

    async def _after_overflow(
        self, exchange: Exchange, conversation: Conversation, overflow: Overflow, recovered: Recovered, plan: RecoveryPlan | None
    ) -> Exchange:
        outcome, answer = recovered.outcome, recovered.answer
        exchange = exchange.but(answer=answer, upstream_status=answer.status, calls=_unseen_call(exchange, recovered.unseen))
        theirs = overflow.requested or (None if _reads_another(exchange) else exchange.known.theirs(outcome.tokens_before))
        spot = _spot(exchange)
        known = await self._windows.learn_from_refusal(spot, outcome.window or overflow.limit, theirs)
        if outcome.hidden and not _reads_another(exchange):
            known = await self._windows.learn_hidden(spot, outcome.hidden)
        ending = "sent again, smaller" if outcome.recovered else _WHY_NOT.get(outcome.reason, outcome.reason)
        _log.warning("%s: the context was full: %s", exchange.request.id, ending)
        exchange = exchange.but(known=known)
        if not outcome.recovered or outcome.forwarded is None:
            return exchange.but(reason=f"overflow-{outcome.reason}")
        before = exchange.tokens[0] if exchange.tokens else outcome.tokens_before
        return exchange.but(
            sent=outcome.forwarded,
            folded=True,
            status="recovered",
            reason=outcome.reason or f"overflow-{overflow.kind}",
            tokens=(before, outcome.tokens_after),
            attached=outcome.attached,
            sections=outcome.sections if plan is None else plan.sections,
            trails=trails_of(conversation, outcome.forwarded) if plan is None else plan.trails,
        )

    def learn_from(self, exchange: Exchange, watch: Watch) -> Exchange:
        """Compare the upstream's count with ours; report it if the upstream must have dropped text silently."""
        if not exchange.recoverable or exchange.tokens is None or exchange.upstream_status != 200 or _reads_another(exchange):
            return exchange
        ours = exchange.tokens[1]
        spot = _spot(exchange)
        reader = watch.reader
        if reader.broke_off and (overflow := detect(200, reader.broke_off, in_stream=True)):
            return self._learn_from_late_overflow(exchange, spot, overflow, exchange.known.theirs(ours))
        reported = reader.usage.prompt_tokens
        if reported is None or reader.has_hosted_calls:
            return exchange  # the excess may come from hosted tools, so it does not show how text is counted
        if self._learn_hidden(exchange, spot, ours, reported):
            return exchange  # nor where it may come from attachments
        own = self._windows.longest_report(spot, exchange.name)
        self._windows.note_report(spot, exchange.name, ours, reported)
        if not self._windows.learn_at_once(spot, ours, reported, own):
            learning = self._remember(spot, ours, reported, own)
            self._in_background(asyncio.get_running_loop().create_task(learning, name=exchange.request.id))
        if not (is_truncated(exchange.known, ours, reported, own) and is_evident(exchange.known, ours, reported)):
            return exchange
        self._tell_of_truncation(spot, exchange.request.id, reported, exchange.known.theirs(ours))
        return exchange.but(reason="upstream-truncated")

    def _learn_hidden(self, exchange: Exchange, spot: UpstreamModel, ours: int, reported: int) -> bool:
        """Learn what attachments weigh from what the text does not explain. Returns whether there may be any of that."""
        known, attached = exchange.known, exchange.attached
        beyond = exchange.unpriced and reported > known.theirs(ours)
        if not (beyond or hidden_in(attached, known) or outweighs(attached, ours, reported, known, exchange.model)):
            return False
        learning = self._remember_hidden(exchange, spot, ours, reported)
        self._in_background(asyncio.get_running_loop().create_task(learning, name=exchange.request.id))
        return True

    def _learn_from_late_overflow(self, exchange: Exchange, spot: UpstreamModel, overflow: Overflow, theirs: int) -> Exchange:
        """The context was found full when the client had a part of the answer: what can be helped is the next request."""
        learning = self._learn_refusal(spot, overflow.limit, overflow.requested or theirs)
        self._in_background(asyncio.get_running_loop().create_task(learning, name=exchange.request.id))
        _log.warning("%s: the context was full in the middle of the answer: later requests will be smaller", exchange.request.id)
        return exchange.but(reason="overflow-late")

    def _tell_of_truncation(self, spot: UpstreamModel, request_id: str, reported: int, expected: int) -> None:
        """Log it, but not for every request: such an upstream truncates every one."""
        now = time.monotonic()
        last = self._told.get(spot.tenant, spot)
        if last is not None and now < last + _TELL_AGAIN:
            return
        self._told.put(spot.tenant, spot, now)
        _log.warning("%s: the upstream read %d of about %d tokens: it cuts prompts off silently", request_id, reported, expected)

    async def _learn_refusal(self, spot: UpstreamModel, limit: int | None, theirs: int) -> None:
        await self._windows.learn_from_refusal(spot, limit, theirs)

    async def _remember_hidden(self, exchange: Exchange, spot: UpstreamModel, ours: int, reported: int) -> None:
        attached = exchange.attached
        known = await self._windows.learn_from_growth(spot, *self._windows.growth(spot, exchange.name, attached, ours, reported))
        ratio = text_ratio(known, exchange.model)
        excess = reported / ratio - ours
        if hidden_in(attached, known) or is_notable(excess, ours):
            await self._windows.learn_hidden(spot, explain(excess, attached, known, ratio))

    async def _remember(self, spot: UpstreamModel, ours: int, reported: int, own: tuple[int, int]) -> None:
        await self._windows.learn_from_usage(spot, ours, reported, own)


def depart(exchange: Exchange) -> Exchange:
    """Mark the request as sent now."""
    return exchange.but(departed=time.perf_counter())


def _spot(exchange: Exchange) -> UpstreamModel:
    return UpstreamModel(exchange.request.tenant, exchange.request.to.origin, exchange.model)


def _with_bare(exchange: Exchange, bare: BareBody) -> Exchange:
    """The exchange with a body without thinking in place of what would go out."""
    before = exchange.tokens[0] if exchange.tokens else bare.tokens
    return exchange.but(body=bare.body, folded=True, uncounted=False, tokens=(before, bare.tokens), trails=bare.trails)


def _unfolded(exchange: Exchange) -> Exchange:
    """The exchange with what came in in place of its fold."""
    trails = None if exchange.trails is None else replace(exchange.trails, sent=exchange.trails.received)
    before = exchange.tokens[0] if exchange.tokens else 0
    tokens = (before, before) if exchange.tokens else None
    plain = exchange.but(body=None, sent=None, folded=False, sections=(), betas=(), changes=None, tokens=tokens, trails=trails)
    return plain.settle("passthrough", "thinking-refused")


def _reads_another(exchange: Exchange) -> bool:
    """Whether the upstream reads a prompt other than the one sent, so that its count is no evidence for ours: it stores a part,
    or its own summary replaces the beginning.
    """
    conversation = exchange.conversation
    return exchange.compacted or SERVER_HISTORY in (exchange.reason, "" if conversation is None else conversation.held)


def _unseen_call(exchange: Exchange, head: bytes) -> tuple[OwnCall, ...]:
    """The call whose answer the client does not get, if the answer gives its cost: refusals usually cost nothing."""
    reader = UsageReader()
    reader.feed(head)
    return () if reader.usage.prompt_tokens is None else (OwnCall("refused", reader.model or exchange.model, reader.usage),)
