"""Which sentences need which where more and more words that join clauses stand in them (``tests.support.golden`` says when to
write the file anew).

These tests cover the sentences of ``test_golden_ladders.py`` with words between that make what follows another clause. They leave
out words that mean nothing to any rule (there).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.compression.text.test_golden_ladders import COUNTED, longer
from tests.support import golden
from turnfold.compression.text.statements import statements

_FILE: Final = Path(__file__).parent / "golden" / "joined.txt"
_JOINING: Final = (
    ("and", "Ben", "which", "really", "who", "often", "because", "boats"),
    ("really", "and", "quite", "the", "or", "in", "if", "small"),
    ("she", "not", "he", "no", "they", "it"),
)


def test_words_that_join() -> None:
    lines = []
    for number, sentence in golden.some(enumerate(COUNTED), 2):
        said = [longer(sentence, size, _JOINING[(number + size) % 3], " ") for size in range(13)]
        texts = [f"If it rains, the crew of Anna sells 300 pumps. Bremen says no. {one} Hoses hold." for one in said]
        found = [statements(text) for text in texts]
        lines.append(f"{sentence} {golden.name_of([(one.spans, one.needs) for one in found])}")
    golden.agrees_in(_FILE, lines)
