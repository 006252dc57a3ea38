"""Sentences that point at what the user told earlier (``text.dialogue.told_before``), and what recall makes of them."""

from __future__ import annotations

import pytest

from tests.support.cases import each
from tests.support.warm import WARM
from turnfold.compression import tokens
from turnfold.compression.memo import Memo
from turnfold.compression.recall.choosing import recall
from turnfold.compression.recall.question import Question
from turnfold.compression.text.dialogue.told_before import told_before
from turnfold.compression.text.quotes import Source


@each(
    "said",
    [
        "Put the reviewer's address I gave you earlier into the notes.",
        "Use the customer number that I told you at the start.",
        "Take the address from before and write the label.",
        "Insert the gate number we mentioned above.",
        "Schreib die Kundennummer rein, die ich dir vorhin gegeben habe.",
        "Utilise l'adresse que je t'ai donnée tout à l'heure.",
        "Pon el número que te di antes en la cabecera.",
        "Use o endereço que te passei antes.",
        "Metti il codice che ti ho dato prima.",
        "Gebruik het nummer dat ik je eerder gaf.",
        "Подставь адрес, который я тебе дал раньше.",
        "把我之前给你的地址写进备注。",
        "さっき伝えた住所を入れて。",
    ],
)
def test_they_are_told_by_their_form(said: str) -> None:
    assert len(told_before(f"{said}\nThen run the tests.")) == 1


@each(
    "said",
    [
        "Before you run it, tell me what changed.",
        "I gave up on this approach.",
        "He told me that it works.",
        "As I already told you, the port is 8081; use it.",
        "We sent the parcel to Graz.",
    ],
)
def test_others_do_not_point_back(said: str) -> None:
    assert told_before(said) == []


_TOLD = "For later: the staging site is https://stg.tide.example/7, the reviewer's address is marta@harbour.example."
_TASKS = [
    f"test_{name} fails since the merge, please repair src/{name}.py." for name in ("tide", "berth", "crane", "quay", "rate")
]


def _sources() -> list[Source]:
    asked = [f"{task} Also put the reviewer's address I gave you earlier into the notes at the top." for task in _TASKS[1:]]
    said = [f"{_TASKS[0]} {_TOLD}", *asked]
    both = [(one, f"Repaired. The cause was in step {n}.") for n, one in enumerate(said)]
    return [Source(role, text, text.encode()) for pair in both for role, text in zip(("user", "assistant"), pair, strict=True)]


_OUTPUT = """=== FAILURES ===
___ test_x ___

>       assert f() == 5
E       assert 4 == 5

t.py:3: AssertionError
=== short test summary info ===
FAILED t.py::test_x - assert 4 == 5
=== 1 failed, 20 passed in 1.4s ==="""


@pytest.mark.parametrize("output", ["", _OUTPUT])
def test_what_was_told_comes_before_who_asked_for_it_again(output: str) -> None:
    """Also where the newest message is what a program wrote, and an agent works on the request before it."""
    request = "test_dock fails since the merge, please repair src/dock.py. Also put the reviewer's address I gave you earlier in."
    question = Question(output, request=request) if output else Question(request)
    found = recall(_sources(), question, 120, (), tokens.count, Memo())
    assert "marta@harbour.example" in found.text
    assert recall(_sources(), question, 120, (), tokens.count, WARM).text == found.text
