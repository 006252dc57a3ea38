"""Spending caps for calls of a model.

There is a cap per day and one per conversation, shared by the replicas of a store. Prices and receipts are in ``books``.

The maximum cost of a call is reserved before it goes out and corrected once its usage is known, so concurrent calls stay within
the caps together. A reservation whose outcome is never seen stays spent. While the store does not answer, each process relies on
what it knows itself.
"""

from __future__ import annotations

import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from turnfold.proxy.store.base import Item, Key, Store, StoreError, blob
from turnfold.proxy.store.records import VERSION, decode_record, encode_record

_KIND: Final = "model-spend"
_DAYS: Final = 3 * 86_400.0
_TRIES: Final = 8
_MOST: Final = 20_000
_NANO: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Payer:
    """The tenant and conversation that a call is charged to; conversation None: a single request to Turnfold's own API."""

    tenant: str
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class _Allowance:
    key: Key
    ttl: float
    label: str | None
    cap: float


class SpendingCaps:
    """The caps.

    Args:
        per_conversation: None: a conversation has no cap of its own.
        ttl: seconds for which the store remembers what a conversation has cost.
        purpose: what is paid from it; what is paid for another purpose counts for nothing here. "": summaries.
        clock: Unix time.
    """

    def __init__(
        self,
        store: Store | None,
        per_day: float,
        per_conversation: float | None,
        ttl: float,
        purpose: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._per_day, self._per_conversation = per_day, per_conversation
        self._ttl = ttl
        self._prefix = f"{purpose}:" if purpose else ""
        self._clock = clock
        self._known: OrderedDict[Key, int] = OrderedDict()

    async def reserve(self, payer: Payer, dollars: float) -> bool:
        """Set the most that a call can cost aside. Returns whether it may go out."""
        taken: list[_Allowance] = []
        for account in self._accounts(payer):
            taken.append(account)
            if await self._add(account, dollars) > account.cap:
                for one in taken:
                    await self._add(one, -dollars)
                return False
        return True

    async def settle(self, payer: Payer, reserved: float, dollars: float) -> None:
        """A call that was let go out has cost this much."""
        for account in self._accounts(payer):
            await self._add(account, dollars - reserved)

    def _accounts(self, payer: Payer) -> tuple[_Allowance, ...]:
        today = time.strftime("%Y-%m-%d", time.gmtime(self._clock()))
        day = _Allowance(Key("", _KIND, self._prefix + today), _DAYS, None, self._per_day)
        if payer.conversation is None or self._per_conversation is None:
            return (day,)
        name = blake2b(blob(payer.conversation), digest_size=16).hexdigest()
        own = _Allowance(Key(payer.tenant, _KIND, self._prefix + name), self._ttl, payer.conversation, self._per_conversation)
        return own, day

    async def _add(self, account: _Allowance, dollars: float) -> float:
        """Add to the account. Returns its new total in dollars."""
        added = round(dollars * _NANO)
        total = self._known.pop(account.key, 0) + added
        if self._store is not None:
            with contextlib.suppress(StoreError):
                total = await _add_in(self._store, account, added)
        self._known[account.key] = total
        while len(self._known) > _MOST:
            self._known.popitem(last=False)
        return total / _NANO


async def _add_in(store: Store, account: _Allowance, added: int) -> int:
    total = added
    for _ in range(_TRIES):
        (held,) = await store.get([account.key])
        known = None if held is None else decode_record(_KIND, held, lambda value: int(value["nano"]))
        total = max(0, (known or 0) + added)
        value = encode_record({VERSION: 1, "nano": total})
        if await store.swap(held, Item(account.key, value, account.ttl, account.label)):
            break
    return total
