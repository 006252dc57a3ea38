"""What is told without a pattern is what the pattern tells."""

from __future__ import annotations

import re
from itertools import pairwise
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.shorten.exact_pieces import holds_exact
from turnfold.compression.shorten.prose import has_order
from turnfold.compression.text import inline, words, wrapped_lines
from turnfold.compression.text.dialogue import overall, requests, told_before
from turnfold.compression.text.dialogue.self_statements import fact_weight
from turnfold.compression.text.dialogue.standing.orders import orders_nothing
from turnfold.compression.text.figures import figures, figures_by_span, figures_by_start
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import PHRASE_START, joined_words, joined_words_within, lower_text, words_within
from turnfold.compression.text.lower import words as plain_words
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import StatementsAlone, objection, statements
from turnfold.compression.text.ties import interrupted
from turnfold.compression.text.ties.cues import cues_in_columns, cues_one_by_one
from turnfold.compression.text.ties.hints import Hints
from turnfold.compression.text.ties.pieces import StatementPiece

_SIGNS = st.text("aB1_-./:@#'’ \n\té\x1c\x00", max_size=30)
_COMMANDS = st.lists(
    st.sampled_from(
        [
            "git",
            "commit",
            "npm",
            "run",
            "x",
            "sudo",
            "make",
            "python3",
            "cat",
            "a/b",
            "-f",
            "main.py",
            '"a b"',
            "12",
            "|",
            "(",
            ".",
        ]
    ),
    max_size=9,
)


