"""How far a rule looks, on both sides of its border: each case is one rule, one step nearer and one step farther.

These tests cover borders that texts of odd pieces do not meet. They leave out what the rules mean (the tests of each rule).
"""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.cases import each
from turnfold.compression.budgeted.sentences import told_sentences
from turnfold.compression.text.heads import in_sections
from turnfold.compression.text.kinds import kind_of
from turnfold.compression.text.protect import protected_spans
from turnfold.compression.text.statements import objects, statements
from turnfold.compression.tokens import count


def needs(text: str) -> list[tuple[int, ...]]:
    return [tuple(one) for one in statements(text).needs]


@pytest.mark.parametrize("value", ['{"a":"b"}', '[["abcd"]]'])
def test_json_is_what_says_more_than_what_stands_behind_it(value: str) -> None:
    size = len(value)
    assert [kind_of(f"{value} {'x' * more}") for more in (size - 1, size)] == ["json", "json"]
    assert kind_of(f"{value} {'x' * (size + 1)}") == "plain"
    assert kind_of(f"{value} x\n{'x' * (size + 1)}") == "json"


@each(
    ("first", "second", "around"),
    product(['{"b": 2}', '{"a": [1,\n2]}'], ['{"b": 3}', '{"c": [1,\n3]}'], [("", ""), ("see ", " so")]),
)
def test_values_that_touch_are_each_protected(first: str, second: str, around: tuple[str, str]) -> None:
    text = f"{around[0]}{first}{second}{around[1]}"
    assert [text[span.start : span.end] for span in protected_spans(text)] == [first, second]


def test_a_section_may_begin_with_the_first_line() -> None:
    assert in_sections(["[bay]", "name = a", "", "port = 80", "[pump]", "name = b"]) == {1: 1, 3: 3, 5: 1}
    assert in_sections(["name = a", "[bay]", "port = 80"]) == {2: 1}


@each("before", [0, 1, 3])
def test_a_note_below_a_list_governs_all_of_its_figures(before: int) -> None:
    """A list at the very beginning, and one behind so many sentences."""
    text = "".join(f"Boat {i} came in late. " for i in range(before)) + "\n" * bool(before)
    found = needs(f"{text}- Revenue: 14\n- Costs: 9\n- Boats\n\nUnaudited figures.\n")
    note = len(found) - 1
    assert [note in one for one in found] == [False] * before + [True, True, False, False]


def test_a_note_marks_what_stands_above_it() -> None:
    for between, reached in ((0, True), (1, True), (23, True), (24, True), (25, False)):
        said = [f"Boat {i} came in late." for i in range(between)]
        found = needs(f"The water held 3.4 mg of lead.* {' '.join(said)}\n\n* Measured in May.\n")
        assert (len(found) - 1 in found[0]) is reached, between
    below = needs("Boats came in.\n\n* Measured in May.\n\nThe water held 3.4 mg of lead.*")
    assert below[2] == ()
    assert 2 not in below[0] + below[1]


def test_an_objection_begins_within_500_characters() -> None:
    said = "Nein, das stimmt nicht – überhaupt nicht."
    assert objects("\n" * 480 + said)
    assert not objects("\n" * 500 + said)


def test_a_blank_message_has_no_sentence() -> None:
    told = told_sentences([("user", " \n "), ("user", "A boat came."), ("tool", "")], count)
    assert [(one.message, one.start, one.end) for one in told] == [(1, 0, 12)]
