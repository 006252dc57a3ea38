"""What is believed of a cache follows what was seen of it: by the time between requests, and more from newer ones."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.options import CachePrices, Warmth
from turnfold.compression.warmth import TIMES, WarmthCounts, belief, is_cold_after, merge, observe, usual_warmth

STRONG, WEAK = CachePrices(0.1, 1.25), CachePrices(0.5, 1.0)
Seen = tuple[float, bool, bool]
SEEN = st.lists(st.tuples(st.floats(0, 10_000), st.booleans(), st.booleans()), max_size=60)


def counts_of(seen: list[Seen]) -> WarmthCounts:
    counts = WarmthCounts()
    for elapsed, loop, warm in seen:
        counts = observe(counts, elapsed, loop=loop, warm=warm)
    return counts


def test_before_anything_was_seen_a_strong_cache_and_a_tool_loop_are_warm() -> None:
    assert belief(WarmthCounts(), usual_warmth(STRONG)) == Warmth(1.0, 1.0)
    weak = belief(WarmthCounts(), usual_warmth(WEAK))
    assert weak.turns < 0.8
    assert weak.loops == 1.0


@each(("share", "prices"), product([0.0, 0.3, 0.7, 1.0], [STRONG, WEAK]))
def test_forty_requests_are_enough_to_tell(share: float, prices: CachePrices) -> None:
    seen = [(5.0, False, i * share % 1 + share >= 1) for i in range(40)]
    assert belief(counts_of(seen), usual_warmth(prices)).turns == pytest.approx(share, abs=0.11)


def test_a_cache_of_five_minutes_is_warm_for_a_tool_loop_and_cold_for_a_person_who_thinks() -> None:
    seen: list[Seen] = [(4.0, True, True), (5.0, True, True), (900.0, False, False)] * 20
    found = belief(counts_of(seen), usual_warmth(STRONG))
    assert found.loops >= 0.9
    assert found.turns <= 0.3


@pytest.mark.parametrize("prices", [STRONG, WEAK])
def test_of_people_who_were_not_seen_yet_no_more_is_believed_than_loops_show(prices: CachePrices) -> None:
    found = belief(counts_of([(5.0, True, i % 5 < 2) for i in range(200)]), usual_warmth(prices))
    assert found.turns <= found.loops <= 0.5


def test_the_same_pause_says_the_same_whoever_made_it() -> None:
    """Nobody has seen a loop that pauses long, yet one that would is known to find the cache cold."""
    seen: list[Seen] = [(2000.0, False, False)] * 30 + [(2000.0, True, False)]
    found = belief(counts_of(seen), usual_warmth(WEAK))
    assert found.turns < 0.2
    assert found.loops < 1.0


@each(
    ("seen", "after", "is_cold"),
    [
        ([400.0] * 3, 400.0, True),
        ([400.0] * 3, 90_000.0, True),  # a longer rest makes no cache warmer
        ([90_000.0] * 3, 400.0, False),
        ([400.0] * 2, 400.0, False),
        ([30.0] * 9, 30.0, False),  # nobody was away: chance, or another machine
        ([], 90_000.0, False),
    ],
)
def test_a_rest_is_known_to_be_cold_where_three_as_long_were(seen: list[float], after: float, is_cold: bool) -> None:
    counts = counts_of([(elapsed, False, False) for elapsed in seen])
    assert is_cold_after(counts, after) is is_cold
    warm = observe(counts, 90_000.0, loop=False, warm=True)
    assert is_cold_after(observe(warm, 400.0, loop=False, warm=True), after) is False


def test_what_changes_is_learned_anew() -> None:
    old: list[Seen] = [(5.0, False, True)] * 2000
    assert belief(counts_of(old + [(5.0, False, False)] * 800), usual_warmth(STRONG)).turns <= 0.2


@given(SEEN, SEEN)
def test_what_two_processes_saw_is_nearly_what_one_would_have_seen(first: list[Seen], second: list[Seen]) -> None:
    apart = belief(merge(counts_of(first), counts_of(second)), usual_warmth(WEAK))
    one = belief(counts_of(first + second), usual_warmth(WEAK))
    assert apart.turns == pytest.approx(one.turns, abs=0.06)
    assert apart.loops == pytest.approx(one.loops, abs=0.06)


@given(SEEN)
def test_counts_are_shares_of_each_other_and_come_back_from_the_store(seen: list[Seen]) -> None:
    counts = counts_of(seen)
    assert all(w <= t + n + 1e-9 for w, t, n in zip(counts.warm, counts.turns, counts.loops, strict=True))
    assert WarmthCounts.from_json(counts.to_json()) == counts
    found = belief(counts, usual_warmth(STRONG))
    assert 0 <= found.turns <= 1
    assert 0 <= found.loops <= 1


def test_counts_of_another_form_are_refused() -> None:
    with pytest.raises(ValueError, match="classes"):
        WarmthCounts.from_json({"turns": [1.0] * len(TIMES), "loops": [0.0] * 5, "warm": [0.0] * 5})
