"""Advice that something binds which the user told long before, in other words.

These tests show that such statements are quoted, and when not; whose words answer questions about the one who asks; initials.
They leave out answers by kind (``test_other_words``).
"""

from __future__ import annotations

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import FoldOptions
from turnfold.compression.text.dialogue.bindings import advised_topics, bindings


def _sent(told: str, question: str, *, answered: str = "", budget: int = 420) -> str:
    messages: list[Message] = []
    for turn in range(24):
        said = f"{told} {prose(turn, 'en', 1)}" if turn == 8 else prose(turn, "en", 2)
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": answered if turn == 14 and answered else prose(500 + turn, "en", 6)})
    folded = fold_request(encode([*messages, {"role": "user", "content": question}]), FoldOptions(budget=budget), WARM)
    return "\n".join(message.text for message in folded.forwarded.messages)


@each(
    ("told", "question"),
    [
        ("My niece is allergic to sesame.", "Can you suggest a lunch for Sunday?"),
        ("Wir essen kein Fleisch, und Ole ist Diabetiker.", "Was kann ich zum Abendessen kochen?"),
        ("Mi padre es celíaco desde niño.", "Recomiéndame un postre para el domingo."),
        ("父はそばアレルギーです。", "昼食の献立を考えて。"),
        ("Papa travels in a wheelchair since the spring.", "Plan a weekend trip for us."),
    ],
)
def test_what_binds_advice_is_quoted(told: str, question: str) -> None:
    assert told in _sent(told, question)


@each(
    "question",
    [
        "What did you suggest for dinner?",
        "Which restaurant did we like?",
        "Suggest a name for my parser.",
        "How much was lunch?",
        "Plan the next sprint.",
        "Was haben wir gestern gegessen?",
    ],
)
def test_what_asks_for_no_such_advice_is_not_bound(question: str) -> None:
    assert not (advised_topics(question) & {"food", "drink"})


@each(
    "told",
    [
        "We drink wine.",
        "Are you allergic to nuts?",
        "I ate no more than usual.",
        "The walker passed by.",
        "He has no sugar daddy.",
    ],
)
def test_what_limits_nobody_binds_nothing(told: str) -> None:
    assert not any("food" in one.topics for one in bindings(told))


def test_initials_stand_for_words_of_a_question() -> None:
    assert "The SOP is in force." in _sent("The SOP is in force.", "And the standard operating procedure?", budget=300)


def test_questions_about_the_asker_are_answered_by_what_they_told() -> None:
    answer = "The harbour office opens at nine, the harbour café at ten."
    sent = _sent("Our harbour mooring is number 41.", "Which harbour mooring do I have?", answered=answer, budget=300)
    assert "number 41" in sent


def test_what_binds_is_found_wherever_it_stands_in_a_message() -> None:
    text = f"{'We had a fine week by the sea. ' * 30}My niece is allergic to sesame. It rained once."
    assert [text[one.start : one.end].strip() for one in bindings(text)] == ["My niece is allergic to sesame."]
