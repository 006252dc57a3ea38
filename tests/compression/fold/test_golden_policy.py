"""What a fold is weighed by, on a grid of conversations (``tests.support.golden`` says when to write the file anew).

These tests cover every figure of the policy for shapes, prices, sizes and budgets on both sides of each of its borders. A fold
shows few of them, and rounds. They leave out what they should be (``test_policy.py``), whole replays (``test_golden.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

from tests.compression.fold.test_golden import REPLAYED, sizes
from tests.support import golden
from turnfold.compression.fold import policy
from turnfold.compression.fold.course import course
from turnfold.compression.fold.decisions import rung, under_prices
from turnfold.compression.fold.pieces import answered, is_request, most_recall_tokens, recall_tokens
from turnfold.compression.fold.policy import Shape
from turnfold.compression.fold.replay import start, step
from turnfold.compression.fold.replaying.state import thresholds_at
from turnfold.compression.fold.units.questions import question_start
from turnfold.compression.fold.units.staying import staying
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.options import CachePrices, FoldOptions, Warmth

FILES = Path(__file__).parent / "golden"
_PRICES: Final = tuple(
    CachePrices(*some) for some in ((1.0, 1.0), (0.5, 1.0), (0.4, 1.0), (0.39, 1.0), (0.25, 1.0), (0.1, 1.25), (0.1, 1.25, 4096))
)
_WARM: Final = tuple(Warmth(*some) for some in ((0.0, 0.0), (0.29, 0.3), (0.31, 0.9), (0.7, 1.0), (1.0, 1.0)))
_SHAPES: Final = tuple(
    Shape(*some)
    for some in product((20, 99, 150, 201, 900), (0.0, 0.2, 0.25, 0.5, 1.0), (0.005, 0.29, 0.4, 0.46, 0.71), (0.0, 0.2, 0.25))
)
_TOTALS: Final = (1, 6000, 90_000)


def _figures(options: FoldOptions, warm: Warmth, shape: Shape) -> list[Any]:
    found: list[Any] = [policy.talk(shape)]
    found += [policy.thresholds(options, warm, total, shape, squeeze) for total in _TOTALS for squeeze in (0.6, 1.0, 1.2)]
    for saved, folded in ((0, 0), (640, 700), (2600, 4000), (60_000, 90_000)):
        found.append(policy.recall_tokens(options, warm, shape, saved, folded))
        found.append(policy.most_recall_tokens(options, warm, shape, saved, folded))
    return found


def test_thresholds_and_recall() -> None:
    lines = []
    for number, (prices, warm) in enumerate(product(_PRICES, _WARM)):
        for budget in (None, (300, 1190, 5000, 40_000)[number % 4]):
            options = FoldOptions(prices=prices, budget=budget)
            made = [_figures(options, warm, shape) for shape in _SHAPES[number % 8 :: 8]]
            starts = sum(one.start + one.fold_at + one.keep_recent + one.facts_at for some in made for one in some[1:4])
            lines.append(f"{prices.read} {prices.write} {prices.least} {warm.turns} {budget}: {starts} {golden.name_of(made)}")
    golden.agrees(FILES / "thresholds.txt", lines)


def test_what_pays() -> None:
    lines = []
    for prices, warm in product(_PRICES, (0.0, 0.15, 0.3, 0.31, 1.0)):
        options = FoldOptions(prices=prices)
        costs = [policy.rewrite_cost(options, warm, *some) for some in ((4000, 0, 1000, 500), (4000, 900, 1000, 0), (1, 1, 0, 7))]
        kept = [policy.keeps_recall(options, 300, since, left) for since in range(0, 9000, 60) for left in (0.5, 1.0, 3.5, 9.0)]
        under = [under_prices(options, total) for total in (0, 1023, 1024, 6000)]
        lines.append(f"{prices.read} {prices.write} {warm}: {[round(one, 3) for one in costs]} {golden.name_of((kept, under))}")
    grid = product(
        (0.1, 0.65, 1.0), (-90.0, 0.0, 79.0, 80.0, 81.0, 4000.0), (10, 100), (1, 8, 319, 320, 321, 999), (0.0, 79.9, 80.0)
    )
    pays = ["x."[policy.pays(*one)] for one in grid]
    lines += ["".join(pays[i : i + 108]) for i in range(0, len(pays), 108)]
    lines.append(str([round(policy.allowance(saved, spent), 6) for saved in (-50.0, 0.0, 70.0) for spent in (0.0, 1000.0, 1e6)]))
    lines.append(str([policy.summary_tokens(raw) for raw in (*range(980, 1060, 7), *range(8300, 8400, 9), 10**6)]))
    lines.append(str([rung(total) for total in (*range(0, 2100, 41), *(2**k + d for k in range(10, 18) for d in (-1, 0, 1)))]))
    golden.agrees(FILES / "pays.txt", lines)


def _edges() -> Iterator[tuple[Unit, ...]]:
    """Units of one size, so that sums meet limits exactly; pinned ones, pictures and calls among them."""
    for tokens, number in product((100, 150, 200, 250, 500, 1000), (9, 40)):
        for kind in range(4):
            found = []
            for i in range(number):
                user = i % 2 == 0 if kind < 2 else i % 6 == 0
                found.append(
                    Unit(
                        *(2 * i, 2 * i + 1 + (not user), tokens, tokens // (2, 3, 1)[i % 3], user),
                        pinned=kind == 1 and i % 9 == 4,
                        asks=user or kind > 1,
                        marked=kind == 3 and i % 7 == 2,
                        attached=kind == 1 and i % 8 == 6,
                        reasons=kind == 3 and i % 5 == 1,
                    )
                )
            yield tuple(found)


def test_replays_of_units_of_one_size() -> None:
    lines = []
    for number, units in enumerate(_edges()):
        for name in list(REPLAYED)[number % 5 :: 5]:
            options, told = REPLAYED[name], list[Any]()
            path = course(units, options, 1.0)
            now = start(path)
            while now.turns < len(path.requests):
                told.append(tuple(thresholds_at(path, now, path.requests[now.turns])))
                now = step(path, now)
                askers = [(one.unit, recall_tokens(one, options), most_recall_tokens(one, options)) for one in now.askers]
                told.append((now.moved, now.tail, now.events, now.pieces, askers, round(now.saved, 3), round(now.spent, 3)))
            lines.append(f"{number} {name}: {now.events} events, raw from {now.tail}, {golden.name_of(told)}")
    golden.agrees(FILES / "even_replays.txt", lines)


def test_what_is_asked_of_units() -> None:
    lines = []
    for number, units in enumerate((*_edges(), *(sizes(seed, 40) for seed in range(60, 72)))):
        some = range(len(units))
        told = (
            sorted(staying(units)),
            [question_start(units, i) for i in some],
            [answered(units, i, anchor) for i in some[::3] for anchor in (None, 0, i)],
            [
                is_request(units, i, end, called=called)
                for i in some[::4]
                for end in (i, min(i + 1, some[-1]), some[-1])
                for called in (False, True)
            ],
        )
        lines.append(f"{number}: {golden.name_of(told)}")
    golden.agrees(FILES / "asked_of_units.txt", lines)
