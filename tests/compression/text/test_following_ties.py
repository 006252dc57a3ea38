"""A claim is shown with the sentence behind it that leans on it; what only stands behind it is left alone."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.text.statements import statements

BEFORE = "The library in Torsby holds 41,200 volumes. Nils Aker drove 312 km to Kalmar on 7 May."
AFTER = "A ferry leaves Holm at 06:40 and arrives at 09:15."
#: A text, a claim in it, and what the claim is not to be read without.
TIED = [
    ("Motion: sell the old chapel of Brekke. Carried with one abstention.", "sell the old chapel", "Carried"),
    ("Zolpat 10 mg at night. Unsuitable for nursing mothers.", "Zolpat 10 mg", "Unsuitable"),
    ("Add 40 g of salt per litre. Double it for green olives.", "40 g of salt", "Double it"),
    ("Sort it with `sort -u in > out`. Mix up both names and the data is lost.", "sort -u in", "data is lost"),
    ("Adults get 2 mg of Relin. The phial holds 20 mg, so dilute it tenfold.", "Adults get 2 mg", "dilute it"),
    (
        "The pass covers all museums. Show the code at each desk. Special shows are not covered by the pass.",
        "covers all",
        "shows",
    ),
    ("The model scored 0.93 on clean speech. In traffic noise it fell to 0.58.", "scored 0.93", "0.58"),
    ("You may swim again from Monday. Until the stitches are out, stay in the shallow end.", "swim again", "shallow"),
    ("运动从今天起可以做。伤口没长好之前，如果出汗只能散步。", "从今天起可以做", "只能散步"),
    ("The vet says the lump is harmless. The lab result points to a tumour.", "lump is harmless", "tumour"),
    ("Marketing wrote that the phone is waterproof. It isn't; it survives light rain.", "phone is waterproof", "It isn't"),
    ("有人提议把夏令营改到海南。大家没同意，还在青岛办。", "改到海南", "没同意"),
    ("민호가 회사를 그만둔대. 뻥이야, 아직 다니고 있어.", "그만둔대", "뻥이야"),
    ("The guild of Varn keeps its prices secret. The reverse holds for Selbo.", "prices secret", "reverse holds"),
    ("Is the path open to bikes? On weekdays, mostly.", "open to bikes", "On weekdays"),
    ("> please sign the lease today\n\nSigned. The annex stays out of it.", "sign the lease", "annex"),
    ("Toplantı 9 Mayıs'ta. Deprem tatbikatı olursa ertelenecek.", "9 Mayıs", "ertelenecek"),
    ("Kapılar saat 18'de açılıyor. Fırtına çıkarsa açılmayacak.", "saat 18", "Fırtına"),
    ("Her kayıp için 50 lira ödenir. Belge getirmezseniz ödenmez.", "50 lira", "Belge"),
    ("Her blood pressure was 160 on admission. It had been taken right after a fall.", "was 160", "after a fall"),
    ("The samples held 4.1 mg of lead. They had been stored in old cans.", "4.1 mg", "old cans"),
    ("The count was 312 votes. It had been made without the north ward.", "312 votes", "north ward"),
    ("1. Drain tank 4.\n2. Cut the power.\n\nI did step 1. The other one needs a permit.", "Cut the power", "a permit"),
]
APART = [
    ("Selbo leases the mill in Varn. Thanks for joining.", "leases the mill", "Thanks"),
    ("The valve opened at 104 bar. It was a quiet week for everybody here.", "104 bar", "quiet week"),
    ("The valve opened at 104 bar. Boats came home one after another at noon.", "104 bar", "Boats"),
    ("The pump runs in Holm instead of Varn. Orchards of Lund grow pears instead of plums.", "pump runs", "pears"),
]


def group(said: str, claim: str) -> str:
    """The statement that holds a claim, and all that it needs."""
    text = f"{BEFORE}\n\n{said} {AFTER}"
    read = statements(text)
    at = next(i for i, span in enumerate(read.spans) if claim in span.of(text))
    return "".join(read.spans[i].of(text) for i in sorted(read.with_needs(at)))


@each(("said", "claim", "needed"), TIED)
def test_a_claim_comes_with_what_leans_on_it(said: str, claim: str, needed: str) -> None:
    assert needed in group(said, claim)


@each(("said", "claim", "other"), APART)
def test_what_only_stands_behind_a_claim_is_not_tied(said: str, claim: str, other: str) -> None:
    assert other not in group(said, claim)


_CLAIM = "The valve of Varn opened at 104 bar."
_TOLD_BY = "Labs point to a tumour with a big hole in the very middle of the wall."


def _words(number: int, begin: str, end: str) -> str:
    """A sentence of so many words."""
    return " ".join([begin, *["so"] * (number - len(f"{begin} {end}".split())), end]) + "."


@each(
    ("claim", "behind", "needed", "needs"),
    [
        *(
            (_CLAIM, behind, True, True)
            for behind in ("Lost by two.", "Sold out.", "I lost it.", "Halve it for children.", "It doesn't hold.", "Not so.")
        ),
        *(
            (_CLAIM, behind, True, True)
            for behind in ("A new one is needed.", "The owner wants more.", "Use it at 104 bar only.")
        ),
        *((_CLAIM, behind, True, True) for behind in ("They differ otherwise.", "The opposite is true.", "If closed, it stays.")),
        *((_CLAIM, behind, False, False) for behind in ("Lost by two votes to Lund now.", "Thanks to all of you.")),
        # What "it" is stands in front (``pointing_ties``), and the claim does not lean on them.
        *((_CLAIM, behind, False, True) for behind in ("Halve it for children of Lund.", "Use it at 105 bar and 3 kg of `x`.")),
        (_CLAIM, "On Monday, 5 bar.", True, False),
        ("阀门在104巴打开了，水很多。", "阀门在夏天关。", True, False),
        # So many words, and one more.
        *((_CLAIM, _words(n, "Halve it", "for children"), n == 10, True) for n in (10, 11)),
        *((_CLAIM, _words(n, "Owners", "want more"), n == 10, n == 10) for n in (10, 11)),
        *((_CLAIM, _words(n, "Nobody ever", "believed it"), n == 18, n == 18) for n in (18, 19)),
        *((_CLAIM, _words(n, "On weekdays", "they hold"), n == 20, True) for n in (20, 21)),
        *((_CLAIM, _words(n, "Owners", "feel otherwise"), n == 24, n == 24) for n in (24, 25)),
        *(("Is the valve of Varn open?", _words(n, "Boats", "come in"), n == 10, True) for n in (10, 11)),
        # What is done on no condition, or by whoever asks, says the same without the question.
        *(("Where is the valve of Varn?", _words(n, "Boats", "come in"), n == 10, False) for n in (10, 11)),
        ("Is the valve of Varn open?", _words(11, "I said", "come in"), False, False),
        *((_words(n, "Marta of the inn", "says it"), _TOLD_BY, n == 10, False) for n in (10, 11)),
    ],
)
def test_how_far_a_sentence_leans_on_the_one_before_it(claim: str, behind: str, needed: bool, needs: bool) -> None:
    said = f"{claim} {behind}"
    assert (behind in group(said, claim[:9]), claim in group(said, behind[:5])) == (needed, needs)


@each(
    ("text", "needs"),
    [
        ("If it drops below 1 bar, stop it. Close valve 3.", [[], [0]]),
        ("If it drops below 1 bar, stop it. Close valve 3 now for Ben or Ada.", [[], [0]]),
        ("If it drops below 1 bar, stop it. Close valve 3 now for Ben or Ada Orr.", [[], []]),
        ("If it drops, stop it. Close the big valve now. Call.", [[], [0]]),
    ],
)
def test_a_condition_governs_short_sentences_behind_it(text: str, needs: list[list[int]]) -> None:
    found = [sorted(some) for some in statements(text).needs]
    assert found[: len(needs)] == needs, found
