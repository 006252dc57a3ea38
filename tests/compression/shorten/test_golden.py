"""What fixed texts are shortened to, in every form and at several sizes (``tests.support.golden`` says when to write anew)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.support import golden, odd_texts, words
from tests.support.cases import each
from tests.support.column_tables import unshape_json
from turnfold.compression.memo import Memo
from turnfold.compression.shorten.birth import count_runs, render_terminal, shape, shape_json
from turnfold.compression.shorten.coverage import CoverageItem, cover, cover_closely
from turnfold.compression.shorten.facts import arguments, facts_tokens
from turnfold.compression.shorten.facts import facts as full_facts
from turnfold.compression.shorten.figure_lines import line_figures, with_figures
from turnfold.compression.shorten.lines import names, short_lines, visible_parts
from turnfold.compression.shorten.prose import shorten
from turnfold.compression.shorten.registry import facts, facts_arguments, within
from turnfold.compression.shorten.sift import read, sift
from turnfold.compression.shorten.summary import summarise
from turnfold.compression.shorten.terse_prose.compress import compress, expand, terse
from turnfold.compression.text.quotes import Source
from turnfold.compression.tokens import count

FILES = Path(__file__).parent / "golden"
CASES = Path(__file__).parent / "cases"
TEXTS = golden.texts()
WORDS = frozenset({"tape", "reel", "error", "failed", "fund", "refund", "budget"})

#: What becomes of a message of people or models, and of the output of a tool, in about so many tokens.
SPOKEN: dict[str, Callable[[str, int], str]] = {
    "user": lambda text, keep: shorten(text, keep, role="user", words=WORDS, count=count),
    "assistant": lambda text, keep: shorten(text, keep, role="assistant", count=count),
    "sift": lambda text, keep: sift([read(text, "user")], keep / 100, at_least_one=True)[0],
    "figures": lambda text, keep: sift([read(text, "assistant")], keep / 200, keep_figures=True)[0],
}
OUTPUT: dict[str, Callable[[str, int], str]] = {
    "facts": lambda text, keep: facts(text, keep, WORDS, count),
    "bare facts": lambda text, keep: facts(text, keep, frozenset(), count),
    "within": lambda text, keep: within(text, keep, WORDS, count),
    "arguments": lambda text, keep: facts_arguments(text, keep, count),
    "shape": lambda text, keep: shape(text, count) if keep < 50 else "",
}


@each("form", SPOKEN)
def test_messages(form: str) -> None:
    lines = list[str]()
    for name in golden.conversations():
        said = [text for key, text in TEXTS.items() if key.startswith(f"{name}/")][:4]
        for keep in (15, 60)[len(lines) % 2 :][:1]:
            made = [SPOKEN[form](text, keep) for text in said]
            lines.append(f"{name} {keep}: {sum(map(count, made))} {golden.name_of(made)}")
    golden.agrees(FILES / f"{form}.txt", lines)


@each("form", OUTPUT)
def test_output_of_tools(form: str) -> None:
    lines = list[str]()
    for path in sorted(CASES.glob("*/*.txt")):
        text = path.read_bytes().decode().partition("\n==========\n")[0].partition("\n")[2][:6000]
        made = [OUTPUT[form](text, keep) for keep in (25, 110)]
        lines.append(f"{path.parent.name}/{path.stem}: {[count(one) for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / f"{form.replace(' ', '_')}.txt", lines)


def test_runs_of_messages() -> None:
    lines = list[str]()
    for name, messages in golden.conversations().items():
        said = [(m["role"], m["content"]) for m in messages if isinstance(m["content"], str)][:10]
        sources = [Source(role, text, f"{name} {i}".encode()) for i, (role, text) in enumerate(said)]
        reads = [read(text, role) for role, text in said]
        for budget in (60, 400)[len(lines) % 2 :][:1]:
            quotes = [(q.source, q.start, q.end) for q in summarise(sources, budget, count, Memo())]
            sifted = sift(reads, budget / 2000, keep_figures=budget == 60)
            lines.append(f"{name} {budget}: {len(quotes)} quotes {golden.name_of(quotes)}, {golden.name_of(sifted)}")
    golden.agrees(FILES / "runs.txt", lines)


def _known_outputs() -> list[str]:
    recorded = [path.read_text("utf-8", errors="replace") for path in sorted((CASES.parent / "corpus").glob("*.txt"))]
    cases = [path.read_bytes().decode().partition("\n==========\n") for path in sorted(CASES.glob("*/*.txt"))]
    made = [words.text_of_kind(kind, seed) for kind in words.KINDS for seed in range(3)]
    return [*recorded, *(text.partition("\n")[2] for text, _, _ in cases), *made]


def as_spoken(text: str, seed: int) -> list[object]:
    """One message in the forms that there are of it."""
    keep, role = (8, 25, 60)[seed % 3], ("user", "assistant", "user", "system")[seed % 4]
    made = compress(text, ("lite", "full", "ultra")[seed % 3])
    return [
        shorten(text, keep, role=role, words=WORDS if seed % 2 else None, count=count),
        sift([read(text, role)], keep / 70, at_least_one=seed % 2 == 0, keep_figures=seed % 5 == 0),
        [full_facts(text, role=one, words=WORDS, known=text.splitlines()[:1], count=count) for one in ("user", "tool", "x")],
        [facts_tokens(role, count(text), text, calls=calls) for calls in (True, False)],
        (made, expand(made.text, made.receipt)),
    ]


def as_printed(text: str, seed: int) -> list[object]:
    """The output of a tool in the forms that there are of it."""
    keep, known = (20, 70, 200)[seed % 3], frozenset(line.strip() for line in text.splitlines()[::3])
    return [
        facts(text, keep, WORDS, count, known=known if seed % 2 else ()),
        facts(text, 3 * keep, frozenset(), count, role="user"),
        within(text, keep // 3, WORDS, count),
        (render_terminal(text), count_runs(text), shape(text, count)),
        (line_figures(text), with_figures(text, text[: len(text) // 2], line_figures(text))),
        (names(text), sorted(visible_parts(text)), short_lines(text)),
    ]


def as_values(text: str, seed: int) -> list[object]:
    """JSON in the forms that there are of it; what is shaped says the same."""
    shaped = shape_json(text)
    if shaped is not None:
        assert unshape_json(shaped) == json.loads(text)
    keep = (15, 60, 200)[seed % 3]
    sizes = [facts(text, keep, WORDS, count), facts_arguments(text, keep, count), arguments(text, count=count)]
    return [
        shaped,
        *sizes,
        within(text, 2 * keep, WORDS, count),
        full_facts(text, role="tool", words=WORDS, known=(), count=count),
    ]


def test_texts_of_odd_pieces() -> None:
    """Messages, output of tools, and JSON at the borders of the rules."""
    known, lines = _known_outputs(), list[str]()
    for first in golden.some(range(0, 120, 20)):
        seeds = range(first, first + 20)
        spoken = [as_spoken(odd_texts.text(seed + 1000), seed) for seed in seeds]
        printed = [as_printed(odd_texts.output(seed, known), seed) for seed in seeds]
        values = [as_values(odd_texts.json_text(seed), seed) for seed in seeds]
        lines.append(" ".join([str(first), *(golden.name_of(one) for one in (spoken, printed, values))]))
    golden.agrees_in(FILES / "odd.txt", lines)


def test_texts_whose_pieces_touch() -> None:
    lines = list[str]()
    for first in range(0, 60, 10):
        spoken = [as_spoken(odd_texts.glued(seed), seed) for seed in range(first, first + 10)]
        printed = [as_printed(odd_texts.glued(100 + seed), seed) for seed in range(first, first + 10)]
        lines.append(f"{first} {golden.name_of(spoken)} {golden.name_of(printed)}")
    golden.agrees(FILES / "glued.txt", lines)


def test_texts_that_few_rules_are_for() -> None:
    lines = list[str]()
    for first in range(8):
        seeds = range(first, odd_texts.RARE, 8)
        spoken = [as_spoken(odd_texts.rare(seed), seed) for seed in seeds if seed % 3 == 0]
        printed = [as_printed(odd_texts.rare(seed), seed) for seed in seeds]
        forms = [[facts(odd_texts.rare(seed), keep, WORDS, count) for keep in (8, 30)] for seed in seeds]
        values = [as_values(odd_texts.rare(seed), seed) for seed in seeds if odd_texts.rare(seed)[:1] == "{"]
        lines.append(" ".join([str(first), *map(golden.name_of, (spoken, printed, forms, values))]))
    golden.agrees(FILES / "rare.txt", lines)


def test_every_budget() -> None:
    """From no room to room for all: wherever something just fits, one of these is that budget."""
    texts = [
        *(words.text_of_kind(kind, 1)[:500] for kind in words.KINDS),
        json.dumps({"path": "desk/a.py", "old": "one two three " * 40, "new": "four five\nsix " * 30, "n": 3}),
        json.dumps([{"id": i, "state": ("ok", "failed")[i == 3], "note": f"row {i}"} for i in range(8)]),
        "\n".join(odd_texts.PIECES[5:14]),
    ]
    lines = list[str]()
    for number, text in enumerate(texts):
        made = [[within(text, keep, WORDS, count)] for keep in range(3, 75, 3)]
        made += [[facts_arguments(text, keep, count)] for keep in range(64, 190) if text.startswith('{"path"')]
        made += [[facts(text, keep, WORDS, count)] for keep in range(64, 100, 9)]
        said = [[shorten(text, keep, role="user", count=count)] for keep in range(2, 60, 2)] if number % 3 == 0 else []
        lines.append(f"{number}: {golden.name_of(made)} {golden.name_of(said)}")
    golden.agrees(FILES / "budgets.txt", lines)


def test_texts_of_long_lengths() -> None:
    made = [
        [
            facts(text, (15, 90)[i % 2], WORDS, _characters),
            shorten(text, (10, 70)[i % 2], role=("user", "assistant")[i % 3 == 0], count=_characters),
            full_facts(text, role=("user", "tool")[i % 2], words=WORDS, known=(), count=_characters),
            sift([read(text, "user")], 0.4),
        ]
        for i, text in enumerate(odd_texts.of_long_lengths())
    ]
    golden.agrees(FILES / "long_lengths.txt", [f"{i}: {golden.name_of(made[i::8])}" for i in range(8)])


def _characters(text: str) -> int:
    return len(text) // 4


def test_more_lines_than_are_weighed() -> None:
    """Of a very long text only a sample is looked at, and what tells of a failure or of the task."""
    lines = list[str]()
    for size in (4000, 4001, 7003):
        rows = [
            "" if i % 11 == 0 else f"ERROR {i} failed" if i % 997 == 5 else f"a tape {i}" if i % 501 == 7 else f"{i % 37} ok {i}"
            for i in range(size)
        ]
        texts = {
            "log": "\n".join(rows),
            "values": json.dumps([{"id": i, "note": row} for i, row in enumerate(rows)]),
            "blank": "\n" * size,
            "page": f"<!DOCTYPE html><html><body>{''.join(f'<p>{row}</p>' for row in rows)}</body></html>",
        }
        for name, text in texts.items() if size > 4001 else (("log", texts["log"]),):
            made = [facts(text, keep, WORDS, _characters) for keep in (60, 400)[name != "log" :]]
            lines.append(f"{size} {name}: {[len(one) for one in made]} {golden.name_of(made)}")
    golden.agrees(FILES / "long.txt", lines)


def test_texts_of_every_length_and_share() -> None:
    texts = [text for text in [*odd_texts.of_every_length(), *odd_texts.of_every_share()] if len(text) > 60]
    lines = []
    for first in golden.some(range(0, len(texts), 40)):
        made = [
            [
                facts(text, (15, 40, 90)[i % 3], WORDS, count),
                shorten(text, (10, 30, 70)[i % 3], role="user", count=count),
                (shape(text, count), short_lines(text), line_figures(text)),
                [facts_tokens(role, count(text), text, calls=i % 2 == 0) for role in ("user", "assistant", "tool")],
            ]
            for i, text in enumerate(texts[first : first + 40], first)
        ]
        lines.append(f"{first}: {golden.name_of(made)}")
    golden.agrees_in(FILES / "lengths.txt", lines)


def _pages() -> Iterator[str]:
    """Pages, feeds and JSON inside JSON, with failures, headings and lines of every length."""
    for size in range(30, 50):
        said = ("All is well in bay seven " * 3)[:size]
        rows = [f"<p>{said} {i}</p>" for i in range(6)]
        rows[2:2] = [
            "<h1>Night shift</h1>",
            f"<p>ERROR: valve {size} failed</p>",
            "<p>Warning: low tide</p>",
            "<p>exit code 1</p>",
        ]
        yield f"<!DOCTYPE html><html><body>{''.join(rows)}</body></html>"
        items = "\n".join(f"  <item id='{i}'><state>{('failed', 'ok', said)[i % 3]}</state></item>" for i in range(9))
        yield f'<?xml version="1.0"?>\n<items>\n{items}\n</items>'
        inner = json.dumps({"id": 1, "note": "x" * (size - 21)})
        yield json.dumps([{"id": i, "payload": inner if i % 2 else [inner], "note": said} for i in range(7)])
        yield "\n".join(
            f"# {said}" if i % 4 == 0 else f"{said} {i}. The pump of bay {i} failed at {i}:30." for i in range(size // 3)
        )


def test_pages_and_json_in_json() -> None:
    made = [[facts(text, keep, WORDS, count) for keep in (30, 90)] for text in _pages()]
    golden.agrees(FILES / "pages.txt", [f"{i}: {golden.name_of(made[i : i + 4])}" for i in range(0, len(made), 4)])


def test_choices_among_pieces_that_need_each_other() -> None:
    """Random pieces under every kind of budget: greed, and greed improved by exchange."""
    chosen: list[object] = []
    for seed in range(400):
        random = Random(seed)
        pieces = [
            CoverageItem(random.randrange(1, 12), random.choice((0, 0.4, 1.3)), random.choice((0.0, 0.5, 1.0, 1.0)), tuple(some))
            for some in (random.sample("abcdef", random.randrange(4)) for _ in range(random.randrange(1, 13)))
        ]
        weights = {fact: random.choice((0.2, 1.0, 3.0)) for fact in "abcde"} | {"f": 0.5}
        needs: list[list[int]] = []
        for i in range(len(pieces)):
            direct = random.sample(range(i), random.randrange(min(i, 3))) if i > 1 else []
            needs.append(sorted({*direct, *(k for j in direct for k in needs[j])}))
        given = pieces, weights, seed % 37
        chosen.append([choose(*given, some) for choose in (cover, cover_closely) for some in ((), needs)])
    golden.agrees(FILES / "choices.txt", [golden.name_of(chosen[i : i + 100]) for i in range(0, len(chosen), 100)])


@each("intensity", ["lite", "full", "ultra"])
def test_prose_in_fewer_words(intensity: str) -> None:
    """One text in full, of the others their names."""
    english = [text for name, text in TEXTS.items() if name.startswith(("radio_en/", "oncall_en/"))][2:16]
    made = [terse(text, intensity) for text in english]
    golden.agrees(FILES / f"terse.{intensity}.txt", [*made[7].splitlines(), *map(golden.name_of, made)])


def test_one_of_each_in_full() -> None:
    """So that a diff says what a name that changed stands for."""
    text = TEXTS["radio_en/2"]
    lines = [line for form in SPOKEN for line in (f"== {form}", *SPOKEN[form](text, 60).splitlines())]
    log = (CASES / "log" / "errors.txt").read_bytes().decode().partition("\n==========\n")[0].partition("\n")[2]
    lines += [line for form in OUTPUT for line in (f"== {form}", *OUTPUT[form](log, 49).splitlines())]
    golden.agrees(FILES / "one.txt", lines)


def test_long_cells_of_a_table() -> None:
    """Objects, lists and strings of every length around the one from which only the beginning is shown."""
    lines = list[str]()
    for length in (*range(136, 166, 2), 149, 151, 159, 161, 400):
        cells = ({"key": "x" * length}, ["x" * length], "x" * length, {"a": [1, "y" * length]})
        text = json.dumps([{"id": 100 + i, "cell": cells[i % 4], "note": f"row {i} of {length}"} for i in range(24)])
        made = facts(text, 300, WORDS, count)
        lines.append(f"{length}: {count(made)} {golden.name_of(made)}")
    golden.agrees(FILES / "cells.txt", lines)
