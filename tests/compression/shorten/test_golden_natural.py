"""What is left of natural texts (``tests.support.golden`` says when to write the file anew).

These tests cover the first layer, facts, summaries and sifted histories of the same texts, in turn. They leave out what a
shortened text must not say (``text/test_meaning.py``), texts of odd pieces (``test_golden.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.support import golden
from tests.support.natural_texts import natural_texts
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.registry import facts
from turnfold.compression.shorten.sift import read, sift
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"
WAYS: Final[dict[str, Callable[[str], Any]]] = {
    "layers": lambda text: Compressor().compress(CompressRequest(text, l1_ratio=0.3)).layers[1:],
    "facts": lambda text: facts(text, 64, frozenset({"pump", "price"}), count, role="user"),
    "summary": lambda text: summarise([Source("user", text, text.encode())], 60, count, Memo()),
    "sift": lambda text: sift([read(one, "user") for one in text.split("\n\n")], 0.4),
}


def test_what_is_left_of_natural_texts() -> None:
    texts = [*natural_texts().values()]
    lines = []
    for number, (way, make) in enumerate(WAYS.items()):
        mine = texts[number % 2 :: 2]
        firsts = golden.some(range(0, len(mine), 12), 2)
        lines += [f"{way} {i}: {golden.name_of([*map(make, mine[i : i + 12])])}" for i in firsts]
    golden.agrees_in(FILES / "natural.txt", lines)
