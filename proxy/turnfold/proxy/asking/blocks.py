"""Summaries of folded blocks, written in the background.

This module chooses which blocks to summarise and remembers the results in front of the store that replicas share. A fold adopts a
summary, at a fold event; asking is up to ``asker`` and checking to ``compression.summary``.

No request waits for a summary. If a summary is refused, its block is not tried again; if most are refused, a breaker stops asking
for a while, so that a model that is not up to the task does not cost its price for nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from turnfold.compression import tokens
from turnfold.compression.fold.adoption import WantedSummary
from turnfold.compression.options import WrittenSummary
from turnfold.compression.recall.call_labels import sources
from turnfold.compression.summary.asking import SummaryResult, write_anchored
from turnfold.compression.text.private import is_private
from turnfold.compression.text.quotes import Source
from turnfold.config.prices import prices_of
from turnfold.config.settings import Settings
from turnfold.config.windows import window_of
from turnfold.proxy.asking.asker import Bill, ModelAsker
from turnfold.proxy.asking.breaker import Breaker
from turnfold.proxy.asking.own_upstream import Caller, host_of
from turnfold.proxy.asking.receipt import record_own_calls
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.asking.summary_records import SummaryRecords
from turnfold.proxy.asking.worth import call_tokens, gain, target_tokens
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.own_models import end_nothing
from turnfold.proxy.chat.receipts import Recorder
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.store.base import Store, StoreError

_CONVERSATIONS: Final = 2_000  # in memory: about 10 MB at most
_EACH: Final = 16
_AT_ONCE: Final = 4
_LOOK_AGAIN: Final = 5.0  # seconds between two looks at what another replica writes
_REFUSALS: Final = 4
_MOST_OF_WINDOW: Final = 0.8

Block = tuple[int, int, str]

_log = logging.getLogger(__name__)


class BlockSummaries:
    """Summaries of one process's conversations.

    Args:
        store: keeps them; the settings must allow it to keep text.
        recorder: gets a receipt of what was paid for.
    """

    def __init__(self, asker: ModelAsker, store: Store, settings: Settings, incidents: Incidents, recorder: Recorder) -> None:
        self._asker = asker
        self._settings = settings
        self._records = SummaryRecords(store, float(settings.store.ttl))
        self._incidents = incidents
        self._recorder = recorder
        self._is_on = asker.is_on and settings.summary.blocks != "off" and settings.store.keeps_originals
        self._kept: OrderedDict[Place, OrderedDict[Block, WrittenSummary]] = OrderedDict()
        self._looked: OrderedDict[tuple[Place, Block], float] = OrderedDict()
        self._texts = Breaker(_REFUSALS, 600.0, 6 * 3600.0)
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, place: Place) -> tuple[WrittenSummary, ...]:
        """What this process knows to have been written for conversations that begin so."""
        return tuple(self._kept.get(place, {}).values())

    def forget_in_memory(self) -> None:
        """Forget every text."""
        self._kept.clear()
        self._looked.clear()

    def begin(self, exchange: Exchange, place: Place) -> Callable[[], None]:
        """Have the summaries written that a folded request would use, beside whatever else is done.

        Returns:
            What is to be called when the request was served: it ends what may not go on without it.
        """
        conversation = exchange.conversation
        caller = Caller(host_of(exchange.request.to.url), exchange.request.headers)
        if not (self._is_on and conversation is not None and conversation.messages and self._asker.may_ask(caller)):
            return end_nothing
        started = []
        for wanted in exchange.wanted:
            block = (wanted.start, wanted.end, wanted.prefix)
            if block in self._kept.get(place, {}) or not self._is_due(place, block):
                continue
            told = sources([conversation.messages[i] for i in wanted.indices])
            work = self._write(wanted, told, place, caller, conversation.model)
            task = asyncio.get_running_loop().create_task(work, name=exchange.request.id)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            self._incidents.watch(task, "summary", exchange.request.id)
            started.append(task)
        return _canceller(started) if self._asker.only_while_served else end_nothing

    async def close(self) -> None:
        """End what is being written."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _is_due(self, place: Place, block: Block) -> bool:
        now = time.monotonic()
        last = self._looked.get((place, block))
        if last is not None and now < last:
            return False
        self._looked[place, block] = now + _LOOK_AGAIN
        while len(self._looked) > _CONVERSATIONS * _EACH:
            self._looked.popitem(last=False)
        return True

    async def _write(self, wanted: WantedSummary, sources: Sequence[Source], place: Place, caller: Caller, model: str) -> None:
        """Find out what the store has of a block; write it where nobody does, and it is worth it."""
        block = (wanted.start, wanted.end, wanted.prefix)
        try:
            found = await self._records.find(place, *block)
            if found is not None:
                self._remember(place, block, found)
                return
            target = self._target(wanted, sources, model)
            if not target or self._texts.is_open or not await self._records.claim(place, *block, self._patience):
                return
            async with self._turn:
                text = await self._ask(sources, target, place, caller, model)
            if text is not None:
                await self._records.keep(place, WrittenSummary(*block, text))
                self._remember(place, block, text)
        except StoreError as exc:
            _log.info("no summary without the store: %s", type(exc).__name__)

    @property
    def _patience(self) -> float:
        """Seconds for which a claim is valid."""
        return 2 * self._settings.summary.timeout + 30

    def _target(self, wanted: WantedSummary, sources: Sequence[Source], model: str) -> int:
        """Tokens of the summary to request; 0: request none."""
        settings = self._settings
        target = target_tokens(wanted, settings.summary.max_tokens)
        if not target or is_private("\n".join(one.text for one in sources)) or self._is_too_long(wanted):
            return 0
        if settings.summary.blocks == "always":
            return target
        price = prices_of(model, settings.upstream.url, settings.models.get(model)).input
        cost = self._asker.price(call_tokens(wanted), target)
        if price is None or cost is None:
            return 0
        return target if gain(wanted, target, price) > cost else 0

    def _is_too_long(self, wanted: WantedSummary) -> bool:
        """Whether the model that would write it cannot read the block, as far as its window is known."""
        settings, model = self._settings, self._asker.model
        window = window_of(model, settings.summary.url or settings.upstream.url, settings.models.get(model))
        return window is not None and call_tokens(wanted) > _MOST_OF_WINDOW * window

    async def _ask(self, sources: Sequence[Source], target: int, place: Place, caller: Caller, model: str) -> str | None:
        """The text; "" if it was refused, None if no reply came."""
        settings, bill, started = self._settings, Bill(), time.monotonic()
        payer = Payer(place.spot.tenant, place.label)
        told = sources if settings.folding.recall_tool_text else [one for one in sources if one.role != "tool"]
        result: SummaryResult = await self._asker.drive(write_anchored(told, target, tokens.count), payer, caller, bill)
        reason = f"summary-{result.fault or 'written'}"
        record_own_calls(self._recorder, payer, model, reason, bill, time.monotonic() - started)
        if result.fault == "no-reply":
            return None
        if result.text:
            self._texts.succeed()
        else:
            self._texts.fail()
        return result.text

    def _remember(self, place: Place, block: Block, text: str) -> None:
        if not text:
            return
        kept = self._kept.setdefault(place, OrderedDict())
        kept[block] = WrittenSummary(*block, text)
        while len(kept) > _EACH:
            kept.popitem(last=False)
        self._kept.move_to_end(place)
        while len(self._kept) > _CONVERSATIONS:
            self._kept.popitem(last=False)


def _canceller(tasks: Sequence[asyncio.Task[None]]) -> Callable[[], None]:
    def cancel() -> None:
        for task in tasks:
            task.cancel()

    return cancel
