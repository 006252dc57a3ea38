"""Which messages take back a thing that an earlier one named."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.text.dialogue.withdrawals import NOTHING_SAID, naming, withdrawn
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.quotes import Source


def _pairs(*said: str) -> list[tuple[int, int]]:
    """Withdrawals among messages; those of the assistant begin with ">"."""
    roles = [("assistant", text[1:]) if text.startswith(">") else ("user", text) for text in said]
    sources = [Source(role, text, str(n).encode()) for n, (role, text) in enumerate(roles)]
    lowered = [lower_text(source.text) if source.role == "user" else "" for source in sources]
    named = [withdrawn(low, words(low)) for low in lowered]
    told = NOTHING_SAID.up_to(len(sources), sources)
    return [(newer, older) for newer, things in enumerate(named) if things for older, _ in naming(things, newer, told)]


@each(
    ("old", "new"),
    [
        ("And background jobs via Celery with Redis.", "Let's drop Celery. We'll go with arq, it's async and smaller."),
        ("Then two nights in Hakone.", "Actually, forget what I said about Hakone. The kids would rather see Kanazawa."),
        ("J'aime bien la terracotta.", "Mon mari préfère le vert sauge. On abandonne la terracotta."),
        ("Play the rain sounds in the bedroom", "no more rain sounds, use the ocean ones"),
        ("two boxes of mint", "cancel the box"),
        ("milk, eggs, rye bread", "remove the eggs, the neighbour gave us some"),
        ("We take the flight with Ryanair.", "Not the Ryanair one please, but any other"),
        ("Я вибрала: Соломія лікарка", "Соломія тепер не лікарка, а ветеринарка"),
        ("доставка в Казань", "не в Казань, а в Самару"),
        ("客厅地面铺木地板。", "客厅不要木地板了"),
        ("두부 2모, 대파, 계란, 간장.", "계란은 빼 줘, 집에 있더라."),
        # Written before the rule was run on them, and not changed after.
        ("The cover shows a lighthouse.", "scrap the lighthouse, a harbour at dusk please"),
        ("Wir nehmen den Kombi als Mietwagen.", "statt des Kombi lieber ein Kleinbus"),
        ("Der Held heißt Ruprecht.", "vergiss Ruprecht, er heißt jetzt Anselm"),
        ("pon aceitunas en la ensalada", "quita las aceitunas, a nadie le gustan"),
        ("vamos de trem até Coimbra", "em vez do trem vamos de carro"),
        ("aggiungi le zucchine", "togli le zucchine e metti i carciofi"),
        ("neem de tram naar het museum", "geen tram, maar de fiets"),
        ("w menu jest barszcz", "usuń barszcz, będzie rosół"),
        ("купи ещё сметану", "убери сметану, уже есть"),
        ("menüde mercimek çorbası var", "mercimek yerine domates çorbası olsun"),
        ("会議室はさくらを使います", "さくらではなく、もみじにします"),
        ("早餐要豆浆", "取消豆浆，换成咖啡"),
        ("أضف الزيتون", "احذف الزيتون من القائمة"),
        ("सूची में पनीर जोड़ो", "पनीर हटाओ, दही डालो"),
    ],
)
def test_what_is_taken_back_is_found_by_its_name(old: str, new: str) -> None:
    assert (4, 0) in _pairs(old, ">Good.", "And how is the weather?", ">Fine.", new)


@each(
    "said",
    [
        ("I am not sure about the garden.", ">Ok.", "I like the goals, but I'm not sure how to do it."),
        ("We go by tram.", ">Ok.", "Is there a tram without steps?"),
        ("The report is due on Friday.", ">Ok.", "I can't open the report."),
        ("Ich mag Tee.", ">Ok.", "Das ist nicht schlimm."),
        ("I took some pictures.", ">Nice.", "Cool! Don't forget to take some nice pictures now!"),
        ("No wonder you are tired.", ">Yes.", "No wonder. Now I can't wait for the summer."),
        ("Put the planner on the wall.", ">Ok.", "cancel the plan"),
        # A word that most messages have tells nothing.
        *[("add apples", "add pears", "add plums", "add figs", "add nuts", "do not add, but wait")],
    ],
)
def test_what_is_no_withdrawal(said: tuple[str, ...]) -> None:
    assert not _pairs(*said)


def test_the_answer_that_says_it_again_is_taken_back_too() -> None:
    assert _pairs("Paint it in ochre.", ">Ochre is warm.", "cancel ochre, grey is fine") == [(2, 0), (2, 1)]
