"""What the stations of a request ask of a model.

This module implements `chat.own_models.OwnModels` with one asker. Summaries of blocks are in ``blocks``.
"""

from __future__ import annotations

from collections.abc import Callable

from turnfold.compression.fold import conversation_name
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.config.settings import SummarySettings
from turnfold.proxy.asking.asker import Bill, ModelAsker
from turnfold.proxy.asking.blocks import BlockSummaries
from turnfold.proxy.asking.own_upstream import Caller, host_of
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.receipts import OwnCall
from turnfold.proxy.learning.deciding import Place


class StationModels:
    """Implements ``OwnModels``."""

    def __init__(self, asker: ModelAsker, blocks: BlockSummaries, settings: SummarySettings) -> None:
        self._asker = asker
        self._blocks = blocks
        self._settings = settings

    @property
    def recovery_tokens(self) -> int:
        """See the protocol."""
        return self._settings.max_tokens if self._asker.is_on and self._settings.recovery_timeout else 0

    def begin(self, exchange: Exchange, place: Place) -> Callable[[], None]:
        """See the protocol."""
        return self._blocks.begin(exchange, place)

    async def ask(self, call: ModelCall, exchange: Exchange) -> tuple[ModelReply | None, tuple[OwnCall, ...]]:
        """See the protocol."""
        request, conversation, bill = exchange.request, exchange.conversation, Bill()
        name = request.label or (conversation_name(conversation) if conversation is not None else request.id)
        caller = Caller(host_of(request.to.url), request.headers)
        reply = await self._asker.ask(call, Payer(request.tenant, name), caller, bill, self._settings.recovery_timeout)
        return reply, tuple(bill.calls)
