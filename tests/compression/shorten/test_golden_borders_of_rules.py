"""What becomes of texts and outputs at the borders of rules (``tests.support.golden`` says when to write the file anew).

These tests cover bent texts of our cases, broken outputs of tools, odd JSON, and layers of one beside another; of 2,000 of them
these are the ones in which a comparison somewhere in the engine met its border, or one part of a condition decided alone, where
none before them had. They leave out what is read in such texts (``text/test_golden_borders_of_rules.py``), lengths and shares
(``test_golden_lines.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.compression.shorten import test_golden, test_golden_worth
from tests.support import golden
from turnfold.compression.layers import Compressor, CompressRequest

_HERE: Final = Path(__file__).parent
_ROLES: Final = ("user", "assistant", "system")
#: Each line of the cases names one of them, and the number that chooses sizes and roles.
_FORMS: Final[dict[str, Callable[[str, int], Any]]] = {
    "spoken": test_golden.as_spoken,
    "printed": test_golden.as_printed,
    "values": test_golden.as_values,
    "noted": lambda text, number: (
        test_golden_worth.as_judged(text),
        test_golden_worth.as_noted(text, _ROLES[number % 3], number % 2 == 0),
    ),
    "layers": lambda text, number: Compressor().compress(CompressRequest(text, l1_ratio=(0.1, 0.3, 0.45, 0.7)[number % 4])),
}


def test_texts_at_the_borders_of_rules() -> None:
    lines = []
    for line in (_HERE / "borders.jsonl").read_bytes().decode().removesuffix("\n").split("\n"):
        form, number, text = json.loads(line)
        lines.append(f"{form} {number} {text[:40]!r} {golden.name_of(_FORMS[form](text, number))}")
    golden.agrees(_HERE / "golden" / "borders_of_rules.txt", lines)
