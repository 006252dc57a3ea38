"""What a claim needs that stands apart from it: titles, notes, postscripts, moods, limits without a word that points back."""

from __future__ import annotations

import pytest

from tests.support.cases import each
from turnfold.compression.shorten import registry
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

BEFORE = "The depot in Varn stores 412 crates."
AFTER = "Nils Aker drove to Kalmar on the ferry Anneke with his brother Olaf."
#: A text, a claim in it, and what the claim is not to be read without.
TIED = [
    ("Rejected ideas\n\nMove 40 people to Riga. Sell hall 7 of Selbo.", "Sell hall 7", "Rejected ideas"),
    ("Wish list\n- a pool for Lund\n- a roof for Ulm", "a roof for Ulm", "Wish list"),
    ("Si la ville de Lund paie, le pont tient. Les bus passeraient par le pont.", "Les bus passeraient", "ville de Lund paie"),
    ("Se il comune di Varn paga, Torvo resta. Gli autobus per Holm passerebbero ogni ora.", "Gli autobus", "comune di Varn paga"),
    ("You may cite:\n- books\n- maps of Varn\nThese need a page number.", "maps of Varn", "page number"),
    ("You may cite:\n- books\n- maps of Varn\n- none of these without a date", "maps of Varn", "without a date"),
    ("- 1.4: dark mode for the editor\n- 1.5: export\n- 1.6: revert dark mode for the editor", "1.4: dark mode", "1.6: revert"),
    ("The flask held 3.4 mg of lead.*\n\n* with an uncalibrated device", "3.4 mg of lead", "uncalibrated"),
    ("Selbo has 2 million users¹ in Oslo.\n\n¹ downloads, not users", "2 million users", "downloads"),
    ("The fair is in Bergen.\n\nBest, Ida\n\nP.S. Bergen is full, we go to Oslo.", "fair is in Bergen", "Bergen is full"),
    ("mia: the hall is 214\nben: nope its 412", "hall is 214", "412"),
    ("mia: the hall is 214\nmia: *412", "hall is 214", "*412"),
    ("If Ines were mayor, trams would be free. The bus would run all night.", "bus would run", "If Ines were mayor"),
    ("Immaginiamo una diga. Lund perderebbe 12 case. Ulm perderebbe il porto.", "Ulm perderebbe", "Immaginiamo"),
    ("All rooms of Arvo have a balcony. Rooms 101 to 109 do not have one.", "have a balcony", "101 to 109"),
    ("The museum shows the Orm coins. It is closed until Easter.", "shows the Orm coins", "closed until Easter"),
    ("Selbo leases the mill. Prior notice of two days is needed.", "leases the mill", "Prior notice"),
    ("Der Laden in Ulm ist groß und nimmt Karten. Samstags nur Bargeld.", "nimmt Karten", "nur Bargeld"),
    ("Sklep w Lund przyjmuje karty. W soboty tylko gotówka.", "przyjmuje karty", "tylko gotówka"),
    ("Магазин в Туле принимает карты. По субботам только наличные.", "принимает карты", "только наличные"),
    ("Sales in pounds:\nOsaka 410\nKobe 93", "Kobe 93", "Sales in pounds"),
]


def group(text: str, claim: str) -> str:
    """The statement that holds a claim, and all that it needs."""
    read = statements(text)
    at = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    return "".join(read.spans[i].of(text) for i in sorted(read.with_needs(at)))


@each(("said", "claim", "needed"), TIED)
def test_a_claim_comes_with_what_stands_apart_from_it(said: str, claim: str, needed: str) -> None:
    assert needed in group(f"{BEFORE}\n\n{said}\n\n{AFTER}", claim)


@each(
    ("said", "claim"),
    [
        ("Selbo leases the mill. The crew ate rolls.", "leases the mill"),
        ("Selbo leases the mill. In 1987 Anneke sold hers to Olaf.", "leases the mill"),
        ("* Add *fresh* plums of Lund.\n* Add **cold** milk.", "plums of Lund"),
        ("It was quiet. People came and went. They had a good time. It was late.", "quiet"),
    ],
)
def test_what_only_follows_is_not_tied(said: str, claim: str) -> None:
    shown = group(f"{BEFORE}\n\n{said}\n\n{AFTER}", claim)
    assert "rolls" not in shown
    assert "1987" not in shown
    assert "cold" not in shown
    assert "late" not in shown


@pytest.mark.parametrize(("characters", "needed"), [(24, True), (25, False)])
def test_a_note_below_a_list_is_short_in_scripts_without_blanks_too(characters: int, needed: bool) -> None:
    note = f"{'数字尚未审计请以后再来核对' * 2}"[: characters - 1] + "。"
    assert (note in group(f"- 奥斯陆 40 吨\n- 卑尔根 15 吨\n\n{note}", "40 吨")) is needed


def test_a_table_is_shown_with_the_note_below_it() -> None:
    text = f"{BEFORE}\n\n| Drug | Dose |\n|---|---|\n| Ferin | 40 mg |\n| Alpon | 15 mg |\n\nDoses are for adults.\n\n{AFTER}\n"
    assert "for adults" in group(text, "Ferin")
    for limit in (20, 30, 40):
        short = registry.within(text, limit, frozenset({"ferin"}), count)
        assert "Ferin" not in short or "for adults" in short


@pytest.mark.parametrize(
    ("text", "claim", "remark"),
    [
        ("def sync():\n    # DO NOT call in production\n    wipe_all(region)\n    push(400)\n", "wipe_all", "DO NOT"),
        (
            "# legacy, ignored since v3\nmax_conn: 400\npool: 12\n\nmax_connections: 80\nhost: a\nport: 80\n",
            "max_conn: 400",
            "ignored",
        ),
    ],
)
def test_a_line_of_code_is_shown_with_the_remark_that_takes_it_back(text: str, claim: str, remark: str) -> None:
    for limit in range(8, count(text), 3):
        short = registry.within(text, limit, frozenset({"wipe_all", "max_conn"}), count)
        assert claim not in short or remark in short


def test_a_failure_is_shown_with_the_line_that_says_it_is_over() -> None:
    quiet = [f"2026-03-01 10:00:{i:02d} INFO worker-{i} polls queue {i * 7}" for i in range(40)]
    failed, over = "10:00:41 ERROR upload of file 881 failed", "10:00:59 INFO upload of file 881 succeeded"
    text = "\n".join([*quiet[:20], f"2026-03-01 {failed}", *quiet[20:], f"2026-03-01 {over}", *quiet[:9]])
    for limit in (60, 120, 240):
        short = registry.within(text, limit, frozenset(), count)
        assert failed in short
        assert over in short


def test_no_sentence_ends_in_its_middle() -> None:
    said = "The road from Askim to Velno by way of the old mill is open for lorries of up to nine tonnes, except in winter."
    text = f"{said}\n\n{AFTER} {AFTER}"
    for role in ("user", "assistant", "tool"):
        short = facts(text * 3, role=role, words=frozenset(), known=(), count=count)
        assert "is open" in short
        assert "except in winter" in short
    shown = [registry.within(text, limit, frozenset(), count) for limit in range(4, 70, 4)]
    assert any("is open" in short for short in shown)
    assert all("except in winter" in short for short in shown if "is open" in short)
