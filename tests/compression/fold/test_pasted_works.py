"""Whoever has a text judged that was pasted before, compared, checked or summarized, gets all of it sent along.

These tests cover texts of the user's, one or several, through folds. They leave out works that the chat made (``test_works``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import unfold
from turnfold.compression.memo import Memo, digest
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question, WantedWork
from turnfold.compression.text.dialogue.wanted.works import asked_work, named_work
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

_ACK: Final = "Thank you, I have read it. What shall I do with it?"
_REPORT: Final = "Inspection report of Dunmore Mill"
_ESSAY: Final = "The Hour Before Rain"
_DEEDS: Final = ("LEASE between Kestrel Ltd and Ada Quist", "LEASE between Kestrel Ltd and Bo Lind")
_CAREER: Final = ("Curriculum vitae: Ada Quist", "We look for a harbour pilot at Norvik")
_SUMS: Final = "\n".join(f"def sum_{n}(rows):\n    return rows[{n}] + rows[{n + 1}] * {n + 3}\n" for n in range(12))


def _text(title: str, seed: int, paragraphs: int = 6) -> str:
    return "\n\n".join([title, *(f"{n}. {prose(seed + n, 'en', 6)}" for n in range(1, paragraphs + 1))])


def _exchange(asked: str, answered: str) -> list[Message]:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]


def _talk(seed: int, turns: int) -> list[Message]:
    return [one for turn in range(turns) for one in _exchange(prose(seed + turn, "en", 4), prose(seed + 500 + turn, "en", 7))]


def _quoted(texts: Sequence[str], question: str, said: Sequence[Message] = ()) -> str:
    """What is quoted behind a question long after the texts were pasted."""
    pasted = [one for text in texts for one in _exchange(text, _ACK)]
    body = encode([*_talk(3, 3), *pasted, *said, *_talk(40, 40), {"role": "user", "content": question}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert folded.changes
    assert unfold(folded) == body
    return folded.forwarded.messages[-1].text.removeprefix(question)


def _paragraphs(text: str) -> list[str]:
    return [one for one in text.split("\n\n") if one.strip()]


@each(
    ("title", "question"),
    every(
        3,
        [
            (_REPORT, "Are there any contradictions in the report?"),
            (_REPORT, "Welche Risiken nennt der Bericht insgesamt?"),
            (_REPORT, "Évalue le rapport, s'il te plaît."),
            (_ESSAY, "Is the style of my essay too formal?"),
            (_ESSAY, "How many words does the text I pasted have?"),
            (_ESSAY, "¿Hay errores en mi ensayo?"),
            (_ESSAY, "Schreib eine Einleitung auf der Grundlage von meinem Aufsatz."),
            (_ESSAY, "Is my essay funny?"),
            (_ESSAY, "whats wrong with my essay"),
            (_DEEDS[0], "Should I sign the lease?"),
            (_DEEDS[0], "Is the agreement fair to me?"),
            (_DEEDS[0], "契約書の問題点をチェックしてください。"),
            (_DEEDS[0], "Gibt es im Vertrag irgendwelche Fallen?"),
            (_DEEDS[0], "¿Hay algo raro en el contrato?"),
            (_ESSAY, "Wie gefällt dir mein Aufsatz?"),
            ("The Harbour", "What is the mood of the poem?"),
        ],
        1,
    ),
)
def test_a_text_that_is_judged_is_sent_whole(title: str, question: str) -> None:
    text = _text(title, 900)
    quoted = _quoted([text], question)
    assert all(one in quoted for one in _paragraphs(text))


@each(
    ("titles", "question"),
    [
        (_DEEDS, "Compare both leases, please."),
        (_DEEDS, "Is agreement A better than agreement B?"),
        (_DEEDS, "Was sind die Unterschiede zwischen den beiden Verträgen?"),
        (_DEEDS, "Is the first contract fairer than the second contract?"),
        (_CAREER, "What does my CV lack for the job posting?"),
        (_CAREER, "Rédige une lettre à partir de mon CV et de l'annonce."),
    ],
)
def test_texts_that_are_judged_together_are_all_sent(titles: Sequence[str], question: str) -> None:
    texts = [_text(title, 900 + 100 * n, 4) for n, title in enumerate(titles)]
    quoted = _quoted(texts, question)
    assert all(one in quoted for text in texts for one in _paragraphs(text))


@each(
    "question",
    [
        "Are there any bugs in the code?",
        "Write unit tests for all functions.",
        "Add docstrings.",
        "Convert it to TypeScript.",
        "Can you port this to Go?",
        "Pasa el script a Kotlin.",
        "コードをRustに変換して",
    ],
)
def test_code_that_is_judged_is_sent_whole(question: str) -> None:
    quoted = _quoted([_SUMS], question)
    assert all(line in quoted for line in _SUMS.splitlines())


def test_what_was_said_about_a_text_is_not_taken_for_it() -> None:
    essay = _text(_ESSAY, 900)
    opinion = "Your essay opens well. " + "The essay has a voice of its own, and the essay keeps it to the end. " * 6
    quoted = _quoted([essay], "Correct the grammar of my essay.", _exchange("Is the beginning of my essay fine?", opinion))
    assert all(one in quoted for one in _paragraphs(essay))


def test_of_a_text_that_is_too_long_each_part_is_quoted() -> None:
    parts = [f"## Section {n}\n\nItem{n} opens it. {prose(n, 'en', 7)}" for n in range(1, 31)]
    quoted = _quoted(["\n\n".join([_REPORT, *parts])], "Summarize the report in ten points.")
    assert all(f"## Section {n}\n\nItem{n} opens it." in quoted for n in range(1, 31))


@each(
    "question",
    [
        "What is the notice period in the lease?",
        "Does the agreement mention dogs?",
        "Wann endet der Vertrag?",
        "According to the agreement, is subletting fine?",
        "When did I send you the lease?",
        "Please release me from the lease at once.",
        'Correct the text: "He go to school yesterday and see a elephant."',
        "I checked the agreement yesterday and found no mistake.",
        "Convert a list to JSON in Python, please.",
        "What mood are you in?",
    ],
)
def test_a_question_on_a_detail_does_not_bring_the_whole_text(question: str) -> None:
    text = _text(_DEEDS[0], 900)
    quoted = _quoted([text], question)
    assert not all(one in quoted for one in _paragraphs(text))


@each("question", every(2, ["Now correct it.", "Übersetze ihn ins Deutsche.", "Is it convincing?"], 1))
def test_it_is_the_text_that_the_message_before_asked_for(question: str) -> None:
    essay = _text(_ESSAY, 900)
    body = [*_talk(3, 3), *_exchange(essay, _ACK), *_talk(40, 40), *_exchange("Grade my essay from 1 to 10.", "It is an 8.")]
    folded = fold_request(encode([*body, {"role": "user", "content": question}]), FoldOptions(model="gpt-4o"), WARM)
    sent = "\n".join(message.text for message in folded.forwarded.messages)
    assert all(one in sent for one in _paragraphs(essay))


def test_of_several_texts_only_the_one_that_is_meant_is_there() -> None:
    said: list[tuple[str, str]] = []
    for n, title in enumerate((_ESSAY, _DEEDS[0], _REPORT, "Remarks on the south pier")):
        said += [
            ("user", _text(title, 100 * n, 5)),
            ("assistant", _ACK),
            ("user", prose(n, "en", 2)),
            ("assistant", prose(n, "de", 2)),
        ]
    sources, memo = [Source(role, text, digest(role, text)) for role, text in said], Memo()
    for question, title in (
        ("Shorten the text I pasted.", "Remarks on the south pier"),
        ("Summarize the report.", _REPORT),
        ("Should I sign the lease?", _DEEDS[0]),
    ):
        work = asked_work(question.lower()) or named_work(question.lower())
        assert work is not None
        asked = Question(question, work=WantedWork(work, is_whole=True), whole_room=4_000)
        quoted = recall(sources, asked, 60, (), count, memo).text
        assert [one for one, (_, text) in enumerate(said) if text.partition("\n")[0] in quoted and "\n" in text] == [
            next(n for n, (_, text) in enumerate(said) if text.startswith(title))
        ]
