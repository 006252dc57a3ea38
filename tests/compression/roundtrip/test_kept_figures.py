"""What a message has to be copied from stays in it by default: figures, identifiers, versions, paths, URLs.

These tests cover texts of our own with known figures, for prose, runs and output of programs. They leave out budgets
(``test_budgets``).
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression import compress, strip_provenance
from turnfold.compression.text.figures import figures

Message = dict[str, Any]

NEWEST: list[Message] = [{"role": ("user", "assistant")[n % 2], "content": "Good, go on."} for n in range(4)]
CHATTER = "It was a quiet week for everybody here. People came and went as they do. Nobody had much to say about it. "

TECHNICAL = """The planner keeps 14 segments in memory and flushes them when 3.5 GB are used or after 90 seconds. That is how most
systems of this kind behave. A segment has a header of 32 bytes, an index with one entry for every 4,096 bytes, and
a footer whose checksum is CRC-32C. There is nothing unusual about that. Compaction starts at level 0 with 8 files
and multiplies by 10 on each level below. The option `max_open_files` is 500 by default, and write_buffer_size is
64 MB. Reads take the bloom filter first, which answers wrongly in 0.8% of cases at 10 bits per key. It was added
in v5.4.2, see https://db.example.org/wiki/Bloom?rev=7#bits and src/table/filter_block.cc:118. People often ask why
it is so. The answer is a matter of taste. Call db.compactRange() to start it by hand, or pass --compact-on-open.
Release 6.0.0-rc1 changes the default to 12 bits."""
NEEDED = [
    *(
        "14",
        "3.5 GB",
        "90",
        "32",
        "4,096",
        "CRC-32C",
        "8 files",
        "10 on",
        "`max_open_files`",
        "500",
        "write_buffer_size",
        "64 MB",
    ),
    *(
        "write_buffer_size",
        "0.8%",
        "10 bits",
        "v5.4.2",
        "https://db.example.org/wiki/Bloom?rev=7#bits",
        "src/table/filter_block.cc:118",
    ),
    *("db.compactRange()", "--compact-on-open", "6.0.0-rc1", "12"),
]


def out_of(messages: list[Message]) -> str:
    return "\n".join(str(message["content"]) for message in strip_provenance(compress([*messages, *NEWEST]).messages))


@each("role", ["user", "assistant", "tool"])
def test_a_technical_explanation_keeps_what_can_be_copied_from_it(role: str) -> None:
    text = f"{CHATTER * 3}{TECHNICAL} {CHATTER * 3}".replace("\n", " ")
    short = out_of([{"role": role, "content": text, "tool_call_id": "c"}])
    assert [needed for needed in NEEDED if needed not in short] == []
    assert len(short) < 0.9 * len(text)


def test_each_message_of_a_run_keeps_its_own() -> None:
    said = [f"{CHATTER * 2}Valve {n} opened at {n + 100} bar. {CHATTER}" for n in range(40)]
    short = out_of([{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)])
    assert [n for n in range(40) if f"Valve {n} opened at {n + 100} bar" not in short] == []
    assert len(short) < 0.4 * len("\n".join(said))


@each(
    ("said", "needed"),
    [
        ("他们一共花了三百万元买这块地，另外付了2,500元手续费。", ["三百万", "2,500"]),
        ("合同的截止日期是三月四日。", ["三月四日"]),
        ("Der Druck fiel auf 3,7 bar, siehe C:\\Daten\\lauf_7.csv im Archiv.", ["3,7", "C:\\Daten\\lauf_7.csv"]),
        ("Le fichier ~/conf/app.yaml vaut 0x1F pour modeRapide.", ["~/conf/app.yaml", "0x1F", "modeRapide"]),
        ("Order HX-4471 went to mara.lind@harbour.example at 10:42.", ["HX-4471", "mara.lind@harbour.example", "10:42"]),
        ("Температура была −4,5 °C утром и 12 °C днём.", ["4,5", "12"]),
        ("The recipe needs ½ cup of oil and 2 eggs.", ["½", "2 eggs"]),
    ],
)
def test_in_other_forms_and_languages(said: str, needed: list[str]) -> None:
    short = out_of([{"role": "assistant", "content": f"{CHATTER * 6}{said} {CHATTER * 6}"}])
    assert [one for one in needed if one not in short] == []
    assert len(short) < 0.5 * len(CHATTER * 12)


def test_a_log_keeps_every_figure_and_still_becomes_smaller() -> None:
    log = "\n".join(
        f"2026-01-01 10:{n // 60:02}:{n % 60:02} INFO worker-{n % 5} request {n * 7} served in {n % 13} ms" for n in range(200)
    )
    short = out_of([{"role": "tool", "tool_call_id": "c", "content": log}])
    rows = set(short.split("\n"))
    assert [n for n in range(200) if f"10:{n // 60:02}:{n % 60:02} worker-{n % 5} {n * 7} {n % 13}" not in rows] == []
    assert len(short) < 0.6 * len(log)


def test_what_stands_twice_word_for_word_is_said_once() -> None:
    line = "The cap is 40 bar."
    short = out_of([{"role": ("user", "assistant")[n % 2], "content": f"{CHATTER * 3}{line}"} for n in range(20)])
    assert short.count(line) == 1


_WORD = st.sampled_from(
    ["the", "pump", "held", "7", "bar", "12.5%", "of", "src/a.py", "v1.2", "at", "port_no", "`key`", "fine", "https://x.y/z?q=1"]
)


@given(st.lists(st.lists(_WORD, min_size=3, max_size=12), min_size=1, max_size=30))
def test_any_prose_keeps_its_figures(sentences: list[list[str]]) -> None:
    text = " ".join(f"{' '.join(words).capitalize()}." for words in sentences)
    short = out_of([{"role": "assistant", "content": text}])
    wanted = set(re.findall(r"\d[\d.%]*\d|\d|src/a\.py|port_no|`key`|https://x\.y/z\?q=1", text))
    assert [one for one in wanted if one not in short] == []


@each("text", ["", "Nothing to copy here, at all.", "It ended well; everybody, e.g. Anna, was glad."])
def test_plain_words_are_no_figures(text: str) -> None:
    assert figures(text) == ()


def test_a_figure_is_told_from_the_same_figure_of_something_else() -> None:
    assert set(figures("Use 3 retries on 3 nodes.")) == {"3 retries", "3 nodes"}
