"""What a letter stands for is there when somebody uses it: "what is f(3)?" behind a long talk.

These tests cover letters and their definitions, through folds. They leave out words, however short.
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.quoted_talk import forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.symbols import definitions, used_symbols

_TOLD: Final = (
    "Let f(x) = x^2 + 3x - 7.",
    "Define a = 14 and b = -3.",
    "Let K be the matrix [[2,1],[0,5]].",
    "Sei q die Zahl der Quadrate, also 36.",
    "Soit M la masse du satellite, 420 kg.",
    "Set ω = 2πf with f in hertz; the coil has L = 0.4 and C2 = 3e-6.",
)
_ASKED: Final = {
    "What is f(3)?": (0,),
    "Compute a + b.": (1,),
    "Evaluate f(a).": (0, 1),
    "What are the eigenvalues of K?": (2,),
    "Wie groß ist q²?": (3,),
    "Que vaut M/2 ?": (4,),
    "Was ist 1/sqrt(L*C2)?": (5,),
}


def _sent(question: str, told: tuple[str, ...] = _TOLD) -> str:
    said: list[Message] = []
    for n in range(60):
        text = told[n // 3] if n % 3 == 0 and n // 3 < len(told) else prose(n, "en", 3)
        said += [{"role": "user", "content": text}, {"role": "assistant", "content": prose(500 + n, "en", 6)}]
    return forwarded(said, question)


@each("question", _ASKED)
def test_what_a_letter_stands_for_is_quoted(question: str) -> None:
    sent = _sent(question)
    assert [_TOLD[n] for n in _ASKED[question] if _TOLD[n] not in sent] == []


def test_the_newest_of_many_definitions_is_there() -> None:
    sent = _sent("What is f(2)?", tuple(f"Now take f(x) = {n}x." for n in range(2, 12)))
    assert "f(x) = 11x" in sent


@each(
    ("text", "letters"),
    [
        ("Is b a better plan than I thought?", ["b"]),
        ("I saw a cat", []),
        ("a + i", ["a", "i"]),
        ("Y a-t-il un train à 8 h ?", ["h"]),
        ("it's 5 o'clock", []),
    ],
)
def test_words_of_a_letter_are_none_without_a_sign(text: str, letters: list[str]) -> None:
    assert used_symbols(text) == letters


def test_a_long_line_of_a_program_defines_nothing() -> None:
    assert list(definitions("x=1;" * 5000)) == []
    assert [symbol for symbol, _ in definitions("let x = 1;\nif (x == 2) y => 3")] == ["x", "x"]
