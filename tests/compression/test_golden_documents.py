"""What becomes of whole documents of the kinds that people paste (``tests.support.golden`` says when to write the file anew).

These tests cover one document of each kind, as every layer, as what is kept of it beside a question, as a tool's output, and
halved in a conversation. They leave out pieces of several kinds side by side (``test_golden.py``), the output of commands
(``shorten/test_cases.py``).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression import CompressOptions, compress
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.registry import facts
from turnfold.compression.tokens import count

_HERE: Final = Path(__file__).parent
_QUESTION: Final = "Who signs, what does it cost, and when?"


def _documents() -> dict[str, str]:
    parts = re.split(r"(?m)^=== ", (_HERE / "cases" / "documents.txt").read_text("utf-8"))[1:]
    return {name: text.rstrip("\n") for name, _, text in (part.partition("\n") for part in parts)}


def _layers(text: str, ratio: float, query: str | None) -> list[str]:
    return [layer.text for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio, query=query)).layers[1:]]


def _halved(text: str) -> object:
    """It as the oldest message of a conversation that has room for half of it."""
    newest = [{"role": "user", "content": f"And berth {n}?"} for n in range(3)]
    options = CompressOptions(recency_window=3, token_budget=count(text) // 2)
    return compress([{"role": "user", "content": text}, *newest], options).messages


def test_documents() -> None:
    lines = list[str]()
    for name, text in golden.some(_documents().items(), 2):
        size = count(text)
        told = [_layers(text, ratio, query) for ratio, query in ((0.25, None), (0.5, None), (0.8, None), (0.4, _QUESTION))]
        output = [facts(text, room, frozenset({"pump", "signs", "costs"}), count) for room in (size // 4, size // 2)]
        sizes = [*map(count, [*told[1], *output])]
        lines.append(f"{name}: {size} {sizes} {golden.name_of(told)} {golden.name_of(output)} {golden.name_of(_halved(text))}")
    golden.agrees_in(_HERE / "golden" / "documents.txt", lines)
