"""What is expected of a conversation at every request (``tests.support.golden`` says when to write the file anew)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.compression.fold.test_golden import REPLAYED, sizes
from tests.support import golden
from turnfold.compression.fold.course import course
from turnfold.compression.fold.outlook import expected_use, outlook
from turnfold.compression.fold.pieces import Level
from turnfold.compression.fold.plan import plan
from turnfold.compression.fold.replay import start, step

FILES = Path(__file__).parent / "golden"


def test_outlooks_and_uses_of_summaries() -> None:
    """At every request when it may be folded next, and how many requests may carry each summary."""
    lines = []
    for seed in golden.some(range(20, 26)):
        units = sizes(seed, 50 + 30 * (seed % 4))
        for number, (name, options) in enumerate(REPLAYED.items()):
            if (seed + number) % 3:
                continue
            path = course(units, options, 1.0)
            now, every, uses = start(path), list[Any](), list[float]()
            while now.turns < len(path.requests):
                now = step(path, now)
                every.append(outlook(path, now))
                if now.turns == len(path.requests) or now.turns % 9 == 0:
                    part = course(units[: path.requests[now.turns - 1] + 1], options, 1.0)
                    uses += [round(expected_use(part, now, one), 4) for one in now.pieces if one.level is Level.SUMMARY]
            drawn = plan(units, options)
            lines.append(
                f"{seed} {name}: {sum(uses):.3f} of {len(uses)} {golden.name_of((every, uses, drawn.price, drawn.since))}"
            )
    golden.agrees_in(FILES / "outlooks.txt", lines)
