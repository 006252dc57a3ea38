"""Recall under every tuning, and of messages with every kind of header (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.support import golden, odd_texts
from tests.support.recalled import recall
from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.fence import render
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.tuning import TUNING, Tuning
from turnfold.compression.text.quotes import Quote, Source

FILES = Path(__file__).parent / "golden"
MEMO = Memo()


def sources(said: list[str]) -> list[Source]:
    return [Source(("user", "assistant", "tool")[i % 7 % 3], text, digest(text, str(i))) for i, text in enumerate(said)]


def told(held: list[Source], found: tuple[Quote, ...]) -> str:
    return " ".join(f"{one.source}:{one.start}-{one.end}" for one in found) + f" {golden.name_of(render(held, found))}"


WHO: Final = ("Anna Berg", "Ben", "Captain Okafor", "Cy")
#: Headers: dates, a single word, an hour, none.
HEADERS: Final = (
    *("[2026-05-01 10:00] ", "[Monday] ", "[May] ", "[10:14] ", "[3 May 2026] ", "[a] ", "[] ", "", "(Monday) ", "[bay 7]\n"),
    *("[Monday]", "[2026]\n\n"),
)


def talk(seed: int, number: int) -> list[str]:
    """What people say, with headers on all of it, on a few, or on none; some short, some long, some asking."""
    random, found = Random(f"talk {seed}"), list[str]()
    header = random.sample(HEADERS, 2)
    for i in range(number):
        said = random.choice(odd_texts.PIECES[:24])
        if random.random() < 0.3:
            said = f"{said} {random.choice(odd_texts.PIECES)} {random.choice(odd_texts.PIECES[:20])}" * random.choice((1, 1, 3))
        if random.random() < 0.2:
            said = f"Does {random.choice(WHO)} know that? What of bay {i}?"
        who = f"{random.choice(WHO)}: " * (seed % 3 > 0)
        headed = random.random() < (0.1, 0.5, 1.0, 0.25)[seed % 4]
        found.append(f"{random.choice(header) if headed else ''}{who}{said}")
    return found


ASKED: Final = (
    "What did Anna Berg say about the pump on Monday?",
    "docker",
    "And the second one?",
    "Summarise what was said about the ferry and the tide.",
    "Summarise everything.",
    "What is the code R-0417, and who signs the lease in May?",
    "Is it the first or the third of May 2026 that Ben Carter goes to bay 7 of the harbour, and if so, does he pay?",
    "why?",
)


#: What is divided by, or a number of things of which there is at least one.
_NEVER_NONE: Final = ("region", "region_short", "region_long", "usual_likeness", "cover_least", "cover_tokens")


def test_recall_under_every_tuning() -> None:
    """Every figure none, half, twice, or all: each has a say in what is quoted, on both sides of its border."""
    held = sources(talk(1, 60))
    lines = []
    for field in fields(Tuning):
        usual = getattr(TUNING, field.name)
        values: list[Any] = (
            [tuple(2 * one for one in usual), usual[:1], ()] if isinstance(usual, tuple) else [0, usual // 2, 1, 3]
        )
        if isinstance(usual, float):
            values = [0.0, usual / 2, 1.0, 2 * usual]
        for number, value in golden.some(enumerate(values[field.name in _NEVER_NONE :]), 2):
            tuning = replace(TUNING, **{field.name: value})
            found = []
            for i, text in enumerate(ASKED):
                if (i + number) % 3 == 0:
                    before = tuple(held[-2:]) if i % 3 == 2 else ()
                    found.append(recall(held, Question(text, before), 180 + 90 * (i % 3), (), tokens.count, MEMO, tuning=tuning))
            lines.append(f"{field.name} {value}: {[len(one) for one in found]} {golden.name_of(found)}")
    golden.agrees_in(FILES / "tunings.txt", lines)


def test_recall_of_what_has_headers() -> None:
    lines = []
    for seed in range(24):
        said = talk(seed, (9, 30, 55)[seed % 3])
        held = sources(said)
        for budget in (70, 400):
            text = ASKED[(seed + budget) % len(ASKED)]
            asked = Question(text, tuple(held[-2:]) if seed % 4 == 0 else ())
            lines.append(f"{seed} {budget} {text[:20]!r}: {told(held, recall(held, asked, budget, (), tokens.count, MEMO))}")
    golden.agrees(FILES / "headers.txt", lines)
