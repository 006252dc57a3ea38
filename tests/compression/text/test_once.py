"""Orders for one thing or one time are none that stand."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.text.dialogue.standing.orders import standing_orders


@each(
    "said",
    [
        "Keep it formal, for this letter only.",
        "For this letter only, never use contractions.",
        "Just this once, answer in French.",
        "Schreib nur diese Mail auf Englisch.",
        # Written before the rule was run on them, and not changed after.
        "In this paragraph always write the numbers in full.",
        "Never use bullet points in this answer.",
        "Verwende in diesem Kapitel niemals das Präsens.",
        "Utilise toujours le passé simple dans ce chapitre.",
        "En esta carta usa siempre usted.",
        "Nesta vez nunca cites fontes, só nesta resposta.",
        "Usa sempre il Lei, solo per questa lettera.",
        "Gebruik alleen in deze mail altijd de u-vorm.",
        "В этом письме всегда обращайся на вы.",
        "Bu seferlik her zaman kısa yaz.",
    ],
)
def test_an_order_for_once_does_not_stand(said: str) -> None:
    assert not standing_orders(said)


@each(
    "said",
    [
        "In this project, always use tabs.",
        "In this chat, never use emojis.",
        "Never send this mail to anyone.",
        "Sign everything from now on with Pia.",
        "Antworte in diesem Chat immer auf Deutsch.",
    ],
)
def test_an_order_for_all_that_follows_stands(said: str) -> None:
    assert standing_orders(said)
