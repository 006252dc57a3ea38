"""Exchanges of one kind are there whole for a request that goes over them: the words of a lesson, mistakes, translations, moves.

These tests cover such exchanges among other talk, through folds. They leave out what users have a chat keep
(``test_kept_entries``), works of one kind (``test_works``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tests.support.cases import each
from tests.support.effort import every
from tests.support.quoted_talk import among, forwarded
from tests.support.words import prose

_CASES: Final = json.loads((Path(__file__).parent / "cases" / "series.json").read_text("utf-8"))
_ASKED: Final = [(name, question) for name, case in _CASES.items() for question in case["questions"]]
_ASKED_ONCE: Final = [(name, case["questions"][0]) for name, case in _CASES.items()]


@each(("name", "question"), _ASKED)
def test_all_exchanges_of_the_kind_are_there(name: str, question: str) -> None:
    exchanges = _CASES[name]["exchanges"]
    sent = forwarded(among([one[:2] for one in exchanges], noise=50, behind=15), question)
    assert [needed for _, _, needed in exchanges if needed not in sent] == []


@each(("name", "question"), every(3, [*_ASKED_ONCE], 2))
def test_all_exchanges_of_the_kind_are_there_under_a_budget_of_a_tenth(name: str, question: str) -> None:
    exchanges = _CASES[name]["exchanges"]
    sent = forwarded(among([one[:2] for one in exchanges], noise=50, behind=15), question, 0.1)
    assert [needed for _, _, needed in exchanges if needed not in sent] == []


def test_of_a_long_answer_the_word_and_what_limits_it_are_there() -> None:
    limited = "It is 'ferrolho', unless it holds a screw: then say 'parafuso'. " + prose(7, "en", 20)
    exchanges = [*_CASES["portuguese"]["exchanges"], ["how do you say 'bolt' in Portuguese?", limited, ""]]
    sent = forwarded(among([one[:2] for one in exchanges], noise=50, behind=15), "Make flashcards of my vocabulary")
    assert "It is 'ferrolho', unless it holds a screw: then say 'parafuso'." in sent
    assert limited not in sent


@each("question", ["In other words, what is a bolt?", "Write 200 words on rain", "How do I correct a fence?"])
def test_a_question_that_names_a_kind_in_passing_does_not_get_all_of_it(question: str) -> None:
    exchanges = [one for one in _CASES["portuguese"]["exchanges"] if "'" in one[0]]
    long = [[asked, f"It is {needed}. {prose(n, 'en', 20)}", needed] for n, (asked, _, needed) in enumerate(exchanges)]
    messages = among(long, noise=50, behind=15)
    asked = forwarded(messages, "Quiz me on the words we learned")
    assert [needed for _, _, needed in long if needed not in asked] == []
    sent = forwarded(messages, question)
    assert [needed for _, _, needed in long if f"It is {needed}" not in sent]
