"""The stations before a request is sent: reading and folding, in lanes.

This module has the lanes and leads from a received body to what is forwarded instead. It handles no failures: ``service`` does.

Folding is CPU: this is the one place where it leaves the event loop. Bodies go to one of three lanes by size, so that a small
request never waits behind cold folds of large ones: threads for light ones, threads for heavy ones, and processes for large ones
(``process_folding``), unless nearly all of a large one is known here, as of a conversation that has just grown so large. In each
lane tenants take turns. The smallest, of which nothing can be folded, do not leave the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from operator import attrgetter
from typing import Final, NamedTuple, TypeVar

from turnfold.compression import tokens
from turnfold.compression.calibration import Learned
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.fit import fit, is_left_alone
from turnfold.compression.fit.unpriced import attached_in, has_unpriced
from turnfold.compression.fold import LEFT_OUT, Fold, Folded, attachments_lost, conversation_name, fold
from turnfold.compression.fold.counts import conversation_tokens
from turnfold.compression.fold.thinking import all_thinking, without_thinking
from turnfold.compression.memo import Memo
from turnfold.compression.options import KEEP_NOTHING, FoldOptions
from turnfold.compression.wire.beginnings import beginning
from turnfold.compression.wire.bodies import new_bytes
from turnfold.compression.wire.changes import Changes
from turnfold.compression.wire.conversation import Conversation
from turnfold.config.settings import Settings
from turnfold.proxy.chat.abandoning import AbandonedFolds, FoldInProgress
from turnfold.proxy.chat.carrying_on import carry_on
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.own_models import OwnVectors
from turnfold.proxy.chat.process_folding import LARGE, BareBody, Meet, ProcessFolding, beginning_of
from turnfold.proxy.chat.receipts import Status
from turnfold.proxy.http.headers import binds_body
from turnfold.proxy.http.limits import plain_body
from turnfold.proxy.lanes.taking_over import Step, TakingOver
from turnfold.proxy.lanes.threads import ThreadLane
from turnfold.proxy.learning.deciding import Decisions, Place
from turnfold.proxy.learning.holdout import HELD_OUT, is_held_out
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.trails.trail import trails_of

T = TypeVar("T")

_LOOKS: Final = 3  # folds: what vectors recall may, under a budget, change what else is folded, and so who asks

#: Fold options by model name and budget.
OptionsFor = Callable[[str, int | None], FoldOptions]

_INSTANT_BODY: Final = 4096  # about 1,000 tokens, far from the 6,000 at which folding begins
_NEW_SHARE: Final = 1 / 4  # share of `LARGE` that may be new in a large body read here; tools often come after the history
_LARGEST_KNOWN: Final = 4  # multiple of `LARGE` up to which the copies and comparisons of a warm fold do not delay other requests
_KEPT_A_BYTE: Final = 30  # approximate bytes of memory per byte of a conversation
_CARRYING_ON: Final = 1 / 2  # share of the timeout, for a previous fold that is sent again
_LIGHT_BODY: Final = 32768  # about 8,000 tokens: a few milliseconds even when nothing of it is memoised


class Lanes:
    """Threads for work on bodies: one for light ones, some for heavy ones, and one that reads these: a fold that takes too long
    holds its thread, and must not keep the next request from being recognized as the same conversation's."""

    def __init__(self, heavy: int) -> None:
        self._light = ThreadLane("turnfold-light", 1)
        self._heavy = ThreadLane("turnfold-fold", heavy)
        self._reading = ThreadLane("turnfold-read", 1)

    async def run(self, request: ChatRequest, work: Callable[[], T]) -> T:
        """Do work on a request's body in the lane of its size."""
        lane = self._light if is_light(request) else self._heavy
        return await lane.run(request.tenant, work)

    async def read(self, request: ChatRequest, work: Callable[[], T]) -> T:
        """Read a request's body."""
        lane = self._light if is_light(request) else self._reading
        return await lane.run(request.tenant, work)

    async def run_heavy(self, tenant: str, work: Callable[[], T]) -> T:
        """Do work of unknown size."""
        return await self._heavy.run(tenant, work)

    def close(self) -> None:
        """Let go of the threads; work that is queued is dropped."""
        self._light.close()
        self._heavy.close()
        self._reading.close()


