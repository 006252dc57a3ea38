"""What holds of every lossy form."""

import json
from collections.abc import Callable
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import draws
from tests.support.growth import assert_linear, repeated
from turnfold.compression.shorten.facts import facts_tokens
from turnfold.compression.shorten.kinds import diff
from turnfold.compression.shorten.lines import CEILING, FLOOR, RankedLines, WeighedLine, choose, fit_to_limit, visible_parts
from turnfold.compression.shorten.registry import facts, facts_arguments
from turnfold.compression.text.sentences import LONGEST
from turnfold.compression.tokens import count

NOBODY: frozenset[str] = frozenset()
LINES = st.sampled_from(
    """def f(a):
    return a

ERROR: it broke
2031-01-01T10:00:00Z INFO fine
diff --git a/x b/x
@@ -1 +1 @@
+new
-old
src/a.py:3: x = 1
| a | b |
<p>word</p>
```
{{"a": 1}}
Traceback (most recent call last):
ValueError: no
key: value
A sentence of several plain words that ends here.
./a/b/c.py
-rw-r--r-- 1 u g 12 Mar  3 12:00 f.txt
ok 1 - works
{}""".format("x" * 900).split("\n")
)


@given(
    st.lists(LINES, max_size=60).map("\n".join) | st.text(max_size=300),
    st.integers(0, 120),
    st.sets(st.sampled_from(["error", "src", "f"])),
)
def test_never_longer_and_never_empty(text: str, keep: int, words: set[str]) -> None:
    short = facts(text, keep, frozenset(words), count)
    assert short == text or count(short) < count(text)
    assert bool(short.strip()) == bool(text.strip())


@given(st.lists(LINES, min_size=40, max_size=200).map("\n".join), st.integers(FLOOR, 200))
@draws(20)
def test_the_ceiling_is_hard(text: str, keep: int) -> None:
    assert count(facts(text, keep, NOBODY, count)) <= CEILING * keep + 8


def test_failures_outlive_everything_else() -> None:
    lines = [f"2031-01-01T10:{i // 60:02d}:{i % 60:02d}Z INFO served item {i * 7919 % 1000}" for i in range(900)]
    lines[431] = "2031-01-01T10:07:11Z ERROR charge pay_77131 refused with code 4031"
    short = facts("\n".join(lines), 120, NOBODY, count)
    assert lines[431] in short
    assert "of 900 lines]" in short


def test_lines_of_a_diff_are_worth_what_they_tell() -> None:
    """Each line's group, the most telling first; those of one group are worth the same."""
    groups = [
        ["diff --git a/x b/x"],
        ["commit 71c3a09", "rename from x"],
        ["@@ -1,2 +1,2 @@ def moor():"],
        ["new file mode 100644", "deleted file mode 100644", "Binary files a and b differ", "+    return berth"],
        ["-    return None", "Nothing that a diff begins with"],
        ["     tide = now()"],
        ["index 71c3a09..0b2f1de", "similarity index 90%"],
    ]
    weights = {row.text: row.weight for row in diff.rows("\n".join(chain(*groups)), NOBODY)}
    found = [{weights[line] for line in group} for group in groups]
    assert [len(one) for one in found] == [1] * len(groups)
    assert [*chain(*found)] == sorted(set(weights.values()), reverse=True)


def test_the_tasks_words_decide() -> None:
    text = "\n".join(
        f"    def handle_{name}(self, request): ..."
        for name in ["alpha", "beta", "gamma", "delta", "omega", "kappa", "sigma", "theta", "iota", "zeta"] * 3
    )
    assert "handle_omega" in facts(text, 70, frozenset({"handle_omega"}), count)


def test_what_the_reader_has_elsewhere_is_not_said_twice() -> None:
    text = "\n".join(f"value_{i} = compute_{i}(left_{i}, right_{i})" for i in range(40))
    first = facts(text, 150, NOBODY, count)
    second = facts(text, 150, NOBODY, count, known=visible_parts(first))
    assert not {line for line in first.split("\n") if "=" in line} & set(second.split("\n"))


def test_one_long_line_is_cut_not_lost() -> None:
    short = facts("word" * 40_000, 80, NOBODY, count)
    assert short.startswith("word")
    assert count(short) <= 80 * CEILING


def test_headings_come_with_their_hits() -> None:
    hits = [
        WeighedLine("a.py (2)", lines=0),
        WeighedLine(" 3:alpha_beta", under=1, weight=3.0),
        WeighedLine(" 9:z", under=2, weight=-9.0),
    ]
    rows = [*hits, *[WeighedLine("zz " * 40)] * 3]
    assert choose(RankedLines(rows, NOBODY, count), 20).startswith("a.py (2)\n 3:alpha_beta")


