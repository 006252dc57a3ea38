"""Prose at FACTS: whole sentences in order, blocks whole or gone, orders kept, never longer, linear."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.cases import each
from tests.support.growth import assert_linear
from turnfold.compression.shorten.prose import join, shorten
from turnfold.compression.text.dialogue.standing.orders import standing_orders
from turnfold.compression.text.protect import BLOCK_KINDS
from turnfold.compression.text.sentences import sentences
from turnfold.compression.text.statements import statements
from turnfold.compression.tokens import count

STORY = (
    "Thanks for joining. The payment service failed on March 5, 2024 because the cache held a stale key. It was a strange day. "
    "Kim Lee restarted pool-b at 09:12. We talked about lunch for a while. The weather was nice too. "
    "We decided to pin the image digest v2.4.1 for all workers. Somebody told a joke. The success rate is back at 99.9%. "
    "It all felt better afterwards. People went home. Nothing else happened that evening."
)
FENCE = "```py\nx = 1\n\ny = 2\n```"


def test_facts_stay_and_chatter_goes() -> None:
    short = shorten(STORY, 75, role="assistant", count=count)
    assert count(short) <= 80
    for fact in ("March 5, 2024", "pool-b", "v2.4.1"):
        assert fact in short
    assert "joke" not in short
    assert " …" in short


def test_words_of_the_conversation_bend_the_choice() -> None:
    plain = shorten(STORY, 32, role="assistant", count=count)
    bent = shorten(STORY, 32, role="assistant", words=frozenset({"weather", "nice"}), count=count)
    assert "weather" not in plain
    assert "weather" in bent


@pytest.mark.parametrize(("size", "stays"), [(400, True), (401, False)])
def test_a_short_word_of_a_users_beside_a_pasted_text_stays(size: int, stays: bool) -> None:
    own = f"It is about the boat{' and the boat' * 60}"[: size - 3] + "."  # and the blank line behind it
    assert (own in shorten(f"{own}\n\n{STORY} {STORY}", 20, role="user", count=count)) is stays


def test_standing_orders_of_users_stay_at_any_budget() -> None:
    text = STORY + " From now on, answer in French. " + STORY.replace("Kim", "Ann") + " Never deploy on Fridays."
    short = shorten(text, 5, role="user", count=count)
    assert "From now on, answer in French." in short
    assert "Never deploy on Fridays." in short
    assert "From now on" not in shorten(text, 12, role="assistant", count=count)


def test_a_short_text_is_left_alone() -> None:
    assert shorten("Ok. Fine.", 10, role="user", count=count) == "Ok. Fine."


@each("keep", [10, 30, 60, 90])
def test_a_fence_is_whole_or_gone(keep: int) -> None:
    text = STORY + "\n\n" + FENCE + "\n\n" + STORY.replace("Kim", "Ann")
    short = shorten(text, keep, role="assistant", count=count)
    assert FENCE in short or "```" not in short
    # What stands behind a kept fence is outside of it.
    assert "```" not in short or [s.kind for s in sentences(short)].count("fence") == 1


def test_headings_come_with_what_is_under_them() -> None:
    text = "# Outage\n\n" + STORY + "\n\n# Lunch\n\nIt was nice. We had soup. The soup was hot."
    short = shorten(text, 60, role="assistant", count=count)
    assert "# Outage\n" in short


BLOCKS = [FENCE, "| a | b |\n|---|---|\n| 1 | 2 |", '{"a": [1, 2]}', "# Title"]
pieces = st.sampled_from([*STORY.split(". "), *BLOCKS, "Always be brief.", "好的。", "v1.2.3", "", "  "])
texts = st.lists(st.tuples(pieces, st.sampled_from([". ", "\n", "\n\n"])), max_size=25).map(
    lambda parts: "".join(a + b for a, b in parts)
)


#: A fence as far as its first line with something in it.
_HEAD = re.compile(r"```[^\n]*\n\s*[^\s][^\n]*")


#: A fence that opens in a line of prose, of which its last lines are quoted right behind a sentence.
BROKEN_FENCE = (
    "Thanks for joining. " * 3
    + "Kim Lee restarted pool-b at 09:12. Nothing else happened that evening.. Thanks for joining. ```py\nx = 1\n\ny = 2\n```. "
)


def _is_closed(fence: str) -> bool:
    lines = fence.split("\n")
    return len(lines) > 1 and lines[-1].strip() == "```"


@given(texts, st.integers(1, 120), st.sampled_from(["user", "assistant", "tool"]))
@example(BROKEN_FENCE, 25, "user")
def test_what_is_left_is_shorter_and_made_of_the_texts_own_sentences(text: str, keep: int, role: str) -> None:
    short = shorten(text, keep, role=role, count=count)
    assert count(short) <= count(text)
    assert short == shorten(text, keep, role=role, count=count)
    # Nothing but the text's own sentences, in their order.
    at = 0
    flat = short.replace("…", "\n\n")  # a paragraph's end: what a single line break parts may read on
    for piece in (s.of(flat) for s in sentences(flat)):
        body = piece.strip()
        assert text.find(body, at) >= 0 or not body
        at = max(at, text.find(body, at))
    if role == "user":
        assert all(span.of(text).strip() in short for span in standing_orders(text))
    whole = {s.of(text) for s in sentences(text) if s.kind in BLOCK_KINDS}
    fences = [s.of(text).strip() for s in sentences(text) if s.kind == "fence"]
    for fence in fences:
        head = _HEAD.match(fence)
        if head and f"\n{head[0]}" in f"\n{short}":
            assert any(one in short for one in fences if one.startswith(head[0]))
    # Where one ends that nobody closed is told by what follows it, and in the short text something else does.
    guessed = not all(map(_is_closed, fences))
    for block in sentences(short):
        if block.kind in {"table", "json"} or (block.kind == "fence" and not guessed):
            assert any(block.of(short).strip() in w for w in whole)


LONG_TITLE = "# Title. " + "Thanks for joining. " * 9 + FENCE + ". "  # a heading of 42 tokens, and the fence opens in its line


@given(texts)
@example(LONG_TITLE)
def test_the_budget_is_kept_where_no_order_forbids_it(text: str) -> None:
    keep = 40
    short = shorten(text, keep, role="assistant", count=count)
    if count(short) > keep + 8:
        # The least that can be kept is one statement with all that it needs, or the text where that would be no shorter.
        read = statements(text)
        least = [join(text, read.spans, read.with_needs(i)) for i in range(len(read.spans))]
        assert short in least or (short == text and max(map(count, least)) >= count(text))


def test_long_text_takes_linear_time() -> None:
    def story(times: int) -> str:
        return " ".join(STORY.replace("Kim", f"Kim{i}") for i in range(times))

    count("warm")
    assert_linear(lambda text: shorten(text, 100, role="assistant", count=count), story, 15)


def test_a_gap_is_marked_in_its_line_and_between_lines() -> None:
    text = "Anna came. It rained. Bert went.\nThe sun rose.\nCarl slept."
    spans = sentences(text)
    assert join(text, spans, {0, 2, 4}) == "Anna came. … Bert went. …\nCarl slept."
    assert join(text, spans, {2}) == "… Bert went. …"
