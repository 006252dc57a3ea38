"""Texts that the fuzzer found, made small: what broke a promise, or took time that grew faster than the text."""

from __future__ import annotations

from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression.shorten.registry import facts
from turnfold.compression.shorten.terse_prose.compress import compress
from turnfold.compression.text.dialogue.self_statements import fact_weight
from turnfold.compression.text.escapes import with_letters
from turnfold.compression.text.file_edits import file_edits
from turnfold.compression.text.sentences import LONGEST, sentences
from turnfold.compression.text.ties.interrupted import interruptions
from turnfold.compression.text.ties.marked_lines import in_elements, noted, openings


def test_a_long_sentence_without_a_blank_ends_where_the_next_begins() -> None:
    text = "事" * (2 * LONGEST) + "。" + "事は続く。" * 3 + "x" * LONGEST + " end"
    spans = sentences(text)
    assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
    assert all(span.start < span.end for span in spans)
    assert spans[-1].end == len(text)


def test_half_a_character_in_json_that_is_cut_short() -> None:
    text = '[\n{"a": "\ud800", "n": 1.50},\n' + '{"a": "x", "n": 2.50},\n' * 200
    assert facts(text, 50, frozenset(), lambda part: len(part) // 4)


def test_a_long_line_without_a_cell_takes_no_longer_than_others() -> None:
    assert_linear(lambda text: compress(text, "lite"), lambda size: repeated("a word 1 ")(size) + "|", 5_000)


@each("unit", ["a", "1", "1.", "a.", "「", "“", "a@", "事「"])
def test_a_long_run_holds_no_fact_of_its_own(unit: str) -> None:
    """From each place its end was looked for, which took minutes."""
    assert fact_weight(unit * 3_000) <= 0.3
    assert_linear(fact_weight, repeated(unit), 2_000)
    assert fact_weight(f"{unit * 300} and node-7 at 12 bar, write to ann@example.org") >= 0.3


@each(
    ("first", "unit", "size"),
    [
        ("", "*** Begin Patch\n", 16_000),
        ("*** Begin Patch\n", "-an old line\n+a new line\n context\n", 16_000),
        ("=====\n", "<<<<<<< SEARCH\n", 30_000),
        ("", "<<<<<<< SEARCH\n=======\n", 30_000),
        ("", 'edit {x":\n', 60_000),
        ("</content>\n", "<path>a.py</path><content>\n", 30_000),
    ],
)
def test_edits_that_never_end(first: str, unit: str, size: int) -> None:
    """From each of them the end was looked for in all that follows, or the file in all that stands above."""
    assert_linear(file_edits, lambda length: first + repeated(unit)(length), size)


def test_signs_of_notes_that_stand_on_every_line() -> None:
    """Each was counted among all, and each that stands once was looked for in all lines above it."""
    assert_linear(noted, lambda size: ["* word"] * size, 3_000)
    assert_linear(noted, lambda size: [f"[^{i:x}]: word" for i in range(size)], 3_000)


def test_elements_that_are_never_closed() -> None:
    """From each line the nearest one with fields was looked for, and each had a list of all that it stands in."""
    assert_linear(in_elements, lambda size: ["<a>"] * size, 3_000)
    assert_linear(openings, lambda size: repeated('<a b="1">\n')(size) + "</a>", 10_000)
    assert_linear(openings, repeated("a {\n"), 10_000)


def test_a_blank_line_without_end() -> None:
    assert_linear(interruptions, lambda size: "a\n\n" + " " * size + "\n\nb", 3_000)


def test_backslashes_without_end() -> None:
    assert_linear(with_letters, repeated("\\"), 3_000)


def test_blank_lines_in_columns_side_by_side() -> None:
    """From each of them the next half that says something was looked for."""
    line = "the river and the stone here    the garden and the window there\n"
    assert_linear(sentences, lambda size: line * 400 + "\n" * size + line * 400, 10_000)


def test_cells_of_figures_alone() -> None:
    """Behind each of them a letter was looked for from the first one on."""
    assert_linear(sentences, repeated("1.  "), 10_000)
