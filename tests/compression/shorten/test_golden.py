"""What fixed texts are shortened to, in every form and at several sizes (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import golden
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.birth import shape
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.registry import facts, facts_arguments, within
from turnfold.compression.shorten.sift import read, sift
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.shorten.terse import terse
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"
CASES = Path(__file__).parent / "cases"
TEXTS = golden.texts()
WORDS = frozenset({"tape", "reel", "error", "failed", "fund", "refund", "budget"})

#: What becomes of a message of people or models, and of the output of a tool, in about so many tokens.
SPOKEN: dict[str, Callable[[str, int], str]] = {
    "user": lambda text, keep: shorten(text, keep, role="user", words=WORDS, count=count),
    "assistant": lambda text, keep: shorten(text, keep, role="assistant", count=count),
    "sift": lambda text, keep: sift([read(text, "user")], keep / 100, at_least_one=True)[0],
    "figures": lambda text, keep: sift([read(text, "assistant")], keep / 200, keep_figures=True)[0],
}
OUTPUT: dict[str, Callable[[str, int], str]] = {
    "facts": lambda text, keep: facts(text, keep, WORDS, count),
    "bare facts": lambda text, keep: facts(text, keep, frozenset(), count),
    "within": lambda text, keep: within(text, keep, WORDS, count),
    "arguments": lambda text, keep: facts_arguments(text, keep, count),
    "shape": lambda text, keep: shape(text, count) if keep < 50 else "",
}


@pytest.mark.parametrize("form", SPOKEN)
def test_messages(form: str) -> None:
    lines = list[str]()
    for name in golden.conversations():
        said = [text for key, text in TEXTS.items() if key.startswith(f"{name}/")][:4]
        for keep in (15, 60)[len(lines) % 2 :][:1]:
            made = [SPOKEN[form](text, keep) for text in said]
            lines.append(f"{name} {keep}: {sum(map(count, made))} {golden.name_of(made)}")
    golden.agrees(FILES / f"{form}.txt", lines)


@pytest.mark.parametrize("form", OUTPUT)
def test_output_of_tools(form: str) -> None:
    lines = list[str]()
    for path in sorted(CASES.glob("*/*.txt")):
        text = path.read_bytes().decode().partition("\n==========\n")[0].partition("\n")[2][:6000]
        made = [OUTPUT[form](text, keep) for keep in (25, 110)]
        lines.append(f"{path.parent.name}/{path.stem}: {[count(one) for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / f"{form.replace(' ', '_')}.txt", lines)


def test_runs_of_messages() -> None:
    lines = list[str]()
    for name, messages in golden.conversations().items():
        said = [(m["role"], m["content"]) for m in messages if isinstance(m["content"], str)][:10]
        sources = [Source(role, text, f"{name} {i}".encode()) for i, (role, text) in enumerate(said)]
        reads = [read(text, role) for role, text in said]
        for budget in (60, 400)[len(lines) % 2 :][:1]:
            quotes = [(q.source, q.start, q.end) for q in summarise(sources, budget, count, Memo())]
            sifted = sift(reads, budget / 2000, keep_figures=budget == 60)
            lines.append(f"{name} {budget}: {len(quotes)} quotes {golden.name_of(quotes)}, {golden.name_of(sifted)}")
    golden.agrees(FILES / "runs.txt", lines)


@pytest.mark.parametrize("intensity", ["lite", "full", "ultra"])
def test_prose_in_fewer_words(intensity: str) -> None:
    """One text in full, of the others their names."""
    english = [text for name, text in TEXTS.items() if name.startswith(("radio_en/", "oncall_en/"))][2:16]
    made = [terse(text, intensity) for text in english]
    golden.agrees(FILES / f"terse.{intensity}.txt", [*made[7].splitlines(), *map(golden.name_of, made)])


def test_one_of_each_in_full() -> None:
    """So that a diff says what a name that changed stands for."""
    text = TEXTS["radio_en/2"]
    lines = [line for form in SPOKEN for line in (f"== {form}", *SPOKEN[form](text, 60).splitlines())]
    log = (CASES / "log" / "errors.txt").read_bytes().decode().partition("\n==========\n")[0].partition("\n")[2]
    lines += [line for form in OUTPUT for line in (f"== {form}", *OUTPUT[form](log, 49).splitlines())]
    golden.agrees(FILES / "one.txt", lines)


def test_long_cells_of_a_table() -> None:
    """Objects, lists and strings of every length around the one from which only the beginning is shown."""
    lines = list[str]()
    for length in (*range(136, 166, 2), 149, 151, 159, 161, 400):
        cells = ({"key": "x" * length}, ["x" * length], "x" * length, {"a": [1, "y" * length]})
        text = json.dumps([{"id": 100 + i, "cell": cells[i % 4], "note": f"row {i} of {length}"} for i in range(24)])
        made = facts(text, 300, WORDS, count)
        lines.append(f"{length}: {count(made)} {golden.name_of(made)}")
    golden.agrees(FILES / "cells.txt", lines)
