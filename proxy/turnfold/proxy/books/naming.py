"""Under which names a receipt is summed.

Lives here: a receipt with its model and tags as the report's totals know them. Does not belong here: which names have a place
(``learning.places``), sums (``rollups``), the receipt's own line, which keeps every name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.rollups import is_served
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.learning.places import MODELS, TAGS, Places
from turnfold.proxy.store import Item, Store


@dataclass(frozen=True, slots=True)
class SummedNames:
    """The places of a batch's tags and models."""

    tags: Places
    models: Places

    @classmethod
    async def read(cls, store: Store, receipts: Collection[Receipt], settings: StoreSettings) -> SummedNames:
        """As the store has them.

        Raises:
            StoreError: the store does not answer.
        """
        tagged = (receipt.tenant for receipt in receipts if receipt.tags)
        tenants = (receipt.tenant for receipt in receipts)
        return cls(
            await Places.read(store, TAGS, tagged, settings.max_tags),
            await Places.read(store, MODELS, tenants, settings.max_models),
        )

    def summed(self, receipt: Receipt) -> Receipt:
        """The receipt as it is summed."""
        (model,) = self.models.placed(receipt.tenant, [receipt.model], receipt.at, served=is_served(receipt))
        tags = self.tags.placed(receipt.tenant, receipt.tags, receipt.at)
        return receipt if (model, tags) == (receipt.model, receipt.tags) else replace(receipt, model=model, tags=tags)

    def items(self, ttl: float) -> list[Item]:
        """The lists that changed, to be stored."""
        return [*self.tags.items(ttl), *self.models.items(ttl)]
