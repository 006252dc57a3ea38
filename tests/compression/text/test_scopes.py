"""What limits a claim by its number, or says of "this" where it holds, and lines that say whose the lines below them are.

These tests cover ``numbered_ties``, ``scope_ties``, and lines of names and times (``heads``), through ``statements``. They leave
out what layers show of such texts (``test_layers``), ties by other words (the other tests of ties).

A case is a claim, a sentence that it must not be shown without, and the text's other sentences, in their order.
"""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.text.statements import statements


def _shown_with(text: str, claim: str) -> str:
    read = statements(text)
    index = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    return "".join(read.spans[i].of(text) for i in sorted(read.with_needs(index)))


NUMBERED = [
    (
        "1. Close the main tap.\n2. Take off the cover.\n3. Clean the sieve.\n\nLeave out step 2 on models without a cover.",
        "Take off",
    ),
    (
        "2.1 The buyer may return goods.\n2.2 The seller pays the freight.\n2.3 Clause 2.2 does not apply to sales.",
        "pays the freight",
    ),
    ("7.1 Dogs are welcome.\n7.2 Cats are welcome.\n7.3 Paragraphs 7.1 and 7.2 do not hold in the kitchen.", "Dogs are"),
    (
        "Article 4. The board meets in public.\nArticle 5. Minutes are kept.\nArticle 6. Article 4 has no effect in May.",
        "in public",
    ),
    ("§ 2 Der Verein hat einen Kassier.\n§ 3 Er darf Geld anlegen.\n§ 4 § 3 gilt nicht für Spenden.", "Geld anlegen"),
    ("1. Ouvrez la vanne.\n2. Videz la cuve.\n3. Rincez.\n\nL'étape 2 n'est pas nécessaire si la cuve est vide.", "Videz"),
    ("1. Abra la tapa.\n2. Retire el filtro.\n3. Cierre.\n\nEl paso 2 solo se hace en verano.", "Retire"),
    ("1. Откройте кран.\n2. Слейте воду.\n3. Закройте.\n\nШаг 2 не нужен зимой.", "Слейте"),
    ("第一条 会员可以借书。\n第二条 年费一百元。\n第三条 第一条不适用于词典。", "可以借书"),
    ("1) Sand the door.\n2) Prime it.\n3) Paint it twice.\n\nOnly do step 2 on bare wood.", "Prime it"),
]


@each(("text", "claim"), NUMBERED)
def test_what_is_limited_by_its_number_is_shown_with_its_limit(text: str, claim: str) -> None:
    assert text.rstrip().split("\n")[-1] in _shown_with(text, claim)


SCOPED = [
    ("The roof terrace may be used at night. That applies to the members of the club. Towels cost one euro.", "may be used"),
    ("Cheese keeps for two months. This holds for whole wheels. The shop opens at nine.", "keeps for two"),
    ("The old keys still open the gate. They will stop working on Monday. The guard is called Ruth.", "still open"),
    ("Rent is paid by the state. The exemption ends with the third child. Forms are in the hall.", "paid by the state"),
    ("Bis 18 Uhr ist das Parken frei. Das gilt am Markt und am Hafen. Es gibt einen Kiosk.", "Parken frei"),
    ("Le musée est gratuit le lundi. Cela concerne les étudiants de la ville. Le café est cher.", "gratuit"),
    ("Los perros pueden bañarse. La regla vale hasta junio. Hay duchas.", "bañarse"),
    ("Bagaż jest wliczony w cenę biletu. Zasada dotyczy klasy pierwszej. Okna są duże.", "wliczony"),
    ("Проезд для всех бесплатный с марта. Это касается автобусов города. Кондуктор вежлив.", "бесплатный"),
    ("The clinic offers free vaccination. Children under two get the vaccination only on Fridays. Bring a card.", "offers free"),
    ("Guests may use the sauna at any time. Staff use the sauna only before noon. Bring slippers.", "at any time"),
    ("The keys are with Ms Okoro, Mr Lind and the porter. Mr Lind moves to Oslo next week. The hall is blue.", "Ms Okoro"),
    ("We sell the mill, the barn and the pond. The barn burnt down last night. Tea is served at five.", "We sell"),
    ("Press both buttons for a while. This erases every saved station. The cable is two metres long.", "both buttons"),
    ("Drücken Sie lange auf Plus. Das löscht alle Sender. Das Kabel ist zwei Meter lang.", "auf Plus"),
    (
        "We repair the frame for nothing. Look at the back of the card, though: a stamp of each year has to be on it.",
        "frame for nothing",
    ),
    ("المتحف مفتوح للجميع. ما عدا يوم الجمعة. المقهى صغير.", "مفتوح"),
    ("Tous les membres paient une caution. Les retraités en sont dispensés. Le bar ferme tôt.", "paient une caution"),
]


