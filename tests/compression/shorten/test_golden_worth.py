"""What lines and sentences are worth before anything is chosen (``tests.support.golden`` says when to write the files anew).

These tests cover the figures that decide, whatever the room: weights, evidence and needs of every line, in every kind of output;
what is noted of every sentence. A figure that is a little too large moves few outputs, but it is in here. They leave out what is
chosen by them (``test_golden.py``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any, Final

from tests.compression.shorten.test_golden_lines import FORMS
from tests.support import golden, odd_texts
from turnfold.compression.scorers.central import Central
from turnfold.compression.shorten.evidence import grade, grades, is_outcome, odd_settings, with_messages
from turnfold.compression.shorten.exact_pieces import holds_exact
from turnfold.compression.shorten.facts import facts_tokens
from turnfold.compression.shorten.judged_text import JudgedText
from turnfold.compression.shorten.kinds.html_depth import with_few_open
from turnfold.compression.shorten.kinds.stack_trace import rows as trace_rows
from turnfold.compression.shorten.lines import RankedLines, name_worth, names, needed_above, needed_remarks, short_lines
from turnfold.compression.shorten.reading import Reader, columns_of
from turnfold.compression.shorten.registry import ROOMY, ROWS
from turnfold.compression.text.dialogue.signals import signal_weight
from turnfold.compression.text.names.entities import entities
from turnfold.compression.text.sections import section_starts
from turnfold.compression.text.statements import statements

FILES = Path(__file__).parent / "golden"
WORDS: Final = frozenset({"tape", "pump", "error", "bay", "a.py"})
_BAYS: Final = ("north", "south", "east")
_ENDS: Final = ("ok", "failed: tape torn", "ok", "ok", "WARN low tide", "ok")


def _outputs() -> Iterator[tuple[str, str]]:
    """Of every kind one or two texts in which its rules have something to say, and some in which they nearly have."""
    said = [f"reel {7 * i} of bay {_BAYS[i % 3]} {_ENDS[i % 6]}" for i in range(26)]
    for name, form in FORMS.items():
        yield name, form(said)
        yield f"{name}, alike", form([said[0]] * 9 + said[1:4] + [""] + said[:2])
    logs = [f"2026-03-01 11:{i:02}:00 {('INFO', 'INFO', 'ERROR', 'WARN')[i % 4]} {one}" for i, one in enumerate(said)]
    logs[9:9] = ["2026-03-01 11:08:01 INFO reel 14 of bay north recovered", "  at pump (a.py:3)", "retrying in 3 s"]
    yield "log, over", "\n".join(["dry run", *logs, "2 errors, 1 warning", "exit status 1"])
    commits = [f"commit 9f{i}c0ffee\nAuthor: Ann <a@b.cd>\nDate: Mon Mar {i}\n\n    Move {one}\n\n    The pump." for i, one in
               enumerate(said[:5])]  # fmt: skip
    yield "commits", "\n\n".join(commits)
    heads = ("rename from r.py\nrename to q.py", "new file mode 100644", "deleted file mode 100644", "Binary files differ",
             "index 12..13 100644", "similarity index 90%", "old mode 1")  # fmt: skip
    yield (
        "diff",
        "\n".join(
            f"diff --git a/r{i}.py b/q{i}.py\n{head}\n--- a/r{i}.py\n+++ b/q{i}.py\n@@ -1,3 +1,3 @@ def f{i}(x):\n tape\n-reel"
            f"\n+reel {i}\n\\ No newline at end of file"
            for i, head in enumerate(heads)
        ),
    )
    yield (
        "listing",
        "\n".join(f"-rw-r--r-- 1 ann staff {17 * i} Mar  3 10:{i:02} desk/{'ab'[i % 2]}/tape{i}.py" for i in range(9)),
    )
    yield "listing", "\n".join(f"src/{'ab'[i % 2]}/{one.split()[1]}.py" for i, one in enumerate(said)) + "\n./tape\n../pump.md"
    yield "tests", "=== FAILURES ===\n____ test_tape ____\n" + "\n".join(
        f"tests/a.py::test_{i} {('PASSED', 'FAILED', 'SKIPPED', 'ERROR', 'XFAIL')[i % 5]} [ {i}%]\nE   assert {i}\n> tape = {i}"
        for i in range(11)
    ) + "\ntests/a.py:9: ValueError\n=== 2 failed, 3 passed in 0.2s ==="  # fmt: skip
    yield (
        "trace",
        "Traceback (most recent call last):\n"
        + "\n".join(
            f'  File "{("a.py", "/usr/lib/python3/site-packages/x.py")[i % 2]}", line {i}, in f{i}\n    reel({i})'
            for i in range(9)
        )
        + "\nValueError: tape torn\n\nDuring handling of the above exception, another exception occurred:\n\nOSError: pump",
    )
    cells = [{"id": i, "bay": _BAYS[i % 3], "note": one, "rare": "sealed" if i == 11 else "open"} for i, one in enumerate(said)]
    yield "values", json.dumps(cells)
    yield (
        "values",
        json.dumps({"status": "failed", "code": 0, "items": cells[:3], "tape": ["x" * 81, "y", None, False, 0.5], "n": {}}),
    )
    yield "cells", "id,bay,note,rare\n" + "\n".join(",".join(map(str, one.values())) for one in cells)
    yield (
        "table",
        "| id | bay | note |\n|---|---|---|\n" + "\n".join(f"| {one['id']} | {one['bay']} | {one['note']} |" for one in cells),
    )
    yield "settings", "[bay]\nname = north\nport = 80\n\n[pump]\n# old\nname = old\nport = 81\nerror = torn\nport = 80\n" * 2
    yield (
        "code",
        'import os\n\n\nclass Pump:\n    """It runs."""\n\n    def run(self, x):\n        # TODO: tape\n        raise Dry(x)\n'
        * 3,
    )
    yield (
        "page",
        "<html><body><h1>Bay</h1>"
        + "".join(f"<p>{one}</p><ul><li>tape {i}</li></ul>" for i, one in enumerate(said))
        + "</body></html>",
    )
    yield from ((f"rare {i}", odd_texts.rare(i)) for i in range(odd_texts.RARE // 4))


def test_lines_are_taken_to_several_lengths_as_to_each_alone() -> None:
    """In what order does not tell which lengths were asked for before."""
    for _, text in islice(_outputs(), 0, None, 9):
        rows = ROWS["log"](text, WORDS)
        ranked = RankedLines(rows, WORDS, len)
        for keep in (900, 60, 8000, 60, 300):
            assert ranked.order(keep) == RankedLines(rows, WORDS, len).order(keep)


def test_lines_of_every_kind() -> None:
    """What each maker of lines says of every text; most texts are of another kind, which happens. A line for each text, and one
    for each kind."""
    lines, of_kind = list[str](), dict[str, list[Any]]()
    for name, text in _outputs():
        made = {kind: make(text, WORDS) for kind, make in {**ROWS, **ROOMY}.items()}
        ranked = [RankedLines(made[kind], WORDS, len).order(60) for kind in ("log", "csv", "json", "diff", "prose") if made[kind]]
        worth = sum(row.weight + row.evidence for rows in made.values() for row in rows)
        lines.append(
            f"{name}: {sum(map(len, made.values()))} lines, worth {worth:.2f} {golden.name_of((list(made.values()), ranked))}"
        )
        for kind, rows in made.items():
            of_kind.setdefault(kind, []).append(rows)
    lines += [f"as {kind}: {golden.name_of(some)}" for kind, some in of_kind.items()]
    golden.agrees(FILES / "line_worth.txt", lines)


_FAILURES: Final = (
    *("ERROR", "error:", "failed", "Failed to", "fatal:", "panic:", "Exception", "ValueError:", "Traceback", "warning:", "WARN"),
    *("denied", "timeout", "timed out", "refused", "not found", "exit status 1", "exit code 0", "exit code 137", "Killed", "OK"),
    *("3 passed", "1 failed", "0 failed", "2 errors", "no errors", "0 errors, 0 warnings", "FAIL", "PASS", "assert", "E   x"),
    *("Segmentation fault", "aborted", "BUILD FAILED", "BUILD SUCCESSFUL", "Error 404", "HTTP 500", "HTTP/1.1 200", "errno 2"),
    *("done", "Total: 3", "rejected", "conflict", "deprecated", "skipped", "undefined", "cannot", "unable to", "rc=1", "rc=0"),
)


def test_evidence_in_every_place() -> None:
    """Each word for a failure or outcome alone, first, last, among others, in a long line, in a name, quoted."""
    lines = []
    for number, word in enumerate(_FAILURES):
        other = _FAILURES[(7 * number + 3) % len(_FAILURES)]
        forms = [
            word, f"{word} on bay 7", f"it {word}", f"the reel {word} at 9:30", f"{word}: {other}", f"{other} {word}",
            f"({word})", f"test_{word}", f"{word}.py", f"no {word}", f"{word}=0", f"{word}=3", f"x {'tape ' * 40}{word}",
            f"2026-03-01 11:00:00 INFO {word}", f"2026-03-01 11:00:00 {word} reel", f"    at {word}(a.py:3)", f"{word.upper()}!",
        ]  # fmt: skip
        text = [*forms, "  caused by tape", "name = x", "name = x", "name = y", *forms[:2]]
        found = grades(text)
        told = (
            [grade(one) for one in forms],
            [is_outcome(one) for one in forms],
            found,
            odd_settings(text),
            with_messages(text, found),
        )
        lines.append(f"{word}: {''.join(map(str, found))} {golden.name_of((*told[:3], sorted(told[3]), told[4]))}")
    golden.agrees(FILES / "evidence.txt", lines)


def as_noted(text: str, role: str, words: bool) -> list[Any]:
    one = Reader().read([(text, role)])[0]
    columns = [column.tolist() for column in columns_of([one])[:3]]
    noted = (sorted(one.blocks), sorted(one.must), sorted((i, tuple(some)) for i, some in one.facts.items()), one.objects)
    pieces = [span.of(text) for span in one.spans]
    return [columns, noted, sorted(one.figures.items()), [holds_exact(piece) for piece in pieces] if words else []]


def as_judged(text: str) -> list[Any]:
    read = statements(text)
    pieces = [span.of(text) for span in read.spans]
    scores = [round(score, 6) for score in Central().score(pieces)]
    signals = [signal_weight(piece) for piece in pieces]
    starts, unasked = section_starts(text, read.spans), [0.0] * len(pieces)
    found = JudgedText(text, read, starts, scores, signals, scores, unasked, entities(text), lambda said: len(said) // 4)
    return [
        *(
            [list(some) for some in found.facts],
            {name: round(worth, 6) for name, worth in found.weights.items()},
            sorted(found.heads),
        ),
        *(
            [round(place, 6) for place in found.places],
            sorted(found.repeated),
            found.blocks,
            found.data,
            sorted(found.in_data),
            scores,
        ),
    ]


def _spoken() -> list[str]:
    """Odd pieces, and paragraphs of more and more sentences, with what is said twice and in capitals."""
    some = [*odd_texts.PIECES[:24], *odd_texts.PIECES[-14:]]
    told = [" ".join(some[(3 * i + k) % len(some)] for k in range(1 + i % 17)) for i in range(60)]
    told += [f"{text}\n\n{some[i % 38]}\n{text[:90]}" for i, text in enumerate(told[::3])]
    data = (
        '{"id": 7, "in": [1, 2]}',
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```\nx = 1\n```",
        "id,bay\n1,a\n2,b",
        "It rained.",
        "    x = 1",
        "$$x = 1$$",
    )
    told += [
        "\n".join((one, other, one, some[i % 38])).replace("  ", " " * (1 + i % 4))
        for i, (one, other) in enumerate(product(data, data))
    ]
    return [*told, *(odd_texts.text(3000 + seed) for seed in range(60)), *(odd_texts.glued(3000 + seed) for seed in range(40))]


def test_what_is_noted_of_sentences() -> None:
    lines, said = list[str](), _spoken()
    for first in golden.some(range(0, len(said), 12)):
        some = said[first : first + 12]
        read = [as_noted(text, ("user", "assistant", "system")[i % 3], i % 2 == 0) for i, text in enumerate(some)]
        judged = [as_judged(text) for text in some]
        lines.append(f"{first} {golden.name_of(read)} {golden.name_of(judged)}")
    golden.agrees_in(FILES / "noted.txt", lines)


def test_shares_and_names() -> None:
    """How many tokens a message of each size is worth, and how much each form of name; which lines need which above."""
    text, lines = "The tape ran. " * 9, list[str]()
    for role in ("user", "assistant", "tool", "system"):
        sizes = [*range(130), *range(130, 1000, 10), *range(1000, 20_000, 500), 10**6]
        shares = [
            facts_tokens(role, size, some, calls=calls)
            for size in sizes
            for some in (text, "{}", "x = 1\n" * 9)
            for calls in (False, True)
        ]
        lines.append(f"{role} {sum(shares)} {golden.name_of(shares)}")
    forms = ("tape", "Tape", "TAPE", "tape7", "7", "70.5", "a/b", "a@b.cd", "a_b", "aB", "R-7", "a.py", "x", "", "é", "中", "7a")
    lines.append(
        str([(form, name_worth(form, some)) for form in forms for some in (frozenset[str](), frozenset({form.lower()}))])
    )
    for name, output in _outputs():
        rows = short_lines(output)
        needed = (needed_above(rows, headings=True), needed_above(rows, headings=False), needed_remarks(rows))
        lines.append(f"{name} {golden.name_of((rows, needed, [names(row) for row in rows], trace_rows(output)))}")
    golden.agrees(FILES / "shares.txt", lines)


_LINES: Final = (
    *(
        "# DO NOT USE",
        "# old",
        "# It was sold",
        "-- deprecated, see bay",
        "// never run this",
        "",
        "   ",
        "x = 1",
        "  y = 2",
        "    z = 3",
    ),
    *(
        "[bay]",
        "[a, b]",
        "name = north",
        "Costs:",
        "It costs:",
        "- item",
        "  - item",
        "1. one",
        "* Bay:",
        "## Pump",
        "Pump",
        "run(x)",
    ),
    *("It is old.", "Wrong:", "```", "Is it?", "a" * 70, "Old pumps of the bay, which were sold"),
)


def test_what_stands_above_lines() -> None:
    """Which lines need a heading, a section or a remark above them, for lines of every kind in any order."""
    lines = []
    for first in golden.some(range(0, 480, 24)):
        told = []
        for seed in range(first, first + 24):
            random = Random(f"above {seed}")
            rows = [random.choice(_LINES) for _ in range(random.randrange(2, 16))]
            needed = [needed_above(rows, headings=True), needed_above(rows, headings=False), needed_remarks(rows)]
            told.append((needed, ROWS["plain"]("\n".join(rows), WORDS), ROWS["yaml"]("\n".join(rows), WORDS)))
        lines.append(f"{first} {golden.name_of(told)}")
    golden.agrees_in(FILES / "above.txt", lines)


_TAGS: Final = (
    *(
        "div",
        "p",
        "b",
        "span",
        "a",
        "table",
        "tr",
        "td",
        "li",
        "ul",
        "svg",
        "math",
        "title",
        "script",
        "em",
        "template",
        "br",
        "mi",
    ),
    *("button", "font", "foreignObject", "object", "h2", "code", "textarea", "q"),
)


def _tags(seed: int) -> str:
    """A page with elements inside one another, close to as many as may be open, some closed in another order or never."""
    random, page, opened = Random(f"tags {seed}"), "<html><body>", list[str]()
    some = random.sample(_TAGS, 2 + seed % 6)
    for i in range((60, 66, 70, 130, 254, 258, 300)[seed % 7] * (1 + seed % 3)):
        if opened and random.random() < (0.1, 0.3, 0.45)[seed % 3]:
            page += f"</{opened.pop(random.randrange(len(opened)) if random.random() < 0.3 else -1)}>"
        else:
            opened.append(random.choice(some))
            page += f"<{opened[-1]}{' id=x' * (i % 9 == 0)}>" + "bay " * (i % 4 == 0)
    return page + "".join(f"</{name}>" for name in opened[:: -1 if seed % 2 else 2])


def test_pages_of_many_open_elements() -> None:
    made = [with_few_open(_tags(seed)) for seed in range(120)]
    made += [with_few_open(f"<p {'a=b ' * size}>x" + "<b>" * 70) for size in (9, 4997, 5000)]
    golden.agrees(FILES / "tags.txt", [f"{i} {golden.name_of(made[i : i + 10])}" for i in range(0, len(made), 10)])
