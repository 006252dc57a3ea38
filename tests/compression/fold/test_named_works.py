"""Works that are named by a compound, in another language than they are in, or by somebody who asks what stands in them.

These tests cover such requests, through folds. They leave out plain requests for a whole work (``test_works``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.bodies import Message, encode
from tests.support.cases import each
from tests.support.effort import crosswise, every
from tests.support.known_folds import fold_request
from tests.support.warm import WARM
from tests.support.words import prose
from turnfold.compression.options import CachePrices, FoldOptions

_LETTERS: Final = {
    file.stem: file.read_text("utf-8").strip() for file in sorted((Path(__file__).parent / "cases" / "letters").glob("*.txt"))
}


def _sent(asked: str, letter: str, question: str, budget: int | None = None) -> str:
    """What goes out of a chat in which a letter was asked for, and much later a question."""
    said: list[Message] = [{"role": "user", "content": asked}, {"role": "assistant", "content": letter}]
    for turn in range(24):
        said.append({"role": "user", "content": prose(turn, "en", 4)})
        said.append({"role": "assistant", "content": prose(500 + turn, "en", 10)})
    body = encode([*said, {"role": "user", "content": question}])
    folded = fold_request(body, FoldOptions(model="gpt-4o", prices=CachePrices(0.5, 1.0), budget=budget), WARM)
    assert folded.changes
    return "\n".join(message.text for message in folded.forwarded.messages)


@each(
    ("budget", "asked", "letter", "question"),
    every(
        2,
        crosswise(
            [
                (budget, *row)
                for budget in [None, 1_000]
                for row in [
                    ("Formuliere bitte eine Kündigung für mein Studio.", "de", "Zeig mir das Kündigungsschreiben noch einmal."),
                    ("Schreib eine Kündigung an mein Studio.", "de", "Übersetze den Kündigungsbrief ins Englische."),
                    ("Schreib eine Kündigung an mein Studio.", "de", "Please translate the letter into English."),
                    ("Write my landlady about the heating.", "en", "Gib mir den Brief nochmal."),
                    ("Write my landlady about the heating.", "en", "Renvoie-moi la lettre."),
                    ("Write my landlady about the heating.", "en", "手紙をもう一度見せて。"),
                    ("Skriv en uppsägning till gymmet.", "sv", "Visa uppsägningsbrevet igen."),
                    ("Skriv en uppsägning till gymmet.", "sv", "Geef me de opzeggingsbrief nog een keer."),
                    ("Kirjoita kuntosalille, että lopetan.", "fi", "Näytä irtisanomiskirje uudelleen."),
                ]
            ],
            9,
        ),
    ),
)
def test_a_letter_is_sent_whole_by_any_name(asked: str, letter: str, question: str, budget: int | None) -> None:
    sent = _sent(asked, _LETTERS[letter], question, budget)
    assert [line for line in _LETTERS[letter].splitlines() if line not in sent] == []


@each(
    ("budget", "asked", "letter", "question", "needed"),
    crosswise(
        [
            (budget, *row)
            for budget in [None, 1_000]
            for row in [
                ("Write my landlady about the heating.", "en", "What did I demand in the letter?", "repaired by 20 January"),
                ("Write my landlady about the heating.", "en", "Was habe ich in dem Brief verlangt?", "two electric heaters"),
                ("Schreib eine Kündigung an mein Studio.", "de", "Wann endet laut dem Schreiben alles?", "zum 31. März"),
                ("Skriv en uppsägning till gymmet.", "sv", "Vad lovade jag att göra i brevet?", "lämnar jag i receptionen"),
                ("大家さんに手紙を書いて。", "ja", "手紙で何を要求したっけ?", "家賃を一割減額"),
            ]
        ],
        5,
    ),
)
def test_what_a_letter_says_is_sent_to_a_question_by_other_words(
    asked: str, letter: str, question: str, needed: str, budget: int | None
) -> None:
    assert needed in _sent(asked, _LETTERS[letter], question, budget)


def test_what_was_told_of_a_report_is_no_report() -> None:
    said = "I read it on Sunday, " + prose(3, "en", 27)
    assert said not in _sent("Somebody should read it.", said, "Who brought the report?")
