"""What is read in texts that stand at the borders of rules (``tests.support.golden`` says when to write the file anew).

These tests cover natural texts of our cases, bent by a word, a mark or a sentence until a comparison somewhere in the engine met
its border, or one part of a condition decided alone. Of 5,000 bent texts these are the ones that met a border which none before
them had met. They leave out the cases as they are (``test_golden_natural.py``), made-up texts of every length
(``test_golden_ladders.py``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from tests.compression.text.test_golden import ODD_STAGES
from tests.support import golden
from turnfold.compression.text.statements import objection, statements

_HERE: Final = Path(__file__).parent
#: What costs much for how little of it depends on such texts.
_ELSEWHERE: Final = ("middle", "statements")


def _needs(text: str) -> list[Any]:
    found = statements(text)
    whole = range(len(found.spans))
    return [
        found,
        [sorted(found.with_needs(i)) for i in whole],
        found.complete_within([0, len(whole) - 1], 90) if whole else (),
        [objection(span.of(text)) for span in found.spans],
    ]


def test_texts_at_the_borders_of_rules() -> None:
    """A line for each text: who needs whom, and everything else that is read."""
    stages = [read for stage, read in ODD_STAGES.items() if stage not in _ELSEWHERE]
    lines = []
    for line in (_HERE / "cases" / "borders.jsonl").read_bytes().decode().removesuffix("\n").split("\n"):
        text = json.loads(line)
        lines.append(f"{text[:40]!r} {golden.name_of(_needs(text))} {golden.name_of([read(text) for read in stages])}")
    golden.agrees(_HERE / "golden" / "borders_of_rules.txt", lines)
