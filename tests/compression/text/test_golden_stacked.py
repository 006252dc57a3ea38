"""Lines of every kind above one another (``tests.support.golden`` says when to write the file anew).

These tests cover headings, titles, labels, items, rows and sentences in every order of three, with and without blank lines
between. They leave out more and more lines of one kind (``test_golden_ladders.py``).
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression.text.statements import statements

_FILE: Final = Path(__file__).parent / "golden" / "stacked.txt"
_LINES: Final = (
    "# Pumps",
    "Rejected options",
    "Costs:",
    "Never sell them.",
    "- It is free.",
    "a,b,7",
    "It was sold to Anna in May.",
)


def test_lines_of_every_kind_above_one_another() -> None:
    lines = []
    for first, second in golden.some(product(_LINES, _LINES)):
        found = [
            statements(f"{above}{first}{joint}{second}{other}{third}\nHoses hold, and nobody in the crew sails at night.")
            for third, joint, other, above in product(_LINES, ("\n", "\n\n"), ("\n", "\n\n"), ("", "The valve is new.\n"))
        ]
        lines.append(f"{first} / {second} {golden.name_of([(one.spans, one.needs) for one in found])}")
    golden.agrees_in(_FILE, lines)