@given(_SIGNS, st.integers(0, 30), st.integers(0, 30))
def test_words_of_a_range_are_those_of_its_text(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    assert words_within(text)(start, end) == plain_words(lower_text(text[start:end]))
    assert joined_words_within(text)(start, end) == joined_words(lower_text(text[start:end]))


@given(_SIGNS)
def test_words_are_the_same_beside_another_script(text: str) -> None:
    low = lower_text(text)  # beside another script it is told by the pattern
    assert [*plain_words(low), "é"] == plain_words(f"{low} é")
    assert [*joined_words(low), "é"] == joined_words(f"{low} é")


@given(st.text("aBc9 .,:(_/-\n`é", max_size=60))
def test_figures_of_a_text_are_those_of_its_sentences(text: str) -> None:
    spans = sentences(text)
    assert figures_by_span(text, spans) == {i: found for i, span in enumerate(spans) if (found := figures(span.of(text)))}


@given(st.text("aBc9 .,:(_/-\n`#>)=", max_size=60), st.lists(st.integers(1, 59), max_size=4))
def test_figures_of_many_texts_in_a_row_are_those_of_each(text: str, borders: list[int]) -> None:
    starts = sorted({0, *borders} & set(range(len(text))))
    pieces = [text[start:end] for start, end in pairwise([*starts, len(text)])]
    found = figures_by_start(text, np.array(starts, np.int64))
    assert found == {i: held for i, piece in enumerate(pieces) if (held := figures(piece))}


@given(st.text("aBc9 .,:;_/@`-", min_size=1, max_size=30))
def test_a_name_is_one_beside_another_script(text: str) -> None:
    def names(said: str) -> bool:
        return StatementPiece(said, Span(0, len(said)), Hints(said), joined_words_within(said)).names_something

    assert names(f"a {text}") == names(f"é {text}")


_CUE_WORDS = st.sampled_from(
    ["until", "then", "latter", "story", "that", "was", "not", "it", "two", "of", "first", "there", "the", "old", "one", "valve"]
)


@given(st.lists(st.lists(_CUE_WORDS, max_size=9), min_size=1, max_size=6))
def test_cues_word_by_word_are_those_in_columns(said: list[list[str]]) -> None:
    assert cues_one_by_one(said) == cues_in_columns(said)


@given(_SIGNS)
def test_words_for_look_up_are_the_same_beside_another_script(text: str) -> None:
    folded = words.fold(text)
    plain, beside = words.words(folded), words.words(f"{folded} é")  # é alone: told by the pattern, and last before the parts
    assert sorted([*plain, "é"]) == sorted(beside)


@given(st.lists(st.one_of(_SIGNS, st.text("aB1_-./ 漢字\t.", max_size=20)), max_size=6))
def test_words_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    folded = [words.fold(text) for text in texts]
    found, counts = words.words_of_all(folded)
    each = [words.words(text) for text in folded]
    assert counts.tolist() == [len(said) for said in each]
    assert found == [word for said in each for word in said]


@given(_COMMANDS, st.sampled_from([" ", "  ", "-", "'"]))
def test_commands_are_what_their_pattern_finds(said: list[str], between: str) -> None:
    for text in (" ".join(said), between.join(said), f"{' '.join(said)} é"):
        assert list(inline.shell_commands(text)) == [m.span() for m in inline.SHELL.finditer(text)]


def test_a_command_in_a_sentence_is_found() -> None:
    assert list(inline.shell_commands("Please (git commit -m 'x') now.")) == [(8, 25)]


def test_a_hint_in_one_text_tells_nothing_of_the_others() -> None:
    texts = ["In 2019 it was dry. ", "So it was. ", "A-B is a road. ", "C-D is none. "]
    starts = np.cumsum([0, *map(len, texts[:-1])])
    assert figures_by_start("".join(texts), starts) == {0: ("2019 it",)}


_TOLD = st.sampled_from(
    [
        "parseLedger",
        "tide.level",
        "f()",
        "--dry",
        "a::b",
        "A-B",
        "RX-b",
        "./run",
        "x_1",
        "#tag",
        "it",
        "Was.",
        "(so)",
        "9",
        "e.g.",
        "->",
    ]
)


@given(
    st.lists(_TOLD, min_size=1, max_size=12), st.lists(st.sampled_from([" ", "\n", ", ", "", " - "]), min_size=12, max_size=12)
)
def test_whatever_makes_a_figure_makes_one_in_many_texts_too(said: list[str], behind: list[str]) -> None:
    texts = [f"{one}{end}" for one, end in zip(said, behind, strict=False)]
    for pieces in (texts, ["".join(texts)]):
        starts = np.cumsum([0, *map(len, pieces[:-1])])
        found = figures_by_start("".join(pieces), starts)
        assert found == {i: held for i, piece in enumerate(pieces) if (held := figures(piece))}


_SAID = st.sampled_from(
    [
        "Never sign them.",
        "I never sign them, you know.",
        "Use pnpm, never npm!",
        "Always?",
        "From now on it rains.",
        "Shorter please.",
        "Yes.",
        "No, not for Dr. Voss.",
        "But only on Mondays...",
        "n'utilise jamais ça.",
        "Bitte immer auf Deutsch.",
        "We moved 3 pumps to pier 7, e.g. No. 4",
        "it's fine; always use tabs 🙂",
        "The pump (bay 7) ran dry.",
        "We'd gone home, d'accord",
        'He said "it ran".',
        "Nobody may touch the pump.",
    ]
)


@given(st.lists(_SAID, min_size=1, max_size=6), st.sampled_from([" ", "\n", "\n\n- "]))
def test_a_text_that_surely_orders_nothing_has_no_order_in_any_statement(said: list[str], between: str) -> None:
    text = between.join(said)
    if orders_nothing(text):
        read = statements(text)
        found = [span for span, size in zip(read.spans, read.sizes, strict=True) if has_order(*_heard(span.of(text)), size)]
        assert not found


def test_most_talk_in_one_line_is_told_to_order_nothing() -> None:
    assert orders_nothing("I never thought of that, honestly. It always rains here. Will you come?")
    assert not orders_nothing("It always rains here. Never sign them.")


def test_talk_without_words_of_rules_is_told_to_order_nothing_however_it_is_cut() -> None:
    assert orders_nothing("The pump (bay 7) ran dry.\n\n- We'd gone home, and [it seems] it rains.")
    assert not orders_nothing("The pump (bay 7) ran dry.\n\n- Never sign for it.")


@given(st.lists(_SAID, min_size=1, max_size=6), st.sampled_from([" ", "\n", "\n\n"]))
def test_an_objection_is_the_first_statement(said: list[str], between: str) -> None:
    text = between.join(said)
    assert objection(text) in (None, statements(text).spans[0])


@given(
    st.lists(
        st.sampled_from(
            ["xoxb-12345678", "eyJhbGciOi.x", "sk-abcdefghijkl1", "hello", "src/main/thing.py", "a_long_identifier", "x", "3.14"]
        ),
        max_size=6,
    ),
    st.sampled_from([" ", "  ", "\t", "\x1c"]),
)
def test_a_line_holds_a_secret_where_one_of_its_words_is_one(said: list[str], between: str) -> None:
    line = between.join(said)
    assert holds_exact(line) == any(span.kind == "secret" for span in inline.tokens(line))


@given(st.text("aB1I'm ,;@`/:.-xY", max_size=40))
def test_facts_of_a_sentence_weigh_the_same_beside_another_script(sentence: str) -> None:
    assert fact_weight(sentence) == fact_weight(f"{sentence} ё")


def _heard(piece: str) -> tuple[str, list[str]]:
    return piece, plain_words(lower_text(piece))


def _begins_a_phrase(parsed: Any, *, at_word: bool = False) -> tuple[bool, bool]:
    """Whether all that a parsed pattern matches begins a word, the text, or with a sign that is not ASCII; and whether it may
    match nothing, so that what stands behind it tells."""

    def is_first(sign: int) -> bool:
        return sign > 127 or (at_word and (chr(sign).isalnum() or chr(sign) == "_"))

    def is_class_first(part: tuple[Any, Any]) -> bool:
        kind, one = str(part[0]), part[1]
        signs = {"LITERAL": (one,), "RANGE": one}.get(kind, ())
        return all(map(is_first, signs)) if signs else at_word and str(one) == "CATEGORY_WORD"

    for operation, value in parsed:
        name = str(operation)
        if name in ("ASSERT", "ASSERT_NOT"):
            continue
        if name == "AT":
            if str(value) != "AT_BOUNDARY":
                return str(value).startswith("AT_BEGINNING"), False
            at_word = True
            continue
        if name == "LITERAL":
            return is_first(value), False
        if name == "IN":
            return all(map(is_class_first, value)), False
        ways = value[1] if name == "BRANCH" else [value[-1]]
        found = [_begins_a_phrase(way, at_word=at_word) for way in ways]
        if not all(begins for begins, _ in found):
            return False, False
        if not (any(empty for _, empty in found) or (name.endswith("REPEAT") and value[0] == 0)):
            return True, False
    return True, True


def test_phrases_that_are_looked_for_at_their_beginnings_begin_nowhere_else() -> None:
    found = [
        overall._OVERALL,
        told_before._forms(),
        requests._ALL,
        requests._WHOLE,
        requests._BEGINNING,
        requests._ASKING,
    ]
    for pattern in found:
        assert pattern.pattern.startswith(PHRASE_START)
        assert _begins_a_phrase(sre_parser.parse(pattern.pattern.removeprefix(PHRASE_START))) == (True, False)


@given(
    st.lists(
        st.sampled_from(["No.", "But only on Mondays.", "Never use tabs.", "It rains.", "Ben:", "\n", "That is false.", "- a"])
    )
)
def test_statements_are_cut_alike_without_what_they_need(said: list[str]) -> None:
    text = " ".join(said)
    whole, read = statements(text), StatementsAlone(text)
    alone = read.statements
    assert (list(alone.spans), list(alone.sizes)) == (list(whole.spans), list(whole.sizes))
    assert not any(alone.needs)
    assert read.with_needs() == whole


@each(("table", "section"), [("tallies", "all rows run-on"), ("entries", "run-on")])
def test_phrases_that_are_not_looked_for_in_ascii_are_not_ascii(table: str, section: str) -> None:
    phrases = lexicon(table)[section]
    assert phrases
    assert not [phrase for phrase in sorted(phrases) if words.fold(phrase).isascii()]


@given(st.text(alphabet="a1 _.,)]»”’>\t\r\n(*„é中", max_size=30))
def test_a_paragraph_without_an_end_is_told_by_the_line_above_a_blank_one(text: str) -> None:
    unended = re.search(r"[^\W_][,’')”»\]-]?[ \t\r]*\n[ \t\r]*\n", text)
    blank = [m.start() for m in re.finditer(r"\n[ \t\r]*\n", text)]
    assert any(interrupted._is_unended(text, at) for at in blank) is (unended is not None)


@given(st.text(alphabet="a1 _.,)]»”’>\t\r\n(*„é中", max_size=30))
def test_a_line_that_may_go_on_is_told_by_its_end_and_the_next_beginning(text: str) -> None:
    whole = re.search(r"[^\W_][,;.’'\")\]»”*_、，）；」』-]{0,3}[ \t]?\n[ \t>]*[\"'“‘„«(\[*_$€£¥「『（]{0,2}[^\W_]", text)
    begins = [m.start() for m in wrapped_lines._MAY_BEGIN.finditer(text)]
    assert any(wrapped_lines._may_go_on(text, 0, at) for at in begins) is (whole is not None)
