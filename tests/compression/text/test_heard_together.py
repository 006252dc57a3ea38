"""Texts that are heard together are told what each is told by itself, and their words are numbered alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnfold.compression.text.heard_statements import heard_statements
from turnfold.compression.text.lower import lower_text, words
from turnfold.compression.text.statements import statements
from turnfold.compression.text.vocabulary import Vocabulary, word_columns

_SENTENCES = (
    "We pay 5 mg a day.",
    "They don't.",
    "That is not what Anna said.",
    "Only on Mondays, though!",
    "Is it safe?",
    "No.",
    "(For guests it is 12.)",
    '"Never again," she wrote.',
    "The tram would run all night if they let it.",
    "At night it was well-known to him.",
    "According to Kim the plan is dead.",
    "After that the other one was different.",
    "All of this is invented.",
    "1) Open v2.4.1 of the file.",
    "Update: the rates are in euros.",
    "Figures are in millions.",
    "We take the latter.",
    "Halve it for children under 12.",
    "He saw her near the river and gave it back to them later",
    "Long words go on " * 30 + "here.",
    "Über uns spricht niemand.",
    "Skip it, but keep all others.",
)
_TEXTS = st.lists(
    st.lists(st.sampled_from(_SENTENCES), min_size=1, max_size=9).flatmap(
        lambda said: st.sampled_from((" ", " ", "  ", "\n")).map(lambda gap: gap.join(said))
    ),
    min_size=1,
    max_size=8,
)


@given(_TEXTS)
def test_texts_heard_together_are_as_each_by_itself(texts: list[str]) -> None:
    known = {"the": 0}
    vocabulary = Vocabulary(known, word_columns([*known]))
    heard = heard_statements(texts, vocabulary, lambda _, __, said: said)
    alone = [statements(text) for text in texts]
    spoken = [words(lower_text(span.of(text))) for text, read in zip(texts, alone, strict=True) for span in read.spans]
    names = list(vocabulary.numbers)
    assert heard.statements == alone
    assert [[*one] for said in heard.said for one in said] == spoken
    assert heard.sizes.tolist() == [*map(len, spoken)]
    assert [names[number] for number in heard.numbers.tolist()] == [word for said in spoken for word in said]
