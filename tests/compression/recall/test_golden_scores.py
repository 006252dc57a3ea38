"""What every passage is worth to a question, figure by figure (``tests.support.golden`` says when to write the file anew).

These tests cover the score that decides among passages. A small figure in it moves no quote of most questions, and one of some.
They leave out what is quoted (``test_golden.py``).
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np

from tests.compression.recall.test_golden import ASKED, FILES, sources, talk
from tests.support import golden, odd_texts
from turnfold.compression.memo import Memo
from turnfold.compression.recall import passage_index
from turnfold.compression.recall.question import Question, read_question
from turnfold.compression.recall.ranking import Terms, score
from turnfold.compression.recall.tuning import TUNING

_FILE: Path = FILES / "scores.txt"


def test_scores() -> None:
    """Rounded, so that no machine's arithmetic changes them; with what vectors would say, and without."""
    lines, memo = list[str](), Memo()
    for seed in range(18):
        said = talk(seed, (12, 40, 90)[seed % 3]) if seed % 6 else [odd_texts.text(40 + i) for i in range(25)]
        held = sources([f"Pier {i // 4}\n\n{text}" if seed % 4 == 3 else text for i, text in enumerate(said)])
        index = passage_index.build(held, memo)
        for text in (ASKED[seed % 8], ASKED[(seed + 3) % 8]):
            asked = read_question(Question(text, tuple(held[-2:])), index, TUNING)
            terms = Terms.asked(asked, index)
            like = np.array([Random(i).random() for i in range(len(index.costs))]) if seed % 2 else None
            worth = np.round(score(index, held, asked.text, terms, TUNING, like), 5) + 0.0
            figures = worth.tolist()
            lines.append(
                f"{seed} {text[:20]!r}: {len(figures)} {sum(figures):.2f} {golden.name_of([f'{one:.4f}' for one in figures])}"
            )
    golden.agrees(_FILE, lines)
