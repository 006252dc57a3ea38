"""Protected spans: each kind, laws over random mixtures, linear time on hostile text, the shared data where present."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.data import shared_root
from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression.text.blocks import json_values, whole_lines
from turnfold.compression.text.protect import BLOCK_KINDS, protected_spans

SHARED = shared_root() / "data"
PROGRAMS = Path(__file__).parents[1] / "shorten" / "corpus"

INLINE = {
    "inline-code": ["`npm i`", "``a ` b``", "`rm -rf /`"],
    "url": ["https://x.com/a_(b)?q=1#f", "ftp://h/x", "redis://localhost:6379/0", "https://github.com/o/r/pull/12"],
    "email": ["bob@x.org", "a.b+c@sub.example.co.uk"],
    "path": ["/etc/hosts", "~/.bashrc", "C:\\Users\\bob\\x.txt", "src/a/b.py:42", "./run.sh", "../up/one"],
    "date": ["2024-01-02", "March 5, 2024", "5 March 2024", "2026-04-18T09:00", "12 de mayo de 2020", "3. Oktober 2021"],
    "time": ["09:12", "09:12:33.5", "3:15pm"],
    "version": ["v1.2.3", "22.1.0-rc.1", "10.24.8.12"],
    "number": ["42", "3.14159", "$1,250.00", "-17", "99.9%", "24GB"],
    "identifier": ["snake_case", "camelCase", "PascalCase", "kebab-case", "foo.bar", "run()", "std::vector"],
    "flag": ["--verbose", "--out=x"],
    "branch": ["feature/token-receipts", "fix/compression-ids", "origin/main"],
    "pull": ["PR #123", "owner/repo#5", "#77", "issue 12"],
    "shell": ['git commit -m "x y"', "npm install left-pad", "pip install rich==14.0", "kubectl get pods", "ls -la /tmp"],
    "secret": [
        "sk-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnop1234",
        "AKIAIOSFODNN7EXAMPLE",
        "123e4567-e89b-12d3-a456-426614174000",
        "eyJhbGciOiJIUzI1.eyJzdWIi.abc-_d",
        "d41d8cd98f00b204e9800998ecf8427e",
        "password: hunter22x",
    ],
    "row": ["T-003", "REQ-12", "§V.3"],
    "inline-json": ['{"a": [1, {"b": "c"}]}'],
    "inline-sql": ["SELECT a, b FROM t WHERE x = 1"],
}
BLOCKS = {
    "fence": ["```py\nx = 1\n\ny = 2\n```", "~~~\n```\n~~~", "````\n```\n````", "  ```\n  a\n  ```"],
    "code": ["    def f():\n        return 1\n\n    f()", "\tx = 1;\n\ty = 2;"],
    "json": ['{"a": 1,\n "b": [1, 2]}', "[\n  1,\n  2\n]", '[{"k": "a \\" ] b"}]'],
    "sql": ["SELECT *\nFROM users\nWHERE id = 5;", "INSERT INTO t (a) VALUES (1);", "select a from b where c = 1;"],
    "table": [
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "a | b\n--|--\n1 | 2",
        "a\tb\tc\n1\t2\t3",
        "NAME   READY   UP\nx      1/1     2d\ny      0/1     9d",
    ],
    "trace": [
        'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    g()\nValueError: bad',
        "java.lang.IllegalStateException: x\n\tat com.foo.Bar.baz(Bar.java:10)\nCaused by: java.io.IOException: y\n\t... 3 more",
        "TypeError: x is undefined\n    at f (/app/a.js:1:2)\n    at g (/app/b.js:3:4)",
        "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:5 +0x1d".replace("\n\n", "\n"),
    ],
    "key": ["-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----"],
    "heading": ["# Title", "### Deep one", "Under\n====="],
}
PROSE = [
    "The quick brown fox jumps over the lazy dog, doesn't it?",
    "Well (to be honest) we decided not to go there.",
    "Select the file from the menu and update your notes.",
    "Sólo una prueba más, señor.",
    "これは文章です。",
]


def kinds_at(text: str, start: int, end: int) -> set[str]:
    """Kinds of the spans that cover the range whole."""
    return {s.kind for s in protected_spans(text) if s.start <= start and end <= s.end}


@each(("kind", "sample"), [(k, s) for k, group in INLINE.items() for s in group])
def test_inline_kinds_are_found_whole_inside_prose(kind: str, sample: str) -> None:
    for before, after in (("We saw ", " there."), ("(", ")."), ("Look: ", ", and so on"), ("", "")):
        text = before + sample + after
        start = len(before)
        # Alone on its line, JSON and SQL are blocks.
        assert kinds_at(text, start, start + len(sample)) & {kind, kind.removeprefix("inline-")}, protected_spans(text)


@each(("kind", "sample"), [(k, s) for k, group in BLOCKS.items() for s in group])
def test_blocks_are_found_whole_between_prose(kind: str, sample: str) -> None:
    for before, after in (("", ""), ("Some prose here.\n\n", "\n\nMore prose."), ("One.\n\n", "")):
        text = before + sample + after
        found = [s for s in protected_spans(text) if s.kind == kind]
        assert [s.of(text) for s in found] == [sample], protected_spans(text)


def test_an_unclosed_fence_runs_to_the_end() -> None:
    text = "Prose.\n```py\nx = 1\n\nmore"
    assert [s.of(text) for s in protected_spans(text)] == ["```py\nx = 1\n\nmore"]


def test_a_block_never_takes_a_line_of_another() -> None:
    key = BLOCKS["key"][0]
    for text in (
        f"{key} Under\n=====",
        '{"a": 1},\n===',
        '{"a": 1}\n--|--\n',
        "```\n```\n    at foo (bar.js:1:2)",
        f"x {key}\n\tat a.b(c:1)",
    ):
        spans = protected_spans(text)
        assert all(a.end <= b.start for a, b in pairwise(spans)), spans


def test_plain_prose_is_free() -> None:
    for text in PROSE:
        assert protected_spans(text) == []


def test_prose_after_a_version_in_chinese_is_free() -> None:
    text = "我们使用v1.2.3和https://x.cn/a。好的"
    assert [s.of(text) for s in protected_spans(text)] == ["v1.2.3", "https://x.cn/a"]


def test_nested_lists_are_prose() -> None:
    text = "1. First thing:\n    - a nested point\n    - another point\n"
    assert not [s for s in protected_spans(text) if s.kind in BLOCK_KINDS]


@each(
    ("above", "below", "found"),
    [
        ("- A point", "more on it and so on", False),
        ("- A point", "x = f(1)", True),
        ("A line.", "more on it and so on", True),
        ("A line.", "- a point", False),
    ],
)
def test_indented_lines_behind_a_blank_one_are_code_unless_they_go_on_with_a_list(above: str, below: str, found: bool) -> None:
    spans = protected_spans(f"{above}\n\n    {below}\n")
    assert bool([s for s in spans if s.kind in BLOCK_KINDS]) is found


@pytest.mark.parametrize(("indent", "found"), [(39, True), (40, False)])
def test_json_has_its_line_to_itself_up_to_thirty_nine_blanks_from_the_margin(indent: int, found: bool) -> None:
    lined = f'\nThe answer:\n{" " * indent}{{"pump": 1}}\n'
    assert bool(list(whole_lines(lined, json_values(lined)))) is found


def test_invalid_json_is_no_json_block() -> None:
    assert not [s for s in protected_spans('{"a": 1,\n "b": oops}') if s.kind == "json"]


pieces = st.one_of(
    st.sampled_from([s for group in (*INLINE.values(), *BLOCKS.values()) for s in group] + PROSE),
    st.text(max_size=12),
    st.text(alphabet='ab1 \n`"{}[]|-_/.:@#\\(\t~$', max_size=30),
)
mixtures = st.lists(st.tuples(pieces, st.sampled_from([" ", "\n", "\n\n", ", ", "", ". "])), max_size=12).map(
    lambda parts: "".join(a + b for a, b in parts)
)


@given(mixtures)
def test_spans_are_ordered_disjoint_and_inside(text: str) -> None:
    end = 0
    for span in protected_spans(text):
        assert end <= span.start < span.end <= len(text)
        end = span.end


@given(mixtures, st.sampled_from([s for group in BLOCKS.values() for s in group]))
def test_a_block_behind_any_text_is_covered(before: str, block: str) -> None:
    text = before + "\n\n" + block + "\n\nThe end."
    start = len(before) + 2
    covered = set()
    for s in protected_spans(text):
        if s.kind in BLOCK_KINDS:
            covered |= set(range(s.start, s.end))
    # What comes before may swallow the block whole (an unclosed fence), never cut it; blank characters do not matter.
    missed = [i for i in range(start, start + len(block)) if i not in covered and not text[i].isspace()]
    assert not missed or any(c in before for c in '`~[{"\t-')


@given(mixtures, st.sampled_from([s for k, group in INLINE.items() if k != "shell" for s in group]))
def test_an_inline_sample_on_its_own_line_is_covered(before: str, sample: str) -> None:
    text = before + "\n\nWe saw " + sample + " there."
    start = len(before) + 9
    covered = set()
    for s in protected_spans(text):
        covered |= set(range(s.start, s.end))
    assert all(i in covered or text[i] in " '\"`" for i in range(start, start + len(sample)))


HOSTILE = [
    "0", "a", "\n", "a\n", "1 ", "[", "[\n", '{"', "`", "`a", ".", "a.", "/", "@", "a@", "://", "a://", "# a\n", "-", "a-", "|",
    "|\n", "--|", "\t", "a\tb\tc\n", " ", "    x\n\n", "a   b   c\n", "-----BEGIN A-----", "Traceback (most recent call last):\n",
    "\n  at a", "SELECT ", "SELECT\n", "SELECT a FROM ", "May ", "git ", "git add -", "make a -a ", "Aa", "0-", "0:", "eyJ",
    "sk-a", "我", "我2", "(", '"', '{"a":1}', "[1,", "token: ", "$ ", "a\n===\n", "goroutine 1 [\n", "a'b ", "cd a ", "1/",
    "[a](",
    "```\n", "**a** ", "\\", "x,\n    y\n", "\x1f", "bearer ", "PR ", "1 de ", "年", "sudo ", "\n$",
]  # fmt: skip


@each("unit", HOSTILE)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(protected_spans, repeated(unit), 1_500)


def test_laws_hold_over_outputs_of_programs() -> None:
    texts = [path.read_text("utf-8") for path in sorted(PROGRAMS.glob("*.txt"))]
    assert len(texts) > 10
    for text in texts:
        test_spans_are_ordered_disjoint_and_inside.hypothesis.inner_test(text)  # type: ignore[attr-defined]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared evaluation data is not here")
def test_laws_hold_over_the_shared_data() -> None:
    texts = [p.read_text() for p in sorted((SHARED / "colony").glob("*.md"))]
    for name in ("conversations", "documents", "rag_chunks"):
        texts += [case["context"] for case in json.loads((SHARED / "cctx" / "datasets" / f"{name}.json").read_text())]
    for text in texts:
        test_spans_are_ordered_disjoint_and_inside.hypothesis.inner_test(text)  # type: ignore[attr-defined]


def test_a_command_holds_what_is_quoted_in_it() -> None:
    text = 'Then git commit -m "fix `the bug` now" and go.'
    assert [span.of(text) for span in protected_spans(text)] == ['git commit -m "fix `the bug` now"']
