"""Words and terms of the scripts that people write to models in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression.text import words
from turnfold.compression.text.lower import joined_words, lower_text
from turnfold.compression.text.lower import words as lower_words


def test_identifiers_are_there_whole_and_in_parts() -> None:
    found = words.words(words.fold("See src/app/main.py, MAX_CONNECTIONS and 3.11.4 or 58885126-d004-470c-95d6-87dd5d4b488b."))
    assert {"src/app/main.py", "main", "max_connections", "connections", "3.11.4", "58885126-d004-470c-95d6-87dd5d4b488b"} <= set(
        found
    )


@each(
    ("text", "word"),
    [
        ("नमस्ते हिन्दी में", "हिन्दी"),
        ("Привет, мир", "привет"),
        ("مرحبا بالعالم", "بالعالم"),
        ("İstanbul'da", "da"),
        ("１２３ａｂｃ", "123abc"),
        ("ไม่ใช่ abc", "abc"),
        ("मुझे मूंगफली से एलर्जी है।", "है"),
    ],
)
def test_words_keep_the_marks_of_their_letters(text: str, word: str) -> None:
    assert word in words.words(words.fold(text))


@each(
    ("text", "found"),
    [
        ("मेरा नाम कविता है।", ["मेरा", "नाम", "कविता", "है"]),
        ("caf\u0065\u0301 d'\u0065\u0301te\u0301 10", ["cafe\u0301", "d'e\u0301te\u0301"]),
        ("שָׁלוֹם לָכֶם", ["שָׁלוֹם", "לָכֶם"]),
        ("مُحَمَّد هنا", ["مُحَمَّد", "هنا"]),
    ],
)
def test_words_in_lower_case_keep_them_too(text: str, found: list[str]) -> None:
    assert lower_words(lower_text(text)) == found
    assert [word for word in joined_words(lower_text(text)) if not word.isdigit()] == found


def test_scripts_without_spaces_give_signs_and_pairs() -> None:
    assert words.words("杰克逊 1968年") == ["1968"]
    assert np.isin(words.run_on_terms("克逊"), words.run_on_terms("杰克逊维尔")).all()
    assert not words.run_on_terms("plain – text").size


@each(
    ("text", "name"),
    [
        ("Wann kommt der Zug an und wo hält er?", "german"),
        ("¿Cuándo llega el tren y dónde para?", "spanish"),
        ("Quand le train arrive-t-il et où est le quai ?", "french"),
        ("Когда придёт поезд и где он стоит?", "russian"),
        ("متى يصل القطار إلى هذه المدينة", "arabic"),
        ("ट्रेन कब आएगी और यह कहाँ है", "hindi"),
        ("Tren ne zaman gelecek ve bu nerede?", "turkish"),
        ("When does the train arrive?", "english"),
        ("Folkboat 1962", "english"),
    ],
)
def test_language_by_function_words(text: str, name: str) -> None:
    assert words.language(set(words.words(words.fold(text)))) == name


@each(
    ("name", "one", "other"),
    [
        ("english", "restoring", "restored"),
        ("german", "häuser", "hauses"),
        ("russian", "дачах", "дачи"),
        ("spanish", "olivos", "olivo"),
    ],
)
def test_inflections_share_a_term(name: str, one: str, other: str) -> None:
    terms = words.stem_table([one, other, "unrelated"], name)
    assert terms[one] == terms[other] != terms["unrelated"]


@given(st.lists(st.text(max_size=12), max_size=6))
def test_grams_do_not_span_texts(texts: list[str]) -> None:
    hashes, lengths = words.grams(texts)
    alone = [words.grams([text])[0] for text in texts]
    assert lengths.tolist() == [len(a) for a in alone]
    assert hashes.tolist() == [h for a in alone for h in a.tolist()]


@each("unit", ["x", "a-", "a_", ".", "漢"])
def test_text_without_spaces_takes_linear_time(unit: str) -> None:
    assert_linear(lambda text: words.words(words.fold(text)), repeated(unit), 25_000)
