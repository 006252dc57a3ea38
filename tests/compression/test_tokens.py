"""Counting: exact, the same for long runs of one class, and in linear time for runs that are almost long."""

from __future__ import annotations

import random

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear, repeated
from turnfold.compression.memo import Memo
from turnfold.compression.tokens import (
    BORDER_COUNTER,
    EncodingName,
    ModelCounter,
    count,
    count_for_model,
    count_labelled,
    count_line,
    count_once,
    count_tail,
    count_with_tail,
    counter_for_model,
    encoding,
    encoding_for_model,
)


def plain(text: str, encoder: tiktoken.Encoding) -> int:
    return len(encoder.encode_ordinary(text))


@each("text", ["", "a", "<|endoftext|>", "Grüße aus 東京 🙂", "x " * 3000, "=" * 5000, " " * 3999 + "x"])
def test_a_count_is_the_encoders(text: str) -> None:
    assert count(text) == plain(text, encoding("o200k_base"))
    assert count(text, "cl100k_base") == plain(text, encoding("cl100k_base"))


@each(("unit", "long"), [(" ", 4000), ("\n", 4000), ("=", 20_000), ("a", 20_000)])
def test_a_long_run_is_counted_piece_by_piece(unit: str, long: int) -> None:
    """A run costs about what it costs in pieces of 4,000 characters, wherever it stands."""
    piece = count(unit * 4000)
    for front in ("", "some words before it "):
        assert abs(count(front + unit * long + " and behind") - long // 4000 * piece) < 20 + piece


@each("unit", [" ", "=", "a", "=\n", "字"])
def test_runs_that_are_almost_long_take_linear_time(unit: str) -> None:
    def run_in_a_text(size: int) -> str:
        return f"{repeated(unit)(size)} {'word ' * 2 * size}"

    assert_linear(count, run_in_a_text, 2400)


def test_an_unknown_model_is_counted_by_the_costlier_vocabulary() -> None:
    text = "Тише едешь, дальше будешь. " * 20
    both = (count(text, "o200k_base"), count(text, "cl100k_base"))
    assert both[0] < both[1]
    assert count_for_model(text, "my-local-model") == counter_for_model("my-local-model")(text) == both[1]
    assert count_for_model(text, "gpt-4o") == both[0]
    assert count_for_model(text, "gpt-4-0613") == both[1]


def test_which_vocabulary_a_model_takes() -> None:
    known = {
        "o200k_base": "gpt-4o gpt-5-mini ft:gpt-4.1:org openai/o3 gpt-oss-20b",
        "cl100k_base": "gpt-4 gpt-4-0613 gpt-3.5-turbo",
    }
    for name, models in known.items():
        assert {encoding_for_model(model) for model in models.split()} == {name}
    assert {encoding_for_model(model) for model in ("", "gpt-40", "my-gpt-4", "claude-3", "ft:x:gpt-4o")} == {None}


def test_a_text_is_counted_once() -> None:
    known = {"a b": 99}
    counted = count_once(known)
    assert [counted("a b"), counted("c d"), known["c d"]] == [99, count("c d"), count("c d")]
    known["c d"] = 77
    assert counted("c d") == 77


LINES = (
    "The boats came in.",
    "src/app/main.py:12",
    "  indented",
    "<td>7</td>",
    "[3 of 9 lines]",
    "",
    "…",
    "潮が引いた。",
    "x" * 700,
)


@given(st.lists(st.lists(st.sampled_from(LINES), min_size=1, max_size=80), max_size=6))
def test_texts_with_lines_in_common_are_counted_as_each_by_itself(texts: list[list[str]]) -> None:
    counted = count_once({})
    for text in map("\n".join, texts):
        assert counted(text) == count(text)


def test_another_counter_is_asked_for_whole_texts() -> None:
    text = "A line.\n" * 200
    assert [count_once({}, len)(text), count_once({text: 9})(text)] == [len(text), 9]


TAIL = "The boats came in. " * 30  # 570 characters


@each(
    ("tail", "front", "known"),
    [
        (TAIL, "A head.\n", True),
        (TAIL[:500], "A head.\n", True),
        (TAIL[:499], "A head.\n", False),
        (f"<{TAIL}", "\n\n", True),
        (f"[{TAIL}", "\n", True),
        (f" {TAIL}", "A head.\n", False),
        (f"1{TAIL}", "A head.\n", False),
        (TAIL, "A head. ", False),
        (TAIL, f"{' ' * 4100}\n", False),
    ],
)
def test_of_a_text_with_a_counted_end_only_the_beginning_is_counted(tail: str, front: str, known: bool) -> None:
    """A false count shows that it is used."""
    memo, weights = Memo(), list[int]()

    class Noting(Memo):
        def put(self, key, value, weigh):  # type: ignore[no-untyped-def]
            weights.append(weigh(value))
            memo.put(key, value, weigh)

    count_tail(tail, {"o200k_base": 7777}, Noting())
    assert count_with_tail(front + tail, memo) == (7777 + count(front) if known else count(front + tail))
    assert weights == ([200 + len(tail)] if memo.find(("tails",)) else [])
    assert count_with_tail(f"{front}x{tail[1:]}", memo) == count(f"{front}x{tail[1:]}")
    assert count_with_tail(f"{front}{tail}.", memo) == count(f"{front}{tail}.")
    assert count_with_tail(front + tail, memo, "cl100k_base") == count(front + tail, "cl100k_base")  # of that nothing is known


def test_a_counted_end_is_known_beside_those_of_seven_other_requests() -> None:
    """However many others there have been, no more are held."""
    memo = Memo()
    tails = [TAIL.replace("boats", f"boats of {number}") for number in range(9)]
    for tail in tails:
        count_tail(tail, {"o200k_base": 7777}, memo)
    used = [count_with_tail(f"A head.\n{tail}", memo) == 7777 + count("A head.\n") for tail in tails]
    assert used == [False] + 8 * [True]


def test_a_line_is_counted_alone_up_to_two_thousand_characters() -> None:
    line = "<x" + "y" * 1998
    assert count_line(line, BORDER_COUNTER) == (count(line),)
    assert count_line(f"{line}y", BORDER_COUNTER) is None
    assert count_line(f"One.\n{line[1:]}", BORDER_COUNTER) == (count("One.\n") + count(line[1:]),)
    assert count_line("One.\n", ModelCounter(None)) == (count("One.\n"), count("One.\n", "cl100k_base"))


SCRAPS = [
    *(
        "Hey",
        "Tim:",
        "iPhone",
        "don't",
        "it's",
        "THE",
        " I",
        " the",
        " x",
        "x",
        "A",
        "3",
        " 's",
        "ÄÖ",
        "naïve",
        "e\u0301",
        "\u0301",
    ),
    *(" ", "  ", "\t", "\u00a0", "\n", ".", "!", "?", "...", ",", "-", ":", "]", '"', ")", ";", "’", "user:"),
]


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_a_labelled_line_is_counted_from_its_text(name: EncodingName) -> None:
    draw, counter, told = random.Random(7), ModelCounter(name), 0
    texts = ["".join(draw.choices(SCRAPS, k=draw.randint(1, 9))) for _ in range(6000)]
    for text in [*texts, *(f"Tim: {text} park." for text in texts)]:
        for label in ("user", "assistant"):
            found = count_labelled(label, text, count(text, name), counter)
            if found is not None:
                told += 1
                assert found == (count(f"{label}: {text}\n", name),), text
    assert told > 8000
    assert count_labelled("user", "Hey you", 2, ModelCounter(None)) is None
    assert count_labelled("7", "Hey you", 2, counter) is None
    for size in (2000, 2001):
        text = f"Hey {'you ' * 500}"[: size - 4] + "park"
        whole = (count(f"user: {text}\n", name),)
        assert count_labelled("user", text, count(text, name), counter) == (whole if size == 2000 else None)
