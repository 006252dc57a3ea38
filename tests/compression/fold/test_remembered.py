"""What people ask of a long chat that shares no word with its answer, or that names a place in it.

Each chat has long answers, as a model's are, and a few short messages in which the user tells something. What is asked at the end
must find it in what is forwarded: what the user is and wants, the newest of several statements, what was asked first, everything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product

import pytest

from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions

Turn = tuple[str, str]
_TURNS = 70
_PRICES = {"no cache": CachePrices(1.0, 1.0), "half price": CachePrices(0.5, 1.0)}


def forwarded(
    told: Sequence[tuple[int, Turn]],
    question: str,
    prices: CachePrices,
    before: Turn | None = None,
    budget: int | None = None,
) -> str:
    """The texts of a folded chat in which some turns tell something, as one text."""
    turns = [(f"{prose(7 * i, 'en', 1)[:-1]}?", prose(7 * i + 1, "en", 5)) for i in range(_TURNS)]
    for place, turn in told:
        turns.insert(place, turn)
    turns += [before] if before else []
    said = [(role, text) for turn in turns for role, text in zip(("user", "assistant"), turn, strict=True)]
    messages = [{"role": role, "content": text} for role, text in (*said, ("user", question))]
    body = json.dumps({"model": "m", "messages": messages}).encode()
    folded = fold_request(body, FoldOptions(prices=prices, budget=budget), WARM)
    assert folded.folded
    assert budget is None or folded.tokens_after <= budget
    return "\n".join(message["content"] for message in json.loads(folded.body)["messages"])


@each(
    ("prices", "told", "question", "needed"),
    every(
        3,
        crosswise(
            [
                (prices, *row)
                for prices in _PRICES.values()
                for row in [
                    ("I gave up meat and fish last spring.", "What could I cook tonight?", "gave up meat and fish"),
                    ("We keep two ferrets in our flat.", "Any ideas for a quiet weekend at home?", "two ferrets"),
                    ("My router runs OpenWrt.", "How do I block adverts for the whole family?", "OpenWrt"),
                    ("Ich vertrage keine Milch.", "Schlag mir ein Frühstück vor.", "keine Milch"),
                    ("Je suis daltonien.", "Quelles couleurs pour mon graphique ?", "daltonien"),
                    ("Talk to me like a pirate.", "What is the capital of Peru?", "like a pirate"),
                    ("Please keep it under fifty words.", "Describe how a lighthouse works.", "under fifty words"),
                ]
            ],
            7,
        ),
        2,
    ),
)
def test_what_a_user_told_of_themselves_outlives_the_talk_around_it(
    told: str, question: str, needed: str, prices: CachePrices
) -> None:
    assert needed in forwarded([(12, (told, "Good to know."))], question, prices)


@each(
    ("prices", "message", "told", "question"),
    every(
        3,
        crosswise(
            [
                (prices, *row)
                for prices in _PRICES.values()
                for row in [
                    ("I can't have sesame. What could replace tahini?", "I can't have sesame.", "What should I bake tonight?"),
                    ("How old must one be for judo? My son Odo is six.", "My son Odo is six.", "Any idea for a present?"),
                    (
                        "Hi! We moved to Truro in May, and it rains. Where do we register? And which day is the market? "
                        + "Thanks! " * 30,
                        "We moved to Truro in May, and it rains.",
                        "What could we do on Sunday?",
                    ),
                    (
                        "Ich esse kein Fleisch. Woher kommt dann das Eisen?",
                        "Ich esse kein Fleisch.",
                        "Plane ein Essen für Samstag.",
                    ),
                    ("Soy celíaca. ¿Qué cereales hay?", "Soy celíaca.", "¿Qué puedo cenar hoy?"),
                    ("Tenho medo de altura. Existe tratamento?", "Tenho medo de altura.", "Planeje um dia no Rio."),
                    ("Мою дочь зовут Варя. Когда учить её плавать?", "Мою дочь зовут Варя.", "Что подарить ребёнку?"),
                    ("ابنتي اسمها ليان. متى تتعلم السباحة؟", "ابنتي اسمها ليان.", "ما الهدية المناسبة للطفلة؟"),
                    ("我女儿叫林小雨。几岁学游泳合适？", "我女儿叫林小雨。", "给孩子买什么礼物？"),
                    ("제 딸 이름은 하린이에요. 수영은 언제 시작하죠?", "제 딸 이름은 하린이에요.", "아이 선물 추천해 줘."),
                ]
            ],
            10,
        ),
        1,
    ),
)
def test_what_a_user_told_beside_a_question_does_so_too(message: str, told: str, question: str, prices: CachePrices) -> None:
    text = forwarded([(12, (message, prose(903, "en", 5)))], question, prices)
    assert told in text


BRIEF = """\
Hello! Please help me plan our wedding over the next weeks. Ines and I marry on Saturday 19 June at the old mill near Tavira,
which belongs to her uncle. We expect 84 guests, among them eleven children and my grandmother, who can't climb stairs. Ines
is vegan and two of her cousins are coeliac, so the catering has to cope with that. We have put aside 14,500 euros for
everything. The mill has power for lights and music but no kitchen, and the neighbours insist on silence after midnight. We
would like long tables under the trees and absolutely no balloons. If it rains we can use the barn, which holds 70 people.
What should I tackle first?"""


@each(
    ("prices", "budget", "question"),
    every(
        2,
        crosswise(
            [
                (*row, question)
                for row in [*((one, None) for one in _PRICES.values()), (CachePrices(0.5, 1.0), 4_000)]
                for question in ["Write the invitation text.", "How many chairs should I order?"]
            ],
            2,
        ),
        1,
    ),
)
def test_what_a_chat_was_opened_with_stays(question: str, prices: CachePrices, budget: int | None) -> None:
    text = forwarded([(0, (BRIEF, prose(903, "en", 5)))], question, prices, budget=budget)
    told = [
        "19 June",
        "near Tavira",
        "84 guests",
        "climb stairs",
        "is vegan",
        "14,500 euros",
        "no kitchen",
        "balloons",
        "70 people",
    ]
    assert [one for one in told if one not in text] == []


@each(
    ("prices", "place", "first", "asked"),
    every(
        2,
        crosswise(
            [
                (prices, place, *row)
                for prices in _PRICES.values()
                for place in [0, 25]
                for row in [
                    (
                        "I'd like to book a trip.",
                        [
                            ("Great! Which city do you live in?", "Porto."),
                            ("Thanks. What is the budget?", "About 2,000 euros."),
                            ("Please tell me how many will travel. Count children too.", "Two adults and a toddler"),
                            ("Do you eat everything?", "No shellfish."),
                        ],
                    ),
                    (
                        "Ich brauche eine Versicherung.",
                        [("Gern! Welchen Beruf haben Sie?", "Dachdecker."), ("Rauchen Sie?", "Nein, nie.")],
                    ),
                    ("我想订餐厅。", [("好的！请告诉我日期。", "下周五晚上"), ("有什么忌口吗？", "不吃辣")]),
                    ("Set up a project.", [("Sure. Which language?", "Elixir"), ("Do you want Docker?", "no, plain systemd")]),
                ]
            ],
            4,
        ),
        1,
    ),
)
def test_an_answer_stays_with_the_question_that_it_needs(
    first: str, asked: Sequence[Turn], place: int, prices: CachePrices
) -> None:
    said = [first, *(text for turn in asked for text in turn), "Fine, I have all that I need."]
    turns = [(place + i, (said[2 * i], said[2 * i + 1])) for i in range(len(said) // 2)]
    text = forwarded(turns, "Please draw up the plan.", prices)
    for question, answer in asked:
        assert text.find(question[-6:]) < text.find(answer)
        assert question[-6:] in text


def test_a_mere_yes_does_not_take_the_room_of_what_users_told() -> None:
    yes = [(20 + i, ("Yes, please.", f"{prose(920 + i, 'en', 5)} Shall I go on with part {i}?")) for i in range(9)]
    text = forwarded([*yes, (12, ("We keep two ferrets.", "Lovely."))], "Any idea for Sunday?", CachePrices(1.0, 1.0))
    assert "We keep two ferrets." in text
    assert text.count("Shall I go on") <= 1


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_a_budget_that_leaves_room_keeps_what_a_user_told(share: float) -> None:
    talk = 13_000  # tokens
    text = forwarded(
        [(12, ("I can't have sesame. What could replace tahini?", prose(903, "en", 5)))],
        "What should I bake tonight?",
        CachePrices(0.5, 1.0),
        budget=int(share * talk),
    )
    assert "I can't have sesame." in text


def test_what_is_told_beside_a_question_again_and_again_is_quoted_once_in_a_block() -> None:
    told = [(4 * i + 3, (f"I use Debian 12. Which shell has feature {i}?", prose(910 + i, "en", 5))) for i in range(7)]
    text = forwarded(told, "Describe how a lighthouse works.", CachePrices(1.0, 1.0))
    assert text[: text.index("</quotes>")].count("I use Debian 12.") == 1


_PORTS = ("Bergen", "Texel", "Lübeck", "Riga", "Visby", "Danzig")


def _article(number: int) -> str:
    """Nine lines of figures and names, as of an article."""
    lines = []
    for line in range(9):
        here, there = _PORTS[(number + line) % 6], _PORTS[(number * line + 1) % 6]
        year, some, all_ships = 1500 + 7 * number + line, 20 + line, 90 + number
        lines.append(f"By {year} only {some} of the {all_ships} ships in {here} had not left for {there} or Novgorod.")
    return "\n".join(lines)


@pytest.mark.parametrize("told", every(2, ["Soy celíaca.", "我坐轮椅。"]))
def test_what_others_say_in_pasted_articles_does_not_take_its_room(told: str) -> None:
    pasted = [(2 * i + 4, (f"{_article(i)}\n\nWhat is new here?", prose(960 + i, "en", 5))) for i in range(30)]
    said = (27, (f"{told} What then?", prose(903, "en", 5)))
    assert told in forwarded([*pasted, said], "Plan a picnic.", CachePrices(0.5, 1.0))


def test_a_statement_is_quoted_with_what_it_needs() -> None:
    message = "I can't have sesame. But that was before the operation. What could replace tahini?"
    text = forwarded([(12, (message, prose(903, "en", 5)))], "What should I bake tonight?", CachePrices(1.0, 1.0))
    assert "I can't have sesame. But that was before the operation." in text


@each(
    ("prices", "old", "new", "question"),
    every(
        2,
        crosswise(
            [
                (prices, *row)
                for prices in _PRICES.values()
                for row in [
                    (
                        "The train to Gothenburg leaves at 7:15.",
                        "They moved it to 8:40, by the way.",
                        "When does the train to Gothenburg leave?",
                    ),
                    ("I am a teacher in Malmö.", "I quit, I am a baker now.", "What is my profession?"),
                    ("Always write in capital letters.", "Normal letters are fine again.", "Name three rivers."),
                    (
                        "Mein Auto ist ein alter Saab.",
                        "Den Wagen habe ich verkauft, ich fahre jetzt Rad.",
                        "Wie komme ich zur Arbeit?",
                    ),
                ]
            ],
            4,
        ),
    ),
)
def test_the_newest_of_several_statements_is_there(old: str, new: str, question: str, prices: CachePrices) -> None:
    text = forwarded([(8, (old, "Noted.")), (30, (new, "Thanks."))], question, prices)
    assert new in text
    assert text.rfind(old) < text.rfind(new)


@each(
    ("prices", "question", "place"),
    crosswise(
        [
            (prices, *row)
            for prices in _PRICES.values()
            for row in [
                ("What was my very first question?", 0),
                ("What did I ask you first?", 0),
                ("How did this chat start?", 0),
                ("Please answer my original question again.", 0),
                ("Was war meine erste Frage?", 0),
                ("Quelle était ma première demande ?", 0),
                ("¿Cuál fue mi primera pregunta?", 0),
                ("我最开始问了什么？", 0),
                ("And what was my second question?", 1),
                ("What was the third thing I asked?", 2),
            ]
        ],
        10,
    ),
)
def test_a_question_that_names_a_place_in_the_chat_is_told_what_stood_there(
    question: str, place: int, prices: CachePrices
) -> None:
    beginning = ["Which knots hold a hammock?", "How do I splice a rope?", "What is a bowline good for?"]
    turns = [(i, (text, f"Answer {i}: it depends on the rope.")) for i, text in enumerate(beginning)]
    text = forwarded(turns, question, prices)
    assert beginning[place] in text
    assert f"Answer {place}" in text


@each(
    ("prices", "question"),
    crosswise(
        product(
            _PRICES.values(),
            [
                "What have we talked about so far?",
                "What do you know about me?",
                "Summarise everything we have discussed.",
                "Worüber haben wir gesprochen?",
                "List all decisions we made.",
            ],
        ),
        5,
    ),
)
def test_a_question_about_everything_is_told_what_the_user_said(question: str, prices: CachePrices) -> None:
    told = ["We settled on the walnut table.", "My brother Ansgar will drive the van."]
    text = forwarded([(5 + 20 * i, (one, "Fine.")) for i, one in enumerate(told)], question, prices)
    assert [one for one in told if one not in text] == []


@each(
    ("prices", "question"),
    every(
        3,
        [
            *product(
                _PRICES.values(),
                ["What was that hammock hook called?", "Show me that hammock hook again.", "Quel est le prix du hamac rouge ?"],
            )
        ],
        2,
    ),
)
def test_a_long_answer_before_a_question_does_not_drown_its_own_words(question: str, prices: CachePrices) -> None:
    """ "That" may point to the exchange before, whose words count too, but fewer than those of the question."""
    told = [
        (10, ("Which hammock hook holds 200 kg?", "The Nautilus 9, in stainless steel.")),
        (14, ("Le hamac rouge coûte 129 euros.", "Bien.")),
    ]
    text = forwarded(told, question, prices, before=(prose(901, "en", 2), prose(902, "en", 20)))
    assert ("129 euros" if "hamac " in question else "Nautilus 9") in text


@each(
    ("prices", "question"),
    product(
        _PRICES.values(),
        [
            "List all requirements for the pergola.",
            "What was the first thing I asked about the pergola?",
            "Was weißt du über die Pergola?",
        ],
    ),
)
def test_a_question_with_a_topic_of_its_own_is_told_about_that(question: str, prices: CachePrices) -> None:
    told = [
        (30, ("The pergola, Pergola PX-2, needs larch beams.", "Larch lasts.")),
        (40, ("The pergola must bear 80 kg of snow.", "Fine.")),
    ]
    text = forwarded(told, question, prices)
    assert "larch beams" in text
    assert "80 kg of snow" in text


@each(
    ("prices", "order"),
    every(
        2,
        crosswise(
            product(_PRICES.values(), ["shorter please", "no bullet points please", "bitte kürzer", "plus court s'il te plaît"]),
            4,
        ),
        1,
    ),
)
def test_a_manner_of_answering_outlives_the_talk_around_it(order: str, prices: CachePrices) -> None:
    answered = prose(801, "en", 5)
    assert order in forwarded([(12, (order, answered))], "What is the capital of Peru?", prices)
    assert order in forwarded([(12, (order, answered))], "What is the capital of Peru?", prices, budget=1500)


@each(
    ("budget", "old", "new", "question"),
    every(
        2,
        crosswise(
            [
                (budget, *row)
                for budget in [None, 4000, 1500]
                for row in [
                    (
                        "The roofer comes on Tuesday.",
                        "they moved it to Saturday. do I need to clear the yard?",
                        "When does the roofer come?",
                    ),
                    (
                        "We are 14 people for the boat.",
                        "no, 17, not 14. is the boat large enough?",
                        "For how many people is the boat?",
                    ),
                    (
                        "Der Klempner kommt am Montag.",
                        "verschoben auf Freitag. Was soll ich bereitlegen?",
                        "Wann kommt der Klempner?",
                    ),
                ]
            ],
            3,
        ),
        1,
    ),
)
def test_what_no_longer_holds_does_not_stand_alone(old: str, new: str, question: str, budget: int | None) -> None:
    told = [(8, (old, prose(811, "en", 5))), (24, (new, prose(812, "en", 5)))]
    text = forwarded(told, question, _PRICES["no cache"], budget=budget)
    assert new.partition(". ")[0] in text


@pytest.mark.parametrize("prices", _PRICES.values(), ids=list(_PRICES))
def test_a_brief_that_is_given_one_message_at_a_time_is_kept(prices: CachePrices) -> None:
    brief = [
        "I need a text for my kennel.",
        "it's called Paw & Order",
        "the tone should be calm but not dull",
        "mention the pond",
    ]
    told = [(n, (one, "Got it.")) for n, one in enumerate(brief)]
    towns = ["Oslo", "Turin", "Ghent", "Lviv", "Cork", "Porto", "Graz", "Bergen", "Malmo", "Vigo"]
    for n, town in enumerate(towns):
        asked = (
            f"I need to know whether our project {n}4{n} in {town} must have its own server, since my team never had one there."
        )
        told.append((10 + 2 * n, (asked, prose(820 + n, "en", 5))))
    text = forwarded(told, "Now write it.", prices)
    assert [one for one in brief if one not in text] == []
