"""Output of real programs, recorded once: kinds are told apart, and what a reader would look for survives FACTS.

The files under ``corpus/`` are what pytest, unittest, javac, gcc, make, ruff, git, grep, ls, pip, pydoc and Python's logging
wrote about small programs of ours and about this repository, with names of folders and people changed. They were chosen, and the
strings in ``expected.json`` written down, before a rule was tried on them: a rule that fails here is mended for its kind, not for
the file.
"""

import json
from pathlib import Path
from typing import Any

from tests.support.cases import each
from turnfold.compression.shorten.lines import CEILING, FLOOR
from turnfold.compression.shorten.registry import facts
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.tokens import count

CORPUS = Path(__file__).parent / "corpus"
EXPECTED: dict[str, Any] = json.loads((CORPUS / "expected.json").read_text())
SHARE = 0.35


@each("name", EXPECTED)
def test_kinds_are_told_apart(name: str) -> None:
    assert kind_of((CORPUS / f"{name}.txt").read_text()) == EXPECTED[name]["kind"]


@each("name", EXPECTED)
def test_what_one_would_look_for_survives(name: str) -> None:
    text = (CORPUS / f"{name}.txt").read_text()
    keep = max(FLOOR, int(SHARE * count(text)))
    short = facts(text, keep, frozenset(), count)
    assert [wanted for wanted in EXPECTED[name]["keeps"] if wanted not in short] == []
    assert short == text or count(short) <= CEILING * keep + 8
