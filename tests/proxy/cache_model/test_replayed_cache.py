"""The cache model against a provider's cache, both replayed: what would it have cost without Turnfold?"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import pytest

from tests.proxy.receipts import NOON, receipt
from tests.support.cases import each
from tests.support.effort import crosswise
from turnfold.config.prices import TokenUse
from turnfold.proxy.books.pricing import RequestPricing
from turnfold.proxy.cache_model import succession
from turnfold.proxy.cache_model.bills import with_fold, without_turnfold
from turnfold.proxy.cache_model.evidence import cache_was_warm, token_use
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.cache_model.predecessor import with_predecessor
from turnfold.proxy.cache_model.succession import next_past, with_dollars
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.trails.cache_entries import Entries, KeptPrefix
from turnfold.proxy.trails.trail import Trail, Trails


@dataclass
class Side:
    """A prefix cache from 1,024 tokens on, in steps of 128 unless writing to it is charged, and what was paid before it."""

    read: float
    write: float
    last: int = 0
    cost: float = 0.0
    cached: int = 0

    def send(self, tokens: int, common: int, cold: bool) -> int:
        common = min(common, self.last)
        cached = 0 if cold or common < 1024 else common - common % (128 if self.write == 1 else 1)
        self.last, self.cached = tokens, cached
        self.cost += self.read * cached + self.write * (tokens - cached)
        return cached


def trail(tokens: int, version: str, kept: int = 0) -> Trail:
    """Of a text of four bytes a token that is the same in every request up to `kept`, and behind that in those of its version."""
    steps, same = tokens * 4 // 1024, min(tokens, kept) * 4 // 1024
    return Trail(tokens * 4, _steps("")[: 4 * same] + _steps(f"/{version}")[4 * same : 4 * steps])


@cache
def _steps(version: str) -> bytes:
    """More steps than any text here has."""
    return b"".join(zlib.crc32(f"{step}{version}".encode()).to_bytes(4, "little") for step in range(1000))


@dataclass
class Replay:
    """One conversation sent turn by turn, folded and as it is, in front of the same kind of cache."""

    read: float
    write: float
    miss: float
    seed: int
    estimated: float = 0.0
    past: PastRequest | None = None
    raw: Side = field(init=False)
    folded: Side = field(init=False)

    def run(self, turns: int = 120) -> None:
        self.raw, self.folded = Side(self.read, self.write), Side(self.read, self.write)
        drawn = random.Random(self.seed)
        whole = tail = block = events = 0
        for _ in range(turns):
            new = drawn.randint(100, 900)
            whole, tail, before = whole + new, tail + new, block
            if tail > (12_000 if not events else 8_000):
                block, tail, events = block + (tail - 3_000) // 5, 3_000, events + 1
            cold = drawn.random() < self.miss
            self.raw.send(whole, self.raw.last, cold)
            cached = self.folded.send(block + tail, before if block != before else self.folded.last, cold)
            self._take(whole, block + tail, cached, str(events or ""), block)

    def _take(self, whole: int, sent: int, cached: int, sections: str, kept: int) -> None:
        written = sent - cached if self.write > 1 else 0
        status = "folded" if sent < whole else "passthrough"
        trails = Trails(trail(whole, "raw"), trail(sent, sections, kept))
        one = receipt(tokens_before=whole, tokens_after=sent, status=status, usage=(sent, 0, cached, written), trails=trails)
        used = token_use(one.usage)
        assert used is not None
        without = without_turnfold(one, used, self.past, sections)
        self.past = next_past(one, used, without, self.past, sections)
        self.estimated += self.read * without.cached + self.write * (without.prompt - without.cached)


@each(
    ("prices", "miss"),
    crosswise(product([(1.0, 1.0), (0.5, 1.0), (0.25, 1.0), (0.1, 1.0), (0.1, 1.25)], [0.0, 0.1, 0.3]), 3),
)
def test_within_two_hundredths_of_the_truth(prices: tuple[float, float], miss: float) -> None:
    read, write = prices
    replays = [Replay(read, write, miss, seed) for seed in range(8)]
    for replay in replays:
        replay.run()
    truth = sum(replay.raw.cost for replay in replays)
    assert sum(replay.estimated for replay in replays) == pytest.approx(truth, rel=0.02)
    assert sum(replay.folded.cost for replay in replays) < truth


def used(one: Receipt) -> TokenUse:
    found = token_use(one.usage)
    assert found is not None
    return found


def test_an_unfolded_conversation_costs_the_same_with_and_without() -> None:
    for one in (receipt(status="passthrough", tokens_after=1000), receipt(status="bypassed"), receipt(status="observed")):
        assert without_turnfold(one, used(one), None, "") == used(one)
        assert without_turnfold(one, used(one), PastRequest(5000, 5000), "") == used(one)


def test_without_a_label_the_requests_own_share_is_taken() -> None:
    one = receipt(usage=(400, 50, 100, 40))
    assert without_turnfold(one, used(one), None, "x") == TokenUse(1000, 50, 250, 100)


def test_silence_of_the_upstream_is_no_usage() -> None:
    assert token_use(receipt(usage=()).usage) is None


def test_what_is_remembered_survives_storing() -> None:
    past = PastRequest(5000, 2000, "x", 3, 2, 2, 1, True, True, 0.9, Trails(trail(5000, ""), trail(2000, "x")))
    assert PastRequest.from_bytes(past.to_bytes()) == past
    assert PastRequest.from_bytes(PastRequest(5000, 5000).to_bytes()) == PastRequest(5000, 5000)
    assert not any(PastRequest(5000, 5000)[2:]), "nothing else is known of a first request"
    assert PastRequest.from_bytes(b'{"of": "another release"}') is None


def test_recall_that_comes_and_goes_is_no_cold_cache() -> None:
    """Half of each forwarded request is recall that the next one drops: the cache misses that, and not the conversation."""
    past: PastRequest | None = None
    for turn in range(30):
        whole, kept = 20_000 + 100 * turn, 4_000 + 100 * turn
        trails = Trails(trail(whole, "raw"), trail(kept + 4_000, f"{turn}", kept))
        cached = kept - 100 if turn else 0
        one = receipt(tokens_before=whole, tokens_after=kept + 4_000, usage=(kept + 4_000, 0, cached, 0), trails=trails)
        without = without_turnfold(one, used(one), past, "x")
        if past:
            assert without.cached == (whole - 100) // 128 * 128
        past = next_past(one, used(one), without, past, "x")


def test_a_client_that_drops_its_oldest_messages_has_no_cached_prefix_without_us_either() -> None:
    past = PastRequest(20_000, 20_000, trails=Trails(trail(20_000, "one"), trail(20_000, "one")), folded=True)
    one = receipt(tokens_before=20_000, tokens_after=8_000, usage=(8_000, 0, 0, 0))
    one = replace(one, trails=Trails(trail(20_000, "two"), trail(8_000, "three")))
    assert without_turnfold(one, used(one), past, "x").cached == 0


def test_the_unfolded_count_is_what_the_upstream_counted_while_nothing_was_folded() -> None:
    """A fold has fewer messages, so an upstream's share for each message must not be scaled up with the text."""
    first = receipt(status="passthrough", tokens_before=10_000, tokens_after=10_000, usage=(12_000, 0, 0, 0))
    past = next_past(first, used(first), used(first), None, "")
    one = receipt(tokens_before=11_000, tokens_after=4_000, usage=(4_400, 0, 0, 0))
    assert without_turnfold(one, used(one), past, "x").prompt == 13_200
    assert without_turnfold(one, used(one), None, "x").prompt == 12_100


