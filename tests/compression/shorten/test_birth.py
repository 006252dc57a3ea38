"""What holds of every form at birth: values and lines come back."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.column_tables import unshape_json
from turnfold.compression.shorten.birth import count_runs, render_terminal, shape, shape_json
from turnfold.compression.shorten.exact_json import read, write, write_string
from turnfold.compression.tokens import count

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12)
AWKWARD = st.sampled_from(
    ["", "null", "true", "1", "-0", "1e5", "@1", "@1: 3 rows of a", "a|b", "x\ny", " x", '"', "{", "[1]", "\u2028", "|"]
)
VALUES = st.recursive(
    SCALARS | AWKWARD,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6) | AWKWARD, inner, max_size=4),
    max_leaves=12,
)
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"id": SCALARS | AWKWARD, "a b": VALUES},
        optional={"": VALUES, "{x|": VALUES, "in": st.fixed_dictionaries({"net": SCALARS})},
    ),
    min_size=5,
    max_size=8,
)


def _same(one: Any, other: Any) -> bool:
    """Equal, and of the same types (`1 == True` is not enough)."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(VALUES | RECORDS | st.fixed_dictionaries({"data": RECORDS, "more": VALUES, "other": RECORDS}))
def test_a_table_holds_the_same_values(value: Any) -> None:
    text = json.dumps(value)
    shaped = shape_json(text)
    if shaped is not None:
        assert _same(unshape_json(shaped), json.loads(text))


@given(RECORDS)
def test_an_array_of_records_is_a_table(records: list[dict[str, Any]]) -> None:
    keys = {key for record in records for key in record}
    if sum(map(len, records)) * 3 >= 2 * len(keys) * len(records) and '"@1"' not in json.dumps(records):
        assert shape_json(json.dumps(records)) is not None


def test_numbers_stay_as_they_are_written() -> None:
    rows = ["1.10|12345678901234567890123", "2e3|-0", "0.1|7", "1E-2|1", "0|-1.50"]
    text = json.dumps([dict(zip("pn", row.split("|"), strict=True)) for row in rows]).replace(': "', ": ").replace('", "', ', "')
    assert shape_json(text.replace('"}', "}")) == "\n".join(["@1: 5 rows of p|n", *rows])


@each(
    "text",
    [
        '[{"a": 1, "a": 2}, {"a": 3}, {"a": 4}]',  # a key twice
        '[{"a": NaN}, {"a": 1}, {"a": 2}]',
        "[" * 5000 + "]" * 5000,
        '[{"a": 1}, {"a": 2}]',
        '{"a": 1}',
        "no JSON",
        "",
    ],
)
def test_what_would_not_come_back_is_left_alone(text: str) -> None:
    assert shape_json(text) is None


@given(st.lists(st.sampled_from(["waiting", "done", "", "a [×3]", "b"]), max_size=30))
def test_every_line_can_still_be_quoted(lines: list[str]) -> None:
    text = "\n".join(lines)
    out = count_runs(text).split("\n")
    assert {line.partition(" [×")[0] if line not in lines else line for line in out} == set(text.split("\n"))


def test_a_terminal_shows_the_last_state() -> None:
    assert render_terminal("\x1b[1;31mred\x1b[0m\n 10%\r 99%\r100%\nab\bc\n") == "red\n100%\nac\n"


def test_small_json_keeps_its_keys_beside_its_values() -> None:
    text = json.dumps({"id": "W1", "lines": [{"sku": "a", "n": 1.50}, {"sku": "b", "n": 2}]}, indent=2)
    assert shape(text, count) == '{"id":"W1","lines":[{"sku":"a","n":1.5},{"sku":"b","n":2}]}'
    assert shape("\n".join(['{"a": 1,  "b": [ 1, 2 ]}'] * 3), count) == "\n".join(['{"a":1,"b":[1,2]}'] * 3)


@given(st.text(alphabet='ab \n\r\x1b[0m×{}",:|@1', max_size=80))
def test_a_shaped_result_is_shorter_or_unchanged(text: str) -> None:
    shaped = shape(text, count)
    assert shaped == text or count(shaped) < count(text)


def test_files_and_diffs_keep_their_bytes() -> None:
    code = "def f(x):\n    return x\n\n\n\n\n\ndef g(x):\n    return f(x)\n" * 5
    diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n \n \n \n \n-a\n+b\n"
    assert shape(code, count) == code
    assert shape(diff, count) == diff


def test_line_ends_of_other_systems_stay() -> None:
    assert render_terminal("a\r\nb\r\n") == "a\r\nb\r\n"
    assert render_terminal(" 10%\r 99%\rdone\r\nb\r\n") == "done\r\nb\r\n"


@each(("text", "written"), [("\ud800 x", '"\\ud800 x"'), ("é\u2028", '"\\u00e9\\u2028"'), ("é", '"é"'), ('"', '"\\""')])
def test_a_string_is_escaped_where_its_characters_would_not_come_through(text: str, written: str) -> None:
    assert write_string(text) == written
    assert write(read(json.dumps({text: [text, 1.50]}))) == f"{{{written}:[{written},1.5]}}"
