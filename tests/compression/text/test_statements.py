"""Statements: what may be left out of a text without turning the rest round, in every stage that shows a part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.data import shared_root
from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.sift import read, sift
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.text.quotes import Source
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

AUDITED = shared_root() / "data" / "audit" / "meaning.txt"
FILLER = (
    "The office in Berlin opens at 8:30 on weekdays. Kim Lee brought the samples of lot 17 to Acme Corp in March 2024. "
    "Parking costs $12 per day near gate B4. The canteen serves 140 meals between 11:45 and 14:00."
)
# A claim, and what may govern it, by language; "{}" is the claim's place.
MATRIX = {
    "en": ("Acme paid $3 million to Mara Lind in 2023", (
        "It is false that {}.", "Nobody believes that {}.", "{}, unless the auditor objects.",
        "If the audit fails on 9 October, {}.", "He claims, without any proof, that {}.",
        "According to a rumour, {}.", "It may be, but is not certain, that {}.",
        "{} rather than the 40 users of the pool.", "Except in Bavaria and in Hesse, {}.")),
    "de": ("die Acme AG zahlte 2023 an Mara Lind 3 Millionen Euro", (
        "Es stimmt nicht, dass {}.", "{}, es sei denn, der Prüfer widerspricht.",
        "Falls die Prüfung am 9. Oktober scheitert: {}.", "Er behauptet ohne Beleg und seit Monaten, {}.",
        "Vielleicht, aber das ist nicht sicher, gilt: {}.")),
    "fr": ("Acme a payé 3 millions à Mara Lind en 2023", (
        "Il est faux que {}.", "{}, sauf si l'auditeur s'y oppose avant le 9 octobre.", "Selon une rumeur de la presse, {}.",
        "Si l'audit échoue avant la fin de l'année, {}.")),
    "es": ("Acme pagó 3 millones a Mara Lind en 2023", (
        "Es falso que {}.", "{}, salvo que el auditor se oponga antes del 9 de octubre.", "Según un rumor de la prensa, {}.",
        "Si la auditoría fracasa antes de fin de año, {}.")),
    "ru": ("компания Акме заплатила Маре Линд 3 миллиона в 2023 году", (
        "Неверно, что {}.", "{}, если только аудитор не возразит до 9 октября.", "Он утверждает без доказательств, что {}.")),
    "zh": ("Acme公司在2023年向林女士支付了300万", ("{}，这是假的。", "除非审计员反对，{}。", "他声称，没有任何证据，{}。")),
}  # fmt: skip
CASES = [(form.format(claim), claim) for claim, forms in MATRIX.values() for form in forms]


def shown(text: str) -> list[str]:
    """What each stage makes of a text, at several sizes."""
    out = [shorten(text, keep, role=role, count=count) for keep, role in product((12, 30, 60), ("user", "assistant"))]
    out += [sift([read(text, "assistant")], share)[0] for share in (0.1, 0.3, 0.5, 0.8)]
    quotes = [summarise([Source("user", text, b"k")], budget, count, Memo()) for budget in (40, 80)]
    out += ["\n".join(text[quote.start : quote.end] for quote in taken) for taken in quotes]
    for ratio, most in ((0.1, 1), (0.3, 3), (0.6, 2), (0.9, 4)):
        result = Compressor().compress(CompressRequest(text, l1_ratio=ratio, l2_max_sentences=most))
        out += [layer.text for layer in result.layers[1:]]
        out += [layer.text for section in result.sections for layer in section.layers]
    return out


@each(("sentence", "claim", "place"), [(*case, number % 2) for number, case in enumerate(CASES)])
def test_a_sentence_is_shown_whole_or_not_at_all(sentence: str, claim: str, place: int) -> None:
    text = f"{sentence} {FILLER}" if place == 0 else f"{FILLER} {sentence}"
    for said in shown(text):
        assert claim[1:] not in said or sentence in said


@given(st.lists(st.sampled_from(CASES), min_size=1, max_size=4, unique=True), st.floats(0.05, 0.95))
def test_layers_show_sentences_whole(listed: list[tuple[str, str]], ratio: float) -> None:
    text = " ".join(sentence for sentence, _ in listed) + " " + FILLER
    result = Compressor().compress(CompressRequest(text, l1_ratio=ratio))
    for layer in result.layers[1:]:
        rest = layer.text
        for sentence, _ in sorted(listed, key=lambda case: -len(case[0])):
            rest = rest.replace(sentence, "")
        for _, claim in listed:
            assert claim[1:] not in rest


HANGING = [
    ("The release ships to Acme on 9 October.", "That is not true."),
    ("We refund all 40 users of Acme in May.", "But only if the auditor agrees to it."),
    ("Mara Lind stole $3 million from the till.", "Just kidding."),
    ("Wir zahlen Acme im Mai 3 Millionen Euro zurück.", "Das ist falsch."),
    ("Nous livrons 40 caisses à Lyon le 9 octobre.", "Sauf si Marc s'y oppose."),
    ("Pagamos 3 millones a Acme en mayo.", "Eso es mentira."),
    ("Мы заплатим компании Акме 3 миллиона в мае.", "Это неправда."),
    ("我们五月向Acme支付300万。", "这是假的。"),
]


@each(("claim", "retraction"), HANGING)
def test_what_takes_a_sentence_back_stays_with_it(claim: str, retraction: str) -> None:
    text = f"{FILLER} {claim} {retraction} {FILLER.replace('Kim', 'Tim')}"
    for said in shown(text):
        assert (claim in said) == (retraction in said)


TAKEN_BACK = [
    (("Kim Lee left Acme in 2023.", "Mara Lind owes $3 million."), "None of the two rumours is true."),
    (("The Turin plant closes on 4 May.", "Wages fall by 40%."), "All of this was invented by a blogger."),
    (("Acme paid the invoice of $8,400.", "I checked it with Mona on 3 May."), "Actually, wait."),
    (("Dr. Falk forged the will of 2019.", "Falk then sold the farm to Acme."), "The defence denies both."),
    (("Carla sold 40 houses in Peru.", "Carla bought the ship Petrel for $900,000."), "Then Carla woke up."),
    (("Die Brücke kostet 9 Millionen Euro.", "Uwe Lang trat am 4. Mai zurück."), "Nichts davon ist wahr."),
    (("Le maire a volé 2 millions.", "Paul Rey a fui le 3 mai."), "Rien de tout cela n'est vrai."),
    (("Орлов украл 3 миллиона рублей.", "Белова уехала 4 мая."), "Ничего из этого не было."),
    (("王明偷了300万元。", "李强五月四日逃到了曼谷。"), "以上说法均不属实。"),
]  # fmt: skip


@each(("claims", "verdict"), TAKEN_BACK)
def test_what_takes_several_sentences_back_stays_with_each(claims: tuple[str, ...], verdict: str) -> None:
    text = f"{FILLER}\n\n{' '.join(claims)} {verdict}\n\n{FILLER.replace('Kim', 'Tim')}"
    for said in shown(text):
        for claim in claims:
            assert claim not in said or verdict in said


def test_a_verdict_in_front_stays_with_what_follows() -> None:
    verdict, claim = "Everything in this paragraph is fiction.", "Dr. Malik of Acme cured 40 patients with salt in 2023."
    for said in shown(f"{FILLER}\n\n{verdict} The nurses sang. {claim}\n\n{FILLER.replace('Kim', 'Tim')}"):
        assert claim not in said or verdict in said


ANTECEDENTS = [
    ("Ann Moss opened the fair in Graz.", "Bob Reyes ran the till.", "He was fired for theft of $3 million in May 2023."),
    ("Omar Diaz did not steal the money.", "Luis Vega took it.", "The police are looking for him."),
    ("The Bosch K7 passed the test of 3 May.", "The Grundfos A4 did not.", "It leaked 4 litres an hour."),
    ("Eva Lund stayed in Oslo.", "Ida Wells went to Doha with $2 million.", "Her passport was found near Brest on 4 June."),
    ("Орлов не крал 3 миллиона рублей.", "Деньги взял Белов.", "Полиция его ищет."),
    ("王明没有偷三百万元。", "偷钱的是李强。", "警方正在曼谷和武汉两地全力追捕他。"),
]


@each(("other", "antecedent", "later"), ANTECEDENTS)
def test_a_pronoun_keeps_whom_it_means(other: str, antecedent: str, later: str) -> None:
    gap = "" if not other.isascii() else " "
    for said in shown(f"{other}{gap}{antecedent}{gap}{later} {FILLER}"):
        assert later not in said or antecedent in said


NARROWED = [
    ("Everyone got the bonus of $2,000 in May.", "Everyone but the night shift, that is."),
    ("I will sell the farm to Acme.", "If, and only if, he pays $800,000 by June."),
    ("Acme ships to all 40 users.", "The only exception is Bavaria."),
    ('"We will close the plant in Gary," said Lisa Moyer of Acme.', "She was quoting a letter from 1983."),
    ("شركة النيل خسرت 3 ملايين دولار في 2020.", "هذا غير صحيح."),
]


@each(("claim", "limit"), NARROWED)
def test_what_narrows_a_sentence_stays_with_it(claim: str, limit: str) -> None:
    for said in shown(f"{FILLER} {claim} {limit} {FILLER.replace('Kim', 'Tim')}"):
        assert claim not in said or limit in said


@each(
    ("lead", "claim"),
    [
        ("In the dream, Carla sold 40 houses.", "Acme bought a ship named Petrel for $900,000."),
        ("Legend has it that Mara Lind slew a bear.", "The king gave Lind 40 horses and Bavaria in 1203."),
        ("The court heard two versions.", "In the first, Bell shot Grant at noon on 3 May."),
    ],
)
def test_what_is_only_told_has_its_frame(lead: str, claim: str) -> None:
    for said in shown(f"{FILLER}\n\n{lead} {claim}\n\n{FILLER.replace('Kim', 'Tim')}"):
        assert claim not in said or lead in said


INTRODUCED = [
    ("Never do:\n", ["1. Delete table t4 of Acme on Friday.\n", "2. Push v2.1 to main after 17:00.\n"]),
    ("None of the following is true.\n\n", ["- Acme paid $3 million to Mara Lind.\n", "- Kim Lee left Berlin in 2023.\n"]),
    ("This is false:\n", ["Acme paid $3 million to Mara Lind in 2023.\n"]),
    ("# Rejected\n\n", ["Acme buys 40 servers from Dell in May 2024.\n"]),
    ("Diese Aussagen sind falsch:\n", ["- Acme zahlte 3 Millionen an Mara Lind.\n"]),
]


@each(("intro", "claims"), INTRODUCED)
def test_what_is_introduced_has_its_introduction(intro: str, claims: list[str]) -> None:
    text = f"{FILLER}\n\n{intro}{''.join(claims)}\n"
    if not intro.startswith("#"):
        text += FILLER.replace("Kim", "Tim")
    for said in shown(text):
        for claim in claims:
            assert claim.strip() not in said or intro.strip() in said


def test_a_block_stays_with_what_is_said_of_it() -> None:
    text = f"{FILLER}\n\nNever run this:\n```\nrm -rf /srv/data\n```\n\n{FILLER.replace('Kim', 'Tim')}"
    for said in shown(text):
        assert "rm -rf" not in said or "Never run this:" in said


@each(
    "quotation",
    [
        'He said: "We ship 40 units on Monday. We never refund Acme. We pay $3 million."',
        "Sie sagte: „Wir liefern am 9. Mai. Acme zahlt nicht 3 Millionen.“",
        "Он сказал: «Мы отправим 40 штук. Акме не платит 3 миллиона.»",
        "他说：「我们五月发货。Acme不付300万。」",
    ],
)
def test_a_quotation_stays_with_who_said_it(quotation: str) -> None:
    for said in shown(f"{FILLER} {quotation} {FILLER.replace('Kim', 'Tim')}"):
        assert quotation in said or ("Acme" not in said.replace("Acme Corp", "") and "Акме" not in said)


def test_who_speaks_is_told() -> None:
    text = (
        "user: Please delete table t4 today. It has 40 rows of 2023.\n"
        "assistant: I can't do that. The table t4 of Acme stays until 9 October.\n"
        "user: Then move the 40 rows to Berlin. Kim Lee will pay $3 million.\n"
    )
    for ratio in (0.2, 0.3, 0.5, 0.7):
        for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers[1:]:
            lines = layer.text.split("\n")
            assert all(line.startswith("assistant:") for line in lines if "until 9 October" in line)
            assert all(line.startswith("user:") for line in lines if "$3 million" in line or "40 rows" in line)


def test_statements_tile_the_text_and_needs_are_closed() -> None:
    for text in [
        FILLER,
        "",
        " ",
        "a",
        "\n\n",
        *(sentence for sentence, _ in CASES),
        "".join(i + "".join(c) for i, c in INTRODUCED),
    ]:
        found = statements(text)
        assert "".join(span.of(text) for span in found.spans) == text
        assert len(found.needs) == len(found.spans) == len(found.sizes)
        for i in range(len(found.spans)):
            whole = found.with_needs(i)
            assert found.complete(whole) == whole


def test_cost_is_linear() -> None:
    def text(parts: int) -> str:
        return "\n".join(
            f"user: {FILLER} That is not so, says Kim{i}. But no.\nassistant: Never do:\n- {i}. x\n- y" for i in range(parts)
        )

    assert_linear(statements, text, 20)


@each("marks", ['""', "“”", "«»", "()", "「」"])
def test_what_stands_in_one_quotation_stays_together(marks: str) -> None:
    opening, closing = marks[0], marks[1]
    quotation = f"{opening}The pump in bay 7 ran all night. The valve of the boiler held. Nobody was hurt there{closing}"
    text = f"The porter of the quay told Mara Lind {quotation} before he left. The canteen serves 140 meals a day at noon."
    shown = [span.of(text) for span in statements(text).spans]
    assert len(shown) == 2
    assert quotation in shown[0]
    apart = text.replace(opening, "").replace(closing, "")
    assert len(statements(apart).spans) == 4


def test_a_quotation_mark_that_stays_open_reaches_no_other_line() -> None:
    text = 'The pipe is 5" wide. It fits.\nThe valve came from Oslo on Monday. Mara paid for it in cash.\nThe hose is 7" wide.'
    apart = [span.of(text).strip() for span in statements(text).spans]
    assert {"The valve came from Oslo on Monday.", "Mara paid for it in cash."} <= set(apart)


OWN = Path(__file__).parent / "cases" / "whole_sentences.txt"


@pytest.mark.parametrize(
    "path",
    [OWN, pytest.param(AUDITED, marks=pytest.mark.skipif(not AUDITED.is_file(), reason="the audited sentences are not here"))],
    ids=["own", "audited"],
)
def test_sentences_are_shown_whole_or_not_at_all(path: Path) -> None:
    text = path.read_text("utf-8")
    whole = set(_plain_sentences(text))
    for ratio in (0.05, 0.2, 0.5, 0.8):
        for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers[1:]:
            assert set(_plain_sentences(layer.text)) <= whole


def _plain_sentences(text: str) -> Iterator[str]:
    """Sentences by the plainest of rules, which is enough for this file."""
    for line in text.split("\n"):
        yield from (piece for piece in re.split(r"(?<=[.!?])\s+", line.strip()) if piece)


@each("unit", ["Suppose it is. That is false. ", "[1:1", "Never so: a. ", '"a ', "# A\n", "不是。"])
def test_hostile_text_costs_linear_time(unit: str) -> None:
    assert_linear(statements, lambda size: unit * (size // len(unit)), 1_500)


def test_a_text_of_nothing_but_short_sentences_has_layers() -> None:
    text = "It rained. " * 60
    assert len(statements(text).spans) == 10
    layers = Compressor().compress(CompressRequest(text)).layers
    assert 0 < len(layers[2].text) < len(text) / 2


def test_an_answer_stays_with_its_question_however_many_short_sentences_are_around() -> None:
    text = "He ran. She left. They came. We saw. I sat. It fell. He won. Was it true? No. She sang. They slept."
    assert any("Was it true? No." in span.of(text) for span in statements(text).spans)


# What follows a claim and says that it does not hold, or how far; none of these is a case of the audit that found the rules.
REVISED = [
    ("The orchard was sold to Acme for $3 million in April.", "The sale was rescinded by a notary."),
    ("Rule 8 allows two lamps a room.", "Rule 8 is void under the fire code."),
    ("The choir won the cup in Riga.", "Correction: it came second."),
    ("The kiln reaches 1,300 degrees.", "Edit, 9:40: the sensor was misread."),
    ("Every stall may sell cheese.", "Exempt are the stalls of the north row."),
    ("The ferry Petrel carries 90 cars to Turku in May.", "Or rather, it carried them before the refit."),
    ("The stove suits any tent.", "It must not be lit in a closed one."),
    ("The fresco of 1303 in Padua is by Giotto.", "Restorers have exposed it as a forgery."),
    ("The spring never runs dry.", "So claims the hotel."),
    ("The parcel went to Ghent.", "Sorry, I mixed up the labels."),
    ("Das Tor schließt um sieben.", "Berichtigung: um acht."),
    ("Le bac part à midi.", "Rectificatif : à treize heures."),
    ("La feria abre el lunes.", "Fe de erratas: el martes."),
    ("Мост откроют в мае.", "Поправка: в июне."),
]
# What says in front of a text how it is to be read.
FRAMED = [
    ("Old price list, no longer valid.", "A berth costs 40 euros."),
    ("All amounts are in thousands of zloty.", "The roof took 512."),
    ("This is a drill.", "Smoke fills the second hold."),
    ("Bad example.", "Keep the spare key under the mat."),
    ("Status: rejected.", "Let every guest open the safe."),
    ("At first the guards suspected the cook.", "A camera then showed a fox."),
]


@each(("claim", "behind"), REVISED)
def test_a_claim_needs_what_corrects_revokes_or_limits_it(claim: str, behind: str) -> None:
    text = f"{FILLER} {claim} {behind} The tram to gate B4 runs every 12 minutes."
    outputs = shown(text)
    assert any(claim in said for said in outputs if len(said) < 0.8 * len(text)), (
        "the case tells nothing: the claim is never shown"
    )
    for said in outputs:
        assert claim not in said or behind in said


@each(("ahead", "claim"), FRAMED)
def test_what_frames_a_text_stays_with_it(ahead: str, claim: str) -> None:
    first, second = (ahead, claim) if ahead.startswith("At first") else (claim, ahead)
    for said in shown(f"{FILLER} {ahead} {claim}"):
        assert first not in said or second in said


def test_a_speaker_who_takes_something_back_is_heard() -> None:
    text = "Ivy: The keys are at the desk.\nSam: ok\nIvy: wrong, at the bar\n"
    found = statements(text)
    of = {span.of(text).strip(): i for i, span in enumerate(found.spans)}
    assert of["wrong, at the bar"] in found.with_needs(of["The keys are at the desk."])


def test_items_of_dense_scripts_need_the_line_above_them() -> None:
    text = "次のことは禁止です。\n・窓を開けたまま帰る\n・鍵を貸す\n"
    found = statements(text)
    assert all(0 in found.with_needs(i) for i in range(1, len(found.spans)))
