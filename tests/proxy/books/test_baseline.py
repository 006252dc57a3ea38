"""The cache model against a provider's cache, both replayed: what would it have cost without Turnfold?"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field, replace

import pytest

from tests.proxy.receipts import receipt
from turnfold.config.prices import TokenUse
from turnfold.proxy.books.baseline import PastRequest, next_past, token_use, without_turnfold
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.chat.trail import Trail, Trails


@dataclass
class Side:
    """A prefix cache from 1,024 tokens on, in steps of 128 unless writing to it is charged, and what was paid before it."""

    read: float
    write: float
    last: int = 0
    cost: float = 0.0

    def send(self, tokens: int, common: int, cold: bool) -> int:
        common = min(common, self.last)
        cached = 0 if cold or common < 1024 else common - common % (128 if self.write == 1 else 1)
        self.last = tokens
        self.cost += self.read * cached + self.write * (tokens - cached)
        return cached


def trail(tokens: int, version: str, kept: int = 0) -> Trail:
    """Of a text of four bytes a token that is the same in every request up to `kept`, and behind that in those of its version."""
    steps = tokens * 4 // 1024
    names = [f"{step}" if step < kept * 4 // 1024 else f"{step}/{version}" for step in range(steps)]
    return Trail(tokens * 4, b"".join(zlib.crc32(name.encode()).to_bytes(4, "little") for name in names))


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


@pytest.mark.parametrize("miss", [0.0, 0.1, 0.3])
@pytest.mark.parametrize(("read", "write"), [(1.0, 1.0), (0.5, 1.0), (0.25, 1.0), (0.1, 1.0), (0.1, 1.25)])
def test_within_two_hundredths_of_the_truth(read: float, write: float, miss: float) -> None:
    replays = [Replay(read, write, miss, seed) for seed in range(20)]
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
