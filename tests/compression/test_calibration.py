"""What is learned of an upstream: bounded, robust, and dropped when it is shown to be wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.cases import each
from turnfold.compression.calibration import (
    Learned,
    is_evident,
    is_truncated,
    learn_from_refusal,
    learn_from_usage,
    longest,
    snap_ratio,
)


def learned(*reports: tuple[int, int]) -> Learned:
    known = Learned()
    for ours, reported in reports:
        known = learn_from_usage(known, ours, reported)
    return known


def test_nothing_is_known_at_first() -> None:
    known = Learned()
    assert known.ratio == 1.0
    assert known.window(10**9) is None
    assert known.may_overflow(5000)


def test_the_ratio_is_the_median_of_the_last_reports() -> None:
    known = learned((1000, 1300), (1000, 1310), (1000, 4900), (1000, 1290), (1000, 1305))
    assert known.ratio == 1.305
    assert known.theirs(2000) == 2610


def test_small_requests_and_missing_reports_say_nothing_of_the_ratio() -> None:
    assert learned((50, 200), (1000, 0), (1000, -5)).ratios == ()


@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(-5, 10**8)), max_size=30))
def test_the_ratio_stays_within_bounds(reports: list[tuple[int, int]]) -> None:
    known = learned(*reports)
    assert 0.4 <= known.ratio <= 5.0
    assert len(known.ratios) <= 9
    assert len(known.quiet) <= 9


@given(st.lists(st.floats(1.2, 1.4), min_size=5, max_size=5), st.lists(st.floats(0.5, 5.0), min_size=4, max_size=4))
def test_four_wrong_reports_in_nine_do_not_move_it(right: list[float], wrong: list[float]) -> None:
    known = learned(*((1000, round(1000 * r)) for r in [*wrong, *right]))
    assert 1.19 <= known.ratio <= 1.41


def test_a_named_limit_is_the_window_until_more_is_taken() -> None:
    known = learn_from_refusal(learned((1000, 1200)), 8192, 9000)
    assert known.window(5000) == 8192
    assert not known.may_overflow(5000)
    assert known.may_overflow(8000)
    assert learn_from_usage(known, 8000, 9000).window(5000) is None


def test_without_a_limit_what_failed_is_not_sent_again() -> None:
    known = learn_from_refusal(learned((4000, 4000)), None, 9000)
    assert known.window(8099) is None
    assert known.window(8100) == known.window(9000) == 4500, "so close to it, it would be refused too"
    assert learn_from_usage(known, 8800, 8800).window(8800) is None, "as much was taken"
    assert known.window(9000) == 4500
    assert learn_from_refusal(known, None, 8000).fails == 8000
    assert learn_from_usage(known, 9500, 9500).window(9500) is None


def test_a_known_ratio_tells_a_truncated_prompt_at_once() -> None:
    known = learned(*[(2000, 2800)] * 5)
    assert is_truncated(known, 10_000, 10_000)
    assert not is_truncated(known, 10_000, 11_000)
    assert not is_truncated(Learned(), 10_000, 6000)
    cut = learn_from_usage(learn_from_usage(known, 10_000, 10_000), 12_000, 10_100)
    assert cut.window(10_000) is None
    cut = learn_from_usage(cut, 12_000, 10_050)
    assert cut.ratio == known.ratio
    assert cut.window(10_000) == 10_100
    assert learn_from_usage(cut, 9000, 12_000).window(10_000) is None


def test_a_ratio_that_changed_for_good_is_taken_over() -> None:
    known = learned(*[(2000, 2800)] * 5, *[(2000 + 300 * i, 1200 + 180 * i) for i in range(9)])
    assert known.ratio == 0.6
    assert (known.planned or snap_ratio(known.ratio)) == snap_ratio(known.ratio)  # rooms are planned by it at once
    assert known.window(10**6) is None


def test_an_unknown_ratio_needs_reports_that_stand_still_while_requests_grow() -> None:
    once = learned((10_000, 4000))
    assert once.window(10_000) is None
    assert learned((10_000, 4000), (11_000, 3950), (12_000, 4080)).window(12_000) == 4080
    # What is sent has hardly grown.
    assert learned((10_000, 4000), (10_200, 3950), (10_400, 4010)).window(12_000) is None
    # A vocabulary that is twice as good on this text: reports grow with what is sent.
    assert learned((10_000, 4000), (11_000, 4400), (12_000, 4800)).window(12_000) is None
    # A server that reports only what its cache did not hold.
    assert learned(*[(10_000 + 500 * i, 150) for i in range(9)]).window(15_000) is None


def test_a_growing_chat_shows_a_server_that_truncates() -> None:
    """Each report is only a little too short: neither does the ratio sink along, nor is the window missed."""
    known, window = Learned(), 3000
    for ours in range(400, 8000, 190):
        known = learn_from_usage(known, ours, min(ours, window))
    assert known.ratio > 0.9
    assert known.window(8000) == window
    assert learn_from_usage(known, 8000, 7900).window(8000) is None


@pytest.mark.parametrize("published", [None, 128_000])
def test_a_server_that_drops_whole_messages_is_noticed(published: int | None) -> None:
    """What is left of a chat of uneven messages differs by more than a tenth from turn to turn."""
    random, window, known, sizes = Random(1), 4096, Learned(), list[int]()
    for _ in range(60):
        sizes.append(random.choice([100, 2000]))
        kept = next(n for n in range(len(sizes) + 1) if sum(sizes[n:]) <= window)
        known = learn_from_usage(known, sum(sizes), sum(sizes[kept:]))
        assert known.ratio > 0.9
        found = known.window(sum(sizes), published)
        if found != published:
            break
    assert found is not None
    assert 0.8 * window < found <= window


@each("seed", range(6))
def test_a_report_a_little_above_a_window_does_not_undo_it(seed: int) -> None:
    """A server that drops whole messages reports a little more one time and a little less another."""
    random, window, known, cut = Random(seed), 1500, Learned(), 0
    for turn in range(120):
        ours = 300 + 260 * (turn + 1)
        believed = known.window(known.theirs(ours))
        sent = min(ours, believed - random.randrange(believed // 10)) if believed else ours
        cut += sent > window
        known = learn_from_usage(known, sent, sent if sent <= window else window - random.randrange(400))
    assert cut <= 20


def test_the_very_same_figure_shows_a_window_before_the_chat_has_grown_much() -> None:
    known = learned((2000, 2000), *[(ours, min(ours, 30_000)) for ours in range(29_900, 31_600, 200)])
    assert known.window(40_000) == 30_000
    assert learned((30_000, 30_000), *[(30_000, 30_000)] * 5).window(40_000) is None


@each("seed", range(8))
def test_a_folded_chat_shows_a_server_that_truncates(seed: int) -> None:
    """What is sent grows and shrinks around the window, and is never much longer than it was when it was first cut off."""
    random, window, known, own, sent, cut = Random(seed), 4000, Learned(), (0, 0), 700, 0
    for _ in range(60):
        if known.window(known.theirs(sent)) is not None:
            break
        cut += sent > window
        reported = min(sent, window - 1)
        known, own = learn_from_usage(known, sent, reported, own), longest(own, sent, reported)
        sent = sent + random.randrange(500, 1300) if sent < 4400 else random.randrange(2600, 3700)
    assert known.window(6000) == window - 1
    assert cut <= 6


def test_text_that_takes_fewer_tokens_is_no_evidence_of_a_cut() -> None:
    """A table took more than prose does: a longer prompt has no more of theirs. One as short as that would have to be cut off."""
    known = learned((500, 480), (900, 860), (1300, 1240), (1700, 1625), (2010, 2240))
    assert known.top == (2010, 2240)
    for ours, reported, evident in ((2380, 2285, False), (2700, 2285, True)):
        assert is_truncated(known, ours, reported)
        assert is_evident(known, ours, reported) == evident


def test_one_size_that_comes_again_is_no_window() -> None:
    """Nor are sizes that hardly differ: two prompts may have the same figure then."""
    known = learned((5000, 5200), *[(ours, 5200) for ours in (4900, 5000, 5100, 4950, 5050)])
    assert known.belief is None


def test_reports_of_what_a_cache_did_not_hold_are_no_window() -> None:
    steady = learned((5000, 5000), *[(5000 + 1500 * turn, 1500) for turn in range(1, 30)])
    assert steady.window(60_000) is None
    random, ours, known = Random(2), 4000, learned((4000, 4000))
    for _ in range(100):
        new = random.randrange(3000, 9000)
        ours += new + 200
        known = learn_from_usage(known, ours, new)
        assert known.window(ours) is None


@pytest.mark.parametrize(("more", "window"), [(499, 1010), (500, None)])
def test_a_report_of_up_to_twice_what_was_new_may_be_a_caches(more: int, window: int | None) -> None:
    quiet = ((8490, 1000), (8980, 1010), (8980 + more, 1000))
    assert Learned(quiet=quiet, top=(7000, 7000)).cut_at == window


def test_chats_that_count_differently_do_not_overrule_what_is_published() -> None:
    """One of code reported 70,000 for our 50,000; one of prose, a little longer each time, reports less for more."""
    chats = learned((50_000, 70_000), *[(80_000 + 100 * i, 64_000 + 10 * i) for i in range(6)])
    assert chats.window(90_000, 200_000) == 200_000


def test_a_chat_in_a_cheaper_language_is_no_truncation() -> None:
    known = Learned()
    for ours in range(400, 8000, 190):
        known = learn_from_usage(known, ours, ours if ours < 4000 else int(0.8 * ours))
    assert known.window(9000) is None


def test_a_claim_below_what_is_published_or_was_taken_needs_a_second_witness() -> None:
    once = learn_from_refusal(Learned(), 1000, 9000)
    assert once.window(9000, 128_000) == 128_000
    assert learn_from_refusal(once, 1000, 9000).window(9000, 128_000) == 1000
    taken = learn_from_refusal(learned((5000, 5000)), 1000, 9000)
    assert taken.window(9000) is None
    assert learn_from_refusal(taken, 1010, 9000).window(9000) == 1010
    assert once.window(9000) == 1000
    assert replace(once, trusted=False).window(9000) is None


def test_a_pool_is_served_by_what_takes_most() -> None:
    """Of five upstreams behind one name one has a window of 4,000, and the others of 16,000."""
    known = Learned()
    for turn in range(40):
        known = learn_from_refusal(known, 4000, 9000) if turn % 5 == 0 else learn_from_usage(known, 9000, 9000)
        if turn > 5:
            assert known.window(9000) is None
    for _ in range(6):
        known = learn_from_refusal(known, 4000, 9000)
    assert known.window(9000) == 4000


@pytest.mark.parametrize("chats", [2, 5])
def test_chats_in_several_scripts_are_no_truncation(chats: int) -> None:
    """Each is counted in a ratio of its own; the longest report of each tells it from a server that cuts off."""
    for seed in range(30):
        random, known, own = Random(seed), Learned(), dict[int, tuple[int, int]]()
        ratios, sizes = [random.choice([0.55, 0.7, 0.9, 1.1, 1.4]) for _ in range(chats)], [300] * chats
        for _ in range(120):
            chat = random.randrange(chats)
            sizes[chat] += random.randrange(50, 900)
            reported = int(sizes[chat] * ratios[chat] * random.uniform(0.98, 1.02))
            known = learn_from_usage(known, sizes[chat], reported, own.get(chat, (0, 0)))
            own[chat] = longest(own.get(chat, (0, 0)), sizes[chat], reported)
            assert known.belief is None


@each(("chats", "window"), product([1, 3], [3000, 12_000]))
def test_a_server_that_truncates_several_chats_is_noticed(chats: int, window: int) -> None:
    random, known, own, sizes = Random(3), Learned(), dict[int, tuple[int, int]](), [300] * chats
    for _ in range(200):
        chat = random.randrange(chats)
        sizes[chat] += random.randrange(50, 900)
        reported = min(sizes[chat], window)
        known = learn_from_usage(known, sizes[chat], reported, own.get(chat, (0, 0)))
        own[chat] = longest(own.get(chat, (0, 0)), sizes[chat], reported)
    assert known.belief is not None
    assert known.belief.window == window
    assert max(sizes) > 2 * window


@given(st.integers(1000, 10**5), st.lists(st.integers(1, 2 * 10**5), max_size=30), st.integers(0, 30))
def test_a_figure_reported_whatever_is_sent_is_no_window(figure: int, sizes: list[int], when: int) -> None:
    """Gateways and test servers with a fixed usage: one prompt that cannot be so long tells, before or after the long ones."""
    known = learned(*((ours, figure) for ours in [*sizes[:when], 60, *sizes[when:]]))
    assert known.belief is None
    assert not is_truncated(known, 10**6, figure)


def test_a_window_below_a_hidden_system_prompt_is_still_noticed() -> None:
    """A prompt of the server's own makes short reports longer, but never the same for all."""
    hidden, window = 900, 4096
    known = learned(*((ours, min(ours + hidden, window)) for ours in (60, 400, 2000, 6000, 9000, 13_000, 14_000)))
    assert known.cut_at == window