@dataclass
class ObservedReplay(Replay):
    """The same with everything sent as it is: what would the fold have cost?"""

    shown: list[bool | None] = field(default_factory=list)

    def _take(self, whole: int, sent: int, cached: int, sections: str, kept: int) -> None:
        del cached
        usage = (whole, 0, self.raw.cached, whole - self.raw.cached if self.write > 1 else 0)
        trails = Trails(trail(whole, "raw"), trail(sent, sections, kept))
        one = receipt(tokens_before=whole, tokens_after=sent, status="observed", usage=usage, trails=trails)
        used = token_use(one.usage)
        assert used is not None
        folded = with_fold(one, used, self.past)
        assert folded is not None
        self.shown.append(cache_was_warm(one, used, self.past, ""))
        self.past = next_past(one, used, without_turnfold(one, used, self.past, ""), self.past, "")
        self.estimated += self.read * folded.cached + self.write * (folded.prompt - folded.cached)


@pytest.mark.parametrize("miss", [0.0, 0.3])
@pytest.mark.parametrize(("read", "write"), [(1.0, 1.0), (0.5, 1.0), (0.1, 1.0), (0.1, 1.25)])
def test_what_an_observed_fold_would_have_cost_is_within_three_hundredths(read: float, write: float, miss: float) -> None:
    replays = [ObservedReplay(read, write, miss, seed) for seed in range(8)]
    for one in replays:
        one.run()
    assert sum(one.estimated for one in replays) == pytest.approx(sum(one.folded.cost for one in replays), rel=0.03)
    told = [warm for one in replays for warm in one.shown if warm is not None]
    assert sum(told) / len(told) == pytest.approx(1 - miss, abs=0.05)


