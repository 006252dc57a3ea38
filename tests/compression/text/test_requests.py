"""Which messages ask for a summary of the conversation, and which only have the word in them.

Lives here: single messages. Does not belong here: what is quoted to them.
"""

from __future__ import annotations

import pytest

from turnfold.compression.text.dialogue.requests import asks_for_all, asks_for_cover
from turnfold.compression.text.words import fold


@pytest.mark.parametrize(
    "said",
    [
        "You MUST return the actual complete content as the final answer, not a summary.",
        "Don't summarize.",
        "Do not summarise the whole conversation, answer the question.",
        "Give the full text rather than a summary.",
        "Report all of it, without any overview.",
        "Bitte nicht zusammenfassen.",
        "Keine Zusammenfassung, nur die Nummern.",
        "Sans résumé, s'il te plaît.",
        "No resumas la respuesta.",
        "Отчёт без резюме.",
        "不要总结",
    ],
)
def test_a_summary_that_is_not_wanted_is_not_asked_for(said: str) -> None:
    assert not asks_for_cover(fold(said))
    assert not asks_for_all(fold(said))


@pytest.mark.parametrize(
    "said",
    [
        "Summarise the above.",
        "Why not summarise this?",
        "Can't you summarise this?",
        "Don't forget to summarise.",
        "I'm not sure where we are. A summary, please.",
        "No, summarise it.",
        "Not only a summary but a list.",
        "No list. Give me a recap instead, and no jokes.",
        "Fasse alles zusammen: eine Zusammenfassung, bitte.",
        "总结一下",
    ],
)
def test_a_summary_that_is_wanted_is_asked_for(said: str) -> None:
    assert asks_for_cover(fold(said))
