"""Who goes back to what the chat said of a text gets the text and what was said of it.

These tests cover code and a letter that were judged, requests long after. They leave out one of several things that were offered
(``test_references_back``), texts that are asked for alone (``test_pasted_works``).
"""

from __future__ import annotations

from typing import Final

import pytest

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.judging import refers_to_remarks

_CODE: Final = exchange(
    "Review this:\n```python\ndef mean(xs):\n    return sum(xs) / len(xs)\n\ndef load(path):\n    return open(path).read()\n```",
    "1. An empty list divides by zero: raise a ValueError.\n2. The file is never closed: use a with statement.",
)
_LETTER: Final = exchange(
    "What do you think?\n\nDear team, I have always liked maps. At my last job I did many things with maps. Best, Ines",
    "'Many things' is vague: name one project. And say why this company, perhaps its bike-route atlas.",
)


@each(
    ("judged", "question", "needed"),
    [
        (_CODE, "Apply your suggestions to the code.", ("def mean", "a ValueError", "a with statement")),
        (_CODE, "Please fix the issues you found in my code.", ("def mean", "a ValueError", "a with statement")),
        (_LETTER, "Revise the letter the way you suggested.", ("always liked maps", "name one project", "bike-route atlas")),
        (_LETTER, "Überarbeite mein Anschreiben nach deinen Anmerkungen.", ("always liked maps", "name one project")),
        (_LETTER, "Apply your suggestions.", ("always liked maps", "name one project", "bike-route atlas")),
    ],
)
def test_the_remarks_are_there(judged: list[Message], question: str, needed: tuple[str, ...]) -> None:
    other = [message for n in range(50) for message in exchange(prose(n, "en", 2), prose(900 + n, "en", 5))]
    sent = forwarded([*other[:8], *judged, *other[8:]], question)
    assert [one for one in needed if one not in sent] == []


@pytest.mark.parametrize(
    ("said", "refers"),
    [
        ("implement your second suggestion", True),
        ("corrige le texte en suivant tes remarques", True),
        ("根据你的建议修改", True),
        ("what do you suggest?", False),
        ("here is my feedback", False),
    ],
)
def test_who_goes_back_to_remarks(said: str, *, refers: bool) -> None:
    assert refers_to_remarks(said) is refers
