"""Every kind that a text can be has its rule: a missing one would be an error in the middle of a request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.effort import draws
from turnfold.compression import tokens
from turnfold.compression.shorten.registry import ROOMY, ROWS, facts, within
from turnfold.compression.text.data_blocks import data_blocks
from turnfold.compression.text.kind_signs.line_marks import KINDS

LINES = (
    "",
    " ",
    "a",
    "{",
    "[1,",
    '{"a": 1}',
    "```",
    "@@ -1",
    "commit abcdef0",
    "| a |",
    "<p>",
    "<?xml ?>",
    "- x",
    "def f():",
    "1,2,3",
)


def test_the_table_has_a_row_for_every_kind_and_no_other() -> None:
    assert set(ROWS) == KINDS
    assert set(ROOMY) <= KINDS


@pytest.mark.parametrize("kind", sorted(KINDS))
@draws(8)
@given(st.lists(st.sampled_from(LINES), max_size=30).map("\n".join) | st.text(max_size=80))
def test_every_rule_takes_any_text(kind: str, text: str) -> None:
    """What a text looks like and what it is are two things: a rule may be handed anything."""
    for row in ROWS[kind](text, frozenset({"a"})):
        assert isinstance(row.text, str)


@draws(16)
@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=6).map("\n".join).map(lambda text: f"{text}\n" * 40))
def test_no_mixture_of_kinds_is_an_error(text: str) -> None:
    assert tokens.count(facts(text, 60, frozenset(), tokens.count)) <= tokens.count(text)


def test_what_is_said_behind_a_json_value_is_not_lost() -> None:
    rows = ", ".join(f'{{"id": {n}, "state": "open", "owner": "team {n % 3}"}}' for n in range(60))
    said = "The list stops here, since the quota was used up."
    assert said in facts(f"[{rows}] {said}", 200, frozenset(), tokens.count)
    assert not data_blocks(f'{{"ok": true}} {said}')


def test_a_row_that_failed_is_among_the_few_that_are_shown() -> None:
    rows = [f"worker{i},hall {i * 37 % 11},{'fatal error: crashed' if i == 23 else 'done in time'}" for i in range(40)]
    for budget in (24, 28, 32):
        shown = within("\n".join(["name,place,state", *rows]), budget, frozenset(), tokens.count)
        assert "worker23" in shown
        assert shown.startswith("name,place,state")


def test_a_removed_line_comes_with_the_one_in_its_place_over_what_stays() -> None:
    hunks = (f"-old line {i} of the file\n context {i}\n context two {i}\n+new line {i} of the file" for i in range(12))
    shown = within("\n".join(["--- a/x.py", "+++ b/x.py", "@@ -1,40 +1,40 @@", *hunks]), 90, frozenset(), tokens.count)
    assert "-old line" in shown
    assert " context" not in shown


def test_a_removed_line_needs_the_added_one_in_its_place() -> None:
    lines = [
        "@@ -1,9 +1,9 @@",
        "-port = 1",
        "-host = a",
        "-user = b",
        "+port = 2",
        "+host = c",
        " mode = d",
        "-path = e",
        "",
        "+last = 1",
    ]
    needs = [row.needs for row in ROWS["diff"]("\n".join(lines), frozenset())]
    assert needs == [(), (-3,), (-3,), *[()] * 7]
