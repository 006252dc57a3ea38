"""Teaching the memory of prompt caches from receipts as they are written.

This module passes receipts and their costs on to that memory (``ledger.Watcher``). The memory itself is ``learning.warming``.
"""

from __future__ import annotations

from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel


class WarmthWatcher:
    """Teaches the memory of prompt caches."""

    def __init__(self, memory: WarmthMemory) -> None:
        self._memory = memory

    def observe(self, receipt: Receipt, priced: RequestCost) -> None:
        """Whether the cache was warm, and whether the conversation's folds have paid, where it shows."""
        if receipt.status == "own":
            return
        if priced.warm is not None:
            spot = UpstreamModel(receipt.tenant, receipt.upstream, receipt.model)
            self._memory.observe(spot, priced.elapsed, loop=receipt.loop, warm=priced.warm)
        if receipt.conversation is not None and priced.paid is not None:
            self._memory.set_brake(receipt.tenant, receipt.conversation, on=priced.overdue)

    def tick(self) -> None:
        """Nothing to do."""