def test_only_an_observed_request_has_a_fold_beside_it() -> None:
    used = TokenUse(400)
    assert with_fold(receipt(), used, None) is None
    assert with_fold(receipt(status="observed", tokens_before=0, tokens_after=0), used, None) is None
    assert with_fold(receipt(status="observed"), TokenUse(1000), None) == TokenUse(400)
    assert with_fold(receipt(status="observed"), TokenUse(0, 7), None) == TokenUse(0, 7)


def test_a_cache_that_nothing_was_seen_of_is_taken_for_warm() -> None:
    past = PastRequest(4000, 4000)
    assert (past.warm_share, past.warm_after(0.0), past.warm_after(7200.0), past.missing_marks()) == (1.0, 1.0, 1.0, 1.0)


def test_an_upstream_that_does_not_say_what_was_cached_teaches_nothing() -> None:
    silent = receipt(usage=(4000, 0, None, None), tokens_before=4000, tokens_after=4000, status="passthrough")
    past = PastRequest(4000, 4000)
    assert cache_was_warm(silent, TokenUse(4000), past, "") is None
    cold = receipt(usage=(4000, 0, 0, None), tokens_before=4000, tokens_after=4000, status="passthrough")
    assert cache_was_warm(cold, TokenUse(4000), past, "") is False
    assert cache_was_warm(cold, TokenUse(4000), None, "") is None


def test_what_later_samplings_of_one_request_found_in_the_cache_teaches_nothing() -> None:
    """The provider searched in between: the first of two samplings wrote what the second one read."""
    used = TokenUse(8200, cached=4000)
    one = receipt(usage=(8200, 9, 4000, 4000), tokens_before=4000, tokens_after=4000, status="passthrough")
    assert cache_was_warm(one, used, PastRequest(4000, 4000), "") is True
    assert cache_was_warm(replace(one, hosted=True), used, PastRequest(4000, 4000), "") is None


