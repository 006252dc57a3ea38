"""What the books tell those that learn from receipts."""

from __future__ import annotations

import pytest

from tests.proxy.receipts import receipt
from turnfold.compression.options import FoldDecision, Warmth
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.books.watchers import WarmthWatcher
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel

USUAL = FoldDecision(Warmth(0.7, 1.0))


def test_a_conversation_is_braked_as_long_as_its_folds_have_not_paid() -> None:
    memory = WarmthMemory()
    watcher, spot = WarmthWatcher(memory), UpstreamModel("anna", "", "gpt-4o")
    watcher.observe(receipt(), RequestCost(0.5, 0.4, overdue=True))
    assert memory.decision(spot, "c", USUAL).brake
    watcher.observe(receipt(), RequestCost(None, None))  # of unknown price: it says nothing
    watcher.observe(receipt(status="own"), RequestCost(0.5, 0.5))
    assert memory.decision(spot, "c", USUAL).brake
    watcher.observe(receipt(), RequestCost(0.5, 0.9))
    assert not memory.decision(spot, "c", USUAL).brake


@pytest.mark.parametrize(("warm", "less"), [(False, True), (True, False)])
def test_what_is_seen_of_the_cache_is_believed(warm: bool, less: bool) -> None:
    memory = WarmthMemory()
    for _ in range(20):
        WarmthWatcher(memory).observe(receipt(), RequestCost(0.5, 0.5, warm=warm, elapsed=30.0))
    assert (memory.decision(UpstreamModel("anna", "", "gpt-4o"), "c", USUAL).warmth.turns < 0.7) == less
