"""A question whose words the answer spells otherwise, or calls by another name.

These tests show what folds quote for mistyped questions, questions without accents, and those that name a kind of thing. They
leave out questions in the words of their answers (``test_ranking``).
"""

from __future__ import annotations

from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import FoldOptions

#: Share words with the questions, and answer none.
_BESIDE: Final = (
    "I had an idea in the morning, which I forgot by the evening.",
    "We talked about my plans with everybody in the house.",
    "There is a lot to do in our street, and I like it.",
    "I did nothing at all at the weekend, and enjoyed every hour of it.",
    "What I think about it changes from day to day.",
    "It took me a long time to find out where I put the letter.",
    "When do people have time for all these things?",
    "Which of them is right I never know.",
)


def _sent(told: str, question: str, share: float = 0.12) -> str:
    messages: list[Message] = []
    for turn in range(60):
        said = told if turn == 20 else f"{_BESIDE[turn % len(_BESIDE)]} {prose(turn, 'en', 1)}"
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": prose(500 + turn, "en", 1 if turn % 3 else 8)})
    body = encode([*messages, {"role": "user", "content": question}])
    size = fold_request(body, FoldOptions(), WARM).tokens_before
    folded = fold_request(body, FoldOptions(budget=int(size * share)), WARM)
    return "\n".join(message.text for message in folded.forwarded.messages)


def _sent_by_default(told: str, question: str) -> str:
    messages: list[Message] = []
    for turn in range(60):
        said = told if turn == 20 else prose(turn, "en", 2)
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": prose(500 + turn, "en", 4)})
    folded = fold_request(encode([*messages, {"role": "user", "content": question}]), FoldOptions(), WARM)
    return folded.forwarded.messages[-1].text


@each(
    ("told", "question"),
    every(
        3,
        [
            ("I feed two goldfish and a tortoise before breakfast.", "Which pets do I have?"),
            ("Rex barked at the postman until noon.", "What did my dog do?"),
            ("We ate our pears under the bridge.", "What fruit did we have?"),
            ("The clarinet squeaks whenever it's damp.", "Which instrument do I have?"),
            ("Wir haben den alten Lieferwagen verkauft.", "Was ist mit meinem Auto?"),
            ("Je joue de la flûte sous le pont.", "Quel instrument est le mien ?"),
            ("Desayuno cerezas en el balcón.", "¿Qué fruta me gusta?"),
            ("Aunt Rosalind keeps bees on the roof.", "Who is in my family?"),
            ("For tides I look at https://tides.example/lisbon first.", "Which links did I send?"),
        ],
        1,
    ),
)
def test_an_answer_by_name_to_a_question_by_kind_is_quoted(told: str, question: str) -> None:
    assert told in _sent(told, question)


@each(
    ("told", "question"),
    every(
        3,
        [
            ("The chimney sweep comes on the 9th, before noon.", "wehn does teh chimeny sweep come?"),
            ("My thermostat is set to nineteen degrees at night.", "how is the thermostst set"),
            ("The excursion costs twelve crowns for children.", "waht is the pirce of the excurion?"),
            ("Les clés sont chez la bouchère, Mme Hébrard.", "ou sont les cles"),
            ("Çiğdem'in düğünü sahilde olacak.", "cigdem'in dugunu nerede"),
            ("Die Schlüssel hängen hinter dem Mantel.", "wo sind die schluessel"),
            ("Środy spędzamy u Żanety w Łodzi.", "gdzie spedzamy srody"),
            ("El cumpleaños de Íñigo cae en domingo.", "cuando es el cumpleanos de inigo"),
        ],
        2,
    ),
)
def test_what_a_mistyped_word_is_meant_for_is_found(told: str, question: str) -> None:
    assert told in _sent(told, question, 0.06)


@each(
    ("told", "question"),
    [
        ("The spice rack fell off the wall again.", "How much space is there behind the moon?"),
        ("We waited for later boats and got none.", "How do I alter a column's width?"),
        ("My rewarding evening class has ended.", "What are the rules regarding parking?"),
        ("I painted the joints of the frame green.", "How many points does a triangle have?"),
        ("She adapted the play for children.", "Can foreigners adopt a ferret?"),
    ],
)
def test_a_word_that_is_spelled_right_is_not_taken_for_another(told: str, question: str) -> None:
    assert told not in _sent_by_default(told, question)


@each(
    ("told", "question"),
    every(
        3,
        [
            ("My daughter has a toddler to look after.", "What kind is it?"),
            ("Our puppy ran off with a hamster.", "Which tier are we on?"),
            ("I saw the mayor at the parade.", "Which tools are there?"),
            ("He had to take the bins out and keep the receipt.", "What do I carry?"),
            ("Booked the sweep, booked the plumber, booked them all.", "Which restaurants are there?"),
            ("She was born in the year of the comet.", "Should I alter it?"),
            ("They react to it at once.", "Is there an allergy?"),
        ],
        1,
    ),
)
def test_what_is_only_spelled_like_a_thing_of_a_kind_is_none(told: str, question: str) -> None:
    assert told not in _sent_by_default(told, question)


@each(
    ("told", "question"),
    [
        ("Mon chat dort sur le piano de ma tante.", "Quels animaux avons-nous ?"),
        ("Mes enfants ont six et neuf ans, tous les deux au mois de mai.", "Quel âge ont mes enfants ?"),
        ("Mein Mantel hängt noch im Büro.", "Wo sind meine Kleider?"),
    ],
)
def test_a_word_of_another_language_counts_where_texts_are_in_it(told: str, question: str) -> None:
    assert told in _sent(told, question)


