"""Text that was broken at a column: mails, notes, commit messages. A sentence goes on in the next line.

These tests show where such text is cut, and that layers show whole sentences of it. They leave out where sentences end within a
line (``test_sentences``), output of programs (``test_between_sentences``).
"""

from __future__ import annotations

import re
import textwrap
from itertools import product
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.passages import passages
from turnfold.compression.text.sentences import sentences
from turnfold.compression.tokens import count

MAIL: Final = """Dear Ines,

thank you for the visit last week. As agreed, the new pumps go to the
harbour on 9 October, unless the inspector has found another leak by
then. It is wrong that Petrel Marine pays for the crane; their lawyer
says that we do, but no court has decided anything so far.

If the second test fails, we shall return the $1.8 million to the
lenders before the end of May. The board agreed to that, except
for the part about the old dock, which nobody wants to sell.

Please don't speak to the newspapers before Tomas is back. Only
Olga may answer questions about the accident, and never by
phone. I would rather wait than say something wrong.

Kind regards,
Marta
"""
FLOWING: Final = (
    "The committee met in Oslo and decided that no ship may leave before the storm is over, although three captains disagreed. "
    "Nothing was said about fees. If the harbour stays closed until Friday, the owners get half of what they paid, but only "
    "where the contract does not say otherwise. Mrs. Lund called that a mistake, since nobody had asked the insurers, who would "
    "never have agreed to such a rule."
)
ONE_LINE_EACH: Final = {
    "to do": "buy bread and milk\ncall the dentist about the bill\nwater the plants\npick up Nora from school at four\n",
    "menu": "grilled trout with lemon and rice\nroast lamb with beans and mint\nlentil curry with flat bread\n",
    "verses": "The lamps went out along the empty pier\nAnd no one spoke a word for half the night\nThe tide came in\n",
    "address": "Petrel Marine Limited\n4 Dock Road, Building C\n0150 Oslo\nNorway\n",
    "chat": "ok so i was thinking about the trip\nme too\nwe could take the early boat if it is warm\nlol yes\n",
    "items": "- the first rule is that we never sail on Friday\n- the second rule is that we always check\n",
    "speakers": "Nora: we could take the early boat if it is warm\nOle: only if the dog comes with us and nobody minds\n",
    "heads": "Rules for boats in the winter\nWe pay no more than $50 for each trip.\nHotels and trains\nBook them.\n",
    "small labels": "the quay is open: from eight until nine at night\nclosed: on every holiday and on days of strikes\n",
    "hard break": "The first line of the letter stands here  \nand the second line of it stands here  \n",
}
WRAPPED: Final = {
    "item": "- The hull must be checked by Friday because the board\n  meets on Monday and nobody else can sign.\n",
    "quoted": "> We pay the whole amount of the invoice unless the\n> auditor objects to it in writing.\n",
    "german": "Wenn die Probe nicht gelingt, zahlen wir den gesamten\nBetrag zurück, sobald die Banken es von\nuns fordern.\n",
    "name": "The cranes are owned by Petrel Marine and rented to the\nHarbour Trust, which pays nothing until the\nend of May.\n",
    "figure": "The lenders will get back what they paid, which is about\n1.8 million, by the end of May, as long as\nthey ask.\n",
    "short form": "The whole report was written by the office of Dr.\nLund, who has never been in the harbour.\n",
    "colon": "Each of the three basins of the harbour is let in four\nparts: the quay, the sheds, the crane and an\noffice.\n",
    "colon, french": "Le bail ne vaut que pour deux personnes, à savoir les\nlocataires : Anne et Luc, et pour nul autre.\n",
    "leads on": "We sail only if\nthe wind turns before the evening of the second day.\n",
    "arabic": "لن ندفع المبلغ كاملا إلى الشركة قبل نهاية الشهر إلا إذا\nوافق المدقق على ذلك.\n",
    "japanese": "検査に合格しなければ私たちは投資家に全額を返すことになっていますが\n理事会はまだそれを承認していません。\n",
}


def _flat(text: str) -> str:
    return " ".join(text.replace("\n>", "\n").split())


