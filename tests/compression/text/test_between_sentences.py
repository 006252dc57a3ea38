"""Output between sentences: what somebody says around a small table, a report or a listing is language, and stays.

These tests cover short texts of each kind with sentences around them, in blocks, layers and FACTS. They leave out long output
(``test_kinds``), what a user says beside a long paste (``test_own_words``).
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.layers import Compressor, CompressRequest
from turnfold.compression.shorten.facts import facts
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.text.data_blocks import data_blocks
from turnfold.compression.text.kinds import parts
from turnfold.compression.text.protect import block_spans
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

FRONT: Final = "The nightly run is summarised below. Nobody has looked at it yet, except Priya."
BACK: Final = "We will not merge this before Monday unless the tests pass. Jonas owns the follow-up."
TALK: Final = " We talked for an hour about the weather, the canteen and the new chairs. The chairs are blue." * 3
DATA: Final = {
    "table": "| region | revenue |\n|---|---|\n| North | $4.2m |\n| South | $3.1m |",
    "json lines": '{"id": 1, "state": "ok"}\n{"id": 2, "state": "failed"}\n{"id": 3, "state": "ok"}',
    "log": "2026-11-20 10:00:00 INFO start\n2026-11-20 10:00:01 ERROR disk full\n2026-11-20 10:00:02 INFO stop",
    "diff": "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-a = 1\n+a = 2\n b = 3",
    "trace": 'Traceback (most recent call last):\n  File "a.py", line 2, in main\n    raise ValueError("bad")\nValueError: bad',
    "tests": "tests/test_a.py::test_one PASSED\ntests/test_a.py::test_two FAILED\n=== 1 failed, 1 passed in 0.2s ===",
    "html": "<div>\n<p>Hello</p>\n<ul><li>one</li><li>two</li></ul>\n</div>",
    "xml": '<?xml version="1.0"?>\n<items>\n<item id="1">a</item>\n</items>',
    "csv": "id,name,price\n1,hammer,9.5\n2,saw,12.0\n3,nail,0.1",
    "yaml": "name: web\nreplicas: 3\nimage:\n  tag: v1.2.3\n  pull: always",
    "search": "src/a.py:3:import os\nsrc/a.py:9:os.remove(x)\nsrc/b.py:1:import os",
    "listing": "total 8\n-rw-r--r-- 1 root root 186 Nov 24 14:05 a.txt\n-rw-r--r-- 1 root root 286 Nov 24 14:05 b.txt",
}


@each(("between", "kind"), product(["\n\n", "\n"], DATA))
def test_sentences_around_data_are_sentences(kind: str, between: str) -> None:
    text = between.join((FRONT, DATA[kind], BACK))
    said = [span.of(text).strip() for span in statements(text, data_blocks(text)).spans if not span.kind]
    for sentence in (*FRONT.split(". ", 1), *BACK.split(". ", 1)):
        assert any(sentence in one and len(one) <= len(FRONT) + 1 for one in said), sentence


@each(("role", "kind"), product(["user", "assistant"], DATA))
def test_facts_keep_what_is_said_behind_data(kind: str, role: str) -> None:
    text = f"{FRONT}{TALK}\n\n{DATA[kind]}\n\n{BACK}{TALK}"
    short = facts(text, role=role, words=frozenset(), known=(), count=count)
    assert "We will not merge this before Monday unless the tests pass." in short
    assert count(short) < 0.7 * count(text)


def test_sentences_amid_output_are_no_end_of_it() -> None:
    """Paragraphs between tables are language, lines that only look like a sentence are not."""
    text = f"{DATA['table']}\n\n{BACK}\n\n{DATA['table']}"
    assert [span.kind for span in parts(text)] == ["table", "prose", "table"]
    outcome = "test result: FAILED. 13 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s"
    text = f"running 2 tests\ntest a ... ok\ntest b ... FAILED\n\n{outcome}"
    assert [span.kind for span in parts(text)] == ["tests"]


def test_a_layer_with_a_small_table_keeps_what_is_said_behind_it() -> None:
    text = f"Revenue grew in every region except South.\n\n{DATA['table']}\n\n{BACK} {TALK}"
    for ratio in (0.45, 0.6):
        assert "unless the tests pass" in Compressor().compress(CompressRequest(text, l1_ratio=ratio)).text


ANSWER: Final = """Here is how I would approach it:

## 1. Choose the storage engine

| Engine | Pros |
|---|---|
| SQLite | no setup |
| Postgres | several writers |

**Recommendation:** start with SQLite, and move to Postgres only if you need more than one writer.

## 2. Set up the schema

```sql
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
```

- Don't store pictures in this table.
- Use `WITHOUT ROWID` only when the key is text.
  - Exception: tables under 1,000 rows.

## 3. Back it up

1. Stop the writer (or use `.backup`).
2. Copy the file.

