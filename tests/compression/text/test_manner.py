"""How users want to be answered, told in passing, is a standing order; a request of one turn is none."""

from __future__ import annotations

import pytest

from tests.support.cases import each
from turnfold.compression.text.dialogue.standing.manner import tells_manner
from turnfold.compression.text.dialogue.standing.orders import is_standing_order, standing_orders


@each(
    "said",
    [
        "shorter please",
        "shorter please, I'm reading on my phone",
        "no emojis please",
        "Can you keep your answers short?",
        "please answer in Spanish",
        "no more lists",
        "Two sentences max, please.",
        "keine Listen bitte",
        "antworte bitte auf Englisch",
        "plus court s'il te plaît",
        "sin emojis por favor",
        "responda sem enrolação, por favor",
        "rispondi in modo breve",
        "geen emoji's alsjeblieft",
        "krócej proszę",
        "daha kısa yaz lütfen",
        "отвечай по-английски",
        "без списков, пожалуйста",
        "回答请简短",
        "箇条書きでお願いします",
        "짧게 대답해 주세요",
        "أجب باختصار من فضلك",
        "छोटे जवाब दो",
    ],
)
def test_a_manner_of_answering_is_a_standing_order(said: str) -> None:
    assert tells_manner(said)
    assert is_standing_order(said)
    assert standing_orders(f"Thanks for that. {said}" if said.isascii() else said)


@each(
    "said",
    [
        "a shorter route please",
        "make it shorter",
        "Give me a short list.",
        "short version?",
        "bullet points are boring",
        "the answer was shorter",
        "in French class we read Camus",
        "Translate this to German please",
        "no milk please",
        "ohne Milch schmeckt es",
        "escribe un correo breve a mi jefe",
        "напиши короткий рассказ",
        "写一首诗",
        "짧은 시를 써 주세요",
    ],
)
def test_a_request_of_one_turn_is_none(said: str) -> None:
    assert not tells_manner(said)


@pytest.mark.parametrize("said", ["Bitte duz mich einfach.", "Siez mich bitte."])
def test_how_to_be_addressed_is_a_manner(said: str) -> None:
    assert tells_manner(said)
    assert not tells_manner("Er duzt mich, sagt sie.")
