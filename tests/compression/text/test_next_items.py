"""A numbered paragraph and the next one that is about it: "(2) This does not apply to ...".

These tests cover ``numbered.ties_of_next_items``, through ``statements`` and layers. They leave out limits that name a number
(``test_scopes``).
"""

from __future__ import annotations

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.text.statements import statements

NEXT = [
    ("(1) Der Mieter trägt die Kosten der Wartung.\n(2) Das gilt nicht für Schäden durch den Vermieter.", 0, 1),
    ("1. The tenant pays for repairs up to 50 euros.\n2. This does not apply to the roof.\n3. Rent is due on the third.", 0, 1),
    ("(a) The tenant may keep a cat in the flat.\n(b) This does not apply to flats with a garden.", 0, 1),
    ("4.1 The buyer pays the freight in full.\n4.2 This shall not apply where the goods are collected.", 0, 1),
    ("(1) Le locataire paie l'eau de la maison.\n(2) Cela ne vaut pas pour les caves.", 0, 1),
    ("(1) El socio puede pescar en el lago.\n(2) Esto no se aplica en mayo.", 0, 1),
    ("(1) Il socio può pescare nel lago.\n(2) Ciò non vale nel mese di maggio.", 0, 1),
    ("1. Membership of the club is free.\n2. Sentence 1 does not apply to firms.", 0, 1),
    ("(1) Jeder darf im See fischen.\n(2) Satz 1 gilt nicht im Mai.", 0, 1),
    ("- Members may fish in the lake.\n- This does not hold in May.", 0, 1),
    ("1. The seller bears the risk. It ends on delivery.\n2. The foregoing does not apply to food.", 0, 1),
]


@each(("text", "claim", "limit"), NEXT)
def test_an_item_is_shown_with_the_next_one_that_limits_it_and_the_other_way_round(text: str, claim: int, limit: int) -> None:
    read = statements(text)
    assert limit in read.with_needs(claim)
    assert claim in read.with_needs(limit)


@each(
    "text",
    [
        "1. The tenant pays for repairs up to 50 euros.\n2. This clause does not end with the lease.",
        "(1) Der Mieter trägt die Kosten der Wartung.\n(2) Das Haus ist nicht versichert.",
        "The tenant pays for all of the repairs.\n2. That will be the day of the fair for all.",
    ],
)
def test_an_item_about_something_else_is_not_tied(text: str) -> None:
    assert 1 not in statements(text).with_needs(0)


def test_no_clause_of_a_long_contract_stands_without_its_exception() -> None:
    clauses = "\n\n".join(
        f"§ {i} Part {i}\n(1) Der Mieter trägt die Kosten der Anlage {i} bis {i * 10} EUR.\n"
        "(2) Das gilt nicht für Schäden, die der Vermieter zu vertreten hat."
        for i in range(1, 30)
    )
    for ratio in (0.1, 0.2, 0.3, 0.5):
        lines = [
            line for line in Compressor().compress(CompressRequest(clauses, l1_ratio=ratio)).layers[1].text.split("\n") if line
        ]
        assert any(line.startswith("(1)") for line in lines)
        for line, below in zip(lines, [*lines[1:], ""], strict=True):
            assert not line.startswith("(1)") or below.startswith("(2)"), lines


def test_many_items_take_no_longer_each() -> None:
    item = "(1) The tenant pays.\n(2) This does not apply to the roof.\n"
    assert_linear(statements, lambda size: item * (size // len(item)), 5_000)
