"""What users have a chat keep, step by step, is there whole when they ask for all of it: expenses, a shopping list, points.

These tests cover entries among other talk, through folds. They leave out tables (``test_tables``), single statements
(``tests/compression/shorten``).
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.quoted_talk import among, exchange, forwarded
from tests.support.words import prose

_CASES: Final = json.loads((Path(__file__).parent / "cases" / "entries.json").read_text("utf-8"))
_CHANGED: Final = json.loads((Path(__file__).parent / "cases" / "changed_entries.json").read_text("utf-8"))
_OVER_ALL: Final = json.loads((Path(__file__).parent / "cases" / "over_entries.json").read_text("utf-8"))
_ASKED: Final = [(name, case["questions"][n % len(case["questions"])]) for n, (name, case) in enumerate(_CASES.items())]
_ASKED_AGAIN: Final = [(name, case["questions"][-1]) for name, case in _CASES.items()]


@each(("name", "question"), every(8, _ASKED, 6))
def test_all_entries_among_other_talk_are_there(name: str, question: str) -> None:
    entries = _CASES[name]["entries"]
    sent = forwarded(among(entries, noise=50, behind=15), question)
    assert [told for told, _ in entries if told not in sent] == []


@each(("name", "question"), every(8, _ASKED_AGAIN, 6))
def test_all_entries_are_there_under_a_budget_of_a_tenth(name: str, question: str) -> None:
    entries = _CASES[name]["entries"]
    sent = forwarded(among(entries, noise=50, behind=15), question, 0.1)
    assert [told for told, _ in entries if told not in sent] == []


@each("name", every(2, ["workouts", "expenses", "bp"], 1))
def test_entries_that_got_a_long_answer_are_there(name: str) -> None:
    entries = [[told, f"{answer} {prose(n, 'en', 6)}"] for n, (told, answer) in enumerate(_CASES[name]["entries"])]
    sent = forwarded(among(entries, noise=50, behind=15), _CASES[name]["questions"][0])
    assert [told for told, _ in entries if told not in sent] == []


_KINDS: Final = {
    "How much did I spend altogether?": [
        f"{thing} {n}.{n % 90 + 10}" for n, thing in enumerate(("tea", "bus", "soap", "milk") * 50)
    ],
    "How many calories was that in total?": [f"ate {100 + n} kcal of {thing}" for n, thing in enumerate(("rice", "soup") * 100)],
    "What is the total distance of all my runs?": [f"ran {n}.5 km in {n + 30} min" for n in range(200)],
}


@pytest.mark.parametrize("question", every(2, [*_KINDS], 1))
def test_of_a_chat_of_entries_alone_a_question_gets_those_of_its_kind(question: str) -> None:
    told = [entry for three in zip(*_KINDS.values(), strict=True) for entry in three]
    messages = [message for entry in told for message in exchange(entry, "Noted.")]
    sent = forwarded(messages, question)
    assert [entry for entry in _KINDS[question] if entry not in sent] == []
    others = [entry for entry in told[:100] if entry not in _KINDS[question] and entry in sent]
    assert len(others) < 20


def _lines(text: str) -> list[str]:
    """Its lines, without the marks of who says them."""
    return [line.partition(": ")[2] or line for line in text.splitlines()] + text.splitlines()


@each(("share", "name"), every(4, crosswise(product([None, 0.1], _CHANGED), 17), 1))
def test_what_changed_an_entry_is_there_with_it(name: str, share: float | None) -> None:
    question, entries = _CHANGED[name]
    sent = _lines(forwarded(among(entries, noise=36, behind=16), question, share))
    told = [line for entry in entries for text in entry[::2] for line in text.splitlines()]
    assert [line for line in told if not any(line in one and len(one) < len(line) + 20 for one in sent)] == []


@each(("share", "name"), crosswise(product([None, 0.1], ["number asked", "unit asked"]), 2))
def test_what_an_entry_answers_in_a_word_is_there_too(name: str, share: float | None) -> None:
    question, entries = _CHANGED[name]
    asked_back = entries[-1][1]
    assert asked_back in forwarded(among(entries, noise=50, behind=20), question, share)


def test_the_day_that_an_answer_tells_is_there() -> None:
    entries = [["bus 3", "Noted for Monday."], ["tea 2", "Noted for Tuesday."], ["soap 4", "Noted for Tuesday."]]
    sent = forwarded(among(entries, noise=50, behind=20), "How much did I spend on Tuesday?")
    assert [text for entry in entries for text in entry if text not in sent] == []


_RECORD: Final = [f"{thing} {n}.{n % 90 + 10}" for n, thing in enumerate(("tea", "bus", "soap", "milk") * 30)]


@each("question", every(8, _OVER_ALL, 6))
def test_a_question_over_all_of_a_long_record_gets_all(question: str) -> None:
    sent = forwarded(among([[entry, "Noted."] for entry in _RECORD], noise=50, behind=15), question)
    assert [entry for entry in _RECORD if entry not in sent] == []


@each("question", ["How much does a new phone cost?", "Wie geht es dir?", "What do you think of my plan?"])
def test_another_question_gets_few_of_a_long_record(question: str) -> None:
    sent = forwarded(among([[entry, "Noted."] for entry in _RECORD], noise=50, behind=15), question)
    assert sum(entry in sent for entry in _RECORD) < len(_RECORD) // 3


def test_small_talk_is_no_record() -> None:
    said = [exchange(prose(n, "en", 1).rstrip(".") + "!", prose(700 + n, "en", 1)) for n in range(150)]
    sent = forwarded([message for exchange in said for message in exchange], "What do you think of the weather?")
    kept = sum(exchange[0]["content"] in sent for exchange in said[:100])
    assert kept < 40


@pytest.mark.parametrize("share", [None, 0.1])
def test_an_entry_that_is_told_again_counts_again(share: float | None) -> None:
    entries = [["a glass of water", "Logged."]] * 5 + [["coffee 4.20", "Logged."]] * 3 + [["a glass of water", "Logged."]] * 4
    sent = forwarded(among(entries, noise=50, behind=15), "How many glasses of water did I drink in total?", share)
    assert sent.count("a glass of water") >= 9


def test_what_an_entry_is_for_is_no_name_of_who_speaks() -> None:
    kinds = ("Coffee", "Lunch", "Taxi", "Coffee")
    entries = [[f"{kinds[n % 4]}: {n}.{n + 10}", "Logged."] for n in range(30)]
    sent = forwarded(among(entries, noise=50, behind=15), "How much did I spend in total?")
    assert [told for told, _ in entries if told not in sent] == []
