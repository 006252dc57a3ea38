"""Messages that ask for little or nothing of what was said: what is quoted for them without a budget.

These tests cover courtesies, summaries of what the conversation never named, several questions of which none bears on it. They
leave out what questions about the conversation get (``test_ranking``).
"""

from __future__ import annotations

from typing import Final

import pytest

from turnfold.compression import tokens
from turnfold.compression.memo import Memo, digest
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.text.quotes import Source

_TALK: Final = [
    ("user", "Our ferry to Gotland leaves Nynäshamn on 4 July at 11:05; the cabin is booked for four people and a dog."),
    ("assistant", "Noted. I would be at the terminal an hour before, and take the dog's passport along."),
    ("user", "The house in Visby costs 1,240 euros for the week, and the landlady, Mrs Ekström, wants half of it by 1 May."),
    ("assistant", "Then 620 euros are due on 1 May, and the rest on arrival. I will remind you in the last week of April."),
    ("user", "We want to see the stone ships at Gannarve, and my father, who walks badly, needs a bench every hundred metres."),
    ("assistant", "The site is beside the road, with a bench at the car park and one at the largest ship."),
    (
        "user",
        "For the race on Saturday the children need numbers; the person at the desk in Almedalen hands them out from eight.",
    ),
    ("assistant", "I put it into the plan: Saturday, 8:00, Almedalen, numbers for the race."),
]
_SOURCES: Final = [Source(role, text, digest(role, text)) for role, text in _TALK * 3]


def _quoted(asked: str, *, fill: bool = False) -> str:
    return recall(_SOURCES, Question(asked, tuple(_SOURCES[-2:])), 400, [], tokens.count, Memo(), fill=fill).text


@pytest.mark.parametrize(
    "said",
    [
        *("Thanks!", "thank you so much for your help :)", "Great, thanks. Bye!", "Hello there", "Who are you?", "Good night."),
        *("Vielen Dank!", "Merci beaucoup !", "¡Muchas gracias!", "Спасибо!", "谢谢！", "ありがとう。"),
    ],
)
def test_a_courtesy_gets_no_quotes(said: str) -> None:
    assert _quoted(said) == ""


@pytest.mark.parametrize(
    "said", ["Go on.", "ok, thanks, and the second one?", "Thanks, continue.", "Why?", "Thanks! And Gannarve?"]
)
def test_what_goes_on_gets_some(said: str) -> None:
    assert _quoted(said)


def test_a_courtesy_takes_what_a_budget_leaves() -> None:
    assert _quoted("Thanks!", fill=True)


@pytest.mark.parametrize(
    "asked",
    ["Summarize the plot of Hamlet.", "Can you give me an overview of React hooks?", "A summary of the life of Ada Lovelace"],
)
def test_a_summary_of_what_was_never_named_is_none_of_the_conversation(asked: str) -> None:
    assert tokens.count(_quoted(asked)) < 60


@pytest.mark.parametrize(
    "asked",
    [
        "Summarize it all for Mr Brandt.",
        "Give me a summary.",
        "An overview of the Gotland trip, please.",
        "Recap the above.",
        "A summary of our Monday call.",
        "Write an overview of the Q3 Planning meeting.",
    ],
)
def test_one_of_the_conversation_covers_it(asked: str) -> None:
    assert tokens.count(_quoted(asked)) > 200


def test_several_questions_get_no_more_than_they_would_together() -> None:
    riddle = (
        "Imagine you are in a race with some people. You overtake the second person: what is your position? Where is that person?"
    )
    assert tokens.count(_quoted(riddle)) <= 160
