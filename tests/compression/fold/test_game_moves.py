"""The moves of a game are all there for the next one, and cost nothing where nobody plays.

These tests cover games move by move, with answers that go on about something else. They leave out questions about a board
(``test_answer_series``), figures that change (``test_agreed``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.bodies import Message
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.series import begins_game

_CHESS: Final = (
    "e4",
    "e5",
    "Nf3",
    "Nc6",
    "Bb5",
    "a6",
    "Ba4",
    "Nf6",
    "O-O",
    "Be7",
    "Re1",
    "b5",
    "Bb3",
    "d6",
    "c3",
    "O-O",
    "h3",
    "Nb8",
)
_GUESSED: Final = ("alive", "made of metal", "round", "electric", "older than a century", "worn on the body", "loud", "heavy")


def _chess() -> list[list[Message]]:
    pairs = enumerate(zip(_CHESS[::2], _CHESS[1::2], strict=True), 1)
    return [exchange(f"{n}. {one}", f"{n}... {other}\n\n{prose(300 + n, 'en', 40)}") for n, (one, other) in pairs]


def _guesses() -> list[list[Message]]:
    return [exchange(f"Is it {one}?", f"No, it is not {one}. {prose(400 + n, 'en', 40)}") for n, one in enumerate(_GUESSED)]


@pytest.mark.parametrize("share", [None, 0.3, 0.15])
@pytest.mark.parametrize(
    ("begin", "moves", "last"),
    [
        ("Let's play chess, I am white.", _chess(), "10. d4"),
        ("Lass uns Begriffe raten spielen, ohne Ende.", _guesses(), "Is it a violin?"),
    ],
    ids=["chess", "guesses"],
)
def test_the_next_move_comes_with_all_before_it(begin: str, moves: list[list[Message]], last: str, share: float | None) -> None:
    told = exchange(begin, "Gladly.") + [message for one in moves for message in one]
    sent = forwarded(told, last, share)
    needed = [one["content"].splitlines()[0] for one in told if one["content"] != "Gladly."]
    assert all((line if line[:1].isdigit() else line.split(". ")[0]) in sent for line in needed)


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        ("Let’s play hangman!", True),
        ("Jouons au marabout.", True),
        ("しりとりをしましょう。", True),
        ("We play the old tapes every Sunday.", False),
        ("Lass uns das Dokument lesen.", False),
        ("The play begins at eight.", False),
    ],
)
def test_what_begins_a_game(said: str, *, begins: bool) -> None:
    assert begins_game(said) is begins
