"""Answers of one form to one message after the other are there when all of them are asked for: marks, labels, records of letters.

These tests cover such streams, and questions over all of them behind other talk. They leave out short messages that users have
kept (``test_kept_entries``), worked examples (``test_worked_examples``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions

_KINDS: Final[dict[str, Callable[[int], str]]] = {
    "records": lambda n: json.dumps({"sender": f"S{n}", "order": 70_000 + n, "kind": ("damage", "delay", "refund")[n % 3]}),
    "marks": lambda n: f"Score: {n % 7}/7. {prose(n, 'en', 3)}",
    "labels": lambda n: ("billing", "bug", "praise")[n % 3],
    "verdicts": lambda n: f"**Verdict:** {('keep', 'reject')[n % 2]}\n\n{prose(n, 'en', 2)}",
}
_QUESTIONS: Final = (
    "Put all the results into one table.",
    "How many of them were there of each kind?",
    "Liste alle Ergebnisse auf.",
)
_NUMBER: Final = 40


def _talk(answer: Callable[[int], str]) -> list[Message]:
    said: list[Message] = [
        {"role": "user", "content": "Judge what I send, one after the other."},
        {"role": "assistant", "content": "Go ahead, please."},
    ]
    for n in range(_NUMBER):
        said += [{"role": "user", "content": f"Letter {n}: {prose(n, 'en', 5)}"}, {"role": "assistant", "content": answer(n)}]
    for n in range(25):
        said += [{"role": "user", "content": prose(300 + n, "en", 2)}, {"role": "assistant", "content": prose(700 + n, "en", 5)}]
    return said


@each(("kind", "question"), every(2, crosswise(product(_KINDS, _QUESTIONS), 3)))
def test_all_answers_are_there_with_what_they_answer(kind: str, question: str) -> None:
    answer = _KINDS[kind]
    body = encode([*_talk(answer), {"role": "user", "content": question}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert folded.changes
    assert len(folded.body) < 0.8 * len(body)
    sent = "\n".join(message["content"] for message in json.loads(folded.body)["messages"])
    told = [answer(n).partition(". ")[0].partition("\n")[0] for n in range(_NUMBER)]
    assert [n for n in range(_NUMBER) if f"Letter {n}:" not in sent] == []
    assert all(sent.count(one) >= told.count(one) for one in told)


def test_the_opening_of_a_message_takes_no_place_from_what_it_tells_below() -> None:
    """Short answers of one form are quoted with what they answer; the message tells more than its first sentence."""
    told = [f"{prose(n, 'en', 1)} A heron stood at the pond {where}." for n, where in enumerate(("alone", "again", "asleep"))]
    said: list[Message] = []
    for n in range(60):
        text = told[n // 20] if n % 20 == 7 else prose(n, "en", 2)
        answer = "Noted" if n % 5 == 2 else prose(500 + n, "en", 5)
        said += [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
    body = encode([*said, {"role": "user", "content": "How many times did I see a heron at the pond?"}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", budget=700), WARM)
    sent = "\n".join(message["content"] for message in json.loads(folded.body)["messages"])
    assert [where for where in ("alone", "again", "asleep") if f"the pond {where}." not in sent] == []


def test_answers_of_many_forms_are_no_series() -> None:
    said: list[Message] = []
    for n in range(60):
        said += [{"role": "user", "content": prose(n, "en", 4)}, {"role": "assistant", "content": prose(500 + n, "en", 5)}]
    body = encode([*said, {"role": "user", "content": "How many of them were there?"}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert len(folded.body) < 0.6 * len(body)


def test_names_of_who_speaks_are_no_form() -> None:
    said: list[Message] = []
    for n in range(150):
        said += [
            {"role": "user", "content": f"John: {prose(n, 'en', 4)}"},
            {"role": "assistant", "content": f"Tim: {prose(500 + n, 'en', 1)}"},
        ]
    body = encode([*said, {"role": "user", "content": "How many of them were there of each kind?"}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0)), WARM)
    assert folded.changes
    sent = json.loads(folded.body)["messages"][-1]["content"]
    assert sum(one["content"] in sent for one in said if one["role"] == "assistant") < 20
