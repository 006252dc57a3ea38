"""What a request cost, and what it would have cost without Turnfold.

Dollars follow from a receipt, the price list and the conversation's past. The model of the provider's cache is in
``cache_model``, prices of tokens are in ``config.prices``, sums in ``rollups``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turnfold.config.prices import PriceOf, TokenUse
from turnfold.proxy.books.rollups import UNPRICED, RequestCost, is_served
from turnfold.proxy.cache_model.bills import with_fold, without_turnfold
from turnfold.proxy.cache_model.evidence import cache_was_warm, token_use
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.cache_model.predecessor import with_predecessor
from turnfold.proxy.cache_model.succession import next_past, unreported, with_dollars
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.chat.usage import MOST_DOLLARS

#: A reported cost is in proportion to tokens up to this multiple of list prices (a gateway's margin, a region's surcharge). More
#: than that includes fees that a smaller prompt does not change.
_MOST_MARGIN: Final = 1.25


class RequestPricing:
    """Computes the cost of requests.

    Args:
        price_of: dollars of a model's tokens.
    """

    def __init__(self, price_of: PriceOf) -> None:
        self._price_of = price_of

    def price(self, receipt: Receipt, past: PastRequest | None, fingerprint: str) -> tuple[RequestCost, PastRequest | None]:
        """The cost of a request, and what the cache model knows for the conversation's next one.

        Args:
            past: what it knew before; None: nothing, or the conversation has no label.
            fingerprint: of the sections that are folded in the request; "" for none.
        """
        own = self._own_cost(receipt)
        used = _use(receipt)
        if not is_served(receipt):
            own = _plausible(own)
            return (RequestCost(own, 0.0, own or 0.0) if receipt.calls else UNPRICED), past
        past = with_predecessor(past, receipt) if past else None
        event = receipt.conversation is not None and fingerprint not in {"", past.sections if past else ""}
        if used is None:
            unpriced = RequestCost(None, None, fold_event=event, grown=_growth(receipt, past))
            return unpriced, unreported(receipt, past, fingerprint)
        without = without_turnfold(receipt, used, past, fingerprint)
        listed = self._price_of(receipt.model, used, receipt.at)
        plain = listed if without is used else self._price_of(receipt.model, without, receipt.at)
        would = with_fold(receipt, used, past)
        folded = None if would is None else self._price_of(receipt.model, would, receipt.at)
        cost = receipt.usage.cost
        paid = listed if cost is None else cost
        plain = paid if without is used else _beside(cost, listed, plain)
        paid, plain = _plausible(None if paid is None or own is None else paid + own), _plausible(plain)
        after = with_dollars(next_past(receipt, used, without, past, fingerprint), paid, plain)
        priced = RequestCost(
            paid=paid,
            without=plain,
            own=_plausible(own) or 0.0,
            fold_event=event,
            grown=_growth(receipt, past),
            folded=_plausible(_beside(cost, listed, folded)),
            reported=cost,
            listed=_plausible(listed),
            warm=cache_was_warm(receipt, used, past, fingerprint),
            elapsed=receipt.at - past.at if past else 0.0,
            overdue=after.overdue,
        )
        return priced, after

    def _own_cost(self, receipt: Receipt) -> float | None:
        """Dollars for our own calls; unknown if the usage or price of any call is unknown."""
        uses = [(call.model or receipt.model, token_use(call.usage)) for call in receipt.calls]
        prices = [
            call.usage.cost if use is None or call.usage.cost is not None else self._price_of(model, use, receipt.at)
            for (model, use), call in zip(uses, receipt.calls, strict=True)
        ]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None


def _use(receipt: Receipt) -> TokenUse | None:
    used = token_use(receipt.usage)
    return replace(used, served=receipt.served) if used and receipt.served else used


def _growth(receipt: Receipt, past: PastRequest | None) -> int:
    """Tokens beyond those of the conversation's last request; of what can be folded, where that is known. A conversation that is
    new here may have come with a long past, so its first request tells nothing of its pace."""
    if past is None:
        return 0
    if receipt.foldable is not None:
        return max(0, receipt.foldable - past.foldable)
    return max(0, receipt.tokens_before - past.received)


def _beside(cost: float | None, listed: float | None, other: float | None) -> float | None:
    """What the same request would have cost otherwise, `other` at list prices, where the upstream reports its cost."""
    if cost is None or other is None:
        return other
    if not listed:
        return None
    ratio = cost / listed
    return cost + (other - listed) * (ratio if ratio <= _MOST_MARGIN else 1.0)


def _plausible(dollars: float | None) -> float | None:
    """The price of one request; None (unknown) if it is more than any request can cost."""
    return dollars if dollars is not None and 0 <= dollars <= MOST_DOLLARS else None
