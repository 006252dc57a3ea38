"""Conversations, bodies and recoveries at the borders of rules (``tests.support.golden`` says when to write the file anew).

These tests cover seeds of what other modules make at random; of thousands these are the ones in which a comparison somewhere in
the engine met its border, or one part of a condition decided alone, where none before them had. They leave out how these are made
(the modules that they come from), texts (``text/test_golden_borders_of_rules.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tests.compression.fit.test_golden import OPTIONS, recovered
from tests.compression.fold.test_golden import REPLAYED, replayed, sizes
from tests.compression.state.test_golden import talked
from tests.compression.wire.test_golden import outcome
from tests.support import golden, odd_bodies
from tests.support.three_wires import WIRES
from turnfold.compression.calibration import Learned
from turnfold.compression.errors import FoldRejected
from turnfold.compression.fit.cut import cut
from turnfold.compression.fit.fit import fit
from turnfold.compression.memo import Memo

_FILES: Final = Path(__file__).parent / "golden"


def _replay(seed: int) -> list[str]:
    options = [*REPLAYED.values()][seed % len(REPLAYED)]
    return [*replayed(sizes(seed, 10 + seed % 60), options, (1.0, 0.6, 1.2)[seed % 3])]


def _cut(seed: int) -> list[Any]:
    """A body of odd parts cut into a budget, and fitted into a window; why not, where it is left alone."""
    wire, memo = sorted(WIRES)[seed % 3], Memo()
    try:
        request = WIRES[wire].wire.read(odd_bodies.body(wire, seed, 8 + seed % 40), memo)
        made = cut(request, (1200, 400, 3000, 80)[seed % 4], OPTIONS, memo)
        done = fit(request, replace(OPTIONS, window=(7000, 3000, 900)[seed // 3 % 3]), memo, Learned((1.1,)))
    except FoldRejected as rejected:
        return [rejected.reason]
    told = made and (made.tokens, made.shortened, made.dropped, made.recent_whole, made.forwarded.body)
    return [told, done.tokens, done.fitted, done.account, done.forwarded.body]


_MADE: Final[dict[str, Callable[[int], Any]]] = {
    "replay": _replay,
    "talked": talked,
    "recovered": recovered,
    "outcome": lambda seed: outcome(sorted(WIRES)[seed % 3], seed),
    "cut": _cut,
}


def test_what_stands_at_the_borders_of_rules() -> None:
    seeds = json.loads((Path(__file__).parent / "borders.json").read_bytes())
    lines = [
        f"{name} {seed}: {golden.name_of(make(seed))}" for name, make in _MADE.items() for seed in golden.some(seeds[name], 2)
    ]
    golden.agrees_in(_FILES / "borders_of_rules.txt", lines)