def is_instant_body(request: ChatRequest) -> bool:
    """Whether reading its body takes less than going to a thread."""
    return len(request.body) <= _INSTANT_BODY and not request.coding


def is_light(request: ChatRequest) -> bool:
    """Whether its body takes a few milliseconds at most."""
    return len(request.body) <= _LIGHT_BODY and not request.coding


class SlowRequests(NamedTuple):
    """Handling of slow requests.

    Attributes:
        abandoned: folds that took too long; None if they are not tracked.
        elsewhere: folds large requests in other processes; None if they are folded like all others.
        taking_over: reads their conversations here too; None if nothing does.
    """

    abandoned: AbandonedFolds | None
    elsewhere: ProcessFolding | None
    taking_over: TakingOver | None = None


class Folding:
    """The stations.

    Args:
        vectors: what has a say in recall beside the words; None: nothing.
        slow: handling of large requests and of folds that take too long.

    Attributes:
        engine: what folds.
    """

    def __init__(
        self,
        engine: Fold,
        options_for: OptionsFor,
        settings: Settings,
        windows: Windows,
        decisions: Decisions,
        lanes: Lanes,
        vectors: OwnVectors | None,
        slow: SlowRequests,
    ) -> None:
        self.engine = engine
        self._has_own_engine = engine is fold
        self.elsewhere = slow.elsewhere
        self._abandoned = slow.abandoned
        self._taking_over = slow.taking_over
        self._options_for = options_for
        self.memo = Memo(settings.limits.max_memo_bytes)
        self._limits = settings.limits
        self._vectors = vectors if vectors is not None and vectors.is_on else None
        self._asks_models = self._vectors is not None or settings.summary.model is not None  # never about large requests
        self._windows = windows
        self._decisions = decisions
        self._lanes = lanes
        self._holdout_share = settings.folding.holdout_share

    @classmethod
    def of(cls, settings: Settings, options_for: OptionsFor, windows: Windows, decisions: Decisions, lanes: Lanes) -> Folding:
        """The stations by the settings alone, with the engine itself: every fold is made here, however long it takes."""
        return cls(fold, options_for, settings, windows, decisions, lanes, None, SlowRequests(None, None))

    async def read_request(self, exchange: Exchange) -> Exchange:
        """Read the body, once. What cannot be read goes out as it came; what is large is not read yet.

        Raises:
            Refused: the body unpacks to more than the limit.
        """
        request = exchange.request
        if binds_body(request.headers):
            return exchange.settle("passthrough", "signed-body")
        if is_instant_body(request) or self._is_known(request):
            return self.read(exchange)
        plain: bytes | None = request.body
        if request.coding:
            plain = await self._lanes.read(request, lambda: plain_body(request.body, request.coding, self._limits))
        # A state is enforced in this process, which reads the messages for it.
        if plain is not None and len(plain) > LARGE and self.elsewhere is not None and request.state == "off":
            large = plain
            return await self._lanes.read(request, lambda: self._read_large(exchange, large))
        return await self._lanes.read(request, lambda: self._read_plain(exchange, plain))

    def _is_known(self, request: ChatRequest) -> bool:
        """Whether so little of a body is new here that reading it takes less than going to a thread."""
        if request.coding or len(request.body) > LARGE:
            return False
        return new_bytes(request.body, request.wire.name, self.memo) <= _INSTANT_BODY

    def is_folded_at_once(self, exchange: Exchange) -> bool:
        """Whether folding it takes less than going to a thread."""
        return exchange.conversation is not None and _is_instant(exchange.request, exchange.conversation)

    def read(self, exchange: Exchange) -> Exchange:
        """The same, here and now.

        Raises:
            Refused: the body unpacks to more than the limit.
        """
        return self._read_plain(exchange, plain_body(exchange.request.body, exchange.request.coding, self._limits))

    def _read_large(self, exchange: Exchange, plain: bytes) -> Exchange:
        """Read it where little of it is new to this process; its fold takes no longer than one of a smaller conversation."""
        exchange = exchange.but(plain=plain)
        if self._asks_models or len(plain) > _LARGEST_KNOWN * LARGE:
            return exchange
        if new_bytes(plain, exchange.request.wire.name, self.memo) > _NEW_SHARE * LARGE:
            return exchange
        return self._read_plain(exchange, plain)

    def _read_plain(self, exchange: Exchange, plain: bytes | None) -> Exchange:
        request = exchange.request
        if plain is None:
            return exchange.settle("passthrough", "content-encoding")
        try:
            conversation = request.wire.read(plain, self.memo)
        except FoldRejected as exc:
            return exchange.settle("passthrough", exc.reason)
        return exchange.but(conversation=conversation, name=request.label)

    def options_of(self, exchange: Exchange, model: str) -> FoldOptions:
        """Fold options of a request that is sent again, smaller: the same whatever is believed meanwhile."""
        # Of a request that is made to fit, all thinking goes that is no longer valid.
        return replace(self.options_at_first(exchange, model), belief=None, drops_thinking=False)

    def options_at_first(self, exchange: Exchange, model: str) -> FoldOptions:
        """By its model, its budget, its wishes, and what was learned of the model."""
        options = self._options_for(model, exchange.request.budget)
        if exchange.request.keep != KEEP_NOTHING:
            options = replace(options, keep=options.keep | exchange.request.keep)
        return replace(options, preserved_thinking=True) if exchange.known.binds_thinking else options

    async def take_thinking_out(self, exchange: Exchange, refused: frozenset[bytes] | None = None) -> BareBody:
        """What was sent without the thinking of these messages, and its tokens; None: without any."""
        conversation = exchange.conversation
        if self.elsewhere is not None and exchange.plain is not None and not (conversation and conversation.messages):
            return await self.elsewhere.take_thinking_out(exchange, refused)
        if conversation is None:
            return BareBody(None, 0)
        sent = exchange.sent or conversation
        return await self._lanes.run(exchange.request, lambda: self.bare_body(conversation, sent, refused))

    def bare_body(self, received: Conversation, sent: Conversation, refused: frozenset[bytes] | None = None) -> BareBody:
        """The same, here and now."""
        memo = self.memo
        indices = all_thinking(sent.messages, sent.model, bound=True)
        if refused is not None:
            indices = frozenset(index for index in indices if sent.messages[index].key in refused)
        if not indices:
            return BareBody(None, conversation_tokens(sent, sent.model, memo))
        bare = sent.with_changes(without_thinking(Changes(), sent.messages, indices), memo)
        return BareBody(bare.body, conversation_tokens(bare, sent.model, memo), trails_of(received, bare))

    async def fold_request(self, exchange: Exchange) -> Exchange:
        """What is forwarded instead of the request, and what is learned of its upstream.

        Raises:
            FoldRejected: our own output failed a check, or is not smaller.
        """
        request, conversation = exchange.request, exchange.conversation
        if conversation is None and self.elsewhere is not None and exchange.plain is not None:
            return await self.elsewhere.fold_request(exchange, exchange.plain, self._decide, self._meet(exchange, exchange.plain))
        if conversation is None:
            return exchange
        known = await self._windows.learned(UpstreamModel(request.tenant, request.to.origin, conversation.model))
        instant = _is_instant(request, conversation)
        unchanged = instant and self._is_left_alone(request, conversation, known)
        loop, compacted = ends_in_loop(conversation), is_compacted(conversation)
        unpriced = has_unpriced(conversation)
        exchange = exchange.but(known=known, loop=loop, compacted=compacted, unpriced=unpriced, uncounted=unchanged)
        if unchanged:
            return exchange
        if instant:
            return self.fold_read(exchange, conversation, self.options_at_first(exchange, conversation.model))

        place = place_of(exchange, conversation.model, conversation_name(conversation))
        underway = FoldInProgress((place,), "threads", read=True)

        def fold(options: FoldOptions) -> Exchange:
            underway.began = underway.began or time.monotonic()
            return self.fold_read(exchange, conversation, options)

        def work(options: FoldOptions) -> Awaitable[Exchange]:
            return self._lanes.run(request, lambda: fold(options))

        made = self._decide(exchange, conversation.model, place.name, work)
        if self._abandoned is None or is_light(request):
            return await made
        return await self._abandoned.wait(exchange, underway, made)

    async def carry_on(self, exchange: Exchange) -> Exchange:
        """For a request whose own fold is not ready in time: the fold that was sent last, followed by the new messages."""
        try:
            async with asyncio.timeout(_CARRYING_ON * self._limits.fold_timeout):
                return await self._lanes.read(exchange.request, lambda: self._carry_on(exchange))
        except (TimeoutError, FoldRejected):  # it is sent unfolded, for the reason that it already has
            return exchange

    def _carry_on(self, exchange: Exchange) -> Exchange:
        conversation, made = exchange.conversation, carry_on(exchange, self.memo)
        if conversation is None or made is exchange:
            return exchange
        unpriced = has_unpriced(conversation)
        return made.but(loop=ends_in_loop(conversation), compacted=is_compacted(conversation), unpriced=unpriced)

    def _meet(self, exchange: Exchange, plain: bytes) -> Meet | None:
        """The work that makes a conversation known here that is folded elsewhere; None if it is not due, or it would not be
        folded here anyway.
        """
        request, over = exchange.request, self._taking_over
        if over is None or self._asks_models or request.budget is not None or request.mode != "on":
            return None
        if len(plain) > min(_LARGEST_KNOWN * LARGE, self._limits.max_memo_bytes // _KEPT_A_BYTE):
            return None
        if not over.is_due(request.tenant, beginning_of(plain)):
            return None
        return lambda exchange, borders, options: over.begin(request.tenant, self._bits(exchange, plain, borders, options))

    def _bits(self, exchange: Exchange, plain: bytes, borders: Sequence[int], options: FoldOptions) -> Iterator[Step]:
        text = plain.decode("utf-8")
        return (partial(self._fold_beginning, exchange, beginning(text, borders, border), options) for border in borders)

    def _fold_beginning(self, exchange: Exchange, text: str, options: FoldOptions) -> None:
        """Fold it only to fill the memo."""
        with contextlib.suppress(FoldRejected):
            self.fold_read(exchange, exchange.request.wire.read(text.encode("utf-8"), self.memo), options)

    def count(self, exchange: Exchange) -> Exchange:
        """What the fold says of a request that was sent before it was asked."""
        conversation = exchange.conversation
        if conversation is None:
            return exchange
        return self.fold_read(exchange, conversation, self.options_at_first(exchange, conversation.model))

    def _is_left_alone(self, request: ChatRequest, conversation: Conversation, known: Learned) -> bool:
        if not self._has_own_engine or request.state != "off":
            return False
        return is_left_alone(conversation, self._options_for(conversation.model, request.budget), known)

    async def _decide(
        self, exchange: Exchange, model: str, name: str, work: Callable[[FoldOptions], Awaitable[Exchange]]
    ) -> Exchange:
        """What `work` makes of a conversation of this name, under all decisions; what it decides is kept first."""
        options, place = self.options_at_first(exchange, model), place_of(exchange, model, name)
        messages = () if exchange.conversation is None else exchange.conversation.messages
        if self._vectors is None or not (messages and exchange.request.mode == "on"):
            return await self._decisions.fold(options, place, work)
        known = self._vectors.known(messages, place)
        made = exchange
        for _ in range(_LOOKS):
            made = await self._decisions.fold(replace(options, likenesses=known, wants_likeness=True), place, work)
            if not made.open_questions:
                break
            found = await self._vectors.decide(exchange, made.open_questions, place)
            known = (*known, *found)
            if not any(one.by_message for one in found):  # recall uses only words, as it did in this fold
                break
        return made

    def fold_read(self, exchange: Exchange, conversation: Conversation, options: FoldOptions) -> Exchange:
        """The same of a request that was read, here and now: in a lane's thread, unless it takes less than going there.

        Raises:
            FoldRejected: our own output failed a check, or is not smaller.
        """
        request = exchange.request
        fitted = fit(conversation, options, self.memo, exchange.known, self.engine)
        folded, before, after = fitted.folded, fitted.folded.tokens_before, fitted.tokens
        name = request.label or conversation_name(conversation)
        plain = exchange.but(
            uncounted=False,
            status="passthrough",
            reason=folded.reason,
            tokens=(before, after),
            name=name,
            recoverable=True,
            outlook=folded.outlook,
            decided=folded.decided,
            precedence=folded.precedence,
            wanted=folded.wanted,
            open_questions=folded.open_questions,
            events=folded.events,
            attached=attached_in(conversation.messages),
        )
        if request.mode == "on" and is_held_out(name, self._holdout_share):
            counts = (before, before)
            held_out = plain.but(
                recoverable=False, status="bypassed", reason=HELD_OUT, tokens=counts, wanted=(), open_questions=()
            )
            return self._with_trails(held_out, conversation, exchange.sent or conversation)
        if not (folded.folded or fitted.fitted):
            return self._with_trails(plain, conversation, exchange.sent or conversation)
        lost = fitted.fitted and attachments_lost(conversation.messages, fitted.forwarded.messages)
        # Blocks take additional room; attachments that are left out count nothing here.
        if after >= before and not conversation.state.pins and not lost:
            raise FoldRejected("not-smaller")
        reason = LEFT_OUT if lost else fitted.reason
        status: Status = "shaped" if folded.only_shaped and not fitted.fitted else "folded"
        made = plain.but(status=status, reason=reason, sections=fitted.sections, folded=True, sent=fitted.forwarded)
        made = made.but(
            attached=attached_in(fitted.forwarded.messages), betas=fitted.forwarded.betas, recall=_chosen_by(folded, options)
        )
        made = made if fitted.fitted else made.but(changes=folded.changes)
        return self._with_trails(made.but(body=fitted.forwarded.body), conversation, fitted.forwarded)

    def _with_trails(self, exchange: Exchange, received: Conversation, sent: Conversation) -> Exchange:
        """Add trails, unless the request is too small for any provider to cache."""
        if len(received.text) <= _INSTANT_BODY:
            return exchange
        return exchange.but(trails=trails_of(received, sent, self.memo))


def _chosen_by(folded: Folded, options: FoldOptions) -> str:
    """How the passages after the last user message with recall were chosen."""
    if not (options.wants_likeness and folded.recalls):
        return ""
    return "vectors" if folded.recalls[max(folded.recalls)].by_vectors else "words"


def place_of(exchange: Exchange, model: str, name: str) -> Place:
    """Where decisions of its conversation, which the engine calls `name`, are remembered."""
    request = exchange.request
    return Place(UpstreamModel(request.tenant, request.to.origin, model), name, request.label or name)


def ends_in_loop(conversation: Conversation) -> bool:
    """Whether it ends with a tool's result, not a person's message."""
    return bool(conversation.messages) and conversation.messages[-1].is_output


def is_compacted(conversation: Conversation) -> bool:
    """Whether a provider's summary stands for the beginning: the upstream reads nothing before it."""
    return any(message.fixed for message in takewhile(attrgetter("pinned"), conversation.messages))


def _is_instant(request: ChatRequest, conversation: Conversation) -> bool:
    """Whether a request is so small that nothing will be folded: counting it takes less than going to a thread.

    Not where a vocabulary would have to be loaded first, nor with a budget, which may ask for a fold of anything.
    """
    if not is_instant_body(request) or request.budget is not None or request.mode != "on":
        return False
    return tokens.encoding_for_model(conversation.model) == tokens.BORDER_ENCODING
