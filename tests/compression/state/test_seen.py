"""The longest run of messages that a record has seen.

These tests cover its definition tried out on short sequences, its growth. They leave out what becomes of messages
(``test_labelled.py``).
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.effort import draws
from tests.support.growth import assert_linear
from turnfold.compression.state.seen import Run, longest_run, message_key, resumed_at, seen_run

FEW = st.lists(st.sampled_from(["a", "b", "c"]), max_size=9)


def by_definition(seen: list[str], keys: list[str]) -> tuple[int, int, int]:
    """Length, first key, place: the longest, of several the last in the keys, then the last in what was seen."""
    return max(
        (
            (size, start, at)
            for start in range(len(keys))
            for at in range(len(seen))
            for size in range(1, min(len(keys) - start, len(seen) - at) + 1)
            if keys[start : start + size] == seen[at : at + size]
        ),
        default=(0, 0, 0),
    )


@draws(12)
@given(FEW, FEW)
def test_it_is_the_longest(seen: list[str], keys: list[str]) -> None:
    run = longest_run(seen, keys)
    assert run.length == by_definition(seen, keys)[0]
    assert keys[run.start : run.end] == seen[run.at : run.at + run.length]


@given(FEW, FEW)
def test_a_history_that_grew_is_seen_up_to_what_it_grew_by(seen: list[str], more: list[str]) -> None:
    assert longest_run(seen, [*seen, *more]) == (Run(0, len(seen), 0) if seen else Run())


def keys_of(text: str) -> list[bytes]:
    return [char.encode() for char in text]


def test_the_last_message_is_a_repeat_only_beyond_doubt() -> None:
    seen = keys_of("abcda")
    assert seen_run(seen, keys_of("a")) == Run(0, 1, 4)  # the newest request, sent again
    assert seen_run(seen, keys_of("b")) == Run()  # a client that sends its newest message only, saying it once more
    assert seen_run(seen, keys_of("xb")) == Run()
    assert seen_run(seen, keys_of("cda")) == Run(0, 3, 2)
    assert seen_run(seen, keys_of("abc")) == Run(0, 3, 0)  # a history that was cut
    assert seen_run(seen, keys_of("xbc")) == Run(1, 2, 1)
    assert seen_run(seen, keys_of("dab")) == Run(0, 2, 3)
    assert seen_run(seen, keys_of("ab")) == Run(0, 1, 4)  # "a" is the newest that was seen, so "b" is said again
    assert seen_run([], keys_of("a")) == seen_run(seen, []) == Run()


def test_new_messages_stand_behind_all_that_was_seen() -> None:
    seen = keys_of("abcdef")
    for sent, expected in (("abcdefgh", 6), ("abxdefg", 6), ("abcxfg", 5), ("abcxf", 3), ("abcxdyz", 5), ("xyz", 0), ("def", 3)):
        keys = keys_of(sent)
        assert resumed_at(seen, keys, seen_run(seen, keys)) == expected


def test_digests_are_blind_to_outer_white_space_only() -> None:
    assert message_key("\n use docker ", whole=True) == message_key("use docker", whole=True)
    assert len({message_key(text, whole=whole) for text in ("use docker", "Use docker") for whole in (True, False)}) == 4


def test_it_takes_linear_time() -> None:
    # All alike, all different, and what makes automata large.
    assert_linear(lambda size: longest_run(["a"] * size + ["b"], ["c"] + ["a"] * size), lambda size: size, 500)
    assert_linear(lambda size: longest_run(list(range(size)), list(range(1, size))), lambda size: size, 500)
    assert_linear(lambda size: longest_run(["a", "b", "b"] * size, ["a", "b"] * size + ["b", "a"]), lambda size: size, 200)
