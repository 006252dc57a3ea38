"""The middle of a text goes; head and tail stay as they are, and nothing is parted that belongs together."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.effort import draws
from tests.support.growth import assert_linear, repeated
from turnfold.compression import tokens
from turnfold.compression.fit.middle import cut_middle

NOTE = re.compile(r"\[\.\.\. \d+ tokens left out \.\.\.\]")


def cut(text: str, cap: int) -> str:
    return cut_middle(text, cap, tokens.count(text))


def test_a_text_that_fits_is_itself() -> None:
    assert cut("a short text ", 16) == "a short text "


def test_head_and_tail_are_kept_word_for_word() -> None:
    text = "\n".join(f"line {i}: value {i * 7}" for i in range(2000))
    short = cut(text, 400)
    head, tail = NOTE.split(short)
    assert tokens.count(short) <= 400
    assert text.startswith(head.rstrip())
    assert text.endswith(tail.lstrip())
    assert tokens.count(head) > 120
    assert tokens.count(tail) > 120
    assert all(re.fullmatch(r"line \d+: value \d+", line) for line in (head + tail).split("\n") if line)


def test_the_note_says_how_much_is_missing() -> None:
    text = "word " * 5000
    short = cut(text, 500)
    missing = int(re.search(r"\d+", NOTE.search(short)[0])[0])  # type: ignore[index]
    assert abs(missing + tokens.count(short) - tokens.count(text)) < 40


def test_urls_and_numbers_are_not_parted() -> None:
    text = " ".join(f"https://example.org/path/{i}?q=1,234.{i}" for i in range(800))
    kept = NOTE.sub(" ", cut(text, 300)).split()
    assert set(kept) <= set(text.split())


def test_protected_spans_are_whole_or_gone() -> None:
    code = [f"`call with {i} blanks`" for i in range(900)]
    short = cut(" ".join(f"Then use {span} or so." for span in code), 300)
    assert short.count("`") % 2 == 0
    kept = re.findall(r"`[^`]*`", short)
    assert len(kept) > 20
    assert set(kept) <= set(code)


def test_an_open_fence_is_closed() -> None:
    text = "Look:\n```python\n" + "\n".join(f"x_{i} = {i}" for i in range(900)) + "\n```\n" + "And then prose. " * 400
    short = cut(text, 300)
    head, _, tail = short.partition("[...")
    assert head.count("```") % 2 == 0
    assert tail.count("```") % 2 == 0


def test_inside_one_fence_the_fence_stays_one() -> None:
    text = "```\n" + "\n".join(f"row {i}" for i in range(3000)) + "\n```"
    assert cut(text, 200).count("```") == 2


def test_letters_keep_their_accents_and_emoji_their_parts() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    short = cut(family * 3000, 200)
    assert NOTE.sub("\n", short).replace("\n", "").replace(family, "") == ""


@each("unit", ["字", "x", "\n", " a", "```\n", "1,2;"])
def test_odd_texts_are_cut_in_linear_time(unit: str) -> None:
    assert tokens.count(cut(repeated(unit)(30_000), 256)) <= 256
    assert_linear(lambda text: cut(text, 256), repeated(unit), 6000)


@draws(12)
@given(st.text(max_size=400), st.integers(1, 60), st.integers(32, 200))
def test_any_text_comes_down_to_its_cap(text: str, times: int, cap: int) -> None:
    whole = text * times
    short = cut(whole, cap)
    assert tokens.count(short) <= cap
    assert short == whole or NOTE.search(short)
    assert short == cut(whole, cap)


def test_a_text_of_just_the_size_stays() -> None:
    text = "word" + " word" * 299
    count = tokens.count(text)
    assert cut_middle(text, count, count) == text
    assert cut_middle(text, count - 1, count) != text
