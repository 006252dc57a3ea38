"""What a tail keeps and what recall may take: by prices, and by what kind of conversation it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from tests.support.bodies import encode
from tests.support.cases import each
from tests.support.known_folds import fold_request
from tests.support.words import prose
from turnfold.compression.fold.policy import Shape, most_recall_tokens, pays, recall_tokens, talk, thresholds
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldOptions, Warmth

NONE, WEAK, STRONG = CachePrices(1.0, 1.0), CachePrices(0.5, 1.0), CachePrices(0.1, 1.0)
CHAT, LONG_TURNS = Shape(60, 0.0, 0.9), Shape(500, 0.0, 0.9)
AGENT, CLERK = Shape(60, 0.9, 0.5, lines=0.5), Shape(300, 0.5, 0.6, lines=0.0)  # one works on files, the other on records
WARMTH = Warmth(0.7, 0.7)
MEMO = Memo()


def options(prices: CachePrices) -> FoldOptions:
    return FoldOptions(model="gpt-4o", prices=prices)


@each(("shape", "expected"), [(CHAT, 1.0), (LONG_TURNS, 0.0), (AGENT, 0.0), (Shape(150, 0.0, 0.9), 0.5)])
def test_talk_is_short_turns_without_tools(shape: Shape, expected: float) -> None:
    assert talk(shape) == pytest.approx(expected)


def test_talk_becomes_less_with_each_token_and_each_tool_call() -> None:
    paces = [talk(Shape(pace, 0.1, 0.9)) for pace in range(50, 250, 10)]
    loops = [talk(Shape(60, share / 10, 0.9)) for share in range(11)]
    assert paces == sorted(paces, reverse=True)
    assert loops == sorted(loops, reverse=True)
    assert loops[0] > loops[1]


@pytest.mark.parametrize("prices", [NONE, WEAK])
def test_the_tail_of_talk_in_short_turns_is_half_as_long(prices: CachePrices) -> None:
    kept = {shape: thresholds(options(prices), WARMTH, 20_000, shape).keep_recent for shape in (CHAT, LONG_TURNS)}
    assert kept[CHAT] == pytest.approx(kept[LONG_TURNS] / 2, abs=1)


def test_a_tail_stays_as_it_is_where_a_cached_token_costs_little() -> None:
    kept = {thresholds(options(STRONG), WARMTH, 20_000, shape).keep_recent for shape in (CHAT, LONG_TURNS, AGENT, CLERK)}
    assert len(kept) == 1


def test_talk_is_folded_more_often_only_where_nothing_is_cached() -> None:
    def epoch(prices: CachePrices, shape: Shape) -> int:
        found = thresholds(options(prices), WARMTH, 20_000, shape)
        return found.fold_at - found.keep_recent

    assert epoch(NONE, CHAT) < epoch(NONE, AGENT) == epoch(NONE, LONG_TURNS)
    assert epoch(WEAK, CHAT) >= epoch(NONE, AGENT)


@pytest.mark.parametrize("prices", [NONE, WEAK])
def test_a_loop_over_small_records_is_folded_earlier_and_keeps_less_raw_than_one_over_files(prices: CachePrices) -> None:
    files = thresholds(options(prices), WARMTH, 20_000, Shape(300, 0.5, 0.6, lines=0.3))
    records = thresholds(options(prices), WARMTH, 20_000, CLERK)
    assert records.start < files.start
    assert records.keep_recent < 0.5 * files.keep_recent
    assert records.fold_at < files.fold_at
    assert 4 * records.keep_recent < records.facts_at < files.facts_at


def test_of_records_that_facts_cut_down_as_much_stays_raw_as_of_files() -> None:
    kept = {thresholds(options(WEAK), WARMTH, 20_000, Shape(300, 0.5, 0.3, lines=lines)).keep_recent for lines in (0.0, 0.3)}
    assert len(kept) == 1


@pytest.mark.parametrize("prices", [NONE, WEAK])
def test_talk_may_recall_twice_as_much_and_still_saves_half(prices: CachePrices) -> None:
    saved, folded = 18_000, 20_000
    short, medium, long = Shape(60, 0, 0.5), Shape(150, 0, 0.5), Shape(400, 0, 0.5)
    usual = recall_tokens(options(prices), WARMTH, short, saved, folded)
    most = most_recall_tokens(options(prices), WARMTH, short, saved, folded)
    assert 1.5 * usual < most <= 0.5 * saved * prices.reread(WARMTH.turns) / prices.write
    assert most_recall_tokens(options(prices), WARMTH, long, saved, folded) == usual
    assert usual < most_recall_tokens(options(prices), WARMTH, medium, saved, folded) < most


def test_recall_keeps_to_the_quarter_where_a_cached_token_costs_little() -> None:
    strong, short = options(STRONG), Shape(60, 0, 0.5)
    assert most_recall_tokens(strong, WARMTH, short, 18_000, 20_000) == recall_tokens(strong, WARMTH, short, 18_000, 20_000)


def test_there_is_room_for_a_passage_even_where_nearly_nothing_is_saved() -> None:
    assert most_recall_tokens(options(WEAK), WARMTH, Shape(60, 0, 0.5), 10, 400) >= 100


def test_there_is_room_for_a_passage_where_facts_keep_the_values_of_records_too() -> None:
    assert recall_tokens(options(WEAK), WARMTH, CLERK, 400, 1_000) >= 160


@each("prices", [NONE, WEAK, STRONG])
def test_recall_takes_less_where_facts_keep_the_values_of_records(prices: CachePrices) -> None:
    files = recall_tokens(options(prices), WARMTH, Shape(300, 0.5, 0.6, lines=0.3), 8_000, 20_000)
    records = recall_tokens(options(prices), WARMTH, CLERK, 8_000, 20_000)
    assert records == files if prices is STRONG else records < 0.5 * files


def test_a_cache_that_hits_at_ends_of_requests_makes_a_fold_behind_long_instructions_dearer() -> None:
    """No earlier request ended at the first user message, so behind a fold the instructions are written again."""

    def first_event(*, breakpoints: bool) -> int:
        under = FoldOptions(model="gpt-5.6", prices=CachePrices(0.1, 1.25), cache_hit_share=0.3, cache_breakpoints=breakpoints)
        said = [{"role": "system", "content": " ".join(f"Rule {n} of the harbour stands." for n in range(900))}]
        for n in range(60):
            said += [
                {"role": "user", "content": f"Describe pier {n}, please."},
                {"role": "assistant", "content": prose(n, sentences=30)},
            ]
            if fold_request(encode(said[:-1], model="gpt-5.6"), under, MEMO).events:
                return n
        return len(said)

    assert first_event(breakpoints=False) < first_event(breakpoints=True) < 60


@each(("share", "shape"), product([0.0, 0.4, 0.7, 1.0], [AGENT, CLERK]))
def test_a_fold_leaves_as_much_as_the_cache_takes(share: float, shape: Shape) -> None:
    """Haiku 4.5 caches no prefix below 4,096 tokens: a shorter one would be paid in full each time, and the whole one is not."""
    haiku = thresholds(options(replace(STRONG, least=4096)), Warmth(share, share), 60_000, shape)
    assert haiku.keep_recent >= 4096
    assert haiku.fold_at > haiku.keep_recent


@each("share", [0.7, 0.8, 0.9, 1.0])
def test_a_loop_keeps_no_more_at_facts_where_reading_is_cheap(share: float) -> None:
    """It is read again with each step; a longer tail is worth it there, what left the tail long ago is not."""
    dear, cheap = (thresholds(options(p), Warmth(share, share), 90_000, AGENT) for p in (WEAK, STRONG))
    assert cheap.keep_recent > dear.keep_recent or share < 0.9
    assert cheap.facts_at <= 1.02 * dear.facts_at


def test_a_fold_may_count_on_as_many_more_turns_as_a_long_conversation_shows() -> None:
    rewrite, saving = 10_000.0, 1_000
    assert not pays(0.4, rewrite, saving, turns=100, allowance=1e9)  # an eighth of it is 12 turns, of 400 tokens each
    assert pays(0.4, rewrite, saving, turns=240, allowance=1e9)
    assert not pays(0.25, rewrite, saving, turns=4_000, allowance=1e9)  # 40 turns at most
    assert pays(0.25, rewrite - 1, saving, turns=4_000, allowance=1e9)
    assert not pays(0.4, rewrite, saving, turns=240, allowance=9_000)


@pytest.mark.parametrize("prices", [NONE, WEAK])
def test_long_texts_that_were_pasted_one_after_the_other_are_folded_at_once(prices: CachePrices) -> None:
    """The answers between them are short, and user messages that a fold keeps are never these."""
    pasted = [{"role": "user", "content": prose(seed, "en", 110)} for seed in range(3)]
    said = [one for text in pasted for one in (text, {"role": "assistant", "content": "Got it."})]
    found = fold_request(encode([*said, {"role": "user", "content": "What is the fee?"}], model="gpt-4o"), options(prices), MEMO)
    assert found.events
    assert found.tokens_after < 0.6 * found.tokens_before


def test_a_cache_that_is_written_for_less_than_it_is_read_for_fails_no_fold() -> None:
    free = thresholds(options(CachePrices(0.5, 0.0)), WARMTH, 20_000, AGENT)
    assert free.fold_at > free.keep_recent > 0


@pytest.mark.parametrize("prices", [NONE, WEAK, STRONG])
def test_a_longer_history_lets_an_agent_recall_hardly_more(prices: CachePrices) -> None:
    def recalled(shape: Shape, saved: int) -> int:
        return recall_tokens(options(prices), Warmth(1.0, 1.0), shape, saved, saved)

    longer = [recalled(AGENT, saved) for saved in (400_000, 800_000, 1_600_000)]
    assert longer == sorted(longer)
    assert longer[2] < 2.5 * longer[1] < 6 * longer[0]  # the share is smaller, and is never all there is to it
    assert recalled(LONG_TURNS, 400_000) > longer[0] >= 4000
    short = recalled(AGENT, 18_000)
    assert short <= 4000
    assert short == recalled(LONG_TURNS, 18_000)  # one thing may need as much as talk about it
