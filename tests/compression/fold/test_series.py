"""Exchanges of one kind are there whole for a request that goes over them: the words of a lesson, mistakes, translations, moves.

Lives here: such exchanges among other talk, through folds. Does not belong here: what users have a chat keep
(``test_kept_entries``), works of one kind (``test_works``).
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Final

import pytest

from tests.support.bodies import Message, encode
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold_request
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.tokens import count

_CASES: Final = json.loads((Path(__file__).parent / "cases" / "series.json").read_text("utf-8"))
_ASKED: Final = [(name, question) for name, case in _CASES.items() for question in case["questions"]]
_ASKED_ONCE: Final = [(name, case["questions"][0]) for name, case in _CASES.items()]


def _exchange(asked: str, answered: str) -> list[Message]:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]


def _among(exchanges: list[list[str]], noise: int, behind: int) -> list[Message]:
    """Exchanges in their order among others, and more of these behind them."""
    other = [_exchange(prose(n, "en", 3) + "?", prose(900 + n, "en", 10)) for n in range(noise)]
    places = sorted(random.Random(len(exchanges)).sample(range(noise + len(exchanges) - behind), len(exchanges)))
    told, talk = iter(exchanges), iter(other)
    mixed = [_exchange(*next(told)[:2]) if n in places else next(talk) for n in range(noise + len(exchanges))]
    return [message for exchange in mixed for message in exchange]


def _forwarded(messages: list[Message], question: str, share: float | None = None) -> str:
    body = encode([*messages, {"role": "user", "content": question}])
    budget = None if share is None else int(share * sum(map(count, (message["content"] for message in messages))))
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget), WARM)
    assert folded.changes
    sent = json.loads(folded.body)["messages"]
    return "\n".join(message["content"] for message in sent).replace(question, "", 1)


@pytest.mark.parametrize(("name", "question"), _ASKED)
def test_all_exchanges_of_the_kind_are_there(name: str, question: str) -> None:
    exchanges = _CASES[name]["exchanges"]
    sent = _forwarded(_among(exchanges, noise=50, behind=15), question)
    assert [needed for _, _, needed in exchanges if needed not in sent] == []


@pytest.mark.parametrize(("name", "question"), _ASKED_ONCE)
def test_all_exchanges_of_the_kind_are_there_under_a_budget_of_a_tenth(name: str, question: str) -> None:
    exchanges = _CASES[name]["exchanges"]
    sent = _forwarded(_among(exchanges, noise=50, behind=15), question, 0.1)
    assert [needed for _, _, needed in exchanges if needed not in sent] == []


def test_of_a_long_answer_the_word_and_what_limits_it_are_there() -> None:
    limited = "It is 'ferrolho', unless it holds a screw: then say 'parafuso'. " + prose(7, "en", 40)
    exchanges = [*_CASES["portuguese"]["exchanges"], ["how do you say 'bolt' in Portuguese?", limited, ""]]
    sent = _forwarded(_among(exchanges, noise=50, behind=15), "Make flashcards of my vocabulary")
    assert "It is 'ferrolho', unless it holds a screw: then say 'parafuso'." in sent
    assert limited not in sent


@pytest.mark.parametrize("question", ["In other words, what is a bolt?", "Write 200 words on rain", "How do I correct a fence?"])
def test_a_question_that_names_a_kind_in_passing_does_not_get_all_of_it(question: str) -> None:
    exchanges = [one for one in _CASES["portuguese"]["exchanges"] if "'" in one[0]]
    long = [[asked, f"It is {needed}. {prose(n, 'en', 40)}", needed] for n, (asked, _, needed) in enumerate(exchanges)]
    messages = _among(long, noise=50, behind=15)
    asked = _forwarded(messages, "Quiz me on the words we learned")
    assert [needed for _, _, needed in long if needed not in asked] == []
    sent = _forwarded(messages, question)
    assert [needed for _, _, needed in long if f"It is {needed}" not in sent]
