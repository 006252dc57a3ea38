"""What may be spent on a model: set aside before a call, settled behind it, by day and by conversation."""

from __future__ import annotations

import pytest

from turnfold.proxy.asking.spending import Payer, SpendingCaps
from turnfold.proxy.store.memory import MemoryStore

DAY = 86_400.0


@pytest.mark.parametrize("shared", [True, False])
async def test_what_was_set_aside_and_not_spent_can_be_spent(shared: bool) -> None:
    caps = SpendingCaps(MemoryStore() if shared else None, 1.0, 0.6, 3600.0, clock=lambda: 5 * DAY)
    anna = Payer("anna", "c")
    assert await caps.reserve(anna, 0.6)
    assert not await caps.reserve(anna, 0.1)
    await caps.settle(anna, 0.6, 0.2)
    assert not await caps.reserve(anna, 0.41)
    assert await caps.reserve(anna, 0.4)
    assert await caps.reserve(Payer("bert"), 0.4)  # 0.2 and 0.4 of the day's 1.0 are taken
    assert not await caps.reserve(Payer("bert"), 0.01)
    assert not await caps.reserve(Payer("anna", "d"), 0.01)
    await caps.settle(Payer("bert"), 0.4, 0.39)
    assert await caps.reserve(Payer("anna", "d"), 0.01)


async def test_each_day_and_each_conversation_has_its_own() -> None:
    now = [5 * DAY]
    caps = SpendingCaps(MemoryStore(), 1.0, 0.6, 3600.0, clock=lambda: now[0])
    assert await caps.reserve(Payer("anna", "c"), 0.6)
    assert await caps.reserve(Payer("bert", "c"), 0.4)
    assert not await caps.reserve(Payer("bert", "c"), 0.1)
    now[0] += DAY - 1
    assert not await caps.reserve(Payer("bert", "c"), 0.1)
    now[0] += 1
    assert not await caps.reserve(Payer("anna", "c"), 0.1)
    assert await caps.reserve(Payer("bert", "c"), 0.1)
