"""A sentence is shown with what it points to by a word inside it; what points to nothing is left alone."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.text.statements import statements


@each(
    ("text", "needs"),
    [
        ("The parcel left Lyon. I expect it on the 9th. The box is red.", {1: 0}),
        ("The valve in the cellar leaks. Your plumber suggested removing it.", {1: 0}),
        ("The budget for the fair was set at 12,000. Marta thinks that is enough.", {1: 0}),
        ("Die Pumpe steht seit gestern. Ich erwarte ihn am Montag.", {1: 0}),
        ("Serwis winę przypisuje pompie. Kazał ją jednak sprawdzić.", {1: 0}),
        ("La reunión se fijó para el 12. Marta la cambió al 15.", {1: 0}),
        ("Léa a sept ans cette année. Ne lui en donnez pas le soir.", {1: 0}),
        ("Let it rise for an hour. In a cold kitchen this takes two.", {1: 0}),
        ("The form K-12 asks for a seal. In Torsby that costs nine euros.", {1: 0}),
        ("Your pressure was 150 in the evening. Should it rise again, we will talk.", {1: 0}),
        ("Either party may end this with notice. In year one only the client may do so.", {1: 0}),
        ("Ruth proposed to move the launch to May. Amir objected because of the audit.", {0: 1, 1: 0}),
        ("The carrier is liable up to 500 per parcel. A higher sum can be agreed in writing.", {1: 0}),
        ("Keep the red boxes in the hall. Burn everything else.", {1: 0}),
        ("The clinic says six pills. The hospital says seven.", {0: 1, 1: 0}),
        ("The gauge shows 1.9 bar. I checked the plate. It says 2.5.", {0: 2, 2: 0}),
        ("Throughput was 900 a second. Caching was turned off during the test.", {0: 1}),
        ("The depot opens on 3 March. Staff know of it. That date assumes a permit.", {0: 2, 2: 0}),
        ("You may keep one pet. The garden may be used by all. The first of these rights may end.", {0: 1}),
        ("Motion by Ms Hart to sell the house. Mr Dunn spoke for it. The motion failed.", {0: 2}),
        ("Usta pompayı değiştirdi. Bu işe yaramadı.", {0: 1, 1: 0}),
        ("営業部は12日を希望しています。部長はそれを認めませんでした。", {0: 1, 1: 0}),
    ],
)
def test_a_sentence_needs_what_it_points_to(text: str, needs: dict[int, int]) -> None:
    read = statements(text)
    if len(read.spans) == 1:  # one statement: nothing is parted
        return
    assert all(needed in read.with_needs(i) for i, needed in needs.items()), read.needs


@each(
    "text",
    [
        "We stored the tents in the attic. The pump in Varn and the one that feeds it need oil.",
        "berth 1 is free, the table says. berth 1 is free, the table says.",
    ],
)
def test_what_points_to_nothing_in_front_stands_alone(text: str) -> None:
    assert not any(statements(text).needs)


@each(("between", "reaches"), [(1, True), (3, True), (4, False)])
def test_a_pronoun_means_who_was_spoken_of_up_to_three_sentences_before(between: int, reaches: bool) -> None:
    said = ["The stock was counted on Friday.", "The hall was open.", "The doors were shut.", "The lists were long."][:between]
    text = f"Ruth met the auditor. He asked for the lists. {' '.join(said)} He signed them."
    read = statements(text)
    last = len(read.spans) - 1
    shown = [read.spans[k].of(text) for k in {last, *read.with_needs(last)}]
    assert any("He asked" in one for one in shown) == reaches
