"""What a text is, by its structure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.text.blocks import formulas, sql
from turnfold.compression.text.data_blocks import data_blocks
from turnfold.compression.text.kind_signs.line_marks import KINDS
from turnfold.compression.text.kinds import kind_of, parts

SAMPLES = {
    "json": '{"a": [1, 2], "b": {"c": null}}',
    "jsonl": '{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n{"a": 3, "b": "z"}',
    "diff": "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    "search": "src/a.py:12:def f(x):\nsrc/a.py:31:    return f(1)\nsrc/b.py:4:from a import f",
    "log": "\n".join(f"2031-03-01 10:00:0{i} INFO started worker {i}" for i in range(6)),
    "tests": "=== test session starts ===\ncollected 2\n\na.py .F\n\nFAILED a.py::t - E\n=== 1 failed, 1 passed in 0.1s ===",
    "trace": 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nValueError: no',
    "code": "import os\n\n\ndef f(x):\n    if x:\n        return os.sep\n    return None\n",
    "listing": "total 3\n-rw-r--r-- 1 u g 12 Mar  3 12:00 a.txt\ndrwxr-xr-x 2 u g 96 Mar  3 12:00 src",
    "table": "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |",
    "csv": "a,b,c\n1,2,3\n4,5,6\n7,8,9\n1,1,1",
    "yaml": "name: app\nservices:\n  web:\n    image: x:1\n    ports:\n      - 80\n",
    "html": "<!DOCTYPE html><html><body><p>Hello</p></body></html>",
    "xml": '<?xml version="1.0"?><a><b/></a>',
    "binary": "iVBORw0KGgoAAAANSUhEUgAA" * 20,
    "markdown": "* Boil the water\n* Warm the pot\n  * with a cup of it\n* Wait\n\n**Then**: pour.\n**Last**: drink.",
    "prose": "The writers were moved one by one, beginning with the smallest. Nobody noticed any of it, which was the aim.",
}


@each("kind", SAMPLES)
def test_kind(kind: str) -> None:
    assert kind_of(SAMPLES[kind]) == kind


def test_a_cut_off_array_is_still_json() -> None:
    assert kind_of('[{"id": "a", "size": 3}, {"id": "b", "si') == "json"


def test_two_lines_of_json_are_lines_of_json() -> None:
    assert kind_of('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}') == "jsonl"


def test_a_mixed_text_is_split() -> None:
    text = f"{SAMPLES['prose']}\n{SAMPLES['diff']}\n\n{SAMPLES['trace']}\n"
    assert [part.kind for part in parts(text)] == ["prose", "diff", "trace"]


@pytest.mark.parametrize("mark", ["```", "~~~~"])
def test_a_fence_ends_at_its_own_mark(mark: str) -> None:
    fence = f"{mark}sh\nmake\n\n- a\n``\nmake test\n{mark}"
    text = f"{SAMPLES['prose']}\n{fence}\n{SAMPLES['prose']}\n"
    assert [(part.kind, part.of(text).strip()) for part in parts(text)][1] == ("fence", fence)


@each(("around", "lines"), [("S\nB\nS", (1, 2)), ("S\n\nB\n\nS", (2, 3)), ("  S\nB\n  S", (1, 2))])
def test_a_block_is_found_without_what_is_said_around_it(around: str, lines: tuple[int, int]) -> None:
    html = "<table>\n<tr><td>a</td></tr>\n<tr><td>b</td></tr>\n</table>"
    for block in (SAMPLES["table"], SAMPLES["tests"], SAMPLES["log"], html):
        text = around.replace("S", _SAID).replace("B", block)
        found = [(text[: b.start].count("\n"), text[: b.end].count("\n") - block.count("\n")) for b in data_blocks(text)]
        assert found == [lines]


_SAID = "It was moved to Lund last night, and it runs."


@each(
    ("shape", "found"),
    [
        # S: a sentence; s: one without an end; L: six lines of a log; a blank line. What is found: kinds and lines.
        ("SL", "prose 1, log 6"),
        ("S L", "prose 2, log 6"),
        ("LS", "log 6, prose 1"),
        ("L S", "log 7, prose 1"),
        ("L S L", "log 7, prose 2, log 6"),
        ("sL", "log 7"),
        ("Ls", "log 7"),
        ("sSL", "prose 2, log 6"),
        ("SsL", "log 8"),
        ("LsS", "log 6, prose 2"),
        ("S  L  S", "prose 3, log 8, prose 1"),
        ("LSL", "log 13"),
        ("SLS", "prose 1, log 7"),  # of a paragraph the sentences of one end are apart
        ("L SL L", "log 21"),
        ("L LS ", "log 13, prose 2"),
        ("L Ss L", "log 16"),
    ],
)
def test_sentences_around_a_log(shape: str, found: str) -> None:
    pieces = {"S": _SAID, "s": _SAID[:-1], " ": "", "L": SAMPLES["log"]}
    text = "\n".join(pieces[one] for one in shape) + "\n"
    assert ", ".join(f"{part.kind} {part.of(text).count(chr(10))}" for part in parts(text)) == found


@each(
    ("text", "ranges"),
    [
        ("\n$$\nx = 1\n$$\nIt", [(0, 11)]),
        ("\n\\[ a \\] \nIt", [(0, 8)]),
        ("\n\\begin{align*}\na\n\\end{align*},\nIt", [(0, 30)]),
        ("\n$$ a $$\n$$ b $$.\n", [(0, 7), (8, 16)]),
        ("\n$$ a \\]\nIt $$\n", []),  # another end
        ("\n$$\na\n\nb\n$$", []),  # over a blank line
        ("\nx $$ a $$\n", []),
        ("\n\\begin{table}\na\n\\end{table}", []),
        ("\n\\[ a", []),
    ],
)
def test_displayed_formulas(text: str, ranges: list[tuple[int, int]]) -> None:
    assert list(formulas(text)) == ranges


@pytest.mark.parametrize(("select", "proof"), [("SELECT ", " FROM"), ("select ", " from t;")])
def test_a_statement_of_sql_proves_itself_in_its_first_two_thousand_characters(select: str, proof: str) -> None:
    for size in (1999, 2000):
        columns = f"{select}{'column_a, ' * 300}"[: size - len(proof)]
        assert len(sql(f"\n{columns}{proof} t;\n")) == (size < 2000)


@given(st.text() | st.lists(st.sampled_from([line for text in SAMPLES.values() for line in text.split("\n")])).map("\n".join))
def test_parts_cover_the_text(text: str) -> None:
    assert "".join(part.of(text) for part in parts(text)) == text
    assert {part.kind for part in parts(text)} <= KINDS
