"""Natural texts of many languages and forms, for whole outputs.

They are the texts of the cases of meaning, without the questions. What must be tied is tested in
``tests/compression/text/test_meaning.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_CASES: Final = Path(__file__).parents[1] / "compression" / "text" / "cases"


def natural_texts() -> dict[str, str]:
    """By file and number."""
    found = {}
    for name in ("meaning", "references", "structures"):
        for number, case in enumerate((_CASES / f"{name}.txt").read_text(encoding="utf-8").split("\n---\n")):
            lines = [line for line in case.split("\n")[1:] if not line.startswith(">> ")]
            found[f"{name} {number}"] = "\n".join(lines)
    return found
