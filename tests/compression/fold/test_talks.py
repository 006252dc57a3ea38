"""Talks as people have them: what they picked, took back and changed is in what the next question is answered from.

These tests cover whole talks through ``fold_request``, with long answers between. They leave out which message picks or takes
back what (``text.test_picks``, ``text.test_withdrawals``).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.fold.shortening import shorten_messages
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions, Prose
from turnfold.compression.wire.formats.chat import CHAT

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


@each("budget", [700, 1000, 1500])
def test_a_pick_and_what_it_picks_are_quoted_together(budget: int | None) -> None:
    hotel = [("Which hotels are there in Kyoto?", HOTELS)]
    messages = said(*hotel, question="Which hotel in Kyoto did we choose, and at what price?")
    messages[2:2] = [{"role": "user", "content": "Let's take the second one."}, {"role": "assistant", "content": "Good."}]
    text = forwarded(messages, budget)
    assert "Let's take the second one." in text
    assert "2. Mitsui Garden, 165 euros" in text


@each("budget", [700, 1000, 1500])
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


def test_what_stands_in_the_request_as_it_was_is_not_quoted_again() -> None:
    talk = (("I have 24 hit points and a longbow.", "HP 24/24."), ("The goblin hits me, 9 damage.", "HP 15/24."))
    messages = said(*talk, question="What are my hit points?", between=12)
    cached = replace(FREE, prices=CachePrices(0.5, 1.0))
    text = "\n".join(message.text for message in fold_request(encode(messages), cached, WARM).forwarded.messages)
    assert "messages shortened]" in text
    assert text.count("I have 24 hit points and a longbow.") == 1


SUMMER = (
    ("The party is on July 5 at 3 pm, we expect 90 guests.", "Noted: July 5, 3 pm, 90 guests."),
    ("The council won't give us the place, we moved the party to July 12.", "OK."),
    ("Kerstin takes the money, Udo the grill.", "Good."),
)


@pytest.mark.parametrize("budget", [1200, 2000])
def test_an_old_date_is_not_the_last_word(budget: int) -> None:
    text = forwarded(said(*SUMMER, question="When is the party?"), budget)
    assert text.rindex("July 12") > text.rindex("July 5")


def test_a_message_that_is_not_folded_stands_behind_what_it_updates() -> None:
    messages = said(*SUMMER[:1], question="When is the party?", between=14)
    messages[-1:-1] = [{"role": "user", "content": SUMMER[1][0]}, {"role": "assistant", "content": "OK."}]
    text = forwarded(messages, 1500)
    assert text.rindex("July 12") > text.rindex("July 5")


GAME = (
    ("You are the game master. I play Kestrel, with a longbow and 20 arrows.", "HP 24/24."),
    ("I shoot the sentry.", "He falls. You have 18 arrows left."),
    ("I give the key to the smith for a lantern.", "He hands you a lantern."),
    ("I buy 10 arrows for 3 gold.", "You have 28 arrows and 9 gold."),
)
SHOPPING = (
    ("Can you keep a list for me? Start with bread and butter.", "Sure: bread, butter."),
    ("add milk and eggs", "Added."),
    ("take the butter off, Ana has some", "Butter is off."),
    ("put cat litter on it", "Done."),
)
EINKAUF = (
    ("Führ bitte eine Liste für mich. Kartoffeln, Quark.", "Gern: Kartoffeln, Quark."),
    ("Schreib noch Hafermilch dazu", "Hafermilch steht drauf."),
    ("und Batterien", "Notiert."),
    ("die Hafermilch nimm wieder runter", "Hafermilch ist runter."),
)


@each(
    ("talk", "question", "needed"),
    every(
        2,
        [
            (GAME, "What's in my inventory?", ("longbow", "lantern", "28 arrows and 9 gold")),
            (SHOPPING, "What do I still need?", ("bread", "milk and eggs", "butter off", "cat litter")),
            (EINKAUF, "Was muss ich besorgen?", ("Kartoffeln", "Quark", "Batterien", "wieder runter")),
        ],
    ),
)
def test_all_steps_of_what_was_kept_are_quoted_under_a_tight_budget(
    talk: tuple[tuple[str, str], ...], question: str, needed: tuple[str, ...]
) -> None:
    text = forwarded(said(*talk, question=question, between=28), 800)
    assert [one for one in needed if one not in text] == []


def test_a_work_is_asked_for_whose_newest_form_is_not_folded() -> None:
    form = "```sql\ncreate table books (\n  id bigint,\n  title text,\n  author text,\n  {} text\n);\n```"
    messages = said(("Help me with a schema for books.", form.format("isbn")), question="Write the complete schema.", between=14)
    messages[-1:-1] = [{"role": "user", "content": "use ean"}, {"role": "assistant", "content": form.format("ean")}]
    fold = fold_request(encode(messages), replace(FREE, budget=1500), WARM)
    assert "ean text" in "".join(message.text for message in fold.forwarded.messages)


@each(
    ("older", "newer", "question", "outdated", "current"),
    [
        (
            "Pues mira, el sábado estuvimos mirando pisos con mi madre y el de la calle Cádiz nos gustó mucho, tiene "
            "ascensor y da al patio, lo malo es que está lejos del colegio. Para el sofá hemos visto uno gris por 890 "
            "euros y otro azul por 720, nos quedamos con el azul. Las lámparas las trae mi hermano cuando venga. ¿Tú "
            "pintarías antes o después de la mudanza?",
            "Vaya faena, el sofá azul tenía una pata rota y al final nos hemos llevado el otro, nos lo dejaron en 815 euros.",
            "¿Qué sofá compramos y cuánto costó?",
            "azul por 720",
            "815 euros",
        ),
        (
            "Also wir waren am Samstag in der Südstadt, da gibt es ja zwei Läden, und das Bett hat uns gleich "
            "gefallen, das kostet 310 und wird nächste Woche geliefert. Beim Kinderwagen wissen wir noch nicht, der "
            "steht im Laden für 640 Euro, und online gibt es ihn für 599, da nehm ich dann wohl den online. Was meinst "
            "du, brauchen wir die Wickelkommode wirklich?",
            "Also online hatten sie den Kinderwagen dann gar nicht, die im Laden haben ihn mir für 615 gegeben.",
            "Was hat der Kinderwagen gekostet?",
            "599",
            "615",
        ),
        (
            "昨日息子と一緒に駅前の店に行ってきました。洗濯機は日立の6キロが3万9,800円で、置き場所の寸法も大丈夫そうでした。"
            "冷蔵庫は5万4,800円のを見つけて、息子も気に入ったのでそれにしようと思っています。炊飯器はまだ決めていません。"
            "電子レンジは姉が使っていないのをくれるそうです。ベッドはロングサイズにしたほうがいいでしょうか?",
            "駅前の店に電話したら、冷蔵庫は今週末だけ4万9,800円でいいと言ってくれました。",
            "冷蔵庫の値段はいくらですか?",
            "5万4,800円",
            "4万9,800円",
        ),
    ],
)
def test_a_change_that_nobody_announces_is_quoted_behind_what_it_changes(
    older: str, newer: str, question: str, outdated: str, current: str
) -> None:
    messages = said(("Hello!", "Hello."), (older, "Noted."), question=question, between=25)
    messages[-3:-3] = [{"role": "user", "content": newer}, {"role": "assistant", "content": "Noted."}]
    asked = forwarded(messages, None).split(question)[-1]
    assert outdated in asked
    assert asked.rfind(current) > asked.rfind(outdated)


def test_what_is_newest_anyway_is_not_quoted_twice() -> None:
    older = (
        "So for Tokyo my cousin found us a room in Asakusa which is 72 euros a night and she booked five nights, can "
        "be cancelled until March. Daniel's passport came on Tuesday after all that waiting and the visa thing turned "
        "out to be nothing, they don't even want one for less than ninety days. The hostel in Kyoto costs 58 euros, "
        "breakfast is extra. Would Kanazawa be worth it, or is that too far?"
    )
    newer = "The weather in Tokyo was lovely, by the way."
    messages = said(("Hello!", "Hello."), (older, "Noted."), question="What does the hostel in Kyoto cost?", between=25)
    messages[-3:-3] = [{"role": "user", "content": newer}, {"role": "assistant", "content": "Good."}]
    text = forwarded(messages, None)
    assert older in text.split("What does the hostel in Kyoto cost?")[-1]
    assert text.count(newer) == 1


@each(("budget", "first"), every(2, crosswise(product([2300, 2600, 4000], [29, 84]), 2), 1))
def test_under_a_budget_too_the_older_of_two_addresses_is_not_the_last_one(first: int, budget: int) -> None:
    told = {
        first: "Ship the replacement to 14 Larch Road, Bath.",
        first + 21: "Actually we moved: 9 Elm Court, Bath is the address now.",
    }
    messages: list[Message] = []
    for turn in range(110):
        messages.append({"role": "user", "content": told.get(turn, prose(1000 + turn, "en", 1 + turn % 2))})
        messages.append({"role": "assistant", "content": "Noted." if turn in told else prose(turn, "en", 1 + turn % 3)})
    text = forwarded([*messages, {"role": "user", "content": "Which address do you ship to?"}], budget)
    assert "9 Elm Court" in text
    assert text.rfind("14 Larch Road") < text.rfind("9 Elm Court")


RAMBLE = "I was at the supermarket and the queue was endless. {} My colleague brought cake, which was the best part of the day."


@pytest.mark.parametrize("newest", [100, 148])  # folded too, or not
@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        ("We rehearse at the church hall.", "The church hall has mould, so it's Otis's garage for now.", "Where do we rehearse?"),
        ("State lives in Redux, by the way.", "Redux is overkill, everything sits in zustand.", "Where does our state live?"),
        ("Die CI läuft auf dem Runner blauwal.", "Der blauwal ist tot, nimm seestern.", "Worauf läuft die CI?"),
        ("Pilar cuida del horno.", "Pilar se va de baja, le toca a Nacho.", "¿Quién cuida del horno?"),
    ],
    ids=["hall", "redux", "runner", "horno"],
)
def test_what_is_said_later_of_a_thing_is_quoted_behind_it(older: str, newer: str, question: str, newest: int) -> None:
    told = {20: RAMBLE.format(older), newest: RAMBLE.format(newer)}
    messages: list[Message] = []
    for turn in range(150):
        messages.append({"role": "user", "content": told.get(turn, prose(1000 + turn, "en", 1 + turn % 2))})
        messages.append({"role": "assistant", "content": "Noted." if turn in told else prose(turn, "en", 1 + turn % 3)})
    asked = forwarded([*messages, {"role": "user", "content": question}], None).split(question)[-1]
    assert asked.rfind(newer) > asked.rfind(older) > 0
