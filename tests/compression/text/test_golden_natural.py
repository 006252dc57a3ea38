"""Which sentences of natural texts need which (``tests.support.golden`` says when to write the file anew).

These tests cover every text as it was written, with a paragraph for each line, and with all of it in one paragraph, so that each
rule for lines, items and speakers meets texts in which it holds and such in which it must not. They leave out what has to be tied
(``test_meaning.py``), texts of odd pieces (``test_golden.py``).
"""

from __future__ import annotations

from pathlib import Path

from tests.support import golden
from tests.support.natural_texts import natural_texts
from turnfold.compression.text.statements import statements

FILES = Path(__file__).parent / "golden"


def _ties(text: str) -> str:
    needs = statements(text).needs
    return " ".join(f"{i}>{','.join(map(str, sorted(some)))}" for i, some in enumerate(needs) if some)


def test_ties_of_natural_texts() -> None:
    lines = []
    for name, text in natural_texts().items():
        filled = [line for line in text.split("\n") if line.strip()]
        forms = (text, "\n\n".join(filled), " ".join(filled))
        lines.append(f"{name}: {' | '.join(map(_ties, forms))}")
    golden.agrees(FILES / "natural.txt", lines)