Let me know whether you want to go deeper into any of these steps."""


@each(("keep", "role"), product([40, 60, 80, 100, 120], ["user", "assistant"]))
def test_an_answer_in_markdown_is_told_by_sentences(role: str, keep: int) -> None:
    """A fence or a table amid language does not make it output; no heading stands alone, no rule without its exception."""
    short = shorten(ANSWER, keep, role=role, count=count)
    shown = [line for line in short.split("\n") if line.strip()]
    for line, behind in pairwise([*shown, "…"]):
        assert not (line.startswith("## ") and behind.startswith(("## ", "…")) and behind != "…")
    assert ("only when the key is text" in short) == ("Exception: tables under 1,000 rows" in short)
    assert short.count("```") in (0, 2)
    assert "lines]" not in facts(ANSWER, role=role, words=frozenset(), known=(), count=count)


FORMULAS: Final = [
    "$$\n\\int_0^1 x^2\\,dx = \\frac13\n$$",
    "\\[\nE = mc^2. \\quad \\text{It is not } E = mc.\n\\]",
    "\\begin{align*}\na &= b + c \\\\\nd &= e. \\text{ Then } f = g.\n\\end{align*}",
    "$$a = b. Then c = d.$$",
]


@each("formula", FORMULAS)
def test_a_formula_stays_whole(formula: str) -> None:
    text = f"The area follows from this. The proof is short, and nobody doubts it.\n\n{formula}\n\nThis holds for every x. {TALK}"
    assert formula in [span.of(text).strip("\n") for span in block_spans(text)]
    for keep in (10, 25, 40, 55, 70):
        short = shorten(text, keep, role="assistant", count=count)
        assert formula in short


def test_what_only_looks_like_a_formula_is_none() -> None:
    for text in ("It costs $$ and more.\n\nThen $5.", "$$\nnever closed\n\nThe rest. $$", "a\n\\[x\n\nb \\]"):
        assert not [span for span in block_spans(text) if span.kind == "math"]


@each("line", ["\n\\[a", "\n$$a", "\n\\begin{align}", "\n$$a\\]", "\n\\[a$$"])
def test_formulas_that_nothing_ends_take_linear_time(line: str) -> None:
    assert_linear(block_spans, lambda size: "x" + line * size, 1_500)


LINES: Final = (
    "We looked at the failing run and at what the reviewer said about it.\n",
    "\n",
    "```\n",
    "```python\n",
    "    def setUp(self):\n        self.env = dict(os.environ)\n",
    "tests/test_a.py::test_two FAILED\n",
    "    assert total == 3\n",
    "2026-11-20 10:00:01 ERROR disk full\n",
    '{"id": 1, "state": "ok"}\n',
    "| North | $4.2m |\n",
    "collected 3 items\n",
    "Ran 3 tests in 0.2s\n",
)


@given(drawn=st.lists(st.tuples(st.sampled_from(LINES), st.integers(1, 9)), max_size=14))
@example(drawn=[(LINES[3], 1), (LINES[2], 1), (LINES[10], 1)])
@example(drawn=[(LINES[10], 1), (LINES[8], 1)])
def test_blocks_are_apart_and_sentences_tile_the_text(drawn: list[tuple[str, int]]) -> None:
    text = "".join(line * times for line, times in drawn)
    blocks = data_blocks(text)
    assert all(block.start < block.end for block in blocks)
    assert all(one.end <= after.start for one, after in pairwise(blocks))
    spans = sentences(text, blocks)
    assert all(span.start < span.end for span in spans)
    assert "".join(span.of(text) for span in spans) == text


@pytest.mark.parametrize("lead", ["", "Ran 3 tests in 0.2s\n"])
def test_a_fence_is_not_cut_where_its_code_looks_like_the_output_of_tests(lead: str) -> None:
    names = ("add", "drop", "move", "sort", "join", "split", "merge", "count")
    code = "".join(f"    def test_{name}(self):\n        self.assertEqual({name}(3), 4)\n" for name in names)
    fence = f"```python\nimport os\nRan 3 tests in 0.2s\n<<<<<<< SEARCH\n{code}=======\n{code}>>>>>>> REPLACE\n```\n"
    text = lead + fence * 4
    assert sum(block.kind == "fence" for block in data_blocks(text)) == 4
    assert [block for block in data_blocks(text) if block.of(text).count("```") not in {0, 2}] == []


def test_the_last_row_of_a_table_belongs_to_it() -> None:
    for lead in range(24):
        rows = "".join(
            f"| tank {n}; what it holds, from the first day of the year to the last | {n}.5 | .{n} |\n" for n in range(5)
        )
        table = f"| place | held | share |\n|---|---|---|\n{rows}"
        text = "Nothing was said of it in the meeting.\n" * lead + f"\n{table}\n{FRONT} {BACK}\n"
        stray = [span.of(text) for span in sentences(text, data_blocks(text)) if not span.kind and span.of(text).startswith("|")]
        assert stray == [], lead
