"""Who goes through a long text part by part and says "next" gets the next part, however long ago the text was pasted.

These tests cover texts that are gone through, messages that go on. They leave out parts that are named (``test_placed_parts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.support.bodies import Message
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.quoted_talk import exchange, forwarded
from tests.support.words import prose
from turnfold.compression.text.dialogue.wanted.steps import goes_on, is_one_by_one, progress, step_parts

_COUNT: Final = 60


def _part(n: int) -> str:
    return prose(2000 + n, "en", 6).strip()


def _answer(n: int) -> str:
    """A translation has the figures of its original, and other words."""
    return " ".join(f"Vorgang {word.strip('.,')} wurde geprüft." for word in _part(n).split() if any(map(str.isdigit, word)))


def _talk(ask: str, answers: Sequence[str], go_on: str) -> list[Message]:
    pasted = "\n\n".join(_part(n) for n in range(_COUNT))
    return exchange(f"{ask}\n\n{pasted}", *(text for one in answers for text in (one, go_on)))[:-1]


@each(
    ("ask", "go_on", "share"),
    every(
        2,
        crosswise(
            [
                (*row, share)
                for row in [
                    ("Translate this into German, paragraph by paragraph.", "next"),
                    ("Please translate this. Stop after each paragraph.", "Next paragraph, please."),
                    ("Übersetze das Absatz für Absatz.", "weiter"),
                    ("Traduis ce texte paragraphe par paragraphe.", "continue"),
                    ("请逐段翻译成德语。", "继续"),
                    ("Переводи по одному абзацу.", "дальше"),
                ]
                for share in [None, 0.15]
            ],
            2,
        ),
        1,
    ),
)
def test_the_next_part_is_there(ask: str, go_on: str, share: float | None) -> None:
    sent = forwarded(_talk(ask, [_answer(n) for n in range(25)], go_on), go_on, share)
    assert _part(25) in sent
    assert _part(40) not in sent


def test_several_at_a_time() -> None:
    answers = [f"{_answer(n)}\n\n{_answer(n + 1)}\n\n{_answer(n + 2)}" for n in range(0, 30, 3)]
    sent = forwarded(_talk("Translate this, three paragraphs at a time.", answers, "next three"), "next three")
    assert all(_part(n) in sent for n in (30, 31, 32))


def test_a_question_between_moves_nothing() -> None:
    talk = _talk("Translate this, one paragraph at a time.", [_answer(n) for n in range(20)], "next")
    talk += exchange("What does 'tide table' mean?", "It tells when the water is high.")
    assert _part(20) in forwarded(talk, "ok, next")


def test_the_next_question_of_a_quiz_is_there_though_nobody_says_next() -> None:
    questions = [f"{n}. Who signed for crate {n * 13} of the {prose(n, 'en', 1).split()[1]} delivery?" for n in range(1, 150)]
    told = [text for n in range(1, 90) for text in (f"Right. {questions[n - 1]}", f"Mara Lind, I think ({n})")]
    talk = exchange("Quiz me on these, one at a time.\n" + "\n".join(questions), *told)[:-1]
    assert questions[89] in forwarded(talk, "Mara Lind, I think (89)")


@each(
    "message",
    ["next", "Next paragraph, please.", "ok, next one", "go on", "weiter", "la suite", "下一段", "次をお願いします", "다음"],
)
def test_messages_that_go_on(message: str) -> None:
    assert goes_on(message)


@each(
    "message",
    [
        "What comes next in the plan for Lisbon?",
        "Let's continue with the budget for the harbour",
        "Keep going for it, Calvin, you win",
        "我也同感，希望我们可以继续保持联系和分享。",
        "The next train leaves at noon",
        "x" * 100,
    ],
)
def test_messages_that_say_more_do_not(message: str) -> None:
    assert not goes_on(message)


def test_parts_of_a_text() -> None:
    text = "Proofread this with me, one paragraph at a time:\n\n" + "\n\n".join(f"Title {n}\n\n{_part(n)}" for n in range(8))
    assert is_one_by_one(text)
    assert [text[slice(*part)] for part in step_parts(text)] == [f"Title {n}\n\n{_part(n)}" for n in range(8)]
    assert step_parts("one paragraph at a time\n\n" + "\n\n".join(_part(n) for n in range(5))) == []


def test_answers_that_share_nothing_are_counted() -> None:
    text = "\n\n".join(f"Words of part {chr(97 + n)} alone" for n in range(12))
    assert progress(text, step_parts(text), ["...", "...", "..."]) == (3, 1)
    assert progress(text, step_parts(text), []) == (0, 1)


def test_other_questions_behind_such_a_text_get_what_they_ask_for() -> None:
    talk = exchange("Explain this to me step by step:\n\n" + "\n\n".join(_part(n) for n in range(_COUNT)), "It is about crates.")
    talk += exchange("My sister's boat is called Kestrel.", "A fine name.")
    talk += [one for n in range(24) for one in exchange(prose(n, "en", 3), prose(500 + n, "en", 6))]
    sent = forwarded(talk, "What is my sister's boat called?")
    assert "My sister's boat is called Kestrel." in sent
    assert sum(_part(n) in sent for n in range(_COUNT)) <= 1
