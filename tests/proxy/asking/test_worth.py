"""Whether a model is asked at all: what a summary is worth, and when something that keeps failing is tried again."""

from __future__ import annotations

from turnfold.compression.fold.adoption import WantedSummary
from turnfold.proxy.asking.breaker import Breaker
from turnfold.proxy.asking.worth import call_tokens, gain, target_tokens


def wanted(room: int = 1000, requests: float = 10.0, price: float = 0.1, rewrite: float = 1.0) -> WantedSummary:
    return WantedSummary(0, 2, "p", (0, 1), tokens=4000, room=room, requests=requests, price=price, rewrite=rewrite)


def test_a_summary_takes_two_thirds_of_the_room_at_most_and_says_something() -> None:
    assert [target_tokens(wanted(room), 700) for room in (1000, 2000, 62, 61, 0)] == [650, 700, 40, 0, 0]
    assert [target_tokens(wanted(), most) for most in (40, 39)] == [40, 0]
    assert call_tokens(wanted()) == 4450


def test_what_is_saved_is_weighed_against_what_is_written_anew() -> None:
    # 10 requests that each save 400 tokens at a tenth of $2.50 a million, less 600 tokens at full price for 1,000 at a tenth.
    assert round(gain(wanted(), 600, 2.5) * 1e6, 6) == (10 * 0.1 * 400 - (600 - 100)) * 2.5
    assert round(gain(wanted(rewrite=0.1), 600, 2.5) * 1e6, 6) == 10 * 0.1 * 400 * 2.5  # nothing is dearer than before
    assert gain(wanted(requests=0.0), 600, 2.5) < 0


def test_a_breaker_opens_after_failures_in_a_row_and_for_ever_longer() -> None:
    now = [50.0]
    breaker = Breaker(3, 10.0, 35.0, clock=lambda: now[0])
    breaker.fail()
    breaker.fail()
    breaker.succeed()
    breaker.fail()
    breaker.fail()
    assert not breaker.is_open
    for pause in (10.0, 20.0, 35.0, 35.0):
        breaker.fail()
        breaker.fail()  # one that was under way makes it no longer
        now[0] += pause - 0.1
        assert breaker.is_open
        now[0] += 0.1
        assert not breaker.is_open
    breaker.succeed()
    breaker.fail(for_good=True)
    now[0] += 9.9
    assert breaker.is_open
    now[0] += 0.1
    assert not breaker.is_open


def test_a_breaker_rests_as_long_as_it_is_told() -> None:
    now = [50.0]
    breaker = Breaker(3, 10.0, 35.0, clock=lambda: now[0])
    breaker.rest(20.0)
    breaker.rest(5.0)
    now[0] += 19.9
    assert breaker.is_open
    now[0] += 0.1
    assert not breaker.is_open
    breaker.rest(100.0)
    now[0] += 35.0
    assert not breaker.is_open
    breaker.rest(20.0)
    breaker.succeed()
    assert not breaker.is_open
