"""What is learned of counts and windows from one answer more, at every border (``tests.support.golden`` says when to write anew).

These tests cover a grid of what is known and of what comes. They leave out long runs of answers (``test_golden_learning.py``).
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression.calibration import Learned, clamp_ratio, is_truncated, learn_from_refusal, learn_from_usage, longest

FILE: Final = Path(__file__).parent / "golden" / "counts.txt"
_KNOWN: Final = (
    Learned(),
    Learned((1.0,) * 4, fits=900, top=(1000, 1000)),
    Learned((1.0,) * 5, fits=4000, top=(4000, 4000)),
    Learned((1.0, 1.15, 1.0, 1.0, 1.0), fits=4000, top=(4000, 4000)),
    Learned((1.16, 1.0, 1.0, 1.0, 1.0, 1.2), fits=4000, fails=6000, top=(4000, 4000)),
    Learned((1.0,) * 9, limit=8000, claims=2, over=(True,) * 4, fits=2000, top=(2000, 2000)),
    Learned((1.0,) * 9, fits=4000, top=(4000, 4000), quiet=((5000, 4000),) * 2),
    Learned((1.0,) * 9, fits=4000, top=(4000, 4000), quiet=tuple((8000 + 300 * i, 3000 + 99 * i) for i in range(5))),
    Learned((1.0,) * 9, fits=4000, top=(4000, 4000), quiet=tuple((8000 + 300 * i, 3200 + 120 * i) for i in range(8))),
)
_OURS: Final = (1, 199, 200, 201, 999, 1000, 1001, 4000, 5334, 8000, 8001, 10_400)
_SHARES: Final = (0.0, 0.199, 0.2, 0.201, 0.4, 0.499, 0.5, 0.501, 0.749, 0.75, 0.751, 0.93, 1.0, 1.03, 1.031, 5.0, 5.1)


def test_one_answer_more() -> None:
    lines = []
    for number, known in enumerate(_KNOWN):
        for ours in _OURS:
            made = []
            for share, own in product(_SHARES, ((0, 0), (4000, 3720), (ours, ours))):
                reported = round(share * ours)
                new = learn_from_usage(known, ours, reported, own)
                seen = (new.belief, new.claimed, new.cut_at, round(new.ratio, 6), new.window(ours, 6000), new.may_overflow(ours))
                made.append((new, seen, is_truncated(known, ours, reported, own), longest(known.top, ours, reported)))
            lines.append(f"{number} {ours} {golden.name_of(made)}")
        again = known
        for limit in (8000, 8400, 8401, 8000, 7600, 7599):
            again = learn_from_refusal(again, limit, 9000)
            told = golden.name_of((again, again.belief, learn_from_refusal(again, None, 5000)))
            lines.append(f"{number} {limit} {again.claims} {again.over} {told}")
    lines.append(str([clamp_ratio(one) for one in (0.0, 0.39, 0.4, 0.41, 4.9, 5.0, 5.1)]))
    golden.agrees(FILE, lines)
