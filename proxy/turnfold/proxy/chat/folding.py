"""The stations before a request goes out: read and fold, in the lanes where that is done.

Lives here: lanes, and from a body to what is forwarded instead. Does not belong here: failures (``service`` has their one home).

Folding is CPU: this is the one place where it leaves the event loop. Bodies go to one of two lanes by size, so that a small
request never waits behind cold folds of large ones; the smallest, of which nothing can be folded, do not leave it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, TypeVar

from turnfold.compression import tokens
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.fit import fit
from turnfold.compression.fold import LEFT_OUT, Fold, attachments_lost, conversation_name
from turnfold.compression.fold.counts import conversation_tokens
from turnfold.compression.fold.thinking import all_thinking, without_thinking
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.conversation import Changes, Conversation
from turnfold.config.settings import LimitSettings
from turnfold.proxy.chat.exchange import ChatRequest, Exchange
from turnfold.proxy.chat.holdout import HELD_OUT, is_held_out
from turnfold.proxy.chat.trail import trails_of
from turnfold.proxy.chat.windows import Spot, Windows
from turnfold.proxy.http.limits import plain_body

T = TypeVar("T")

#: Fold options of a model's name and a budget.
OptionsFor = Callable[[str, int | None], FoldOptions]

INSTANT_BODY: Final = 4096  # about 1,000 tokens, far from the 6,000 at which folding begins
_LIGHT_BODY: Final = 32768  # about 8,000 tokens: a few milliseconds even when nothing of it is memoised


class Lanes:
    """Threads for work on bodies: one for light ones, some for heavy ones."""

    def __init__(self, heavy: int) -> None:
        self._light = ThreadPoolExecutor(1, "turnfold-light")
        self._heavy = ThreadPoolExecutor(heavy, "turnfold-fold")

    async def run(self, request: ChatRequest, work: Callable[[], T]) -> T:
        """Do work on a request's body in the lane of its size."""
        lane = self._light if len(request.body) <= _LIGHT_BODY and not request.coding else self._heavy
        return await asyncio.get_running_loop().run_in_executor(lane, work)

    async def run_heavy(self, work: Callable[[], T]) -> T:
        """Do work of unknown size."""
        return await asyncio.get_running_loop().run_in_executor(self._heavy, work)

    def close(self) -> None:
        """Let go of the threads; work that is queued is dropped."""
        for lane in (self._light, self._heavy):
            lane.shutdown(wait=False, cancel_futures=True)


class Folding:
    """The stations.

    Attributes:
        fold: the engine.
        memo: what it remembers.
    """

    def __init__(
        self, fold: Fold, options_for: OptionsFor, limits: LimitSettings, windows: Windows, lanes: Lanes, holdout_share: float
    ) -> None:
        self.fold = fold
        self._options_for = options_for
        self.memo = Memo()
        self._limits = limits
        self._windows = windows
        self._lanes = lanes
        self._holdout_share = holdout_share

    async def read_request(self, exchange: Exchange) -> Exchange:
        """Read the body, once. What cannot be read goes out as it came.

        Raises:
            Refused: the body unpacks to more than the limit.
        """
        request = exchange.request
        if len(request.body) <= INSTANT_BODY and not request.coding:  # takes less than going to a thread
            return self._read(exchange)
        return await self._lanes.run(request, lambda: self._read(exchange))

    def _read(self, exchange: Exchange) -> Exchange:
        request = exchange.request
        plain = plain_body(request.body, request.coding, self._limits)
        if plain is None:
            return exchange.settle("passthrough", "content-encoding")
        try:
            conversation = request.wire.read(plain, self.memo)
        except FoldRejected as exc:
            return exchange.settle("passthrough", exc.reason)
        return replace(exchange, conversation=conversation, name=request.label)

    def options_of(self, exchange: Exchange, conversation: Conversation) -> FoldOptions:
        """Fold options of a request, by its model, its budget and what was learned of the model."""
        options = self._options_for(conversation.model, exchange.request.budget)
        return replace(options, preserved_thinking=True) if exchange.known.binds_thinking else options

    async def take_thinking_out(self, exchange: Exchange, sent: Conversation) -> tuple[Conversation, int]:
        """What was sent without any thinking, and its tokens; the same where there is none."""

        def work() -> tuple[Conversation, int]:
            indices = all_thinking(sent.messages, sent.model, bound=True)
            bare = sent.with_changes(without_thinking(Changes(), sent.messages, indices), self.memo) if indices else sent
            return bare, conversation_tokens(bare, sent.model, self.memo)

        return await self._lanes.run(exchange.request, work)

    async def fold_request(self, exchange: Exchange) -> Exchange:
        """What is forwarded instead of the request, and what is learned of its upstream.

        Raises:
            FoldRejected: our own output failed a check, or is not smaller.
        """
        request, conversation = exchange.request, exchange.conversation
        if conversation is None:
            return exchange
        known = await self._windows.learned(Spot.of(request.tenant, request.to.url, conversation.model))
        exchange = replace(exchange, known=known)
        if _is_instant(request, conversation):
            return self._fold(exchange, conversation)
        return await self._lanes.run(request, lambda: self._fold(exchange, conversation))

    def _fold(self, exchange: Exchange, conversation: Conversation) -> Exchange:
        """Runs in a lane's thread, unless it is done before a thread would have begun."""
        request = exchange.request
        options = self.options_of(exchange, conversation)
        fitted = fit(conversation, options, self.memo, exchange.known, self.fold)
        folded, before, after = fitted.folded, fitted.folded.tokens_before, fitted.tokens
        name = request.label or conversation_name(conversation)
        plain = replace(exchange.settle("passthrough", folded.reason), tokens=(before, after), name=name, recoverable=True)
        if request.mode == "on" and is_held_out(name, self._holdout_share):
            held_out = replace(plain, recoverable=False, status="bypassed", reason=HELD_OUT, tokens=(before, before))
            return _with_trails(held_out, conversation, exchange.sent or conversation)
        if not (folded.folded or fitted.fitted):
            return _with_trails(plain, conversation, exchange.sent or conversation)
        if after >= before and not conversation.state.pins:  # blocks take room of their own
            raise FoldRejected("not-smaller")
        lost = fitted.fitted and attachments_lost(conversation.messages, fitted.forwarded.messages)
        reason = LEFT_OUT if lost else "window" if fitted.fitted else folded.reason
        made = replace(plain, status="folded", reason=reason, sections=fitted.sections, folded=True, sent=fitted.forwarded)
        return _with_trails(replace(made, body=fitted.forwarded.text.encode("utf-8")), conversation, fitted.forwarded)


def _with_trails(exchange: Exchange, received: Conversation, sent: Conversation) -> Exchange:
    """Nothing for a request so small that no provider would have cached it."""
    if len(received.text) <= INSTANT_BODY:
        return exchange
    return replace(exchange, trails=trails_of(received, sent))


def _is_instant(request: ChatRequest, conversation: Conversation) -> bool:
    """Whether a request is so small that nothing will be folded: counting it takes less than going to a thread.

    Not where a vocabulary would have to be loaded first, nor with a budget, which may ask for a fold of anything.
    """
    if len(request.body) > INSTANT_BODY or request.coding or request.budget is not None or request.mode != "on":
        return False
    return tokens.encoding_for_model(conversation.model) == tokens.BORDER_ENCODING