@given(width=st.integers(50, 110), front=st.sampled_from(["", "> ", "  "]))
def test_sentences_are_the_same_at_every_width(width: int, front: str) -> None:
    lines = textwrap.wrap(FLOWING, width, break_on_hyphens=False)
    text = "\n".join(front + line for line in lines)
    wanted = [span.of(FLOWING).strip() for span in sentences(FLOWING)]
    assert [_flat(span.of(text)).removeprefix("> ") for span in sentences(text)] == wanted


@each("kind", ONE_LINE_EACH)
def test_lines_that_stand_by_themselves_stay_so(kind: str) -> None:
    text = ONE_LINE_EACH[kind]
    assert [span.of(text) for span in sentences(text)] == text.splitlines(keepends=True)


@each("kind", WRAPPED)
def test_a_broken_sentence_is_one(kind: str) -> None:
    assert len(sentences(WRAPPED[kind])) == 1


@each(("ratio", "layer", "fence"), product([0.1, 0.2, 0.3, 0.45, 0.6, 0.8], [1, 2], ["", "```\n"]))
def test_layers_show_no_half_sentence(layer: int, ratio: float, fence: str) -> None:
    text = f"What do you make of this letter?\n\n{fence}{MAIL}{fence}\nI must answer it today."
    shown = _flat(Compressor().compress(CompressRequest(text, layer, ratio)).text)
    for sentence in re.split(r"(?<=[.?!]) ", _flat(MAIL.partition("\n\n")[2].partition("Kind")[0])):
        words = sentence.split()
        if " ".join(words[-3:]) in shown or " ".join(words[:3]) in shown:
            assert sentence in shown


def test_passages_begin_and_end_with_sentences() -> None:
    text = f"{MAIL}\n" * 3
    assert len(passages(text)) > 6
    for start, end in passages(text):
        passage = text[start:end]
        assert passage[:1].isupper() or passage.startswith("thank you"), passage
        assert passage.endswith((".", "Ines,", "Marta")), passage


def test_cutting_broken_lines_is_linear() -> None:
    assert_linear(sentences, lambda size: "we went down to the river and\n" * size, 400)
    assert_linear(sentences, lambda size: f"{MAIL}\n" * size, 12)


_RESULTS: Final = """Haemoglobin        11.2     L     13.5 - 17.5      g/dL
Leucocytes         6.1            4.0 - 10.0       10^9/L
Platelets          148      L     150 - 400        10^9/L
Ferritin           9        L     30 - 400         ug/L
Creatinine         1.4      H     0.7 - 1.2        mg/dL
eGFR               58       L     > 60             mL/min
HbA1c              5.6            < 5.7            %
LDL cholesterol    162      H     < 116            mg/dL

TSH could not be determined, the sample was haemolysed. The value for LDL is not valid as long as the patient
has eaten within eight hours. Ferritin was confirmed by repetition, but only on the older of the two machines
that we have."""
_STATISTICS: Final = """M. Keller et al.                          Journal of Applied Hydrology 12 (2023) 101-118

104

3.3. Statistics

We used a mixed model with station as a random effect. Significance was
accepted at p < 0.01 and not, as is usual, at p = 0.05, since nine tests were
made. The residuals were checked by eye. No correction was made for
the autocorrelation of daily values, which may have led to overly nar-
row confidence intervals.

Station Mean SD n
A 4.2 0.6 212
B 11.8 2.9 74"""


@each(
    ("text", "begins", "goes_on"),
    [
        (_RESULTS, "LDL is not valid as", "has eaten within"),
        (_RESULTS, "confirmed by repetition", "that we have"),
        (_STATISTICS, "Significance was", "as is usual"),
        (_STATISTICS, "accepted at", "Significance was"),
        (_STATISTICS, "made.", "nine tests were"),
        (_STATISTICS, "No correction was made", "daily values"),
    ],
)
def test_a_remark_beside_a_table_or_figures_is_shown_whole(text: str, begins: str, goes_on: str) -> None:
    outputs = [facts(text, role=role, words=frozenset(), known=frozenset(), count=count) for role in ("user", "tool")]
    for ratio in (0.15, 0.3, 0.5, 0.7):
        layers = Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers
        outputs += [layers[1].text, layers[2].text]
    for shown in outputs:
        assert goes_on in shown or begins not in shown, shown
