"""What was asked about before is quoted with its answer, which need not say what it was about.

These tests cover single questions and answers amid other talk. They leave out what was offered (``fold/test_references_back``),
answers that share words with the question (``test_ranking``).
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.words import prose
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.quote_choice import Quoted
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

_LECTURE = (
    "The station measures wind against four marks. The mark at the pier speaks against a second one. Advice on the marks comes "
    "back each spring. The harbour board argues against the fourth mark, and the pilots back it."
)


_ASKED = (
    (
        "Postgres or Mongo for my recipe app?",
        "Postgres. Ingredients want to be joined and counted.",
        "Why did you advise against Mongo back then?",
    ),
    (
        "Can you recommend a quiet hotel in Porto?",
        "I'd book the Casa do Conto; breakfast is until eleven.",
        "Wie hieß noch mal das ruhige Hotel, das du empfohlen hast?",
    ),
)


def _quoted(said: Sequence[tuple[str, str]], *questions: str) -> list[Quoted]:
    sources, memo = [Source(role, text, digest(role, text)) for role, text in said], Memo()
    return [recall(sources, Question(question), 600, (), count, memo) for question in questions]


def test_the_answer_comes_with_what_was_asked() -> None:
    said: list[tuple[str, str]] = []
    for turn in range(60):
        said += [("user", prose(turn, "en", 2)), ("assistant", prose(500 + turn, "en", 4))]
    for at, (asked, answer, _) in zip((40, 64), _ASKED, strict=True):
        said[at : at + 2] = [("user", asked), ("assistant", answer)]
    lecture = f"{_LECTURE} A hotel stands there, the hotel of the pilots. {prose(9, 'en', 5)}"
    said[90:92] = [("user", "Tell me about the harbour."), ("assistant", lecture)]
    for found, (_, answer, _) in zip(_quoted(said, *[question for _, _, question in _ASKED]), _ASKED, strict=True):
        assert answer in found.text


def test_a_question_for_the_beginning_alone_gets_nothing_else() -> None:
    said = [("user", "Which knots hold a hammock?"), ("assistant", "A bowline at both ends.")]
    said += [("user", "How do I splice a rope?"), ("assistant", "Unlay the strands.")]
    for turn in range(20):
        said += [("user", f"My question on crane {turn}: {prose(turn, 'en', 2)}"), ("assistant", prose(500 + turn, "en", 2))]
    asked = ("What was my very first question?", "And what was my second question?", "What was my first question about crane 7?")
    first, second, about_cranes = ({quote.source for quote in found.quotes} for found in _quoted(said, *asked))
    assert (first, second) == ({0, 1}, {0, 2, 3})
    assert {0, 1, 18} < about_cranes
