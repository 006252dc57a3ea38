"""What is learned of windows, counts and caches from long runs of answers (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from random import Random
from typing import Any

from tests.support import golden
from turnfold.compression.calibration import Learned, learn_from_refusal, learn_from_usage
from turnfold.compression.options import CachePrices
from turnfold.compression.warmth import WarmthCounts, belief, merge, observe, set_warmth, usual_warmth

FILES = Path(__file__).parent / "golden"


def learned(seed: int) -> str:
    """An upstream with a window and a ratio of its own, which refuses, cuts off in silence, or lies now and then."""
    random = Random(seed)
    window, ratio = random.choice([4000, 8192, 32_000]), random.choice([0.5, 0.9, 1.0, 1.13, 1.6, 4.0])
    silent, names = random.random() < 0.3, random.random() < 0.5
    known, every, ours = Learned(), list[Any](), 300
    for _ in range(40):
        ours = random.choice([ours + 40, ours + 700, int(ours * 1.4), random.randrange(1, 2 * window)])
        theirs = max(1, int(ours * ratio))
        if random.random() < 0.04:
            window = random.choice([4000, 8192])
        if theirs > window and not silent:
            known = learn_from_refusal(known, window if names else None, random.choice([None, theirs]))
        else:
            known = learn_from_usage(known, ours, random.choice([min(theirs, window)] * 9 + [0, theirs // 9]))
        own = [known.window(theirs, published) for published in (None, 6000, 100_000)]
        overflows = [known.may_overflow(size) for size in (999, 1000, theirs, window)]
        every.append((known, round(known.ratio, 9), known.theirs(777), known.cut_at, own, known.belief, known.claimed, overflows))
        if ours > 3 * window:
            ours = 200
    return f"{seed}: {known.limit} {known.claims} {known.fits} {known.fails} {known.ratio:.4f} {golden.name_of(every)}"


def test_windows() -> None:
    golden.agrees(FILES / "learned.txt", map(learned, range(60)))


def test_caches() -> None:
    lines = []
    for seed in range(30):
        random = Random(seed)
        counts, other, every = WarmthCounts(), WarmthCounts(), list[Any]()
        for _ in range(25):
            elapsed = random.choice([-1.0, 0.0, 59.9, 60.0, 299.0, 300.0, 600.0, 3599.0, 3600.0, 9e4])
            counts = observe(counts, elapsed, loop=random.random() < 0.4, warm=random.random() < 0.6)
            other = merge(counts, other) if random.random() < 0.1 else other
            usual = usual_warmth(CachePrices(random.choice([0.1, 0.15, 0.16, 0.5, 1.0]), random.choice([1.0, 1.25])))
            believed = belief(counts, random.choice([usual, set_warmth(0.3)]))
            every.append((believed, [[round(n, 9) for n in kind] for kind in astuple(other)], round(counts.seen, 9)))
        lines.append(f"{seed}: {believed} {golden.name_of(every)}")
    golden.agrees(FILES / "caches.txt", lines)
