"""Long tool loops whose calls carry sealed reasoning, which is whole or gone: they are folded as soon as it pays.

These tests show when such a loop is folded, and what its newest steps still have. They leave out what a fold does to a sealed
message (``test_sealed.py``), bills (``benchmarks.agents``).
"""

from __future__ import annotations

import json
from itertools import product
from typing import Final

import pytest

from benchmarks.support.agents import CLIENTS, Asked, made_run, texts
from benchmarks.support.caches import COLUMNS
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.provider_rules import refusals
from tests.support.warm import WARM
from turnfold.compression.fold import Folded, fold, unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.wire.formats.responses import RESPONSES

#: Even seeds were looked at while the rule was made, odd ones only at the end.
_SEEDS: Final = (0, 1, 2, 3)
_CACHED: Final = FoldOptions(prices=CachePrices(0.1, 1.0))


def _sent(asked: Asked) -> Folded:
    folded = fold(RESPONSES.read(asked.request.body, WARM), _CACHED, WARM)
    assert unfold(folded) == asked.request.body
    assert refusals("responses", folded.body) == []
    return folded


@pytest.mark.parametrize(("seed", "kind"), every(2, crosswise(product(_SEEDS, [(1.0, 300, 0.33), (0.6, 120, 0.5)]), 2), 1))
def test_a_loop_with_sealed_reasoning_is_folded_before_it_is_long(seed: int, kind: tuple[float, int, float]) -> None:
    scale, sealed, most = kind
    run = made_run(seed, steps=120, scale=scale, sealed=sealed, tasks=1)
    folded = _sent(list(CLIENTS["codex"](run, COLUMNS["gpt-5"]))[-1])
    assert folded.tokens_before < 70_000
    assert folded.tokens_after < most * folded.tokens_before


@each("seed", every(2, [*_SEEDS], 1))
def test_the_newest_steps_and_half_of_what_older_ones_gave_are_there(seed: int) -> None:
    run = made_run(seed, steps=120, scale=1.0, sealed=300, tasks=1)
    asked = list(CLIENTS["codex"](run, COLUMNS["gpt-5"]))
    folded = _sent(asked[-1])
    there = "\n".join(texts(json.loads(folded.body)))
    assert [step.result for step in run.steps[-4:-1] if step.result not in there] == []
    needs = [one for each in asked[-40:] for one in each.needs]
    assert 2 * sum(one in there for one in needs) >= len(needs)
