"""Whoever asks for something that all of the conversation goes into gets what was said sent along, whatever words it shares.

These tests cover requests about the conversation as a whole, through folds. They leave out summaries and questions with a topic
(``recall``), works that the chat made (``test_works``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.dialogue.overall import asks_for_overall
from turnfold.compression.text.dialogue.requests import asks_for_cover, asks_for_whole
from turnfold.compression.text.words import fold

_CASES: Final = Path(__file__).parent / "cases" / "overall"
_SAID: Final = (
    ("Tell me about yourself.", "I studied geodesy in Graz and measured glaciers for six years."),
    ("Why do you want this job?", "Your transit app is what I open first each morning."),
    ("Describe a conflict.", "A tester and I fought over release dates until a shared checklist halved the rollbacks."),
    ("What is your greatest weakness?", "I polish documents too long, so I set a timer of 40 minutes."),
    ("How do you handle pressure?", "During the flood I coordinated three shifts of mappers."),
    ("Tell me about a failure.", "I migrated a database on a Friday and lost four hours of uploads."),
    ("What salary do you expect?", "Between 68 and 74 thousand, depending on the days at home."),
    ("Have you any questions for us?", "Yes: who decides what is not built?"),
)


def _interview(asked: str) -> list[Message]:
    said: list[Message] = [{"role": "system", "content": "You train people for job interviews."}, _user("Let's begin.")]
    for number, (question, answer) in enumerate(_SAID):
        said += [_assistant(question), _user(answer)]
        for more in range(3):
            said += [_assistant(prose(100 * number + more, "en", 14)), _user("Okay, go on.")]
    return [*said[:-1], _user(asked)]


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _forwarded(messages: list[Message], share: float) -> str:
    body = encode(messages)
    size = fold_request(body, FoldOptions(), Memo()).tokens_before
    folded = fold_request(body, FoldOptions(budget=int(size * share)), Memo())
    return "\n".join(message["content"] for message in json.loads(folded.body)["messages"])


@each(
    "asked",
    every(
        3,
        [
            "Give me feedback on all my answers.",
            "How did I do overall?",
            "Write the minutes.",
            "Gib mir Feedback zu allen meinen Antworten.",
            "Évalue toutes mes réponses.",
            "私の回答をすべて評価して",
        ],
        2,
    ),
)
def test_request_about_everything_gets_all_that_user_said(asked: str) -> None:
    sent = _forwarded(_interview(asked), 0.15)
    assert [answer for _, answer in _SAID if answer not in sent] == []


def test_what_bears_on_words_beside_stands_in_front() -> None:
    told = "Pilots fly with crampons on their boots."
    messages = [*_interview("Okay.")[:-1], _assistant(f"{told} {prose(7, 'en', 8)}"), _user("Okay, go on.")]
    for more in range(12):
        messages += [_assistant(prose(900 + more, "en", 14)), _user("Okay, go on.")]
    messages[-1] = _user("Make a list of everything we said on crampons and pilots.")
    assert told in _forwarded(messages, 0.1)


def test_summary_with_work_beside_it_is_no_error() -> None:
    script = "```python\n" + "\n".join(f"print('line {number} of the sync script')" for number in range(30)) + "\n```"
    start = [_user("Write a sync script."), _assistant(script)]
    messages = _interview("Summarise our whole conversation so far, and show me the full script again.")
    sent = _forwarded([messages[0], *start, *messages[1:]], 0.3)
    assert "line 29 of the sync script" in sent
    assert "who decides what is not built?" in sent


def test_wordings_are_told_from_ordinary_questions() -> None:
    def asks(text: str) -> bool:
        folded = fold(text)
        return asks_for_overall(folded) or asks_for_cover(folded) or asks_for_whole(folded)

    asked, ordinary = ((_CASES / f"{name}.txt").read_text("utf-8").splitlines() for name in ("asked", "ordinary"))
    assert [text for text in asked if not asks(text)] == []
    assert [text for text in ordinary if asks(text)] == []


def test_short_exchanges_that_make_up_a_lesson_are_all_quoted_without_a_budget_too() -> None:
    words = ("ombrage", "quincaillerie", "chantier", "frileux", "bricoler", "trottoir", "pantoufle", "lendemain")
    messages: list[Message] = [_user("Teach me some French.")]
    for number, word in enumerate(words):
        messages += [_assistant(f"The next one is {word}."), _user("Got it. Another one?")]
        for more in range(14):
            messages += [_assistant(prose(100 * number + more, "en", 14)), _user("Okay, go on.")]
    messages[-1] = _user("Collect all the new vocabulary from this lesson.")
    folded = fold_request(encode(messages), FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert folded.tokens_after < 0.8 * folded.tokens_before
    sent = "\n".join(message.text for message in folded.forwarded.messages)
    assert [word for word in words if word not in sent] == []
