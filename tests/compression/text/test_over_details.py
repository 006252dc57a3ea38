"""A claim and what limits it over the details between, and sentences that say when, by whom or how far others are meant.

These tests cover ``over_details`` and ``governing``, through ``statements``. They leave out limits next to their claim
(``test_scopes``), what layers show of such texts (``test_meaning``).
"""

from __future__ import annotations

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.text.statements import statements


def _shown_with(text: str, claim: str) -> str:
    read = statements(text)
    index = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    return "".join(read.spans[i].of(text) for i in sorted(read.with_needs(index)))


OVER_DETAILS = [
    ("Guests may use the canoe. Paddles are in the shed. The lake is warm. You need a life vest for it.", "canoe", "life vest"),
    ("The lease may be renewed. Rent is then 900. The flat has a stove. He loses this right if late.", "renewed", "loses"),
    ("Trams are free for pupils. Show the badge. The stop is at the mill. This ends in July.", "free for pupils", "This ends"),
    (
        "The barn was sold to a Dane. He paid in cash. Ducks come with it. The village council vetoed the sale.",
        "a Dane",
        "vetoed",
    ),
    ("Plant the onions in March. Water them daily. Straw helps. That is for the red kind.", "in March", "red kind"),
    ("The kiosk sells stamps. It has a bench. Ice is dear. Since Monday it has been shut.", "sells stamps", "Since Monday"),
    (
        "The sauna can be hired by all. It has two benches. Wood is free. Whoever owes fees is not let in.",
        "hired by all",
        "owes fees",
    ),
    (
        "Every choir gets a piano. They are tuned in May. Keys are with Ruth. The youth choir sings without.",
        "Every choir",
        "youth choir",
    ),
    ("The test suite is green. We ship at noon. The suite skips whatever touches payments.", "is green", "skips"),
    ("Ruth signs the lease at noon. The keys are with Bo. Ruth asked for another week.", "signs", "another week"),
    ("Version 5 is stable. It came out in March. Version 5 loses data on full disks.", "is stable", "loses data"),
    ("Die Heizung wärmt das Haus. Sie ist leise. Die Heizung schafft es bei Frost allein kaum.", "wärmt", "bei Frost"),
    ("Le tarif comprend le repas. On paie sur place. Le tarif de groupe le laisse de côté.", "comprend", "de côté"),
    ("Der Gast darf angeln. Köder gibt es am Steg. Das Boot ist blau. Man braucht dafür einen Schein.", "angeln", "Schein"),
    ("Die Säge wird am Freitag gebracht. Sie ist neu. Öl ist dabei. Der Händler hat eben abgesagt.", "am Freitag", "abgesagt"),
    ("On peut camper au pré. L'eau est au puits. Le lac est froid. Il faut l'accord du maire.", "camper", "accord"),
    ("Le bac part à midi. Il a un bar. Les chiens paient. Depuis mars il ne part plus.", "part à midi", "Depuis mars"),
    ("Anoche gané un molino. Lo pagó un duque. Había patos. Entonces sonó el despertador.", "un molino", "despertador"),
    ("I soci possono pescare. Le reti sono nel capanno. Il molo è nuovo. Serve un permesso del comune.", "pescare", "permesso"),
    ("Os sócios podem remar. Os remos são novos. Há sombra. É preciso saber nadar.", "remar", "nadar"),
    ("Leden mogen vissen. De hengels staan klaar. Er is soep. Je moet wel een pas hebben.", "vissen", "een pas"),
    ("Goście mogą pływać. Łódki są nowe. Jest kiosk. Trzeba umieć wiosłować.", "pływać", "wiosłować"),
    ("Мельницу купил граф. Он платит золотом. Рядом пруд. Суд отменил сделку.", "граф", "отменил"),
    ("会员可以钓鱼。湖边有凳子。水很清。必须有证件。", "可以钓鱼", "证件"),
    ("会員は釣りができます。湖は静かです。売店もあります。許可証が必要です。", "釣りができます", "許可証"),
    (
        "Hi Bo, the fair is on 3 May on the green. Bring chairs. Cider is free. Sorry, it is on the 13th. See you.",
        "3 May",
        "13th",
    ),
]


@each(("text", "claim", "limit"), OVER_DETAILS)
def test_a_claim_is_shown_with_its_limit_behind_details(text: str, claim: str, limit: str) -> None:
    assert limit in _shown_with(text, claim)


@each(
    ("text", "claim"),
    [
        ("Pump 1 holds 7 bar. It is blue. Pump 2 holds 9 bar and is red.", "7 bar"),
        ("Tom rose at six. It rained. Tom ate bread. It was dry. Tom went out to the pier.", "at six"),
        ("The mill stands by the lake. It is old.\nThe mill has two wheels of oak.", "by the lake"),
        ("The mill grinds rye. The lake is deep. The weir belongs to the mill and a farm.", "grinds rye"),
    ],
)
def test_what_only_shares_a_subject_is_no_limit(text: str, claim: str) -> None:
    assert text.rsplit(". ", maxsplit=1)[-1].rsplit("\n", maxsplit=1)[-1] not in _shown_with(text, claim)


GOVERNED = [
    ("From 2 June the bath opens at six. One pays by card. Until then nothing changes. Lamps are new.", "by card", "From 2 June"),
    ("Die Zeitung schreibt, der Damm sei morsch. Das Wehr müsse weg. Der Graf lacht.", "Wehr müsse", "Die Zeitung schreibt"),
    ("Which of these is false? Whales are fish. Bats are mammals.\nHand it in.", "Whales are fish", "Which of these"),
    ("Article 4 (repealed). The miller pays in eggs. He has a mule.\nArticle 5. Dogs are welcome.", "in eggs", "repealed"),
    (
        "Two hams for the price of one. We smoke with oak. The offer was valid in May 2019. The yard is open.",
        "Two hams",
        "May 2019",
    ),
    ("ann: no boats on the pond\nbo: for how long?\nann: a week\nann: except the ferry", "no boats", "except the ferry"),
]


@each(("text", "claim", "head"), GOVERNED)
def test_a_claim_is_shown_with_what_governs_it(text: str, claim: str, head: str) -> None:
    assert head in _shown_with(text, claim)


@each(
    ("text", "claim", "other"),
    [
        ("The canoe is red. Paddles are in the shed. Somebody whistled. The lake is warm.", "canoe", "whistled"),
        ("The trains were late. A signal had failed near Aalst.", "trains", "signal"),
        ("The mill by the pond burnt flour for years. Ducks came in May.\n\nThe tour of the yard ends here.", "flour", "tour"),
        ("Am Montag war Markt. Ich habe Eier gekauft. Die Sonne schien.", "Eier", "Markt"),
        ("Article 5 (Geese). The miller of Hove keeps geese by the pond.", "by the pond", "Article 5"),
    ],
)
def test_what_only_stands_near_is_not_needed(text: str, claim: str, other: str) -> None:
    assert other not in _shown_with(text, claim)


def test_a_claim_without_words_is_no_claim() -> None:
    assert "Since Monday" in "".join(
        span.of(text) for text in ("--- ! ??! Since Monday it is shut.",) for span in statements(text).spans
    )


def test_many_limits_take_no_longer_each() -> None:
    line = "Guests may fish. From 2 June it ends. Until then he loses it. Which is wrong? The offer was valid in May (void). "
    assert_linear(statements, lambda size: line * (size // len(line)), 5_000)