def test_all_steps_are_shown_with_what_they_undo() -> None:
    steps = "Hold the knob down. The light goes blue. Let go of it. This deletes all timers. Spare knobs are in the lid."
    assert "deletes all timers" in _shown_with(steps, "Hold the knob")


@each(("text", "claim"), SCOPED)
def test_a_claim_is_shown_with_the_sentence_that_says_where_it_holds(text: str, claim: str) -> None:
    second = text.split(". ")[1]
    assert second in _shown_with(text, claim)


def test_lines_are_shown_with_the_line_that_says_who_wrote_them() -> None:
    talk = "Ines Roth  8:02 AM\nthe lift is broken\nTom  8:05 AM\nis it the door again?\nInes Roth  8:06 AM\nyes\nI called them"
    assert _shown_with(talk, "I called").startswith("Ines Roth  8:06 AM")
    forum = "leo — Today at 19:14\nversion 3 works\nmaja — Today at 19:20\nthe cable must be short\nand shielded, I think"
    assert _shown_with(forum, "and shielded").startswith("maja")
    dated = "Ruth Ek [12/05/2024, 10:31]\nWe take the blue one.\nBo [12/05/2024, 10:40]\nIt leaks a little at the seam."
    assert _shown_with(dated, "leaks").startswith("Bo")


def test_a_timetable_has_no_speakers() -> None:
    read = statements("Graz 10:02\nBruck 10:41\nLeoben 10:58\nVillach 13:10\n")
    assert not any(span.kind for span in read.spans)


def test_the_number_of_an_article_is_no_sentence() -> None:
    rules = "Article 3. Members vote by hand.\nStep 2. Open the lid.\nСтатья 5. Сбор равен ста рублям."
    cut = [span.of(rules).strip() for span in statements(rules).spans]
    assert cut[0] == "Article 3. Members vote by hand."
    assert "Статья 5. Сбор равен ста рублям." in cut
    told = "The two of us sat in row 12. The lady beside Otto Brand talked through the whole film."
    assert len(statements(told).spans) == 2


#: Nothing here limits by a number or a scope.
ORDINARY = [
    "The library opens at nine in the morning on weekdays. The reading room upstairs holds eighty visitors and a piano.",
    "The trains to Ghent were late again this morning. A signal near Aalst had failed long before dawn yesterday.",
    "Ruth planted forty tulips along the wooden fence. Otto from next door counts a lot of bees each evening before supper.",
    "The museum bought two large paintings by Ensor. Visitors from Antwerp queue around the corner since the weekend.",
    "The mayor repaired the bridge in Leuven last summer. Cyclists from Brussels cross the canal there in large numbers.",
    "The parser team shipped a new release on Tuesday. Two senior reviewers praised Ines for the tests in the archive.",
    "Mara runs a small bakery in the centre of Porto. Dark rye bread from Braga sells out by ten on most mornings.",
    "Alvarez quoted 400 euros for the pump in March. Bannon asked for 350 euros with only 2 years of written guarantee.",
    "Jonas studied geology in Oslo and in Bergen. Mira moved to Turku in autumn because of a post at the university.",
    "The choir in Lund rehearses Bach on Mondays. Tenors from Malmö are welcome at the evening course in the church.",
    "The orchestra of Graz played Mahler in the hall. Eva Horak conducted from memory and received long applause.",
    "In May, Brandt opened a bakery with nine ovens and a mill in Graz. Brandt sells rye bread to schools of the valley.",
    "Ines erases the blackboard each day in geography. Pupils from Bern bring their own coloured chalk.",
    "The harbour of Split was full of sailing boats. Tourists from Zagreb bought figs at the market near the palace.",
]


@each("text", ORDINARY)
def test_ordinary_sentences_stand_alone(text: str) -> None:
    assert not any(statements(text).needs)


#: An item, and a sentence that speaks of a number but limits nothing.
UNLIMITED = [
    (
        "1. Peel the carrots.\n2. Slice the onions.\n3. Boil the rice.\n\nStep 2 takes the cook about ten minutes.",
        1,
    ),
    ("4.1 The tenant waters the plants.\n4.2 The owner mows the lawn.\n4.3 Clause 4.1 was added by the lawyers in May 2021.", 0),
    ("Article 2. Members receive a badge.\nArticle 3. Badges are blue.\nArticle 4. Article 2 was drafted by Ruth Ek in 1998.", 0),
    ("1. Mischen Sie Mehl und Milch.\n2. Backen Sie den Teig.\n\nSchritt 2 dauert in einem alten Ofen etwa zwanzig Minuten.", 1),
]


@each(("text", "item"), UNLIMITED)
def test_what_is_only_mentioned_by_its_number_stands_alone(text: str, item: int) -> None:
    read = statements(text)
    assert text.rstrip().split("\n")[-1] not in "".join(read.spans[i].of(text) for i in read.with_needs(item))
