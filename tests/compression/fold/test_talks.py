"""Talks as people have them: what they picked, took back and changed is in what the next question is answered from.

Lives here: whole talks through ``fold_request``, with long answers between. Does not belong here: which message picks or takes
back what (``text.test_picks``, ``text.test_withdrawals``).
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.bodies import Message, encode
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold import fold_request
from turnfold.compression.fold.shortening import shorten_messages
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions, Prose
from turnfold.compression.wire.chat import CHAT

FREE = FoldOptions(model="gpt-4o", prices=CachePrices(1.0, 1.0))
HOTELS = "Three of them:\n\n1. Kanra, 240 euros\n2. Mitsui Garden, 165 euros\n3. Piece Hostel, 95 euros"


def said(*exchanges: tuple[str, str], question: str, between: int = 10) -> list[Message]:
    """Exchanges with others between them, and a question at the end."""
    messages: list[Message] = []
    for number, (user, assistant) in enumerate(exchanges):
        messages += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
        for turn in range(100 * number, 100 * number + between):
            messages += [
                {"role": "user", "content": prose(1000 + turn, "en", 2)},
                {"role": "assistant", "content": prose(turn, "en", 12)},
            ]
    return [*messages, {"role": "user", "content": question}]


def forwarded(messages: list[Message], budget: int | None) -> str:
    return "\n".join(
        message.text for message in fold_request(encode(messages), replace(FREE, budget=budget), WARM).forwarded.messages
    )


@pytest.mark.parametrize("budget", [700, 1000, 1500])
def test_a_pick_and_what_it_picks_are_quoted_together(budget: int | None) -> None:
    hotel = [("Which hotels are there in Kyoto?", HOTELS)]
    messages = said(*hotel, question="Which hotel in Kyoto did we choose, and at what price?")
    messages[2:2] = [{"role": "user", "content": "Let's take the second one."}, {"role": "assistant", "content": "Good."}]
    text = forwarded(messages, budget)
    assert "Let's take the second one." in text
    assert "2. Mitsui Garden, 165 euros" in text


@pytest.mark.parametrize("budget", [700, 1000, 1500])
def test_what_was_taken_back_never_stands_alone(budget: int | None) -> None:
    talk = (
        ("Background jobs run on Celery with Redis.", "Celery and Redis work well together."),
        ("Let's drop Celery. We'll go with arq, it's smaller.", "Fine."),
    )
    text = forwarded(said(*talk, question="How do we run background jobs?"), budget)
    assert "Let's drop Celery. We'll go with arq" in text


def test_a_short_list_stays_whole_where_the_next_message_picks_from_it() -> None:
    laptops = (
        "Для архитектуры важны видеокарта и экран. Вот варианты:\n\n1. ASUS Vivobook Pro 15: 104 990 ₽, RTX 3050, OLED\n"
        "2. Lenovo Legion Slim 5: 118 500 ₽, RTX 4060\n3. Acer Swift X: 99 900 ₽, RTX 3050, 1,4 кг"
    )
    messages = said(("Привет! Помоги выбрать ноутбук для дочери.", laptops), question="Давай третий, он легче.", between=0)
    read = CHAT.read(encode(messages), Memo()).messages
    assert shorten_messages(read[:2], [{}, {}], frozenset(), Prose())[1]
    assert not shorten_messages(read, [{}, {}, {}], frozenset(), Prose())[1]


def test_a_date_that_was_moved_never_stands_alone() -> None:
    talk = (
        ("The exam takes place on 21 November in hall 4.", "Good luck with the exam on 21 November!"),
        ("It has been postponed to 5 December.", "That gives you two weeks more."),
    )
    assert "5 December" in forwarded(said(*talk, question="On which date does the exam take place, and where?"), 700)


def test_there_is_room_for_the_passage_that_answers_where_facts_keep_values() -> None:
    customer = '{"id": "C-88213", "name": "Priya Raman", "mail": "p@example.net", "phone": "+44 20 7946 0018", "credit": 12}'
    messages: list[Message] = [{"role": "user", "content": "I am Priya Raman, customer number C-88213. An order is damaged."}]
    for number in range(40018, 40034):
        name, result = ("get_order", f'{{"order": "{number}", "carrier": "GLS", "stages": "{prose(number, "en", 3)}"}}')
        if number == 40018:
            name, result = "get_customer", customer
        function = {"name": name, "arguments": f'{{"id": "{number}"}}'}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
            {"role": "assistant", "content": f"Order {number} is on its way; the tracking number is {number * 7919}."},
            {"role": "user", "content": f"And what about order {number + 1}?"},
        ]
    messages += [
        {"role": "assistant", "content": "It was sent."},
        {"role": "user", "content": "Which phone number do you have for me?"},
    ]
    assert "+44 20 7946 0018" in forwarded(messages, None)