@each(
    ("model", "sent", "shows"),
    [
        ("claude-haiku-4-5", 4000, None),
        ("claude-haiku-4-5", 7000, False),
        ("claude-sonnet-4-5", 4000, False),
        ("gemini-3-pro", 4000, None),
    ],
)
def test_a_prompt_that_is_too_short_for_the_models_cache_teaches_nothing(model: str, sent: int, shows: bool | None) -> None:
    """Haiku 4.5 caches no prefix below 4,096 tokens: that a folded prompt was not found says nothing of the whole one."""
    cold = receipt(model=model, usage=(sent, 0, 0, None), tokens_before=sent, tokens_after=sent, status="passthrough")
    assert cache_was_warm(cold, TokenUse(sent), PastRequest(sent, sent), "") is shows


def test_folds_that_have_not_paid_after_some_requests_are_overdue() -> None:
    past = PastRequest(9000, 9000, trails=None)
    states = []
    for number in range(8):
        one = receipt(tokens_before=9000, tokens_after=4000)
        after = next_past(one, TokenUse(4000), TokenUse(9000), past, "a")
        past = with_dollars(after, 0.04 if number == 0 else 0.009, 0.01)
        states.append(past.overdue)
    assert states == [False, False, False, True, True, True, True, True]
    for _ in range(40):
        one = receipt(tokens_before=9000, tokens_after=4000)
        past = with_dollars(next_past(one, TokenUse(4000), TokenUse(9000), past, "a"), 0.009, 0.01)
    assert not past.overdue
    assert PastRequest.from_bytes(past.to_bytes()) == past


def test_a_conversation_that_never_folded_is_never_overdue() -> None:
    past = PastRequest(900, 900)
    for _ in range(9):
        one = receipt(tokens_before=900, tokens_after=900, status="passthrough")
        past = with_dollars(next_past(one, TokenUse(900), TokenUse(900), past, ""), 0.02, 0.01)
    assert not past.overdue
    assert with_dollars(past, None, 0.1) == past


def half_price_for_cached(model: str, use: TokenUse, at: float) -> float:
    """Dollars at a million times the price of a token."""
    del model, at
    return (use.prompt - use.cached / 2) / 1e6


@dataclass
class Agent:
    """One of several agents that begin with the same instructions, and so have one name; the cache knows the last of each."""

    name: str
    whole: int = 5_000
    raw: int = 0
    sent: int = 0
    truth: float = 0.0

    def request(self, turn: int) -> tuple[Receipt, str]:
        self.whole += 700
        folded = turn // 10  # every tenth request brings a fold event
        size, version = (self.whole, "raw") if not folded else (self.whole - 6_500 * folded, f"fold {folded}")
        same = self.raw // 128 * 128
        hit = self.sent // 128 * 128 if turn % 10 else 4_992 if turn else 0
        self.truth += (self.whole - same / 2) / 1e6
        self.raw, self.sent = self.whole, size
        trails = Trails(trail(self.whole, self.name, 5_000), trail(size, f"{self.name} {version}", 5_000))
        status = "folded" if folded else "passthrough"
        one = receipt(tokens_before=self.whole, tokens_after=size, status=status, usage=(size, 0, hit, 0), trails=trails)
        return one, f"{self.name} {folded}" if folded else ""


@each("agents", [1, 2, 5, 12])
def test_agents_that_begin_alike_are_each_compared_with_their_own_last_request(agents: int) -> None:
    """Their first message is the same text (AGENTS.md), so that they share a name; each has its own prefix in the cache."""
    pricing, past, estimated, paid, events = RequestPricing(half_price_for_cached), None, 0.0, 0.0, 0
    beside = [Agent(f"agent {number}") for number in range(agents)]
    for turn in range(40):
        for agent in beside:
            one, fingerprint = agent.request(turn)
            cost, past = pricing.price(one, past, fingerprint)
            assert past is not None
            past = PastRequest.from_bytes(past.to_bytes())
            estimated, paid, events = estimated + (cost.without or 0), paid + (cost.paid or 0), events + cost.fold_event
    assert estimated == pytest.approx(sum(agent.truth for agent in beside), rel=0.02)
    assert events == 3 * agents
    assert past is not None
    assert (past.paid, past.without) == pytest.approx((paid, estimated))


