"""Which messages ask for a summary of the conversation, and which only have the word in them.

These tests cover single messages. They leave out what is quoted to them.
"""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression.text.dialogue.requests import asks_for_all, asks_for_cover
from turnfold.compression.text.words import fold


@each(
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


@each(
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


@each(
    "said",
    [
        "Summarize the conversation history so far, paying special attention to the most recent tool results.",
        "Generate a detailed summary of this conversation. Include:\n1. A brief overview of what was discussed",
        "Write a continuation summary that will allow you to resume work in a context window where the conversation history will "
        "be replaced with this summary.",
        "First, reason in your scratchpad. Then, generate the <state_snapshot>.",
        "Stop coding and instead write a short memento message for the next agent. Your note should list outstanding TODOs.",
        "Your urgent task is to create a comprehensive detailed summary of the conversation so far.",
        "Provide a detailed prompt for continuing our conversation above.",
    ],
)
def test_what_agents_ask_for_when_they_compact_is_a_summary_of_everything(said: str) -> None:
    assert asks_for_all(fold(said))


@each(
    "said",
    [
        "Implement conversation summarization in chat/summarizer.py: replace the older messages with a summary.",
        "Add a /compact command to our CLI; it should call summarize().",
        "Write a summary line for the changelog about the retry fix.",
        "Summarize the differences between these two diffs.",
        "Leave a message for the next visitor on the page.",
    ],
)
def test_work_on_summaries_asks_for_none_of_everything(said: str) -> None:
    assert not asks_for_all(fold(said))


_ASCII_WORDS = (
    "Summarise it. Recap! An overview, please. tl;dr? TLDR. Time for a wrap-up. Let us wrap up. Zusammenfassung. Bitte "
    "zusammengefasst. Resumen. Resumir. Resumid. Resuma. Resumo. Resume lo anterior. Riassunto. Riepilogo. Samenvatting. "
    "Sammanfattning. Ringkasan. Rangkuman. Podsumowanie. Streszczenie. Yhteenveto. Rezumat. Shrnout."
)


@each("said", _ASCII_WORDS.split(". "))
def test_each_word_for_a_summary_that_is_ascii_asks_for_one(said: str) -> None:
    assert asks_for_cover(fold(f"Good morning. {said} Thanks."))
