"""Quotes with what they need, in every room (``tests.support.golden`` says when to write the file anew).

These tests cover several quotes of one message that overlap, touch, or need the same sentences. They leave out which quotes a
question asks for (``test_golden.py``).
"""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.support import golden, odd_texts
from turnfold.compression.memo import digest
from turnfold.compression.recall.fence import FRAME
from turnfold.compression.recall.needed_quotes import ChosenQuote, complete
from turnfold.compression.text.quotes import Quote, Source

FILE = Path(__file__).parent / "golden" / "needs.txt"


def _words(text: str) -> int:
    return len(text.split())


def test_quotes_that_need_others() -> None:
    lines = []
    for first in range(0, 240, 12):
        made = []
        for seed in range(first, first + 12):
            random = Random(f"needs {seed}")
            texts = [" ".join(odd_texts.PIECES[(seed + 3 * i + k) % 20] for k in range(5)) for i in range(3)]
            some = [Source("user", text, digest(text)) for text in texts]
            chosen = []
            for _ in range(random.randrange(1, 8)):
                at = random.randrange(3)
                ends = [0, *(i for i, sign in enumerate(texts[at]) if sign == " "), len(texts[at])]
                ranges = [sorted(random.sample(ends, 2)) for _ in range(1 + random.randrange(3) * (seed % 3 > 0))]
                (start, end), *needed = ranges
                alone = FRAME + _words(texts[at][start:end])
                chosen.append(ChosenQuote(Quote(at, start, end), alone, tuple((a, b) for a, b in needed)))
            made += [complete(chosen, some, room, _words) for room in (5, 12, 20, 33, 50, 80)]
        lines.append(f"{first}: {sum(map(len, made))} quotes {golden.name_of(made)}")
    golden.agrees(FILE, lines)