def test_what_may_be_followed_is_bounded() -> None:
    past: PastRequest | None = None
    pricing = RequestPricing(half_price_for_cached)
    for number in range(40):
        size = 5_000 + 90_000 * (number >= 20)
        one = receipt(tokens_before=size, tokens_after=size, trails=Trails(trail(size, f"{number}"), trail(size, f"{number}")))
        _, past = pricing.price(one, past, "")
        assert past is not None
        assert len(past.to_bytes()) < 80_000
        assert 0 < len(past.others) <= 63 or not number


def test_of_more_agents_than_are_remembered_no_saving_is_overstated(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request whose predecessor was dropped is not compared with another agent's."""
    monkeypatch.setattr(succession, "_OTHERS", 3)
    pricing, past, estimated = RequestPricing(half_price_for_cached), None, 0.0
    beside = [Agent(f"agent {number}") for number in range(6)]
    for turn in range(40):
        for agent in beside:
            one, fingerprint = agent.request(turn)
            cost, past = pricing.price(one, past, fingerprint)
            assert past is not None
            past = PastRequest.from_bytes(past.to_bytes())
            estimated += cost.without or 0
    truth = sum(agent.truth for agent in beside)
    assert 0.96 * truth < estimated <= truth


@pytest.mark.parametrize(("kept", "cached"), [(17, 0), (18, 3968)])
def test_where_requests_were_dropped_one_follows_another_of_which_it_repeats_nine_tenths(kept: int, cached: int) -> None:
    earlier, received = trail(20 * 256, "a", kept * 256), trail(8000, "b", kept * 256)
    past = PastRequest(5120, 1000, folded=True, crowded=True, scale=1.0, trails=Trails(earlier, trail(1000, "x")))
    usage = (4000, 0, 0, None)
    one = receipt(status="passthrough", tokens_before=4000, tokens_after=4000, usage=usage, trails=Trails(received, received))
    assert without_turnfold(one, TokenUse(4000), past, "") == TokenUse(4000, 0, cached)


def test_a_request_of_an_earlier_release_has_no_others() -> None:
    past = PastRequest(5000, 2000, "x", trails=Trails(trail(5000, ""), trail(2000, "x")))
    assert b'"others":[]' in past.to_bytes()
    assert PastRequest.from_bytes(past.to_bytes().replace(b',"others":[]', b"")) == past
    assert (past.folded_tokens, past.foldable, past.seen, past.warm, past.events, past.silent, past.since) == (0,) * 7


# ---------------------------------------------------------------- unusual courses


@dataclass
class Course:
    """A chat that is folded every tenth request, in front of a cache that holds all that was sent in five minutes, by model.

    Attributes:
        told, truth: dollars without Turnfold, of requests of which the usage was told: by the books, and at the provider.
        events: fold events, by the books.
    """

    marks: bool = False
    told: float = 0.0
    truth: float = 0.0
    events: int = 0
    past: PastRequest | None = None
    at: float = 1e9
    whole: int = 0
    turn: int = 0
    schema: str = ""
    known: dict[str, tuple[float, str, int, tuple[int, int]]] = field(default_factory=dict)

    def request(self, model: str = "gpt-4o", silent: bool = False, pause: float = 20.0, new: int = 600) -> None:
        """One more request."""
        self.at, self.whole, self.turn = self.at + pause, self.whole + new, self.turn + 1
        fold = self.turn // 10
        sent = self.whole - 500 * 10 * fold if fold else self.whole
        until, schema, raw, (was, last) = self._held(model)
        warm = until >= self.at and schema == self.schema
        same = last if was == fold else 0 if self.marks else 1_100
        hits = [size // 128 * 128 if warm and size >= 1024 else 0 for size in (raw, same)]
        trails = Trails(trail(self.whole, "raw"), trail(sent, f"fold {fold}", 1_100))
        usage = () if silent else (sent, 0, hits[1], sent - hits[1] if self.marks else 0)
        status = "folded" if fold else "passthrough"
        one = receipt(tokens_before=self.whole, tokens_after=sent, model=model, status=status, usage=usage, trails=trails)
        one = replace(one, at=self.at, schema=self.schema)
        cost, past = RequestPricing(half_price_for_cached).price(one, self.past, f"fold {fold}" if fold else "")
        self.past = past and PastRequest.from_bytes(past.to_bytes())
        self.events += cost.fold_event
        if not silent:
            self.told += cost.without or 0.0
            self.truth += (self.whole - hits[0] / 2) / 1e6
        self.known[model] = (self.at + 300, self.schema, self.whole, (fold, sent))

    def _held(self, model: str) -> tuple[float, str, int, tuple[int, int]]:
        return self.known.get(model, (0.0, "", 0, (0, 0)))


def test_a_request_without_usage_is_cached_for_the_next_one_all_the_same() -> None:
    course = Course()
    for turn in range(60):
        course.request(silent=turn % 3 != 0)
    assert course.told == pytest.approx(course.truth, rel=0.01)
    assert course.events == 6


def test_each_model_has_a_cache_of_its_own() -> None:
    course = Course()
    for turn in range(60):
        course.request("gpt-4o-mini" if turn % 12 in {9, 10, 11} else "gpt-4o")
    assert course.told == pytest.approx(course.truth, rel=0.01)


def test_what_other_tools_make_the_cache_forget_is_forgotten_without_us_too() -> None:
    course = Course()
    for turn in range(30):
        course.schema = "one" if turn < 19 else "other"  # the twentieth request brings a fold event
        course.request()
    assert course.told == pytest.approx(course.truth, rel=0.01)


def test_other_tools_that_begin_alike_leave_what_both_begin_with() -> None:
    past = PastRequest(20_000, 20_000, schema="one", folded=True, trails=Trails(trail(20_000, ""), trail(20_000, "")))
    one = replace(receipt(tokens_before=20_000, tokens_after=8_000, usage=(8_000, 0, 3_000, 0)), schema="other")
    one = replace(one, trails=Trails(trail(20_000, ""), trail(8_000, "x")))
    assert without_turnfold(one, used(one), past, "x").cached == 3_000
    assert cache_was_warm(one, used(one), past, "x") is None


def test_a_tiny_first_request_does_not_tell_how_the_upstream_counts() -> None:
    """What an upstream adds to each prompt is most of it."""
    first = receipt(status="passthrough", tokens_before=50, tokens_after=50, usage=(90, 0, 0, 0))
    past = next_past(first, used(first), used(first), None, "")
    one = receipt(status="shaped", tokens_before=20_000, tokens_after=10_000, usage=(10_040, 0, 0, 0))
    assert without_turnfold(one, used(one), past, "").prompt == pytest.approx(20_040, rel=0.005)


@pytest.mark.parametrize("away", [7, 9])
def test_whether_a_fold_event_found_the_cache_cold_follows_from_how_long_the_user_was_away(away: int) -> None:
    """Where caches hit at marks an event finds nothing either way; requests after so long a pause mostly tell."""
    course = Course(marks=True)
    for turn in range(90):
        course.request(pause=4000.0 if turn % 10 in {3, 5, away} else 20.0)
    assert course.told == pytest.approx(course.truth, rel=0.02)


@each(
    ("second", "cached"),
    [
        ({"at": NOON + 0.15}, 0),  # the first one was still being read
        ({"at": NOON + 0.15, "usage": (2_000, 0, 1_920, 0)}, 19_968),  # but was found
        ({"at": NOON + 0.15, "usage": (600, 0, 300, 0)}, 300),  # what others left, below what shows anything
        ({"at": NOON + 0.25}, 19_968),
        ({"at": NOON - 3600.0}, 19_968),  # the clock was set back
    ],
)
def test_nothing_is_found_of_a_prompt_that_is_still_being_read(second: dict[str, Any], cached: int) -> None:
    """Many questions about one document at once, each too short as sent to show what the cache held."""
    whole, past = 20_000, None
    for number, more in enumerate(({}, second)):
        size = second.get("usage", (600,))[0]
        trails = Trails(trail(whole, "raw"), trail(size, "fold"))
        given = {
            "usage": (size, 0, 0, 0),
            "tokens_before": whole,
            "tokens_after": size,
            "trails": trails,
            "at": NOON,
            "streamed": True,
        }
        one = receipt(**given | more)
        past = with_predecessor(past, one) if past else None
        without = without_turnfold(one, used(one), past, "x")
        assert without.cached == (cached if number else 0)
        past = next_past(one, used(one), without, past, "x")


MARKED = "claude-sonnet-4-5"


@each(
    ("entries", "size", "written"),
    [
        ([KeptPrefix(7, 1.0)], 20_000, (20_000, 0)),
        ([KeptPrefix(7, 0.5, 300)], 20_000, (10_000, 0)),
        ([KeptPrefix(7, 0.25, 3600), KeptPrefix(8, 1.0, 300)], 20_000, (20_000, 5_000)),
        ([], 20_000, (0, 0)),
        ([KeptPrefix(7, 1.0)], 900, (0, 0)),
    ],
)
def test_a_prompt_that_its_client_marks_would_have_been_written_to_the_cache(
    entries: list[KeptPrefix], size: int, written: tuple[int, int]
) -> None:
    """As it was sent, it was too short for that."""
    trails = Trails(replace(trail(size, "raw"), entries=Entries(tuple(entries))), trail(600, "fold"))
    one = receipt(usage=(600, 0, 0, 0), tokens_before=size, tokens_after=600, trails=trails, model=MARKED)
    past = next_past(one, used(one), TokenUse(size), None, "x")._replace(
        trails=Trails(trail(9_000, "other"), trail(600, "other"))
    )
    for before in (None, past):
        without = without_turnfold(one, used(one), before, "x")
        assert (without.written, without.written_hour) == written


def test_marks_that_the_upstream_does_not_heed_write_nothing() -> None:
    side = replace(trail(20_000, "raw"), entries=Entries((KeptPrefix(7, 1.0),)))
    one = receipt(usage=(8_000, 0, 0, 0), tokens_before=20_000, tokens_after=8_000, trails=Trails(side, side), model=MARKED)
    assert without_turnfold(one, used(one), None, "x").written == 0


def _marked(size: int, version: str, marks: dict[int, int], sums: set[int]) -> Trail:
    """With marks behind so many tokens, the number of which is their checksum too."""
    left = tuple(KeptPrefix(at, at / size, life) for at, life in marks.items())
    return replace(trail(size, version), entries=Entries(left, frozenset(sums)))


@each(
    ("marks", "sums", "pause", "cached"),
    [
        ({20_000: 300}, {19_900, 20_400}, 20.0, 0),  # another question about the document, which is not marked by itself
        ({20_000: 300}, {20_000, 20_400}, 20.0, 20_000),  # the conversation goes on
        ({19_000: 3600, 20_000: 300}, {19_000, 20_000, 20_400}, 20.0, 20_000),
        ({19_000: 3600, 20_000: 300}, {19_000, 20_000, 20_400}, 900.0, 19_000),
        ({19_000: 3600, 20_000: 300}, {19_000, 20_400}, 4000.0, 0),  # nobody asked for more time
    ],
)
def test_what_is_found_unfolded_ends_at_a_mark(marks: dict[int, int], sums: set[int], pause: float, cached: int) -> None:
    """As sent, each is too short to show what the cache held."""
    past = None
    for number, (size, kept) in enumerate(((20_000, marks), (20_400, {20_400: 300}))):
        sides = Trails(_marked(size, "raw", kept, sums), _marked(600, "fold", {600: 300}, {600}))
        one = receipt(usage=(600, 0, 0, 0), tokens_before=size, tokens_after=600, trails=sides, model=MARKED)
        one = replace(one, at=NOON + number * pause)
        past = with_predecessor(past, one) if past else None
        without = without_turnfold(one, used(one), past, "x")
        assert (without.cached, without.written) == ((cached, 20_400 - cached) if number else (0, 20_000))
        past = next_past(one, used(one), without, past, "x")


def test_a_mark_that_only_an_earlier_request_had_is_still_known() -> None:
    """The document is marked in the first request, and the end of each question in all: later ones find the document."""
    past = None
    for number, marks in enumerate(({18_000: 300, 20_000: 300}, {20_100: 300}, {20_200: 300})):
        size = 20_000 + 100 * number
        sides = Trails(_marked(size, "raw", marks, {18_000, size}), _marked(600, "fold", {600: 300}, set()))
        one = receipt(usage=(600, 0, 0, 0), tokens_before=size, tokens_after=600, trails=sides, model=MARKED)
        without = without_turnfold(one, used(one), past, "x")
        assert without.cached == (18_000 if number else 0)
        past = PastRequest.from_bytes(next_past(one, used(one), without, past, "x").to_bytes())


@each(("keys", "found", "cached"), [((1, 1), 0, 19_968), ((1, 2), 0, 0), ((1, 2), 1_920, 19_968)])
def test_each_cache_key_has_a_cache_of_its_own(keys: tuple[int, int], found: int, cached: int) -> None:
    """Unless the request that was sent found what was left under another key."""
    past, without = None, TokenUse(0)
    for at, key, hit in zip((NOON, NOON + 20.0), keys, (0, found), strict=True):
        sides = Trails(trail(20_000, "raw"), trail(2_000, "fold"), key)
        size = 2_000 if found else 600
        one = receipt(usage=(size, 0, hit, 0), tokens_before=20_000, tokens_after=size, trails=sides, at=at)
        past = with_predecessor(past, one) if past else None
        without = without_turnfold(one, used(one), past, "x")
        past = PastRequest.from_bytes(next_past(one, used(one), without, past, "x").to_bytes())
    assert without.cached == cached


@pytest.mark.parametrize("seconds", [0.0, 20.0])
def test_what_was_left_before_two_branches_came_at_once_is_found_by_both(seconds: float) -> None:
    """The request that both go on from is known no more once one of them does."""
    past, without, size, at = None, TokenUse(0), 20_000, NOON
    for name, more, pause in (("", 0, 0.0), ("/one", 400, 60.0), ("/other", 500, seconds)):
        at += pause
        sides = Trails(trail(size + more, f"raw{name}", size), trail(600, f"fold{name}"))
        one = receipt(usage=(600, 0, 0, 0), tokens_before=size + more, tokens_after=600, trails=sides, at=at)
        past = with_predecessor(past, one) if past else None
        without = without_turnfold(one, used(one), past, "x")
        past = PastRequest.from_bytes(next_past(one, used(one), without, past, "x").to_bytes())
    assert without.cached == pytest.approx(19_968, abs=128)


def test_tools_that_the_upstream_counts_otherwise_scale_no_text() -> None:
    """4,000 of our tokens are tools, which it counts as 1,000."""
    past = None
    for whole, sent, status in ((6_000, 6_000, "passthrough"), (20_000, 20_000, "passthrough"), (60_000, 9_000, "folded")):
        one = receipt(status=status, tokens_before=whole, tokens_after=sent, usage=(sent - 3_000, 0, 0, 0), schema="tools")
        without = without_turnfold(one, used(one), past, "x" if status == "folded" else "")
        past = PastRequest.from_bytes(next_past(one, used(one), without, past, "").to_bytes())
        assert without.prompt == whole - 3_000
