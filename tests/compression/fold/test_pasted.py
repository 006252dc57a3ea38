"""Long texts that somebody pastes and asks about later, in two steps, with nothing set.

What is forwarded holds both texts that the answer takes, and less than a fold at FACTS would: those are pasted texts cut to half,
sent with every question.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import Folded
from turnfold.compression.options import CachePrices, FoldOptions

Turns = list[tuple[str, str]]
Passage = tuple[str, str]
Shape = Callable[[Sequence[Passage], str], Turns]

_PRICES: Final = {"no cache": CachePrices(1.0, 1.0), "half price": CachePrices(0.5, 1.0)}


def _titled(found: Sequence[Passage]) -> str:
    return "\n\n".join(f"{title}: {text}" for title, text in found)


def _in_one(found: Sequence[Passage], other: str) -> Turns:
    first = f"Reference passages:\n\n{_titled(found)}\n\nWhich is the longest?"
    return [(first, "The third."), (f"{other} And of these?", "One.")]


def _in_several(found: Sequence[Passage], other: str) -> Turns:
    third = len(found) // 3
    asked = [(f"Context:\n{_titled(found[at : at + third])}\n\nAnything on lemons?", "No.") for at in range(0, len(found), third)]
    return [*asked, (f"{other} And here?", "Yes.")]


def _as_a_document(found: Sequence[Passage], other: str) -> Turns:
    text = "\n\n".join(" ".join(said for _, said in found[at : at + 4]) for at in range(0, len(found), 4))
    first = f"Here is a report. I will ask about it later.\n\n{text}"
    return [(first, "Ready."), (f"First this: {other} What is it about?", "A port.")]


SHAPES: Final[dict[str, Shape]] = {"in one": _in_one, "in several": _in_several, "as a document": _as_a_document}
QUESTIONS: Final = [
    (
        "What does the company do that bought Pellworth Optics?",
        ("Pellworth Optics", "Pellworth Optics was sold to Karst & Daughters in 1998."),
        ("Karst & Daughters", "Karst & Daughters makes instruments for surveyors of caves."),
    ),
    (
        "Which award did the inventor of the tide clock receive?",
        ("Tide clock", "The modern tide clock was invented by Benoît Quemener in Brest."),
        ("Quemener", "Benoît Quemener was given the Grand Prix of the Maritime Academy."),
    ),
    (
        "Wer war mit dem Maler des Bildes Die Deichwache verheiratet?",
        ("Die Deichwache", "Die Deichwache ist ein Bild von Harm Rickleffs aus Husum."),
        ("Rickleffs", "Harm Rickleffs war mit der Weberin Gesche Paulsen verheiratet."),
    ),
]


def _folded(question: str, needed: Sequence[Passage], shape: Shape, prices: CachePrices) -> Folded:
    found = [(f"Report {i}", prose(i, "en", 5)) for i in range(40)]
    for place, one in zip((9, 24), needed, strict=True):
        found.insert(place, one)
    turns = shape(found, prose(901, "en", 140))
    said = [(role, text) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)]
    messages = [{"role": role, "content": text} for role, text in (*said, ("user", question))]
    return fold_request(json.dumps({"model": "m", "messages": messages}).encode(), FoldOptions(prices=prices), WARM)


@each(
    ("prices", "shape", "question", "first", "second"),
    every(
        3,
        crosswise([(prices, shape, *row) for prices in _PRICES.values() for shape in SHAPES.values() for row in QUESTIONS], 3),
        1,
    ),
)
def test_a_question_in_two_steps_finds_both_of_its_texts(
    question: str, first: Passage, second: Passage, shape: Shape, prices: CachePrices
) -> None:
    folded = _folded(question, (first, second), shape, prices)
    assert folded.folded
    text = "\n".join(message["content"] for message in json.loads(folded.body)["messages"])
    assert [said for _, said in (first, second) if said not in text] == []


@pytest.mark.parametrize("shape", [_in_one, _as_a_document])
def test_long_texts_that_were_pasted_leave_a_summary(shape: Shape) -> None:
    question, *needed = QUESTIONS[0]
    folded = _folded(question, needed, shape, _PRICES["half price"])
    assert {section.level for section in folded.sections} == {"summary"}
