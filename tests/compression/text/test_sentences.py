"""Sentences: they tile the text, are cut right in many scripts, never inside a protected span, in linear time."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression import lazy
from turnfold.compression.text.passages import estimate, estimates
from turnfold.compression.text.protect import BLOCK_KINDS, protected_spans
from turnfold.compression.text.sentences import LONGEST, language, rough_sentences, sentences

CASES = [
    ("Hi Dr. Smith. Here, v1.2.3 is out! Is it 3.14159?", ["Hi Dr. Smith. ", "Here, v1.2.3 is out! ", "Is it 3.14159?"]),
    ("Mail bob@x.org. See https://a.b/c.d?e=f. Done.", ["Mail bob@x.org. ", "See https://a.b/c.d?e=f. ", "Done."]),
    ("one\ntwo\n\nthree", ["one\n", "two\n\n", "three"]),
    ("1. First item. More.\n2. Second", ["1. First item. ", "More.\n", "2. Second"]),
    ("Use `a. B` now. Then go.", ["Use `a. B` now. ", "Then go."]),
    ('Run git commit -m "Fix it. Now" and push. Bye.', ['Run git commit -m "Fix it. Now" and push. ', "Bye."]),
    ("我在这里。你好吗？好的！", ["我在这里。", "你好吗？", "好的！"]),
    ("これは文章です。次の文！", ["これは文章です。", "次の文！"]),
    ("यह एक वाक्य है। दूसरा वाक्य।", ["यह एक वाक्य है। ", "दूसरा वाक्य।"]),
    ("هذا سطر. ما هذا؟ نعم!", ["هذا سطر. ", "ما هذا؟ ", "نعم!"]),
    ("Before. Then:\n```\na. b\n\nc\n```\nAfter it.", ["Before. ", "Then:\n", "```\na. b\n\nc\n```\n", "After it."]),
    ("Plan B\u00a0. Then go.", ["Plan B\u00a0. ", "Then go."]),
    ("計画　B　. 次の文。終わり", ["計画　B　. 次の文。", "終わり"]),
    ("It is 168 m. It rose. It took 9 h. Then so.", ["It is 168 m. ", "It rose. ", "It took 9 h. ", "Then so."]),
    ("ថ្ងៃទី 1 ម៉ែត្រ។ ថ្ងៃទី 2 ម៉ែត្រ។", ["ថ្ងៃទី 1 ម៉ែត្រ។ ", "ថ្ងៃទី 2 ម៉ែត្រ។"]),
    ("   \n", ["   \n"]),
    ("", []),
]  # fmt: skip


@each(("text", "expected"), CASES)
def test_a_text_is_cut_into_its_sentences(text: str, expected: list[str]) -> None:
    assert [s.of(text) for s in sentences(text)] == expected


_VALUE = '{\n  "host": "a.b",\n  "note": "It failed. Try again."\n}'
_NESTED = '{\n    "a": {\n        "b": 2\n    }\n}'
JSON_CASES = [
    ("[\n]0 ", ["[\n]0 "]),
    (f"See: {_VALUE} and then prose. More.", [f"See: {_VALUE} and then prose. ", "More."]),
    (f"{_VALUE} is the answer. Use it.", [f"{_VALUE} is the answer. ", "Use it."]),
    (f"{_VALUE} and {_VALUE} differ.\nWhy?", [f"{_VALUE} and {_VALUE} differ.\n", "Why?"]),
    (f"See: {_VALUE}\nMore.", [f"See: {_VALUE}\n", "More."]),
    (f"Got {_NESTED} today. More.", [f"Got {_NESTED} today. ", "More."]),
    (
        'Is {"a": "X. Y"} or ["B. C"]? No: {"c": {"d": "E. F"}}. So.',
        ['Is {"a": "X. Y"} or ["B. C"]? ', 'No: {"c": {"d": "E. F"}}. ', "So."],
    ),
    ('[]\n"{" ["Ab cd. Be it."]', ["[]\n", '"{" ["Ab cd. Be it."]']),
    (f"- first: {_VALUE}\n- second", [f"- first: {_VALUE}\n", "- second"]),
    ("> Look:\n> {\n>   \"a\": 1\n> }\n> Then go.", ["> Look:\n", "> {\n>   \"a\": 1\n> }\n", "> Then go."]),
    (
        'See {\n  "a": "x",\n  "b": [1,\nand then prose. More.',
        ["See {\n", '  "a": "x",\n', '  "b": [1,\n', "and then prose. ", "More."],
    ),
    ("if (x) {\n  go();\n}\nThen.", ["if (x) {\n", "  go();\n", "}\n", "Then."]),
]  # fmt: skip


@each(("newline", "text", "expected"), [(newline, *row) for newline in ["\n", "\r\n"] for row in JSON_CASES])
def test_a_json_value_is_cut_nowhere_and_its_lines_are_one(text: str, expected: list[str], newline: str) -> None:
    text = text.replace("\n", newline)
    found = [s.of(text) for s in sentences(text)]
    assert found == [sentence.replace("\n", newline) for sentence in expected]


def test_a_long_json_value_in_a_line_is_a_block() -> None:
    value = "{\n" + ",\n".join(f'  "key{i}": "value {i}"' for i in range(300)) + "\n}"
    text = f"Result: {value} is what came. Then it stopped."
    assert [(s.of(text), s.kind) for s in sentences(text)] == [
        ("Result: ", ""),
        (value, "json"),
        (" is what came. ", ""),
        ("Then it stopped.", ""),
    ]


def test_blocks_keep_their_kind() -> None:
    text = "See.\n\n| a | b |\n|---|---|\n| 1. x | 2 |\n\n# Title\nText."
    assert [s.kind for s in sentences(text)] == ["", "table", "heading", ""]


_SHORT_FORMS = Path(__file__).with_name("cases") / "short_forms.txt"


@each("case", _SHORT_FORMS.read_text(encoding="utf-8").splitlines())
def test_no_sentence_ends_behind_a_short_form(case: str) -> None:
    """Of many languages, and of English beside Cyrillic; a bar stands where a sentence ends."""
    said = case.split(" | ")
    assert [span.of(" ".join(said)).strip() for span in sentences(" ".join(said))] == said


def test_language_goes_by_script() -> None:
    assert [language(t) for t in ("hi", "é", "漢字", "かな漢字", "हि", "نعم", "да")] == ["en", "en", "zh", "ja", "hi", "ar", "ru"]


pieces = st.one_of(
    st.sampled_from(
        [
            "Dr. Who", "v1.2.3", "3.14", "a. B", "`x. Y`", '{"a. b": "c. D"}', "https://a.b/c. D", "U.S.A.", "e.g. this",
            "好的。", "Ok?!", "...", "```\na. b\n```", "| a. b | c |\n| - | - |", "    code. Code", 'git commit -m "A. B"',
            '{\n "a": "b. C"\n}', "[\n", "]", '> {\n> "a": 1}', "{\r\n}",
            "Sept. 5, 2020", "3. Oktober 2020", "SELECT a. B FROM c. D;", "password: is. That", "(yes. No.)", "“Hm. Oh.”", "- ",
        ]
    ),
    st.text(max_size=8),
    st.text(alphabet="ab .!?\n`\"'{}[]。“”1", max_size=20),
    st.text(alphabet="aBé. \u00a0\u202f\u2009\u3000か(1", max_size=12),
)  # fmt: skip
mixtures = st.lists(st.tuples(pieces, st.sampled_from([" ", "\n", ". ", "\n\n", ""])), max_size=12).map(
    lambda parts: "".join(a + b for a, b in parts)
)


@each(
    ("text", "expected"),
    [
        ("雨です。3時に止みます。", ["雨です。", "3時に止みます。"]),
        ("今天下雨！5月开会？６点。a组先到。", ["今天下雨！", "5月开会？", "６点。", "a组先到。"]),
        ("彼は「5点。3点」と言った。4点だ。", ["彼は「5点。3点」と言った。", "4点だ。"]),
    ],
)
def test_a_figure_begins_a_sentence_behind_a_full_width_end(text: str, expected: list[str]) -> None:
    assert [span.of(text) for span in sentences(text)] == expected


@given(mixtures)
def test_spans_tile_the_text(text: str) -> None:
    assert "".join(s.of(text) for s in sentences(text)) == text
    assert all(s.start < s.end for s in sentences(text))


@pytest.mark.parametrize("opening", ["»", "„"])
def test_an_opening_mark_begins_the_sentence_behind_it(opening: str) -> None:
    text = f"Er ging im März. {opening}42 Tage sind genug, rief sie."
    assert [span.of(text) for span in sentences(text)] == ["Er ging im März. ", f"{opening}42 Tage sind genug, rief sie."]


@given(mixtures)
@example("[\n]0 ")
@example("Er ging. »42 Tage")
def test_no_cut_falls_inside_a_protected_span(text: str) -> None:
    spans = protected_spans(text)
    starts = [s.start for s in spans]
    for sentence in sentences(text):
        i = bisect_right(starts, sentence.start) - 1
        assert i < 0 or spans[i].start == sentence.start or spans[i].end <= sentence.start, spans[i]


@given(mixtures)
def test_blocks_are_the_protected_ones(text: str) -> None:
    kinds = [s.kind for s in protected_spans(text) if s.kind in BLOCK_KINDS]
    assert [s.kind for s in sentences(text) if s.kind] == kinds


def test_text_without_punctuation_is_cut_at_blanks() -> None:
    text = "some words without any stop " * 500
    found = sentences(text)
    assert "".join(s.of(text) for s in found) == text
    assert max(s.end - s.start for s in found) <= LONGEST
    assert all(text[s.start - 1] == " " for s in found[1:])


@each(
    "unit",
    [
        "“",
        "“. A ",
        "«",
        "a. ",
        "a.",
        ". ",
        '"',
        "`a. ",
        "1. ",
        "\n",
        "a\n",
        "。",
        "A. B `",
        "x ",
        '{"',
        "“”",
        "「」. a",
        "1. a `x` ",
    ],
)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = repeated(unit)(20_000)
    assert sum(s.end - s.start for s in sentences(text)) == len(text)
    assert_linear(sentences, repeated(unit), 3_000)


def test_parts_of_a_text_are_estimated_wherever_they_stand() -> None:
    for text in ("abcdefgh", "абвгдежз"):
        assert estimates(text, [(0, 4), (4, 8)]) == [estimate(text[:4])] * 2


#: One sign at a time, and 800 of them at most: what `rough_sentences` finds in runs.
_ROUGH_BY_SIGN = lazy.pattern(r"\S(?:[^\n.!?…؟।。！？]|[.!?…؟।](?!\s)(?!\Z)){0,800}+[.!?…؟।。！？]?")


@given(
    st.lists(st.sampled_from(["a", "b. ", ".", "! ", "\n", " ", "。", "…", "x" * 400, "v1.2 " * 90]), max_size=12).map("".join)
)
@example("x" * 801 + ". Then.")
@example("." * 1000)
def test_rough_sentences_are_the_same_in_runs_as_sign_by_sign(text: str) -> None:
    assert rough_sentences(text) == [found.span() for found in _ROUGH_BY_SIGN.finditer(text)]
