"""A sentence is shown with what it refers to without naming it, and a claim with the comment that denies or limits it.

These tests cover one case for each kind of reference, beside one that looks like it and refers to nothing. They leave out natural
texts (``test_meaning.py``).
"""

from __future__ import annotations

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.text.statements import statements


def _pairs(text: str) -> set[tuple[str, str]]:
    """First words of each sentence, and those of the sentences shown with it."""
    read = statements(text)
    heads = [span.of(text)[:8] for span in read.spans]
    whole = {head: span.of(text) for head, span in zip(heads, read.spans, strict=True)}
    return {(head, shown) for i, head in enumerate(heads) for k in read.with_needs(i) for shown in (whole[heads[k]],)}


def _shows(text: str, beginning: str, other: str) -> bool:
    return any(beginning.startswith(head) and other in shown for head, shown in _pairs(text)) or any(
        beginning in shown and other in shown for _, shown in _pairs(text)
    )


@each(
    ("first", "second"),
    [
        ("The form must be in by noon on Thursday.", "Any form made after that will be read on Monday."),
        ("Town households paid 1,840 euros last winter.", "Village households paid more than that, some 2,300."),
        ("The gas price may stay below 40.", "Critics call that assumption naive."),
        ("Larger boats pay a fee of 30.", "The harbour board assumes that will change by May."),
        ("The maker calls the results good.", "Our readers and editors do not share this view."),
        ("The tent can be dried indoors.", "Some of the campers asked about that."),
        ("Swiss staff have rules of their own.", "There the limit is 20 days a year for all."),
        ("In Bergen rents are high.", "Food is almost a tenth dearer there."),
        ("The board put the vote off to June.", "Until then the former fee of 40 is due."),
        ("Alpha lost two rows in ten million.", "Our advice is therefore Alpha for small sites."),
        ("Three pilots flew the new approach.", "The third did not write a report for us."),
        ("The old crane of Varn lifts nine tonnes.", "The new will lift 40 tonnes, according to Ida Moore."),
        ("Two patients of the group fainted.", "Neither had taken the full dose before."),
        ("A new procedure applies by day.", "At night the old one stays in force."),
        ("The hall is booked for three nights.", "Nora and I will only use two."),
        ("Nine of the letters came late.", "Two were our own fault, as it happens."),
        ("The test in the cellar gave 40 seconds.", "In the open air it was 12 seconds."),
        ("Water damage is not covered at all.", "The Pro model of last year is the exception."),
        ("The bus to the airport runs hourly.", "At the weekend the fare is lower."),
        ("Android users got the update in May.", "iPhone owners are still waiting."),
        ("Check-in closes forty minutes before, or sixty.", "Ella and I would rather believe the latter."),
        ("Der Nachbar widerspricht dem Antrag auf den Balkon.", "Die Frist für seinen Widerspruch ist gestern abgelaufen."),
        ("Der Nachbar misst 1,60 Meter Tiefe.", "Gemessen hat er es nicht selbst."),
        ("The plant reported 29,000 tonnes for last year.", "The drop is due to another way of counting."),
        ("Con tarifa básica cabe un bolso.", "Marta compró en mayo una de esa."),
        ("Marta quiso cambiar el vuelo del martes.", "Al final no pagó los 60 euros."),
        ("Le fournisseur livre en deux fois.", "La maison Roux attend toutefois une seule livraison."),
    ],
)
def test_a_sentence_needs_what_it_refers_to(first: str, second: str) -> None:
    for text in (f"{first} {second}", f"The pump was painted in spring. {first} {second} The quay was swept by hand."):
        assert _shows(text, second, first), statements(text)


@each(
    ("first", "second"),
    [
        ("The oldest beetle was found in 1794.", "Its label, however, was written by a man who is known to have changed dates."),
        ("Marek wanted to ship Linux today.", "The server takes one version at a time."),
        ("Pills of zinc were thought to prevent colds.", "Three large trials saw no such thing."),
        ("We first blamed the kernel of the host.", "A full disk on the log volume was behind it all."),
        ("The crew tried stopping the pump by hand.", "Pressure went up to 170 within the hour."),
        ("Ravi reported that members would pay 50.", "Ines had heard the opposite from the northern branch."),
        ("The trial showed no fracture of the knee.", "It was taken before the fall."),
        ("Security fixes are free of the freeze.", "They need approval from two leads, one of whom must be on call."),
        ("The plane leaves from gate 2 at noon.", "Now the plane leaves from gate 4."),
        ("Initially the plant was sold by weight.", "Buyers pay by the pot these days."),
    ],
)
def test_a_claim_needs_the_comment_that_denies_or_limits_it(first: str, second: str) -> None:
    text = f"The quay was swept in spring. {first} {second} The pump was painted by hand."
    assert _shows(text, first, second), statements(text)


@each(
    ("said", "replied"),
    [
        ("legal says it has to stay in Dublin", "that was for the old contract"),
        ("he said 600 because of the dog", "we don't have a dog"),
        ("i paid 600 yesterday at the desk", "it was supposed to be 450"),
    ],
)
def test_in_a_dialogue_a_line_is_shown_with_the_reply_that_limits_it(said: str, replied: str) -> None:
    text = f"Mia: the hall has new lamps\nJon: {said}\nMia: {replied}\nJon: the chairs came from Bergen"
    assert _shows(text, said, replied), statements(text)


@each(
    ("asked", "replied"),
    [
        ("how long does it last?", "two years in all"),
        ("shall we take Stockholm?", "4% lower, with 38 ms of delay"),
        ("can i cancel after 14 days?", "only if the fare is full"),
    ],
)
def test_in_a_dialogue_a_fragment_is_shown_with_what_it_replies_to(asked: str, replied: str) -> None:
    text = f"Mia: the hall has new lamps\nJon: {asked}\nMia: {replied}\nJon: the chairs came from Bergen"
    assert _shows(text, replied, asked), statements(text)


def test_a_person_is_named_however_many_sentences_lie_between() -> None:
    text = "The customer cannot export. The limit was 10,000 rows. Newer builds have 50,000. She is on 4.0 of last year."
    assert _shows(text, "She is on 4.0", "The customer cannot export.")


@each(
    "second",
    [
        "Boats from Varn came to the regatta in May this year.",
        "There is a crane on the northern quay of Varn.",
        "Both the crane and the gate of Varn were painted green.",
        "Boats of Varn return in the second week of June.",
        "Instead of a crane the port of Varn bought two trucks.",
        "A report of 2019 about trucks was printed in Varn.",
        "Though it rained in Varn, boats came in by the dozen.",
        "Paragraph B and a third part name the boats of Varn.",
        "The crane of Varn has an arm longer than the quay is wide.",
        "The rise of the sea near Varn was measured in two places.",
    ],
)
def test_what_refers_to_nothing_in_front_stands_alone(second: str) -> None:
    text = f"Marta Lind stored 12 tents in the attic on 3 May. {second}"
    assert not any(statements(text).needs), statements(text)


@each("unit", ["It rained. ", "That was it. Now it is not. ", "A: that is so\nB: it is not\n", "He wanted to. "])
def test_references_cost_linear_time(unit: str) -> None:
    assert_linear(statements, lambda size: unit * (size // len(unit)), 3_000)
