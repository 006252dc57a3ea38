"""Asking the model that writes summaries, within limits of time and money, and only while it works.

An asker checks cache, breaker and caps in that order, then calls the upstream and drives one of the engine's generators. What is
asked and whether a reply is good enough is up to ``compression.summary``; the wire format is in ``endpoint``.

A failure here is never an error for the caller: it gets no reply, and uses the form that needs none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from turnfold.compression import tokens
from turnfold.compression.errors import InvalidInput
from turnfold.compression.memo import digest
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.config.prices import PriceOf, TokenUse, price_from
from turnfold.config.settings import Settings
from turnfold.proxy.asking.breaker import Breaker
from turnfold.proxy.asking.endpoint import ModelAnswer, ModelEndpoint
from turnfold.proxy.asking.own_upstream import Caller
from turnfold.proxy.asking.spending import Payer, SpendingCaps
from turnfold.proxy.chat.receipts import OwnCall
from turnfold.proxy.store.base import Store

T = TypeVar("T")

_KEPT: Final = 500  # replies in memory
_CARE: Final = 1.3  # another model's vocabulary may need more tokens than ours
_THOUGHTS: Final = 2_000
_FAILURES: Final = 4

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Bill:
    """The model calls made for one purpose.

    Attributes:
        calls: the calls, for the receipt.
        dollars: what they cost, as far as is known; else the most that they can have cost.
        why: why the last question has no reply: "", "off", "no-key", "breaker", "budget", "slow", "failed".
        asked: how many calls went out.
    """

    calls: list[OwnCall] = field(default_factory=list)
    dollars: float = 0.0
    why: str = ""
    asked: int = 0


class ModelAsker:
    """The only way for this process to call a model of its own.

    Args:
        store: shares what was spent; None: nothing is kept beyond a request, replies neither.

    Raises:
        InvalidInput: a model is set whose price is unknown: what it may cost could not be held to.
    """

    def __init__(self, settings: Settings, store: Store | None) -> None:
        summary = settings.summary
        self._settings = summary
        self.model = summary.model or ""
        self._endpoint = ModelEndpoint(settings) if self.model else None
        self._price: PriceOf = price_from(settings)
        if self.model and self.price(1000, 100) is None:
            raise InvalidInput(
                "TURNFOLD_SUMMARY_MODEL",
                f"{self.model!r} has no known price: give its input and output in TURNFOLD_MODELS (0 for a model of your own)",
            )
        self._caps = SpendingCaps(store, summary.dollars_per_day, summary.dollars_per_conversation, float(settings.store.ttl))
        self._breaker = Breaker(_FAILURES, 30.0, 1800.0)
        self._keeps = store is not None
        self._replies: OrderedDict[tuple[str, bytes], ModelReply] = OrderedDict()

    @property
    def is_on(self) -> bool:
        """Whether a model is set."""
        return self._endpoint is not None

    @property
    def only_while_served(self) -> bool:
        """See the endpoint."""
        return self._endpoint is not None and self._endpoint.only_while_served

    def price(self, prompt: int, completion: int) -> float | None:
        """Dollars of a call."""
        return self._price(self.model, TokenUse(prompt, completion), time.time())

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Its connections."""
        if self._endpoint is None:
            yield
            return
        async with self._endpoint.running():
            yield

    def forget_in_memory(self) -> None:
        """Forget every reply."""
        self._replies.clear()

    def may_ask(self, caller: Caller) -> bool:
        """Whether a call for this caller has a key, and the upstream seems to work."""
        endpoint = self._endpoint
        return endpoint is not None and endpoint.credential(caller) is not None and not self._breaker.is_open

    async def drive(
        self,
        flow: Generator[ModelCall, ModelReply | None, T],
        payer: Payer,
        caller: Caller,
        bill: Bill,
        patience: float | None = None,
    ) -> T:
        """Run a generator of the engine to its end; what is worked out between two calls is worked out in a thread.

        Args:
            patience: seconds for all of its calls together; None: the settings' for each.
        """
        deadline = None if patience is None else time.monotonic() + patience
        step = await asyncio.to_thread(_advance, flow, None, first=True)
        while isinstance(step, ModelCall):
            left = self._settings.timeout if deadline is None else max(0.0, deadline - time.monotonic())
            reply = await self.ask(step, payer, caller, bill, left)
            step = await asyncio.to_thread(_advance, flow, reply, first=False)
        return step.value

    async def ask(self, call: ModelCall, payer: Payer, caller: Caller, bill: Bill, patience: float) -> ModelReply | None:
        """The reply to one call; None if there is none, in which case the bill gives the reason."""
        bill.why = ""
        key = (payer.tenant, digest(call.system, call.user, str(call.max_tokens)))
        if key in self._replies:
            self._replies.move_to_end(key)
            return self._replies[key]
        credential = None if self._endpoint is None else self._endpoint.credential(caller)
        if self._endpoint is None or credential is None:
            bill.why = "off" if self._endpoint is None else "no-key"
            return None
        if self._breaker.is_open or patience <= 0:
            bill.why = "breaker" if self._breaker.is_open else "slow"
            return None
        most = self._most(call)
        too_much = payer.conversation is None and bill.dollars + most > self._settings.dollars_per_conversation
        if too_much or not await self._caps.reserve(payer, most):
            bill.why = "budget"
            return None
        bill.asked += 1
        try:
            async with asyncio.timeout(patience):
                answer = await self._endpoint.send(call, credential)
        except TimeoutError:
            answer = ModelAnswer(0)
        reply = await self._settle(call, answer, payer, most, bill)
        if reply is not None and self._keeps:
            self._replies[key] = reply
            while len(self._replies) > _KEPT:
                self._replies.popitem(last=False)
        return reply

    async def _settle(self, call: ModelCall, answer: ModelAnswer, payer: Payer, most: float, bill: Bill) -> ModelReply | None:
        """Book a call that went out; a refusal costs nothing, what nobody knows the price of costs the most that it can."""
        usage = answer.usage
        used = TokenUse(usage.prompt_tokens or 0, usage.completion_tokens or 0, usage.cached_tokens or 0)
        told = self._price(self.model, used, time.time()) if usage.prompt_tokens is not None else None
        refused = answer.status is None or answer.status >= 400
        dollars = told if told is not None else 0.0 if refused else most
        await self._caps.settle(payer, most, dollars)
        bill.dollars += dollars
        if told is not None or not refused:
            bill.calls.append(OwnCall(call.kind, self.model, usage))
        if answer.reply is None:
            if not (self.only_while_served and answer.status in (401, 403)):  # one client's refused key says nothing of others
                self._breaker.fail()
            bill.why = "slow" if answer.status == 0 else "failed"
            _log.info("a model's %s: %s", call.kind, bill.why)
            return None
        self._breaker.succeed()
        return answer.reply

    def _most(self, call: ModelCall) -> float:
        """The most that a call can cost, in dollars."""
        prompt = int(_CARE * (tokens.count(call.system) + tokens.count(call.user))) + 50
        return self.price(prompt, call.max_tokens + _THOUGHTS) or 0.0


@dataclass(frozen=True, slots=True)
class _FlowEnd(Generic[T]):
    """A generator's end."""

    value: T


def _advance(
    flow: Generator[ModelCall, ModelReply | None, T], reply: ModelReply | None, *, first: bool
) -> ModelCall | _FlowEnd[T]:
    try:
        return next(flow) if first else flow.send(reply)
    except StopIteration as done:
        return _FlowEnd(done.value)
