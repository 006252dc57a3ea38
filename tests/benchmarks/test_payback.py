"""The payback benchmark reckons right on folds whose figures are known beforehand.

These tests cover hand-made folds and caches with round numbers. They leave out the engine's figures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.payback import EVENT, event_indices, events_of, measure, replay
from benchmarks.support.caches import COLUMNS, Cache, Prompt, common, render, with_mark
from tests.support import words
from tests.support.bodies import encode

Message = dict[str, Any]

CHAT: list[Message] = [
    message
    for i in range(30)
    for message in (
        {"role": "user", "content": words.prose(2 * i, "en", 10)},
        {"role": "assistant", "content": words.prose(2 * i + 1, "en", 10)},
    )
]


def dropping(every: int, keep: int) -> Callable[[bytes], bytes]:
    """Drops all but `keep` of the messages before the last multiple of `every`."""

    def fold(body: bytes) -> bytes:
        parsed = json.loads(body)
        messages = parsed["messages"]
        border = (len(messages) - 1) // every * every
        return encode(messages[: min(keep, border)] + messages[border:], model=parsed["model"])

    return fold


def test_nothing_folded_costs_one_and_has_no_events() -> None:
    for column in COLUMNS.values():
        row = measure(column, [CHAT], lambda body: body, miss=0.3)
        assert (row.cost, row.events_per_100, row.paid, row.median_payback) == (1.0, 0.0, None, None)
        assert row.requests == 30


def test_without_a_cache_a_fold_pays_at_once() -> None:
    row = measure(COLUMNS["none"], [CHAT], dropping(20, 1))
    assert row.cost < 0.6
    assert (row.paid, row.median_payback, row.slowest_payback) == (1.0, 1, 1)
    assert row.events_per_100 == pytest.approx(100 * 2 / 30, abs=0.01)


def test_the_cheaper_a_cached_token_the_later_a_fold_pays() -> None:
    # After each event 16 old messages stay: they are written anew, which a cached prefix would not have been.
    rows = [measure(COLUMNS[name], [CHAT], dropping(20, 0)) for name in ("none", "gpt-4o", "gpt-5")]
    costs = [row.cost for row in rows]
    assert costs == sorted(costs)
    assert all(row.paid == 1.0 for row in rows)


def test_a_fold_that_rewrites_and_saves_nothing_never_pays() -> None:
    def stamped(body: bytes) -> bytes:
        parsed = json.loads(body)
        turn = len(parsed["messages"])
        first = {"role": "system", "content": f"It is turn {turn // 20}."}
        return encode([first, *parsed["messages"]], model=parsed["model"])

    row = measure(COLUMNS["gpt-5"], [CHAT], stamped)
    assert row.cost > 1.2
    assert (row.paid, row.median_payback) == (0.0, None)


def test_payback_by_hand() -> None:
    # At 0.1 a cached token: the event writes what the other way reads, and saves a tenth of what it dropped in every request.
    run = replay(CHAT, COLUMNS["gpt-5"], dropping(40, 10), 0.0, "x")
    (event,) = events_of(COLUMNS["gpt-5"], run)
    at = event.at
    assert at == event_indices(run.prompts)[0] == 20
    old, new = len(run.prompts[at - 1].tokens), len(run.prompts[at].tokens)
    assert new < old / 2
    assert event.paid_after is not None
    assert event.paid_after <= 2


def test_small_changes_are_no_events() -> None:
    base = list(range(5000))
    assert event_indices([Prompt(base), Prompt(base[: 5000 - EVENT])]) == []
    assert event_indices([Prompt(base), Prompt(base[: 5000 - EVENT - 1])]) == [1]


def test_caches_hit_where_their_provider_says() -> None:
    long, longer = Prompt(list(range(1100))), Prompt(list(range(1400)))
    costs = {}
    for name, column in COLUMNS.items():
        first, cache = Cache(column).ask(long)
        assert first == pytest.approx(1100 * (1 if column.kind == "marks" else column.prices.write))
        costs[name] = cache.ask(longer)[0]
    assert costs["none"] == 1400
    assert costs["gpt-4o"] == 0.5 * 1024 + 376
    assert costs["gpt-5"] == pytest.approx(0.1 * 1024 + 376)
    assert costs["gpt-5.6"] == pytest.approx(0.1 * 1100 + 1.25 * 300)
    assert costs["claude"] == 1400


def test_marks_are_hits_for_claude_until_the_text_before_them_changes() -> None:
    column = COLUMNS["claude"]
    one = with_mark(CHAT[:21])
    end = len(render(one).tokens)
    _, cache = Cache(column).ask(render(one))
    more = render([*one, *CHAT[21:23]])
    behind = len(more.tokens) - end
    assert cache.ask(more)[0] == pytest.approx(0.1 * end + behind)
    assert cache.ask(more, cold=True)[0] == pytest.approx(1.25 * end + behind)
    changed = render([{"role": "user", "content": "x"}, *one[1:]])
    assert cache.ask(changed)[0] == pytest.approx(1.25 * len(changed.tokens))


def test_a_short_prefix_is_not_cached() -> None:
    _, cache = Cache(COLUMNS["gpt-4o"]).ask(Prompt(list(range(1000))))
    assert cache.ask(Prompt(list(range(1200))))[0] == 1200
    assert common([1, 2, 3], [1, 2, 4]) == 2
