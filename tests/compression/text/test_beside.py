"""What a text says goes before what stands beside it: headers of mails, quoted mails, sources of an article, buttons of a page.

These tests show that the shorter forms of such texts say what is new in them. They leave out writers of comments
(``test_threads.py``), quoted lines (``test_layout.py``).
"""

from __future__ import annotations

from typing import Final

from tests.support.cases import each
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.sentences import sentences
from turnfold.compression.tokens import count

_NEWEST: Final = "Friday works for us but not before 14:00 since the lift is booked. Please leave the plotter, it stays."
_QUOTED: Final = (
    "Can we move on Thursday instead of Friday? We take 22 desks, 4 cabinets and the plotter. The budget is 3,000 euros."
)
MAILS: Final = {
    "english": f"""From: Petra Lang <p.lang@corp.example>
Sent: Tuesday, 6 May 2025 09:12
To: Jon Reyes
Subject: RE: Move to floor 3

{_NEWEST}

Petra

-----Original Message-----
From: Jon Reyes
Sent: Monday, 5 May 2025 17:40
To: Petra Lang
Subject: Move to floor 3

{_QUOTED}

Jon""",
    "german": f"""Von: Petra Lang
Gesendet: Dienstag, 6. Mai 2025 09:12
An: Jon Reyes
Betreff: AW: Umzug

{_NEWEST}

-----Ursprüngliche Nachricht-----
Von: Jon Reyes
Gesendet: Montag, 5. Mai 2025 17:40
An: Petra Lang
Betreff: Umzug

{_QUOTED}""",
}
ARTICLE: Final = """\
The Treaty of Karlowitz was signed on 26 January 1699,[1][2] ending the Great Turkish War.[a] Venice obtained most \
of Dalmatia, but not Ragusa.[3] Poland recovered Podolia, which it had lost in 1672.[4][citation needed] The Banat remained \
Ottoman until 1718.[5] The envoy refused to sign until 7 February;[6] other historians dispute this.[7]

References
^ Nolan, Cathal J. (2008). Wars of the age of Louis XIV. Greenwood. p. 27. ISBN 978-0-313-33046-9.
^ Setton, Kenneth (1991). Venice, Austria, and the Turks. p. 409. ISBN 978-0-871-69192-7."""


@each("name", MAILS)
def test_of_a_mail_and_the_one_that_it_answers_the_newer_is_told(name: str) -> None:
    text = MAILS[name]
    for ratio in (0.25, 0.3):
        assert _NEWEST in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers[1].text
    for role in ("user", "assistant"):
        assert _NEWEST in facts(text, role=role, words=frozenset(), known=frozenset(), count=count)


def test_a_mail_that_is_only_passed_on_is_told() -> None:
    text = MAILS["english"][MAILS["english"].index("-----") :]
    assert "22 desks" in Compressor().compress(CompressRequest(text, l1_ratio=0.5)).layers[1].text


def test_notes_behind_a_full_stop_end_its_sentence() -> None:
    begins = [span.of(ARTICLE)[:11] for span in sentences(ARTICLE)]
    assert begins[:5] == ["The Treaty ", "Venice obta", "Poland reco", "The Banat r", "The envoy r"]
    marked = "It ended.¹ Venice won.【4:0†source】 See a[0].[1] at 3.5[2] of it."
    assert [span.of(marked) for span in sentences(marked)] == [
        "It ended.¹ ",
        "Venice won.【4:0†source】 ",
        "See a[0].[1] at 3.5[2] of it.",
    ]


@each("ratio", [0.25, 0.35, 0.5])
def test_of_an_article_its_sources_are_told_last(ratio: float) -> None:
    result = Compressor().compress(CompressRequest(ARTICLE, l1_ratio=ratio))
    assert "ISBN" not in result.layers[1].text
    assert "1718" in result.layers[1].text
