"""Output of programs that has no better name: which of its lines matter.

Lives here: the rule for lines of unknown structure. Must not: kinds that have a file of their own.
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.shorten.evidence import grade
from turnfold.compression.shorten.lines import Row

_VARYING: Final = re.compile(r"0x[\da-f]+|\d+|\b[\da-f]{7,}\b")


def template(line: str) -> str:
    """The line with everything that varies from one occurrence to the next struck out."""
    return _VARYING.sub("#", line.strip())


def rows(text: str) -> list[Row]:
    """Every line, failures and outcomes as evidence, the first and the last worth a little more."""
    lines = text.rstrip("\n").split("\n")
    last = len(lines) - 1
    return [
        Row(line, weight=2.0 if i in (0, last) else 0.6, evidence=grade(line), like=template(line) if line.strip() else "")
        for i, line in enumerate(lines)
    ]
