"""What is decided on grids: every figure of a rule on both sides of its border, beside every other one.

``tests.support.golden`` says when to write the files anew. These tests cover reports of an upstream that cuts off; tables in JSON
by how many keys they have, and how often. They leave out figures met at random (``test_golden_learning.py``,
``test_golden_borders_of_rules.py``).
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression.calibration import Learned, is_truncated, learn_from_usage
from turnfold.compression.shorten.registry import facts
from turnfold.compression.tokens import count

FILES: Final = Path(__file__).parent / "golden"
_TOP: Final = (4200, 4000)  # ours and theirs of the longest report


def test_short_reports() -> None:
    """As many of them as tell something, at every share of the longest report and of what was sent, even, uneven, or rising."""
    lines = []
    for share, sent in product((20, 33, 34, 45, 49, 51, 66, 86, 87, 88, 100, 103, 104), (100, 103, 115, 116, 240, 249, 251, 400)):
        told = []
        for number, step, grows in product((2, 3, 5, 6, 9), (0, 7, 90, 1200), (0, 40, 900)):
            quiet = tuple((40 * sent + grows * i, 40 * share - step * (i % 3)) for i in range(number))
            known = Learned((0.9,) * (number - 1), fits=_TOP[1], top=_TOP, quiet=quiet)
            own = ((0, 0), _TOP, (900, 800))[number % 3]
            next_one = learn_from_usage(known, 40 * sent + 60, 40 * share, own)
            told.append((known.cut_at, known.belief, known.window(9000, 8192), is_truncated(known, *quiet[-1], own), next_one))
        lines.append(f"{share} of {sent}: {sum(one[0] is not None for one in told)} {golden.name_of(told)}")
    golden.agrees(FILES / "short_reports.txt", lines)


def test_tables_by_their_keys() -> None:
    """Records of about as many keys as a table may have, and each of them in about so many records."""
    lines = []
    for keys, records, every in product((1, 5, 40, 41), (3, 4, 10, 11), (1, 2, 3, 5, 6)):
        rows = [
            {f"k{k}": f"v{i}{k}" if k % 3 else k for k in range(keys) if (i + k) % every == 0 or k == i % 2}
            for i in range(records)
        ]
        made = [
            facts(json.dumps(rows + extra), room, frozenset({"v31"}), count) for room, extra in ((24, []), (90, [{}]), (90, [7]))
        ]
        lines.append(f"{keys} {records} {every}: {golden.name_of(made)}")
    golden.agrees(FILES / "keys.txt", lines)