def test_what_an_upstream_adds_to_short_prompts_is_not_expected_to_grow_with_long_ones() -> None:
    """Instructions of its own, or a file that lies there: each of nine short questions has a report fourteen times as long."""
    known = learned(*((300 + i, 4300 + i) for i in range(9)))
    assert (known.ratio, known.theirs(300), known.theirs(30_000)) == (5.0, 1500, 34_000)
    known = learn_from_usage(known, 30_000, 34_000)
    assert (known.quiet, known.top) == ((), (30_000, 34_000))
    assert [known.theirs(ours) for ours in (20_000, 30_000, 60_000)] == [34_000, 34_000, 64_000]


@each("ratio", [0.6, 1.0, 1.3, 1.6, 1.99])
def test_a_vocabulary_counts_long_prompts_as_it_counts_short_ones(ratio: float) -> None:
    known = learned(*((300 + i, round(ratio * (300 + i))) for i in range(9)))
    assert known.theirs(30_000) == pytest.approx(30_000 * ratio, rel=0.01)


def test_a_figure_far_too_small_says_nothing_of_the_ratio() -> None:
    assert learned(*((ours, 10) for ours in (400, 900, 4000, 20_000))).ratio == 1.0
    assert learned((1000, 350), (1000, 350)).ratio == 0.4


@each(("limit", "claims"), [(1000, 2), (1050, 2), (1051, 1), (950, 2), (949, 1)])
def test_a_limit_that_is_named_a_twentieth_off_is_the_same_claim(limit: int, claims: int) -> None:
    assert learn_from_refusal(Learned(limit=1000, claims=1), limit, None).claims == claims


def test_reports_that_stand_still_tell_from_a_thousand_tokens_on() -> None:
    """Smaller ones are of what a cache did not hold."""
    assert [is_truncated(Learned(top=(10_000, told)), 12_000, told - 10) for told in (999, 1000)] == [False, True]
