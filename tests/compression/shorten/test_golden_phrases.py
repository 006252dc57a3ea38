"""Phrases of the packaged lexicon side by side, and each of its rules as it is read.

``tests.support.golden`` says when to write the files anew. These tests cover phrases that touch, nest and leave others behind
once they are gone. They leave out one phrase in a sentence of its own (``terse_cases``), lexicons of users
(``test_golden_lexicons.py``).
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from tests.support import golden
from turnfold.compression.errors import InvalidInput
from turnfold.compression.shorten.terse_prose.compress import compress, expand
from turnfold.compression.shorten.terse_prose.rules import INTENSITIES, LONGEST_PHRASE, STAGES, TerseRule, Words, lexicon

FILES = Path(__file__).parent / "golden"
#: Words that rules look for beside a phrase, marks, and what no rule touches.
_BESIDE: Final = (
    *(
        "it",
        "the",
        "a",
        "an",
        "we",
        "boats",
        "old",
        "water",
        "and",
        "but",
        "not",
        "only",
        "please",
        "word",
        "Ada",
        "The",
        "Anna's",
    ),
    *("ran", "to", "of", "is", "was", "that", "if", "keyword", "report", "3", "ON", "DB", "in", "I", "`x = 1`", "R-0417"),
    *(", ", ". ", ": ", "\n", "\n- ", "? ", "\n\n", "; ", "  "),
)


def _row(seed: int, phrases: list[str]) -> str:
    """Phrases and words in any order; some begin with a capital."""
    random, said = Random(f"phrases {seed}"), ("", "- ", "Mara Lind: ", "The ")[seed % 4]
    for _ in range(random.randrange(4, 16)):
        part = random.choice(phrases if random.random() < 0.55 else _BESIDE)
        part = part.capitalize() if random.random() < 0.2 else part
        said += part if not part[-1].isalnum() or said[-1:] in ("", " ", "\n") else f" {part}"
    return said


def test_phrases_side_by_side() -> None:
    """What one of them leaves behind is the neighbour of the next."""
    phrases = sorted({rule.phrase for rule in lexicon().rules})
    short = [rule.phrase for rule in lexicon().rules if rule.stage == "abbreviations"]
    lines = list[str]()
    for first in range(0, 480, 20):
        said = [_row(seed, short if seed % 5 == 0 else phrases) for seed in range(first, first + 20)]
        made = [compress(text, INTENSITIES[seed % 3]) for seed, text in enumerate(said)]
        back = [expand(one.text, one.receipt) for one in made]
        lines.append(f"{first}: {sum(one.receipt.saved_tokens for one in made)} {golden.name_of(made)} {golden.name_of(back)}")
    golden.agrees(FILES / "phrases.txt", lines)


@pytest.mark.parametrize("words", [LONGEST_PHRASE, LONGEST_PHRASE + 1])
def test_a_phrase_that_is_too_long_is_named(words: int) -> None:
    phrase = " ".join(["so", "to", "say"] * 9).split()[:words]
    text = f'[[rule]]\nstage = "fillers"\nlevel = "lite"\ndrop = ["{" ".join(phrase)}"]'
    if words > LONGEST_PHRASE:
        with pytest.raises(InvalidInput, match=f"has more than {LONGEST_PHRASE} words"):
            lexicon(text)
    else:
        assert lexicon(text).rules[-1].words == tuple(phrase)


def _in_order(value: Any) -> Any:
    """A value whose ``repr`` is the same in every run."""
    if isinstance(value, Words):
        return sorted(value.words), value.endings
    return sorted(value) if isinstance(value, frozenset) else value


def _told(rule: TerseRule) -> list[Any]:
    return [_in_order(getattr(rule, field.name)) for field in fields(rule)]


def test_rules_as_they_are_read() -> None:
    """With how far each of them looks: one that says too little sees no word that comes nearer later."""
    rules = lexicon().rules
    lines = [f"{stage}: {golden.name_of([_told(rule) for rule in rules if rule.stage == stage])}" for stage in STAGES]
    bounds = lexicon().bounds
    lines.append(f"bounds: {golden.name_of([_in_order(getattr(bounds, field.name)) for field in fields(bounds)])}")
    golden.agrees(FILES / "rules.txt", lines)
