"""Several questions in one message: each of them gets what it needs.

These tests cover telling questions apart, and what folds quote for them. They leave out single questions (``test_ranking``).
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import FoldOptions
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.recall.several import several
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

_TOLD: Final = (
    "The wifi password at the cabin is heron-42-lake.",
    "Our train to Lund leaves at 7:52 from platform 3.",
    "Bruno's vet is Dr. Ekwall on Kungsgatan.",
    "The deposit for the cabin was 180 euros.",
    "Grandmother's birthday cake must have no almonds.",
)
_ASKED: Final = (
    "What was the wifi password?",
    "When does the train to Lund leave?",
    "Who is Bruno's vet?",
    "How much was the deposit?",
    "What must not be in grandmother's cake?",
)


def _sent(question: str, share: float) -> str:
    messages: list[Message] = []
    for number, told in enumerate(_TOLD):
        messages += [{"role": "user", "content": told}, {"role": "assistant", "content": "Noted."}]
        for turn in range(6):
            seed = 100 * number + turn
            messages.append({"role": "user", "content": prose(seed, "en", 4)})
            messages.append({"role": "assistant", "content": f"{prose(seed + 50, 'en', 8)} {_NOISE[seed % len(_NOISE)]}"})
    body = encode([*messages, {"role": "user", "content": question}])
    size = fold_request(body, FoldOptions(), WARM).tokens_before
    folded = fold_request(body, FoldOptions(budget=int(size * share)), WARM)
    return "\n".join(message.text for message in folded.forwarded.messages)


#: Each holds words of several of the questions, and answers none.
_NOISE: Final = (
    "The password of the train company's deposit was changed by the vet.",
    "A birthday cake, a train and much wifi make a good deposit of memories.",
    "Grandmother leaves much to the vet, and the deposit to the train.",
)


@each(
    "question",
    every(
        2,
        [
            " ".join(_ASKED),
            "\n".join(f"{number}. {asked}" for number, asked in enumerate(_ASKED, 1)),
            "A few questions:\n" + "\n".join(f"- {asked.rstrip('?')}" for asked in _ASKED),
        ],
        1,
    ),
)
def test_each_of_several_questions_gets_what_it_needs(question: str) -> None:
    sent = _sent(question, 0.12)
    assert [told for told in _TOLD if told not in sent] == []


@each(
    "question",
    every(
        2,
        [
            "Hi! Hope your weekend was good. Could you please help me remember one thing? {} Thanks so much in advance!",
            "Sorry to change the subject, I should really get back to my work soon, but before I forget: {}",
            "hey quick one, do you remember {} thx",
            "Hallo! Nur kurz eine Frage, weißt du noch: {} Vielen Dank im Voraus!",
        ],
        1,
    ),
)
def test_what_is_said_around_a_question_takes_nothing_from_it(question: str) -> None:
    assert [told for asked, told in zip(_ASKED, _TOLD, strict=True) if told not in _sent(question.format(asked), 0.06)] == []


@each(
    ("said", "questions"),
    [
        ("When does the ferry leave?", []),
        ("When does the ferry leave? And why?", []),
        ("Who is Anna's dentist? Where does Tom park?", ["Who is Anna's dentist?", "Where does Tom park?"]),
        ("Who is Anna's dentist? Is she expensive?", []),
        ("1. Rename the config file\n2. Add tests for the parser", ["Rename the config file", "Add tests for the parser"]),
        ("The Lisbon trip:\n- which hotel?\n- which flight?", ["lisbon trip which hotel?", "lisbon trip which flight?"]),
        ("Some questions, please answer:\na) which hotel?\nb) which flight?", ["which hotel?", "which flight?"]),
        ("夏は北海道よりも長い？短い？", []),
        ("**User:** chen\n**Order:** YAX4", []),
        ("Why? " * 400, []),
    ],
)
def test_questions_are_told_apart(said: str, questions: list[str]) -> None:
    assert several(said) == questions


def test_a_question_that_much_is_said_of_leaves_the_other_one_its_quote() -> None:
    said = ["Bruno's vet is Dr. Ekwall."]
    said += [f"The night ferry to Visby takes bicycles and tandems on deck {n} in July for {10 + n} euros." for n in range(12)]
    sources = [Source(role, text, digest(role, text)) for one in said for role, text in (("user", one), ("assistant", "Noted."))]
    asked = "1. What does the night ferry to Visby cost in July with bicycles and tandems on deck?\n2. Who is Bruno's vet?"
    for budget in (75, 100, 150):
        assert said[0] in recall(sources, Question(asked), budget, (), count, Memo()).text
