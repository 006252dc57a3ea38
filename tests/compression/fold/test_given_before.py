"""Who asks for one more gets it from a chat that sees what it gave already.

These tests cover quizzes and suggestions one at a time. They leave out things that were offered and are meant now
(``test_references_back``), games (``test_game_moves``).
"""

from __future__ import annotations

import pytest

from tests.support.bodies import Message
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.series import asks_for_others

_ASKED = [f"Which river runs through {town}?" for town in ("Baghdad", "Prague", "Cairo", "Hanoi", "Kyiv", "Lisbon", "Vienna")]
_NAMES = [f"How about The {name} Arms?" for name in ("Larkspur", "Brindle", "Quillon", "Tamsin", "Orwick", "Vellum", "Pennant")]


def _quiz() -> list[Message]:
    said = [exchange(f"My answer is {n}", f"No. {prose(500 + n, 'en', 4)} Next: {one}") for n, one in enumerate(_ASKED)]
    return [message for one in said for message in one]


def _names() -> list[Message]:
    said = [exchange("Another one, please.", f"{one} {prose(600 + n, 'en', 6)}") for n, one in enumerate(_NAMES)]
    return [message for one in said for message in one]


@pytest.mark.parametrize("share", [None, 0.2])
@pytest.mark.parametrize(
    ("told", "question", "needed"),
    [
        (_quiz(), "Ask me something you haven't asked yet.", _ASKED),
        (_quiz(), "Stell mir eine Frage, die ich noch nicht hatte.", _ASKED),
        (_names(), "Three more that you haven't suggested, please.", _NAMES),
    ],
    ids=["quiz", "quiz-de", "names"],
)
def test_what_was_given_is_there(told: list[Message], question: str, needed: list[str], share: float | None) -> None:
    other = [message for n in range(40) for message in exchange(prose(n, "en", 2), prose(900 + n, "en", 5))]
    sent = forwarded([*told, *other], question, share)
    assert all(one in sent for one in needed)


@pytest.mark.parametrize(
    ("said", "asks"),
    [
        ("What else?", True),
        ("Noch einen, bitte!", True),
        ("もう一つお願いします。", True),
        ("I have more time on Sunday.", False),
        ("Is there a new train?", False),
        ("Das ist nicht neu.", False),
    ],
)
def test_who_asks_for_one_more(said: str, *, asks: bool) -> None:
    assert asks_for_others(said) is asks
