"""A claim is shown with the sentence behind it that opens with "but", "however", "except", in any of the languages of the table.

These tests cover ties by connectives of languages that other files of ties have few cases of (``cases/connectives.txt``: half,
language, a claim and what limits it). They leave out what else ties one sentence to another.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.cases import each
from turnfold.compression.text.statements import statements

CASES: Final = [
    line.split("\t") for line in (Path(__file__).parent / "cases" / "connectives.txt").read_text("utf-8").splitlines()
]


@each(("half", "language", "said"), CASES)
def test_a_claim_needs_what_a_connective_sets_against_it(half: str, language: str, said: str) -> None:
    read = statements(said)
    assert len(read.spans) - 1 in read.with_needs(0), (half, language)


@each(
    "said",
    [
        "Üyeler ücretsiz girebilir. Kütüphane yeni binaya taşındı bu yıl.",
        "Квитки дійсні протягом усього року. Музика грає щовечора біля річки.",
        "A jegyek egész évben érvényesek. Minden este zene szól nálunk a parton.",
        "Liput ovat voimassa koko vuoden. Joen rannalla soi musiikki joka ilta.",
        "Mọi khách hàng đều được giảm giá. Thư viện mới mở bên bờ sông.",
        "The song was played twice in Oslo. Dog owners may use the new park in Lund.",
    ],
)
def test_what_only_follows_is_not_tied(said: str) -> None:
    read = statements(said)
    assert len(read.spans) == 2
    assert read.with_needs(0) == {0}