@each("keep", [40, 100, 400])
def test_arguments_stay_json_with_their_keys(keep: int) -> None:
    arguments = json.dumps(
        {"path": "a/b.py", "content": "line of text\n" * 300, "edits": [{"old": "x" * 900, "new": 3}], "flag": True}
    )
    short = json.loads(facts_arguments(arguments, keep, count))
    assert short.keys() == json.loads(arguments).keys()
    assert short["path"] == "a/b.py"
    assert short["edits"][0]["new"] == 3
    assert len(short["content"]) < 3900


@each("arguments", ["", "not json", "{}", '{"a": 1}', '{"a": NaN}'])
def test_arguments_that_cannot_shrink_come_back(arguments: str) -> None:
    assert facts_arguments(arguments, 1, count) == arguments


#: Texts of about so many characters.
HOSTILE: dict[str, Callable[[int], str]] = {
    "one letter": repeated("a"),
    "brackets": repeated("("),
    "open json": repeated("["),
    "equal signs": lambda size: "= FAILURES " + "=" * size + "x",
    "digits": lambda size: "= " + "1" * size,
    "blanks": lambda size: "x" + " " * size + "x",
    "slashes": repeated("a/"),
    "colons": repeated("a:"),
    "tags": repeated("<a "),
    "quotes": lambda size: '"' * (size + 1),
    "short lines": repeated("a\n"),
    "numbers of lines": lambda size: "\n".join(str(i) for i in range(size // 6)),
    "brackets that end in a letter": repeated("(" * 598 + "x\n"),
    "dots": repeated("a." * 299 + "!\n"),
    "alike": repeated("ERROR at 1\n"),
    "bars": repeated("|"),
    "fences": repeated("```\n"),
    "escapes": repeated("\x1b["),
}


@each("name", HOSTILE)
def test_hostile_text_takes_linear_time(name: str) -> None:
    assert_linear(lambda text: facts(text, 500, NOBODY, count), HOSTILE[name], 2_500)


def test_deep_json_takes_linear_time() -> None:
    assert_linear(lambda text: facts(text, 500, NOBODY, count), lambda depth: '[{"a":' * depth + "1" + "}]" * depth, 50)


def test_records_keep_the_unusual_one() -> None:
    records = [{"id": f"o_{i}", "state": "paid", "total": i * 7919 % 100} for i in range(200)]
    records[120]["state"] = "lost_in_transit"
    assert "o_120|lost_in_transit" in facts(json.dumps(records), 150, NOBODY, count)


def test_json_inside_a_string_is_read_too() -> None:
    inner = json.dumps({"pad": "x" * 2000, "filler": ["y" * 50] * 40, "error": "E-7731 quota used up", "request_id": "req_99"})
    short = facts(json.dumps({"ok": False, "body": inner}), 80, NOBODY, count)
    assert "error: E-7731 quota used up" in short
    assert "request_id: req_99" in short


@pytest.mark.parametrize(
    "text",
    [
        "src/a.c:3:7: error: 'x' undeclared\n" + "cc -c thing_{}.c\n" * 60 + "make: *** [all] Error 2\nexit code: 2",
        "npm warn old thing\n" * 50 + "Command exited with code 137\n" + "line of nothing\n" * 50,
    ],
)
def test_outcomes_survive(text: str) -> None:
    short = facts(text, 64, NOBODY, count)
    wanted = [line for line in text.split("\n") if "rror" in line or "code" in line]
    assert [line for line in wanted if line in short] == wanted


@each(
    ("sizes", "limit", "taken"),
    [
        ([5, 5, 5], 15, [0, 1, 2]),
        ([5, 9, 4], 10, [0, 2]),
        ([5, 9, 9, 9, 4], 10, [0, 4]),
        ([5, 9, 4, 1], 10, [0, 2, 3]),
        ([20], 10, []),
        ([20, 3], 10, [1]),
    ],
)
def test_what_still_fits_is_taken_too(sizes: list[int], limit: int, taken: list[int]) -> None:
    assert fit_to_limit(range(len(sizes)), lambda some: sum(sizes[i] for i in some), limit) == taken


def test_a_text_without_a_border_is_one_sentence_up_to_the_length_of_the_longest() -> None:
    """What is longer is cut, so that a part of it can be shown."""
    text = "word " * LONGEST
    assert [facts_tokens("user", 500, text[: 4 * LONGEST + more], calls=False) for more in (-1, 0, 1)] == [500, 500, 250]
