"""Characters at the borders of what a script is, and lines with more and more words that are plain.

``tests.support.golden`` says when to write the files anew. These tests cover each range of characters that a rule names, shares
of the words of one line. They leave out lines of two kinds (``odd_texts.of_every_share``).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.support import golden
from turnfold.compression.shorten.lines import names
from turnfold.compression.text import words
from turnfold.compression.text.data_blocks import data_blocks
from turnfold.compression.text.dialogue.own_words import asks, own_words
from turnfold.compression.text.dialogue.self_statements import statement_weight
from turnfold.compression.text.dialogue.signals import signal_weight
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.names.dense_names import dense_names
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.passages import estimate, passages
from turnfold.compression.text.sections import section_starts
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.statements import statements

FILES = Path(__file__).parent / "golden"
#: Scripts and marks that some rule tells apart, a bit farther than they reach.
_RANGES: Final = (
    *(
        (0x00A0, 0x0250),
        (0x02B0, 0x0380),
        (0x0400, 0x0410),
        (0x0580, 0x0680),
        (0x08F0, 0x0910),
        (0x0DF0, 0x0F10),
        (0x0FF0, 0x10B0),
    ),
    *(
        (0x1770, 0x1810),
        (0x2000, 0x2070),
        (0x2190, 0x2200),
        (0x2500, 0x2580),
        (0x2E80, 0x2EA0),
        (0x2FF0, 0x3130),
        (0x33F0, 0x3410),
    ),
    *(
        (0x9FF0, 0xA010),
        (0xABF0, 0xAC10),
        (0xD7A0, 0xD7C0),
        (0xF8F0, 0xFB10),
        (0xFE30, 0xFE60),
        (0xFF00, 0xFFF0),
        (0x1F5F0, 0x1F610),
    ),
    *((0x20000, 0x20010), (0x2F800, 0x2F820)),
)
_TERMS: dict[str, Callable[[str], Any]] = {
    "words": lambda text: (words.words(folded := words.fold(text)), words.has_pairs(folded), words.run_on_terms(folded).tolist()),
    "codes": lambda text: words.codes(text).tolist(),
    "names": lambda text: (sorted(names(text)), list(dense_names(text)), entities(text)),
    "sentences": sentences,
    "own words": lambda text: (sorted(own_words([text, "x", "y", text, "z", "q"])), asks(text)),
    "passages": lambda text: (round(estimate(text), 6), passages(text), statement_weight(text)),
}


def _known_characters() -> list[str]:
    """Those that every Python knows alike: they were in Unicode when it was small."""
    return [
        chr(i) for low, high in _RANGES for i in range(low, high) if unicodedata.ucd_3_2_0.category(chr(i)) not in ("Cn", "Cs")
    ]


def test_characters_at_the_borders_of_scripts() -> None:
    """A few at a time: alone, many of one, and beside a word."""
    found, texts = _known_characters(), list[str]()
    for at in range(0, len(found), 6):
        some = found[at : at + 6]
        texts.append(" ".join([f"{one * 4} {one}7 a{one}b. Ab{one}" for one in some]) + f". {''.join(some)}")
    lines = []
    for stage, read in _TERMS.items():
        lines += [f"{stage} {i}: {golden.name_of([read(text) for text in texts[i : i + 40]])}" for i in range(0, len(texts), 40)]
    golden.agrees(FILES / "characters.txt", lines)


_LINES: dict[str, Callable[[str], Any]] = {
    "own words": lambda text: sorted(own_words(text.splitlines())),
    "statements": lambda text: [(found := statements(text)), [sorted(found.with_needs(i)) for i in range(len(found.spans))]],
    "signals": lambda text: [signal_weight(line) for line in text.splitlines()],
    "data": lambda text: (data_blocks(text), parts(text), section_starts(text, sentences(text))),
}


def _of_words(plain: int, size: int, *, other: str) -> str:
    """A line of so many words, some of them plain, evenly mixed."""
    return " ".join("boats" if (i * plain) % size < plain else other for i in range(size))


def test_lines_with_more_and_more_plain_words() -> None:
    """First and last in what a program wrote, under a label, in a list, and long ones up to every limit."""
    rows = "\n".join(f"2026-03-01 11:00:0{i} INFO worker-{i} took {i} ms" for i in range(6))
    said = [
        _of_words(plain, size, other=other) for size in range(1, 13) for plain in range(size + 1) for other in ("x1", "12", "—")
    ]
    said += [
        ("the boats came in " * 30)[:size]
        for edge in (40, 60, 80, 100, 120, 160, 200, 240, 400)
        for size in range(edge - 2, edge + 3)
    ]
    texts = [
        (f"{line}\n{rows}", f"{rows}\n{line}", f"Costs:\n- {line}\n- two", f"{line}:\n\n{line}.")[i % 4]
        for i, line in enumerate(said)
    ]
    lines = []
    for stage, read in _LINES.items():
        lines += [f"{stage} {i}: {golden.name_of([read(text) for text in texts[i : i + 40]])}" for i in range(0, len(texts), 40)]
    golden.agrees(FILES / "plain_words.txt", lines)