@each(
    ("told", "question"),
    every(
        3,
        [
            ("Dr Osei can see the twins at 3 pm, Mrs Bell cannot.", "Who has room at 15:00?"),
            ("Das Amt macht für uns um 15.30 Uhr auf.", "Was ist um 15:30?"),
            ("Le notaire nous reçoit à 9 h, la banque jamais.", "Que fait-on à 9:00 ?"),
            ("The marquee goes up on April 3, whatever the rain does.", "What goes up on 04/03?"),
            ("Der Kran kommt am 3. April zum Hafen.", "Was kommt am 03.04.?"),
            ("La grúa llega el 3 de abril al puerto.", "¿Qué llega el 2027-04-03?"),
            ("She owns twenty-five accordions, and plays none.", "Who owns 25?"),
            ("Opa hat fünfundzwanzig Tauben auf dem Dach.", "Wer hat 25?"),
            ("Ma voisine a vingt-cinq perroquets dans le grenier de la maison.", "Qui en a 25 ?"),
            ("Mi abuela guarda veinticinco relojes en la despensa.", "¿Quién guarda 25?"),
        ],
        2,
    ),
)
def test_numbers_times_and_dates_are_found_however_they_are_written(told: str, question: str) -> None:
    assert told in _sent(told, question, 0.06)


def test_in_a_document_things_of_a_kind_that_a_question_names_are_none_of_its_words() -> None:
    pages = [
        f"{name}: {prose(number, 'en', 5)}" for number, name in enumerate(("Orchards", "Apples and pears", "Plums", "Fruit"))
    ]
    asked = "What does it say of fruit?"
    text = "\n\n".join(pages)
    before: list[Message] = [{"role": "user", "content": text}, {"role": "assistant", "content": "Read."}]
    body = encode([*before, {"role": "user", "content": asked}])
    folded = fold_request(body, FoldOptions(budget=140), WARM)
    sent = "\n".join(message.text for message in folded.forwarded.messages)
    assert pages[3][:40] in sent


@each(
    ("requests", "question"),
    [
        (("Draft a slogan for the bakery.", "A slogan for the ferry.", "And one for the zoo."), "Send me all three slogans."),
        (("Ein Limerick über Kiel bitte.", "Noch einen, über Ulm."), "Zeig mir bitte beide Limericks."),
        (("Écris une comptine sur la pluie.", "Encore une sur le vent."), "Redonne-moi les deux comptines."),
    ],
)
def test_all_works_of_a_kind_are_quoted_whole(requests: tuple[str, ...], question: str) -> None:
    made = [f"{prose(900 + number, 'en', 2)} Made as number {number}." for number in range(len(requests))]
    messages: list[Message] = []
    for turn in range(40):
        messages.append({"role": "user", "content": f"{_BESIDE[turn % len(_BESIDE)]} {prose(turn, 'en', 1)}"})
        messages.append({"role": "assistant", "content": prose(500 + turn, "en", 6)})
    exchanges: list[list[Message]] = [
        [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        for asked, answer in zip(requests, made, strict=True)
    ]
    messages[20:20] = [message for exchange in exchanges for message in exchange]
    folded = fold_request(encode([*messages, {"role": "user", "content": question}]), FoldOptions(), WARM)
    sent = "\n".join(message.text for message in folded.forwarded.messages)
    assert [answer for answer in made if answer not in sent] == []


def _made_apart(requests: tuple[str, ...], question: str) -> list[str]:
    """Those of the works, made with other talk in between, that are not sent."""
    made = [f"{prose(900 + number, 'en', 2)} Made as number {number}." for number in range(len(requests))]
    messages: list[Message] = []
    for turn in range(40):
        if turn % 6 == 2 and turn // 6 < len(requests):
            messages.append({"role": "user", "content": requests[turn // 6]})
            messages.append({"role": "assistant", "content": made[turn // 6]})
        beside = f"{_BESIDE[turn % len(_BESIDE)]} It does make a difference. {prose(turn, 'en', 1)}"
        messages.append({"role": "user", "content": beside})
        messages.append({"role": "assistant", "content": prose(500 + turn, "en", 6)})
    folded = fold_request(encode([*messages, {"role": "user", "content": question}]), FoldOptions(), WARM)
    sent = "\n".join(message.text for message in folded.forwarded.messages)
    return [answer for answer in made if answer not in sent]


@each(
    ("requests", "question"),
    [
        (("Draft a slogan for the bakery.", "And one for the ferry.", "Another one, for the zoo."), "Send me all three slogans."),
        (("Ein Limerick über Kiel bitte.", "Und noch einen über Ulm."), "Zeig mir bitte beide Limericks."),
        (("Écris une comptine sur la pluie.", "Et encore une sur le vent."), "Redonne-moi les deux comptines."),
    ],
)
def test_works_of_a_kind_that_were_made_with_other_talk_in_between_are_quoted_whole(
    requests: tuple[str, ...], question: str
) -> None:
    assert _made_apart(requests, question) == []


def test_one_more_of_another_kind_is_none_of_them() -> None:
    requests = ("Draft a slogan for the bakery.", "Write a riddle about geese.", "And one about owls.", "A slogan for the zoo.")
    missing = _made_apart(requests, "Send me both slogans.")
    assert [text[-9:] for text in missing] == ["number 1.", "number 2."]
