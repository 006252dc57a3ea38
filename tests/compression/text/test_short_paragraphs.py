"""Short paragraphs of short texts are shown whole or not at all; in longer ones the words tell what needs what."""

from __future__ import annotations

from tests.support.cases import each
from turnfold.compression import Compressor, CompressRequest
from turnfold.compression.shorten.facts import facts
from turnfold.compression.text.statements import shown_statements, statements
from turnfold.compression.tokens import count

EXPORT = "You can export your data as CSV. The button is at the bottom. Free accounts see it greyed out."
TALK = "Mia: The parcel comes tomorrow.\nJon: I'm in Rome this week.\nMia: I have set it to wait at the depot."
LONG = "The ferry left at noon. The crew painted the rail. A choir sang on deck. The lake was calm. Nora read. Two men slept."


@each("text", [EXPORT, TALK, "Take two tablets. Do not chew them.\nPatients over 65 take one.", "无需预约。周末除外。请带卡。"])
def test_a_short_text_is_one_statement(text: str) -> None:
    read = shown_statements(text)
    assert [span.of(text) for span in read.spans] == [text]
    assert read.needs == ((),)
    for ratio in (0.1, 0.3, 0.6):
        assert {layer.text for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers} == {text}


@each(
    "text",
    [
        "",
        "Alone.",
        LONG,
        f"{EXPORT} {'It is a long way to the lake from here, and longer in the rain. ' * 2}{'x' * 300}.",
        f"{EXPORT}\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        f"> {EXPORT}\n\nThat is out of date.",
        EXPORT + "\n\n" + LONG * 6,
    ],
)
def test_what_is_longer_or_more_than_running_text_is_read_by_its_words(text: str) -> None:
    assert shown_statements(text) == statements(text)


@each("paragraph", [EXPORT, TALK])
def test_a_paragraph_of_a_short_text_is_shown_whole_or_not_at_all(paragraph: str) -> None:
    text = f"Good morning, and thanks for the tea.\n\n{paragraph}\n\n{LONG}"
    outputs = [facts(text, role="assistant", words=frozenset(), known=frozenset(), count=count)]
    for ratio in (0.2, 0.4, 0.6, 0.8):
        outputs += [layer.text for layer in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).layers]
    parts = [line for line in paragraph.replace(". ", ".\n").split("\n") if line]
    for shown in outputs:
        assert len({part in shown for part in parts}) == 1
