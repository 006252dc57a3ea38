"""A status at the top of a page, in front of a line, above a part or beside a setting; what a speaker adds to his own message."""

from __future__ import annotations

import json
from typing import Final

from tests.support.cases import each
from tests.support.growth import assert_linear
from tests.support.recalled import recall
from tests.support.warm import WARM
from turnfold.compression import Compressor, CompressRequest
from turnfold.compression.memo import digest
from turnfold.compression.recall.question import Question
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import statements
from turnfold.compression.text.ties.status import is_off, is_status
from turnfold.compression.tokens import count

MAIL: Final = """\
Subject: DRAFT, not approved: new rules for the boats

From May on everybody may take a boat without asking. Oars are in the shed behind the mill.

The pier is painted in June. Lamps are lent out by Mrs Orsi, who also has the keys of the hall."""
RULES: Final = """\
Le port ouvre à sept heures. La capitainerie se trouve au bout du quai nord.

Projet (non validé) : les bateaux dorment au port. Les chiens nagent. La criée ouvre le dimanche.

Le phare se visite le jeudi. Un bus part de la gare toutes les heures."""
CHAT: Final = """\
[09:01] Maike: Der Auftrag von Brenner ist da
[09:04] Maike: Quatsch, von Brandt
[09:10] Jörg: Kuchen steht in der Küche
[09:11] Seda: danke, ich komme gleich hoch"""
TALK: Final = """\
Jens: Kuchen am Samstag bei uns im Garten
Jens: Oma ist krank geworden
Ulla: gute Besserung"""
CHARTER: Final = """\
The guild was founded in 1402 and owns two mills.

Article 9 (withdrawn since May, by a vote of all of the members)
Every miller pays five crowns a year. The bailiff collects them.

Dogs are welcome in the hall."""
LOG: Final = "\n".join(f"[09:0{i}] Bot: gate number {i} was opened by the guard of the night shift" for i in range(5))
SETTINGS: Final = {
    "refunds": {
        "title": "Instant refunds",
        "about": "Money is back within 10 minutes",
        "limits": {"day": 5000},
        "enabled": False,
    },
    "gifts": {"title": "Gift wrapping", "about": "Any order is wrapped for 2.50", "limits": {"day": 900}, "enabled": True},
}
PAGE: Final = """\
# Ledger

## GET /balance (removed in 3.0)

Returns the balance in euros. The result is kept for a minute.

## Money

Amounts are in cents. Dates are in UTC.
"""


def needs(text: str, claim: str) -> str:
    """All that the statement with a claim needs, and the statement itself."""
    read = statements(text)
    at = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    return "".join(read.spans[i].of(text) for i in sorted(read.with_needs(at)))


@each(
    ("text", "claim", "limit"),
    [
        (MAIL, "Oars are in the shed", "DRAFT, not approved"),
        (MAIL, "keys of the hall", "DRAFT, not approved"),
        (RULES, "La criée ouvre le dimanche", "non validé"),
        (CHAT, "Auftrag von Brenner", "Quatsch"),
        (CHAT, "Quatsch", "Auftrag von Brenner"),
        (TALK, "Kuchen am Samstag", "ist krank geworden"),
        (TALK, "ist krank geworden", "Kuchen am Samstag"),
        (CHARTER, "pays five crowns", "withdrawn since May"),
        (CHARTER, "The bailiff", "withdrawn since May"),
        ("The lift is broken. Use the stairs at the back. This sign is from March and no longer holds.", "stairs", "from March"),
        ("La piscina abre a las ocho. Traiga toalla. Este aviso caduca el lunes.", "a las ocho", "caduca"),
        ("The following guests have cancelled.\nRoom 3: Mr Abel\nRoom 7: Mrs Orr\n\nTea is at four.", "Mrs Orr", "cancelled"),
        ("Mia dreamt that she had sold the boat. The buyer paid in gold. Then she woke up.", "paid in gold", "dreamt"),
        ("我昨晚做梦去了海边。船票要五百元。海水是红色的。", "五百元", "做梦"),
        ("I bet that Vera wins the race. Otto comes last. The prize is a ham.", "Otto comes last", "bet"),
        ("Die Mühle wird verkauft. Ein Graf aus Linz zahlt bar. Alles Quatsch, meint der Müller.", "Graf aus Linz", "Quatsch"),
        ("Młyn kupuje hrabia. Płaci gotówką. To wszystko bzdury, mówi młynarz.", "gotówką", "bzdury"),
        ("يباع المصنع في مايو. يدفع التاجر نقدا. كل هذا كذب قال المدير.", "نقدا", "كذب"),
        ("Het gerucht gaat dat Piet de molen koopt. Voor twee ton. De notaris weet van niets.", "twee ton", "gerucht"),
        ("Denetim kötü geçerse şunlar olur. Değirmen kapanır. Ali Bey gider.", "Değirmen kapanır", "şunlar olur"),
        ("値段は四億円だそうです。これはすべて噂だと村長は言いました。", "四億円", "すべて噂"),
        (
            "The mail said that the mill was paid off. A cheque was in the post. It was a scam.",
            "cheque",
            "scam",
        ),
        ("What comes, if nobody mends the dam: the mill stands in water. The road is lost.", "road is lost", "if nobody"),
        ("Losses by year (in crowns)\nMill 312\nInn 95\nBarn 4", "Mill 312", "Losses"),
        ("Le sirop calme la toux (1). Il est vendu à Metz.\n(1) Dit le fabricant.", "calme la toux", "fabricant"),
        ("Otto told me that the mill was sold. Vera says that he made it up.", "mill was sold", "made it up"),
        ("Если бы он продал мельницу, он жил бы у моря. Лодка и сад. Он её не продал.", "Лодка", "Если бы"),
        ("Allegedly the roof leaks. The owner has looked at it and is content.", "roof leaks", "is content"),
        ("Ferenc suggests 5 percent. Judit disagrees. We stay with 2 percent.", "suggests", "stay with 2"),
    ],
)
def test_a_claim_needs_its_status_and_what_is_added_to_it(text: str, claim: str, limit: str) -> None:
    assert limit in needs(text, claim)


