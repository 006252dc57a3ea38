"""Which names and figures a summary may say in another form than its text (``tests.support.golden`` says when to write anew).

These tests cover names with more and more letters more or less, shares of what is said. They leave out other faults
(``test_golden.py``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression.summary.checks import prose_fault
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"


#: So that the text is longer than what is said of it.
_BESIDE: Final = "Rain fell on the pier all day long, and nobody came to see the boats that evening."


def _fault(said: str, text: str) -> str:
    return prose_fault(said, f"{text} {_BESIDE}", 60, count)


def test_names_with_other_endings() -> None:
    """A name of every length with up to six letters at its end that the text has not, or has more."""
    lines = []
    for size in range(2, 10):
        name = "Aldermar"[:size].ljust(size, "k")
        pairs = [(name, name + "ensohr"[:more]) for more in range(7)]
        faults = [
            _fault(f"The old harbour was sold to {b} in May.", f"The old harbour was sold to {a} in May.") for a, b in pairs
        ]
        faults += [
            _fault(f"The old harbour was sold to {a} in May.", f"The old harbour was sold to {b} in May.") for a, b in pairs
        ]
        lines.append(f"{name}: {''.join('x' if fault else '.' for fault in faults)} {golden.name_of(faults)}")
    golden.agrees(FILES / "endings.txt", lines)


def test_statements_about_more_and_more_that_is_not_in_the_text() -> None:
    words = ["boiler", "valve", "ladder", "lemon", "invoice", "bicycle", "warehouse", "auditor", "ferry", "cable"]
    lines = []
    for size in range(1, len(words) + 1):
        for negation in ("", "not "):
            texts = [f"It was {negation}the {' '.join(words[i : size + i])} that counted. So be it." for i in range(size + 1)]
            said = f"It was the {' '.join(words[:size])} that counted."
            faults = [_fault(said, text) for text in texts] + [_fault(text, said) for text in texts]
            lines.append(f"{size} {negation}: {''.join('x' if fault else '.' for fault in faults)} {golden.name_of(faults)}")
    golden.agrees(FILES / "shares.txt", lines)
