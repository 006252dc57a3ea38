"""What is quoted of runs of messages where what users tell has a room of its own.

``tests.support.golden`` says when to write the file anew. These tests cover odd messages, in rooms of every size, with an opening
and without one. They leave out runs without such a room (``test_golden.py``), rules of what tells something
(``text/test_self_statements.py``).
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random
from typing import Final

from tests.support import golden, odd_texts
from turnfold.compression.memo import Memo, digest
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.shorten.told import ToldRoom
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

_FILES: Final = Path(__file__).parent / "golden"
_ROOMS: Final = (ToldRoom(600, 0, 200), ToldRoom(200, 0, 60), ToldRoom(40), ToldRoom(25, 2, 60))


def _sources(seed: int) -> list[Source]:
    chance, pieces = Random(seed), odd_texts.PIECES
    said = [
        (chance.choice(("user", "user", "assistant")), " ".join(chance.choice(pieces) for _ in range(chance.randrange(1, 5))))
        for _ in range(24)
    ]
    return [Source(role, text, digest(role, text)) for role, text in said]


def test_what_users_tell_beside_orders() -> None:
    lines, memo = list[str](), Memo()
    for seed in golden.some(range(20)):
        sources = _sources(seed)
        made = [summarise(sources, budget, count, memo, room) for budget, room in product((0, 120, 500), _ROOMS)]
        lines.append(f"{seed}: {[*map(len, made)]} {golden.name_of([[tuple(quote) for quote in one] for one in made])}")
    golden.agrees_in(_FILES / "told_rooms.txt", lines)
