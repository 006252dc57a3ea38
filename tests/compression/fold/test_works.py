"""Whoever asks for a script, a letter or a table that the chat made before gets all of it sent along, in its newest form.

These tests cover works that are asked for as a whole, through folds. They leave out passages that answer a question (``recall``).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import unfold
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.compression.text.dialogue.wanted.works import asked_work, has_form, named_work
from turnfold.compression.text.words import fold

_WORKS: Final = {
    file.stem: json.loads(file.read_text("utf-8")) for file in sorted((Path(__file__).parent / "cases" / "works").glob("*.json"))
}
_CART: Final = """```python
class Cart:
    def __init__(self):
        self.items = []

    def add(self, sku, price, quantity=1):
        self.items.append({"sku": sku, "price": price, "quantity": quantity})

    def remove(self, sku):
        self.items = [item for item in self.items if item["sku"] != sku]

    def total(self):
        return sum(item["price"] * item["quantity"] for item in self.items)
```"""
_TOTAL: Final = """```python
    def total(self):
        net = sum(item["price"] * item["quantity"] for item in self.items)
        discount = 0.1 if net > 200 else 0
        return round(net * (1 - discount), 2)
```"""


def _talk(seed: int, turns: int) -> list[Message]:
    said: list[Message] = []
    for turn in range(turns):
        said.append({"role": "user", "content": prose(seed + turn, "en", 4)})
        said.append({"role": "assistant", "content": prose(seed + 500 + turn, "en", 10)})
    return said


def _exchange(asked: str, answered: str) -> list[Message]:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]


def _said(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line.strip()) > 8 and not line.startswith("```")]


def _recalled(messages: Sequence[Message], question: str, **options: Any) -> tuple[str, str]:
    """What is quoted behind a question at the end of a chat, and all else that goes out; all of it can be unfolded."""
    body = encode([*messages, {"role": "user", "content": question}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), **options), WARM)
    assert folded.changes
    assert unfold(folded) == body
    sent = [message.text for message in folded.forwarded.messages]
    return sent[-1].removeprefix(question), "\n".join(sent[:-1])


@each(("name", "question"), every(3, [(name, question) for name, work in _WORKS.items() for question in work["again"]]))
def test_a_work_is_sent_whole(name: str, question: str) -> None:
    work = _WORKS[name]
    others = [one for other, one in _WORKS.items() if other not in (name, "letter", "brief")][:3]
    chat = _exchange(work["request"], work["answer"])
    for other in others:
        chat += _exchange(other["request"], other["answer"])
    quoted, _ = _recalled([*chat, *_talk(7, 24)], question)
    wanted = work["answer"].split("```")[1] if "```" in work["answer"] else work["answer"]
    assert [line for line in _said(wanted) if line not in quoted] == []


@pytest.mark.parametrize("budget", [1_200, 3_000])
def test_a_budget_quotes_a_work_before_all_else(budget: int) -> None:
    work = _WORKS["docker"]
    quoted, _ = _recalled(
        [*_exchange(work["request"], work["answer"]), *_talk(7, 24)], "Show me the whole Dockerfile again.", budget=budget
    )
    assert all(line in quoted for line in _said(work["answer"].split("```")[1]))


def test_what_changed_a_part_of_it_is_quoted_too() -> None:
    chat = [*_exchange("Write a shopping cart class.", _CART), *_exchange("10% off above 200, please.", f"Then:\n\n{_TOTAL}")]
    quoted, _ = _recalled([*chat, *_talk(7, 24)], "Give me the complete cart class with all changes.")
    assert all(line in quoted for line in _said(_CART) + _said(_TOTAL))
    assert quoted.index("return sum(") < quoted.index("discount = 0.1")


def test_only_the_newest_whole_form_is_quoted() -> None:
    newer = _CART.replace("price", "price_cents")
    chat = [*_exchange("Write a shopping cart class.", _CART), *_exchange("All prices in cents, please.", newer)]
    quoted, _ = _recalled([*chat, *_talk(7, 24)], "Add a load() method to the cart class.")
    assert all(line in quoted for line in _said(newer))
    assert 'self.items.append({"sku": sku, "price": price' not in quoted


def test_what_the_request_holds_already_is_not_quoted_in_an_older_form() -> None:
    newer = _CART.replace("price", "price_cents")
    chat = [*_exchange("Write a shopping cart class.", _CART), *_talk(7, 24), *_exchange("All prices in cents, please.", newer)]
    quoted, rest = _recalled(chat, "Show the whole shopping cart class again.")
    assert newer in rest
    assert 'self.items.append({"sku": sku, "price": price' not in quoted


@pytest.mark.parametrize("question", ["Rewrite the class I pasted with dataclasses.", "Show my cart class again, all of it."])
def test_code_that_a_user_pasted_without_a_fence_is_a_work_too(question: str) -> None:
    pasted = _CART.strip("`").removeprefix("python\n")
    chat = [*_exchange(f"Here is our cart class, it feels clumsy\n\n{pasted}", "It is fine as it is."), *_talk(7, 24)]
    chat[4:4] = _exchange(_WORKS["java"]["request"], _WORKS["java"]["answer"])
    quoted, _ = _recalled(chat, question)
    assert all(line in quoted for line in _said(pasted))


def test_who_brought_it_tells_two_works_apart() -> None:
    fenced = _CART.replace("Cart", "Basket").replace("sku", "article")
    chat = [*_exchange(f"This is my class:\n\n{fenced}", "I see."), *_exchange("Write a class for a cart as well.", _CART)]
    for question, wanted in (("Rewrite the class I sent you.", fenced), ("Show the class that you wrote again.", _CART)):
        quoted, _ = _recalled([*chat, *_talk(7, 24)], question)
        assert all(line in quoted for line in _said(wanted))


@each(
    "question",
    [
        "Write me a new script that pings a host.",
        "What was the reference of the copper valves?",
        "Is there a script for that?",
        "Thanks, that is all for today!",
        "Which of the recipes did you like best?",
        "Who wrote the letter?",
        "What is the class of this ship?",
        "Wann kommt der Brief an?",
        "¿Qué receta me recomiendas?",
        "这封信是谁写的？",
        "x" * 700 + " show me the script again",
    ],
)
def test_other_questions_ask_for_no_work(question: str) -> None:
    assert asked_work(fold(question)) is None


@each(
    "question",
    [
        'Translate "de baljuw" in the next caption.',
        'Can you translate "schepenbank" for the plan?',
        "Traduis « le bailli » dans la légende suivante.",
        "Kannst du „Vogtei“ für den Plan übersetzen?",
        "Translate this list: quince, medlar, sloe",
        "Traduce el siguiente texto: nos vemos en la plaza",
    ],
)
def test_a_text_that_stands_in_its_request_is_no_work_of_the_chat(question: str) -> None:
    assert asked_work(fold(question)) is None


@each(
    "question",
    [
        'Translate the poem "Heidenröslein" into English.',
        'Translate the letter, but keep "Dear Ann" as it is.',
        'Replace "Dear" by "Hello" in the letter.',
        "Übersetze den Brief an „Herrn Vogt“ ins Englische.",
        "Translate the list into Dutch: I need it tonight.",
        "Translate the plan into Dutch",
    ],
)
def test_a_work_that_is_named_in_front_of_a_quoted_text_is_wanted(question: str) -> None:
    assert asked_work(fold(question)) is not None


def test_a_letter_is_told_by_its_salutation() -> None:
    work = named_work("what did i demand in the letter?")
    assert work is not None
    assert has_form("Dear Ada,\n\nthank you for the boat.", work)
    assert not has_form("My dear boat is red.", work)
