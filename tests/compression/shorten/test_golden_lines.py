"""Lines of every length in every form of output, byte for byte (``tests.support.golden`` says when to write the file anew).

These tests cover texts whose lines are just under, at and over one length after the other, so that whatever tells short lines
from long ones draws its border through one of them. They leave out texts of odd pieces (``test_golden.py``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

from tests.support import golden
from turnfold.compression.shorten.birth import shape
from turnfold.compression.shorten.lines import short_lines
from turnfold.compression.shorten.registry import facts, facts_arguments, within
from turnfold.compression.shorten.sift import read, sift
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"
WORDS = frozenset({"tape", "reel", "error", "failed"})

_SAID: Final = (
    "the boats of the northern harbour came in late and nobody paid for the night that they lay there although ",
    "tape R-0417 was found behind the second pump of bay seven after the audit of May had been signed by Anna and ",
    "it rains ",
)
#: How a line looks in each form of output, and what stands around all of them.
FORMS: dict[str, Callable[[Sequence[str]], str]] = {
    "page": lambda rows: "<!DOCTYPE html><html><body><h1>Night</h1>{}</body></html>".format("".join(f"<p>{r}</p>" for r in rows)),
    "xml": lambda rows: "<?xml version='1.0'?>\n<a>\n{}\n</a>".format("\n".join(f"  <b>{row}</b>" for row in rows)),
    "log": lambda rows: "\n".join(
        f"2026-03-01 11:00:{i % 60:02} {('INFO', 'ERROR', 'WARN')[i % 3]} {row}" for i, row in enumerate(rows)
    ),
    "list": lambda rows: "# Night\n\n" + "\n".join(f"{'  ' * (i % 3)}- {row}" for i, row in enumerate(rows)),
    "prose": lambda rows: ". ".join(row.strip().capitalize() for row in rows) + ".",
    "hits": lambda rows: "\n".join(f"src/desk/{'ab'[i % 2]}.py:{12 * i}: {row}" for i, row in enumerate(rows)),
    "cells": lambda rows: (
        "id,note,state\n" + "\n".join(f"{i},{row},{('ok', 'failed')[i % 4 == 0]}" for i, row in enumerate(rows))
    ),
    "table": lambda rows: "| id | note |\n|---|---|\n" + "\n".join(f"| {i} | {row} |" for i, row in enumerate(rows)),
    "code": lambda rows: "\n".join(f"def f{i}(x):\n    # {row}\n    return x + {i}\n" for i, row in enumerate(rows)),
    "diff": lambda rows: (
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n"
        + "\n".join(f"{' +-'[i % 3]}{row}" for i, row in enumerate(rows))
    ),
    "tests": lambda rows: (
        "=== FAILURES ===\n"
        + "\n".join(f"tests/a.py::test_{i} {('PASSED', 'FAILED', 'ERROR')[i % 3]} {row}" for i, row in enumerate(rows))
        + "\n=== 1 failed, 3 passed in 0.2s ==="
    ),
    "keys": lambda rows: "\n".join(f"{'  ' * (i % 2)}key_{i}: {row}" for i, row in enumerate(rows)),
    "values": lambda rows: '{"rows": [' + ", ".join(f'{{"id": {i}, "note": "{row}"}}' for i, row in enumerate(rows)) + "]}",
    "trace": lambda rows: (
        "Traceback (most recent call last):\n"
        + "\n".join(f'  File "a.py", line {i}, in f{i}\n    {row}' for i, row in enumerate(rows))
        + f"\nValueError: {rows[0]}"
    ),
}
SIZES: Final = (*range(2, 42), *range(43, 130, 3), 159, 160, 199, 200, 239, 240, 299, 300)


def _rows(size: int) -> list[str]:
    """Lines of one character less, just so many, and one more, in turn; of three ways to say something."""
    return [(_SAID[i % 7 % 3] * 40)[5 * i : 5 * i + size - 1 + i % 3] for i in range(3 + size % 4 * 3)]


def _characters(text: str) -> int:
    return len(text) // 4


def test_lines_of_every_length() -> None:
    lines = []
    for (name, form), first in golden.some(product(FORMS.items(), range(0, len(SIZES), 15)), 2):
        made = []
        for number, size in [*enumerate(SIZES)][first : first + 15]:
            text = form(_rows(size))
            keep = (12, 30, 80, len(text) // 9)[number % 4]
            made.append(
                (
                    facts(text, keep, WORDS if number % 3 else frozenset(), _characters),
                    within(text, keep, WORDS, _characters) if number % 4 == 1 else None,
                    (shape(text, _characters), short_lines(text)) if number % 2 else None,
                    sift([read(text, "assistant")], 0.3) if name in ("prose", "list", "keys") else None,
                )
            )
        lines.append(f"{name} {SIZES[first]}: {golden.name_of(made)}")
    golden.agrees_in(FILES / "line_lengths.txt", lines)


def test_long_outputs_in_large_rooms() -> None:
    """Where a limit need not be met to the last token, and lines are looked at a few times only."""
    lines = []
    for name in ("log", "hits", "cells", "code", "diff"):
        text = FORMS[name]([f"{_SAID[i % 3][: 20 + i % 50]} {i * 7919 % 997}" for i in range(700)])
        made = [facts(text, keep, WORDS, _characters) for keep in (1900, 2500, 5000)]
        lines.append(f"{name}: {[len(one) for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / "large_rooms.txt", lines)


def _nested(depth: int, value: Any) -> Any:
    for i in range(depth):
        value = [value] if i % 2 else {"a": value}
    return value


def _values() -> Iterator[Any]:
    """Values with what is empty, null, false, long, deep, or JSON again among what says something; tables with holes."""
    said = "the pump of bay 7 was sold to Anna"
    mixed: dict[str, Any] = {
        "null": None,
        "no": False,
        "zero": 0,
        "empty": "",
        "list": [],
        "object": {},
        "said": said,
        "n": 12,
        "error": "failed",
    }
    for size in (1, 4, 9, 40):
        yield [{**mixed, "id": i, "state": ("ok", "failed")[i % 5 == 3]} for i in range(size)]
        yield {f"key {i}": value for i in range(size) for value in (list(mixed.values())[i % 9],)}
        yield [{"id": i, **({"rare": said} if i * 5 < size else {}), **({"few": i} if i % 2 else {})} for i in range(size)]
        yield [{"id": i, "payload": json.dumps(mixed if i % 2 else [mixed])} for i in range(size)]
        yield {f"k{i}": f"{said} " * (1 + i % 4) for i in range(size)}
        yield [{f"c{k}": i * k for k in range(38 + size % 5)} for i in range(3)]
        yield [said[: i % 30] for i in range(size)]
    yield {f"key {i}": list(mixed.values())[i % 9] for i in range(120)}
    for length in (58, 59, 60, 61, 62):  # objects that are kept whole, or not, by their sizes
        yield {
            f"k{i}": [{"id": i, f"a{i}": "z" * length, "b": None}, {f"c{j}": j for j in range(length - 53)}] for i in range(30)
        }
    yield {f"key {i}": {"in": list(mixed.values())[i % 9], "n": [i]} for i in range(70)}
    for depth in (30, 39, 41, 70):
        yield _nested(depth, {"said": said * 90, "n": [1, 2, {"x": None}]})
    for depth in (6, 7, 8, 9, 11, 12, 13, 40, 70):
        yield _nested(depth, {"said": said * 9, "n": [1, 2, {"x": None}]})
        yield {"a": json.dumps(_nested(depth, json.dumps({"said": said * 3}))), "b": said * 20}
    for length in (79, 80, 81, 119, 120, 121, 159, 160, 161, 2000):
        yield "x y " * (length // 4) + "." * (length % 4)
        yield {"a": "z" * length, "b": said, "c": ["w" * length, said * 5]}
    yield from (12, -3.5, True, None, said * 30, [], {}, [[]], [None] * 40, [[1, 2], [3]] * 20)


def test_what_just_fits() -> None:
    """Values, and every form of lines, in the room that just holds what is told in more of it; one token less, one more."""
    lines = []
    texts = [json.dumps(value, indent=(None, 2)[i % 2]) for i, value in enumerate(_values())]
    texts += [form(_rows(size)) for form in FORMS.values() for size in (9, 40)]
    for number, text in golden.some(enumerate(texts), 2):
        whole = facts(text, 150, WORDS, count)
        dense = count(facts(text, 2000, WORDS, count))
        sizes = sorted({max(1, size + more) for size in (count(whole), dense, 24) for more in (-1, 0, 1)})[:9]
        made = [facts(text, keep, WORDS, count) for keep in sizes if keep <= 600]
        made += [within(text, keep, WORDS, count) for keep in sizes[:4] if number % 3 == 0]
        made += [facts_arguments(text, keep, count) for keep in sizes if text[0] in "{[" and number % 2 == 0]
        lines.append(f"{number}: {[count(one) for one in made[:3]]} {golden.name_of((whole, made))}")
    golden.agrees_in(FILES / "fits.txt", lines)
