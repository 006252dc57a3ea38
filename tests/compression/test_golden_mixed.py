"""Texts in which data and prose share the room, and columns with a rare value, byte for byte.

``tests.support.golden`` says when to write the files anew. These tests cover shares, on both sides of where a rule begins (a
value in one of so many rows, data as so much of a text, a room one token wider). They leave out lengths of lines and values
(``shorten/test_golden_lines.py``), odd pieces (``test_golden.py``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

from tests.support import golden
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.memo import Memo, digest
from turnfold.compression.shorten.registry import facts
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"
_BAYS: Final = ("north", "south", "east", "west", "upper", "lower", "inner")
_SAID: Final = (
    "The night shift counted every crate of the northern pier twice.",
    "Anna Berg signed for 14 of them on 3 May.",
    "Nobody paid for the night that the boats lay there.",
    "The second pump has to be replaced before the audit.",
    "It rained.",
    "Marta Kowalski wants 480 euros back by Friday.",
)


def _characters(text: str) -> int:
    return len(text) // 4


def _words(text: str) -> int:
    return len(text.split())


def _column(size: int, kinds: int, rare: int) -> list[str]:
    """So many cells of so many values, the last of which stands in so many of them, in the middle."""
    cells = [_BAYS[i % (kinds - 1)] for i in range(size)]
    for i in range(rare):
        cells[size // 2 + i] = "sealed"
    return cells


def test_columns_with_a_rare_value() -> None:
    lines = []
    for size in (20, 29, 30, 40, 41):
        for kinds, rare in ((2, 1), (2, 2), (2, 3), (3, 1), (4, 2), (5, 2)):
            cells = _column(size, kinds, rare)
            records = [{"id": 100 + i, "bay": cell, "note": f"n{i * 7}"} for i, cell in enumerate(cells)]
            table = "id,bay,note\n" + "\n".join(f"{100 + i},{cell},n{i * 7}" for i, cell in enumerate(cells))
            made = [facts(text, room, frozenset(), count) for text in (json.dumps(records), table) for room in (40, 70)]
            lines.append(f"{size} {kinds} {rare}: {[one.count('sealed') for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / "rare_values.txt", lines)


def _rows(number: int, failing: bool) -> str:
    """A log of so many lines, in which something fails or not."""
    rows = [f"2026-03-01 11:{i:02}:00 INFO reel {i} of {i * 7} moved to bay {i % 5}" for i in range(number)]
    if failing and rows:
        rows[number // 2] = f"2026-03-01 11:{number // 2:02}:00 ERROR reel {number // 2} failed: tape torn"
    return "\n".join(rows)


def _mixed(sentences: int, rows: int, failing: bool, headings: Sequence[int]) -> str:
    said = [f"{_SAID[i % 6]}" if i < 6 else f"{_SAID[i % 6][:-1]}, as on day {i}." for i in range(sentences)]
    parts = [" ".join(said[: sentences // 2]), _rows(rows, failing), " ".join(said[sentences // 2 :])]
    titled = [f"## Part {_BAYS[i]}\n\n{part}" if i in headings else part for i, part in enumerate(parts)]
    return "\n\n".join(part for part in titled if part.strip())


def test_layers_of_data_and_prose() -> None:
    """From data alone to prose alone, with a failure or without one, under headings, of which some hold nothing."""
    lines = []
    for sentences, rows in ((0, 8), (1, 8), (2, 12), (4, 6), (10, 3), (24, 3), (12, 0)):
        for failing in (False, True):
            for headings in ((), (0, 1, 2)):
                text = _mixed(sentences, rows, failing, headings)
                made = [Compressor().compress(CompressRequest(text, l1_ratio=share)) for share in (0.15, 0.5)]
                told = [(one.layers[1:], one.metadata, one.sections) for one in made]
                sizes = [[layer.tokens for layer in one.layers[1:]] for one in made]
                lines.append(f"{sentences} {rows} {failing} {len(headings)}: {sizes} {golden.name_of(told)}")
    golden.agrees(FILES / "mixed_layers.txt", lines)


def test_summaries_in_every_room() -> None:
    """One token more after the other: what is quoted next, and from where on."""
    talk = [(("user", "assistant")[i % 2], " ".join(_SAID[(i + k) % 6] for k in range(1 + i % 3))) for i in range(6)]
    talk += [
        ("user", "Never deploy on Fridays. Which region is the ledger in?"),
        ("assistant", "We decided to pin image v2.4.1. I will send the report to Kim Lee by Monday."),
        ("user", "No, that's wrong. Only Kim Lee may pin it."),
        ("tool", _rows(4, failing=True)),
        ("user", f"{_rows(9, failing=True)}\n\nWhy does reel 4 fail?"),
    ]
    sources = [Source(role, text, digest(role, text)) for role, text in talk]
    memo = Memo()
    lines = []
    for room in range(0, 240, 2):
        quotes = summarise(sources, room, count, memo)
        lines.append(f"{room}: {len(quotes)} {golden.name_of(quotes)}")
    golden.agrees(FILES / "rooms.txt", lines)


#: Levels in every form that logs have, and words that are none.
_LEVELS: Final = (
    *(
        "INFO",
        "WARN",
        "WARNING",
        "ERROR",
        "FATAL",
        "CRITICAL",
        "[error]",
        "level=error",
        "level=warn",
        'level="info"',
        "E",
        "W",
        "I",
    ),
    *("<error>", "err:", '"level":"error"', "error", "E0301", "(warn)", "DEBUG", "panic:", "severity=CRITICAL"),
)


def _outputs() -> dict[str, str]:
    """What programs write, each with several lines that are needed more or less sorely."""
    return {
        "levels": "\n".join(f"2026-03-01 11:{i:02}:00 {level} reel {i * 7} of bay {i}" for i, level in enumerate(_LEVELS)),
        "bare levels": "\n".join(f"{level} reel {i * 7} of bay {i}" for i, level in enumerate(_LEVELS)),
        "verdict": "\n".join(["dry run", *_rows(9, failing=True).split("\n"), "2 errors, 1 warning", "exit status 1"]),
        "diff": "\n".join(
            f"commit 9f{i}c0ffee\nAuthor: Ann <a@b.cd>\n\n    Move reel {i}\n\ndiff --git a/r{i}.py b/q{i}.py\n{head}\n"
            f"--- a/r{i}.py\n+++ b/q{i}.py\n@@ -1,3 +1,3 @@ def f{i}(x):\n tape\n-reel = {i}\n+reel = {i + 1}\n pump"
            for i, head in enumerate(
                ("rename from r0.py\nrename to q0.py", "new file mode 100644", "deleted file mode 100644", "Binary files differ")
            )
        ),
        "glog": "\n".join(
            f"{'IIEIWIFI'[i % 8]}0301 11:{i:02}:00.031      1 reel.go:{i}] reel {i * 7} of bay {i}" for i in range(24)
        ),
        "cells": "id,note,state\n" + "\n".join(f"{i},reel {i * 7},{('ok', 'failed: tape torn')[i % 4 == 1]}" for i in range(12)),
        "table": "| id | note |\n|---|---|\n" + "\n".join(f"| {i} | {('ok', 'ERROR torn')[i % 4 == 1]} |" for i in range(12)),
        "settings": "[bay]\nname = north\nport = 80\n\n[pump]\nname = old\nport = 81\nerror = torn\n" * 2,
        "tests": "=== FAILURES ===\n"
        + "\n".join(f"tests/a.py::test_{i} {('PASSED', 'FAILED', 'SKIPPED', 'ERROR')[i % 4]}" for i in range(9))
        + "\nE   ValueError: torn\ntests/a.py:9: ValueError\n=== 2 failed, 3 passed in 0.2s ===",
    }


def test_outputs_in_every_room() -> None:
    """From one line to most of them: which goes before which."""
    lines = []
    rooms = (*range(4, 40, 3), *range(40, 150, 10))
    for (name, text), i in golden.some(product(_outputs().items(), range(0, 23, 6)), 2):
        made = [facts(text, room, frozenset({"pump"}), _characters) for room in rooms[i : i + 6]]
        lines.append(f"{name} {i}: {[len(one) for one in made]} {golden.name_of(made)}")
    golden.agrees_in(FILES / "output_rooms.txt", lines)


def test_what_is_needed_before_what_is_short() -> None:
    """Two lines that are both needed, one of which takes from half to four times the room of the other."""
    lines = []
    for size in range(1, 16):
        note = " ".join(_BAYS[i % 7] for i in range(size))
        texts = [
            f"id,{note},state\n" + "\n".join(f"{i},a b c,{('ok', 'failed d')[i % 4 == 1]}" for i in range(9)),
            f"| id | {note} |\n|---|---|\n" + "\n".join(f"| {i} | {('ok', 'ERROR torn')[i % 4 == 1]} |" for i in range(9)),
            "\n".join(f"commit 9f{i} {note}\n\ndiff --git a/r{i} {_SAID[0]}\n@@ -1 +1 @@\n-a {i}\n+b {i}" for i in range(4)),
            "\n".join(["dry run" + f" {note}", *_rows(6, failing=False).split("\n"), f"exit status 1 {' '.join(_BAYS[:5])}"]),
            "\n".join([f"error: {note}", *_rows(6, failing=False).split("\n"), f"dry run {' '.join(_BAYS[:5])}"]),
        ]
        made = [[facts(text, room, frozenset(), _words) for room in range(2, 26, 3)] for text in texts]
        lines += [f"{size}: {[_words(one) for one in each]} {golden.name_of(each)}" for each in made]
    golden.agrees(FILES / "needed.txt", lines)