@each(
    ("text", "claim", "other"),
    [
        (RULES, "Le phare se visite", "non validé"),
        (CHAT, "Kuchen steht", "danke"),
        (LOG, "number 0", "number 1"),
        (CHARTER, "Dogs are welcome", "withdrawn since May"),
        ("Name: Abel\nName: Orr\nName: Ruiz", "Abel", "Orr"),
        ("The lift is broken. This page is about the lifts of the house.", "broken", "This page"),
        ("Ein Zug kam um acht. Die Suppe war kalt.", "Zug", "Suppe"),
    ],
)
def test_what_only_looks_like_one_is_not_needed(text: str, claim: str, other: str) -> None:
    assert other not in needs(text, claim)


@each(
    ("line", "expected"),
    [
        *((line, True) for line in ("ENTWURF – noch nicht freigegeben", "Bozza, da approvare", "3.1.4 (yanked)", "案（未承認）")),
        *((line, True) for line in ("Status: rejected (see ADR 17)", "Schedule A (superseded by Schedule B)", "WERSJA ROBOCZA")),
        *((line, False) for line in ("Draft a letter to my landlord", "From: Ann <ann@mail.example>", "Approved", "Final: 3-1")),
        *((line, False) for line in ("Host: draft.example", "How we decided", "see old/draft.md")),
    ],
)
def test_a_status_is_told_by_its_form(line: str, expected: bool) -> None:
    assert is_status(line) is expected


@each(
    ("key", "value", "expected"),
    [
        *((key, "false", True) for key in ("enabled", "is_active", "published")),
        *(("deprecated", value, value == "true") for value in ("true", "false")),
        *(("status", value, value == "draft") for value in ("draft", "ok")),
        *((key, "false", False) for key in ("deleted", "retry", "send_mail_when_active")),
    ],
)
def test_a_setting_switches_its_block_off(key: str, value: str, expected: bool) -> None:
    assert is_off(key, value) is expected


def test_layers_show_the_status_of_a_page() -> None:
    for ratio in (0.3, 0.5):
        shown = Compressor().compress(CompressRequest(MAIL, l1_ratio=ratio)).layers[1].text
        assert "DRAFT" in shown


@each(
    ("text", "question", "claim", "limit"),
    [
        (json.dumps(SETTINGS, indent=2), "money back within minutes?", "within 10 minutes", '"enabled": false'),
        (PAGE, "balance in euros?", "Returns the balance", "removed in 3.0"),
        (MAIL, "where are the oars?", "Oars are in the shed", "DRAFT"),
    ],
)
def test_recall_quotes_it_with_a_part(text: str, question: str, claim: str, limit: str) -> None:
    quotes = recall([Source("assistant", text, digest(text))], Question(question), 150, (), count, WARM, fill=True)
    shown = "\n".join(text[quote.start : quote.end] for quote in quotes)
    assert claim in shown
    assert limit in shown


def test_facts_of_a_result_say_what_is_switched_off() -> None:
    text = json.dumps({**SETTINGS, "rows": [f"a line of the plan, number {i}, with a few words" for i in range(90)]}, indent=2)
    shown = facts(text, role="tool", words=frozenset({"refunds", "minutes", "money", "wrapped"}), known=(), count=count)
    assert "within 10 minutes" in shown
    assert "enabled: false" in shown


@each(
    "unit",
    ["[09:01] Ana: short\n[09:02] Ana: and more\n[09:03] Bo: no\n", "Draft: this is so. That too. ", "# Removed\n\nA boat. "],
)
def test_takes_linear_time(unit: str) -> None:
    assert_linear(statements, lambda size: unit * (size // len(unit)), 5_000)
