"""What was decided of a fold is decided once: replicas that share a store send the same bytes, whatever each of them believes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.bodies import cuts, encode
from tests.support.cases import each
from tests.support.effort import costly
from tests.support.finished import finished
from tests.support.prefix import Kind, classify
from tests.support.structure import structure_faults
from tests.support.warm import WARM
from turnfold.compression.fold import Folded, conversation_name, fold
from turnfold.compression.memo import Memo
from turnfold.compression.options import CachePrices, FoldDecision, FoldOptions, Warmth
from turnfold.compression.warmth import usual_warmth
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.proxy.learning.deciding import Decisions, Place
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.store.base import Item, Key, Scope, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

STRONG, HALF, FREE = CachePrices(0.1, 1.25), CachePrices(0.5, 1.0), CachePrices()
SPOT = UpstreamModel("t1", "https://api.example", "m")
SHARES = st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.85, 1.0])
few = costly(4)


class Breakable(MemoryStore):
    """A store that can be away, and counts how often it is asked."""

    away = False
    asked = 0

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        self._ask()
        return await super().get(keys)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        self._ask()
        return await super().swap(expected, item)

    def _ask(self) -> None:
        self.asked += 1
        if self.away:
            raise StoreUnavailable


class Believing(WarmthMemory):
    """A replica's belief, as a test sets it."""

    believed = FoldDecision(Warmth(1.0, 1.0))

    def decision(self, spot: UpstreamModel, conversation: str, usual: FoldDecision, pause: float = 0.0) -> FoldDecision:
        del spot, conversation, usual, pause
        return self.believed


@dataclass
class Replica:
    """A process: its own belief and memory, a store that others share."""

    store: Breakable
    prices: CachePrices
    budget: int | None = None
    recall: bool = False
    if_cached: CachePrices | None = None
    warmth: Believing = field(default_factory=Believing)
    memo: Memo = WARM

    def __post_init__(self) -> None:
        self.decisions = Decisions(self.store, 60.0, self.warmth)

    def send(self, body: bytes, believed: FoldDecision, model: str = "m") -> Folded:
        self.warmth.believed = believed
        conversation = CHAT.read(body, self.memo)
        usual = FoldOptions(
            prices=self.prices,
            prices_if_cached=self.if_cached,
            budget=self.budget,
            recall=self.recall,
            belief=FoldDecision(usual_warmth(self.prices)),
        )
        name = conversation_name(conversation)

        async def work(options: FoldOptions) -> Folded:
            return fold(conversation, options, self.memo)

        return finished(self.decisions.fold(usual, Place(SPOT._replace(model=model), name, name), work))


@cache
def long_chat(turns: int, size: int, seed: str = "") -> list[bytes]:
    """The requests of a chat; a turn takes about `size` tokens.

    Where its size does not matter it is 600: what the tests share of it is folded once.
    """
    messages = [{"role": "system", "content": "Be brief."}]
    for i in range(turns):
        answer = " ".join(f"Store {(i * 31 + k) % 977}{seed} has {k} crates of item {i}-{k}." for k in range(size // 16))
        messages += [{"role": "user", "content": f"What of delivery {i}{seed}?"}, {"role": "assistant", "content": answer}]
    return [encode(messages[:end], model="m") for end in cuts(messages)]


WARM_NOW = FoldDecision(Warmth(1.0, 1.0), caches=True)
NEVER_SEEN = FoldDecision(Warmth(1.0, 1.0))


def test_where_prices_are_unknown_a_cache_that_was_seen_is_taken_to_be_cheap_to_read() -> None:
    """Else a model that no list has is folded as if nothing were cached, which costs more than it saves where something is."""
    unknown, cheap = (Replica(Breakable(2**22), FREE, if_cached=STRONG), Replica(Breakable(2**22), STRONG))
    bodies = long_chat(40, 600)
    for body in bodies:
        assert unknown.send(body, WARM_NOW).body == cheap.send(body, WARM_NOW).body
    assert unknown.send(bodies[20], WARM_NOW, model="n").body != Replica(Breakable(2**22), FREE).send(bodies[20], WARM_NOW).body


def test_what_is_learned_of_a_cache_later_moves_no_earlier_fold() -> None:
    store = Breakable(2**22)
    first, late = (Replica(store, FREE, if_cached=STRONG) for _ in range(2))
    free = Replica(Breakable(2**22), FREE)
    events = set()
    for number, body in enumerate(long_chat(40, 600)):
        made = first.send(body, NEVER_SEEN if number < 24 else WARM_NOW)
        assert made.body == late.send(body, WARM_NOW).body
        if number < 24:
            assert made.body == free.send(body, NEVER_SEEN).body
        else:  # at prices that turned out to be wrong nothing more is folded
            events.add(made.events)
    assert len(events) == 1
    assert events != {0}
    other = long_chat(40, 600, seed="x")[-1]
    assert first.send(other, WARM_NOW).body != free.send(other, NEVER_SEEN).body  # the next conversation is folded under it


def test_the_marks_of_the_first_requests_decide_what_writing_costs_for_the_whole_conversation() -> None:
    """A client may mark for an hour and later for minutes, as Claude Code does when its allowance is used up."""
    store, bodies, usual = Breakable(2**22), long_chat(40, 600), FoldDecision(Warmth(0.2, 0.2))
    before = Replica(store, STRONG)
    sent = [before.send(_marked(body, "1h"), usual) for body in bodies[:30]]
    later = Replica(store, STRONG)
    sent += [later.send(_marked(body, "5m"), usual) for body in bodies[30:]]
    alone = Replica(Breakable(2**22), STRONG)
    expected = [alone.send(_marked(body, "1h"), usual) for body in bodies]
    assert [_texts(one) for one in sent] == [_texts(one) for one in expected]
    assert _texts(sent[-1]) != _texts(Replica(Breakable(2**22), STRONG).send(_marked(bodies[-1], "5m"), usual))


def _marked(body: bytes, ttl: str) -> bytes:
    value = json.loads(body)
    newest = value["messages"][-1]
    newest["content"] = [{"type": "text", "text": newest["content"], "cache_control": {"type": "ephemeral", "ttl": ttl}}]
    return json.dumps(value).encode()


def _texts(folded: Folded) -> list[str]:
    return [message.text for message in folded.forwarded.messages]


def test_behind_a_long_rest_a_fold_costs_nothing_and_stays() -> None:
    """The cache has forgotten everything, so all is written again anyway; and what was folded then is what later requests send,
    also where the same request had come before the rest."""
    store, bodies = Breakable(2**22), long_chat(30, 600)
    one, other = (Replica(store, STRONG) for _ in range(2))
    rested = FoldDecision(Warmth(1.0, 1.0), cold=True)
    assert not any(one.send(body, WARM_NOW).folded for body in bodies[:26])
    at_rest = one.send(bodies[25], rested)
    assert at_rest.events == 1
    assert len(at_rest.body) < 0.7 * len(bodies[25])
    last, received = at_rest.body, bodies[25]
    for body in bodies[26:]:
        after = one.send(body, WARM_NOW)
        assert after.body == other.send(body, NEVER_SEEN).body
        assert classify(received, last, after.body).kind is Kind.EXTENSION
        assert after.events == 1
        last, received = after.body, body
    early = Replica(Breakable(2**22), STRONG, recall=True).send(bodies[13], rested)
    assert not early.folded  # quotes would cost more than it saves


beliefs = st.builds(FoldDecision, st.builds(Warmth, SHARES, SHARES), st.booleans(), caches=st.booleans())


@few
@given(
    st.integers(20, 200),
    st.sampled_from([STRONG, HALF, FREE]),
    st.sampled_from([None, 3000]),
    st.lists(st.tuples(st.booleans(), beliefs), min_size=18, max_size=18),
    st.integers(0, 17),
)
def test_replicas_that_share_a_store_send_the_same_bytes(
    size: int, prices: CachePrices, budget: int | None, turns: list[tuple[bool, FoldDecision]], late: int
) -> None:
    """Requests reach one of two replicas while both change their minds; each request's bytes are those of a third one that comes
    late and believes something else."""
    store = Breakable(2**22)
    if_cached = STRONG if prices is FREE else None
    one, two, third = (Replica(store, prices, budget, if_cached=if_cached) for _ in range(3))
    for number, (body, (first, believed)) in enumerate(zip(long_chat(18, 5 * size), turns, strict=True)):
        sent = (one if first else two).send(body, believed)
        assert (two if first else one).send(body, FoldDecision(Warmth(0.0, 0.0))).body == sent.body
        if number >= late:
            assert third.send(body, FoldDecision(Warmth(0.45, 0.45))).body == sent.body


@few
@given(st.sampled_from([STRONG, HALF]), st.lists(beliefs, min_size=24, max_size=24), st.integers(4, 20))
def test_without_the_store_the_prefix_breaks_once_at_most(prices: CachePrices, turns: list[FoldDecision], gone: int) -> None:
    """The store goes away and another replica takes over: what it sends is well formed, and breaks the prefix once more than fold
    events do."""
    store = Breakable(2**22)
    one, two = Replica(store, prices), Replica(store, prices)
    last, received, events = b"", b"", 0
    for number, (body, believed) in enumerate(zip(long_chat(24, 600), turns, strict=True)):
        store.away = number >= gone
        folded = (two if store.away else one).send(body, believed)
        assert structure_faults(body, folded.body) == []
        if last and classify(received, last, folded.body).kind is Kind.REWRITE:
            assert folded.events != events or number == gone
        last, received, events = folded.body, body, folded.events


def test_what_was_decided_alone_is_what_every_replica_decides_alone() -> None:
    store = Breakable(2**22)
    store.away = True
    one, two = Replica(store, HALF), Replica(store, HALF)
    for body in long_chat(24, 600):
        same = one.send(body, FoldDecision(Warmth(0.0, 0.0))).body
        assert two.send(body, FoldDecision(Warmth(1.0, 1.0), brake=True)).body == same


def test_a_store_that_is_back_decides_again_for_all() -> None:
    store = Breakable(2**22)
    one, two = Replica(store, HALF), Replica(store, HALF)
    sent = []
    for number, body in enumerate(long_chat(40, 600)):
        store.away = number < 14
        cold, warm = FoldDecision(Warmth(0.0, 0.0)), FoldDecision(Warmth(1.0, 1.0))
        sent.append(one.send(body, cold).body == two.send(body, warm).body)
    assert all(sent[:14])
    assert all(sent[-8:])


def test_a_request_at_which_nothing_is_decided_asks_nobody() -> None:
    """A conversation of 40 requests asks a few times as it grows, and not at all while it is short."""
    store = Breakable(2**22)
    one = Replica(store, HALF)
    asked = []
    for body in long_chat(40, 600):
        before = store.asked
        one.send(body, FoldDecision(Warmth(0.7, 1.0)))
        asked.append(store.asked > before)
    assert not any(asked[:7])
    assert 3 <= sum(asked) <= 20
    before = store.asked
    one.send(long_chat(40, 600)[-1], FoldDecision(Warmth(0.1, 0.1)))
    assert store.asked == before


def test_a_brake_stops_folds_until_it_is_let_go() -> None:
    store = Breakable(2**22)
    one = Replica(store, FREE)
    bodies = long_chat(60, 600)
    folded = [one.send(body, FoldDecision(Warmth(0.0, 0.0), brake=i >= 20)).events for i, body in enumerate(bodies[:40])]
    assert folded[19] > 0
    assert folded[39] <= folded[19] + 1
    assert one.send(bodies[-1], FoldDecision(Warmth(0.0, 0.0))).events > folded[39]


def test_conversations_that_begin_alike_part_where_they_part() -> None:
    store = Breakable(2**22)
    here, there = Replica(store, HALF), Replica(store, HALF)
    one, other = long_chat(20, 600), [*long_chat(1, 600), *long_chat(20, 600, "x")[1:]]
    for a, b in zip(one, other, strict=True):
        here.send(a, FoldDecision(Warmth(1.0, 1.0)))
        there.send(b, FoldDecision(Warmth(0.0, 0.0)))
    late = Replica(store, HALF)
    assert late.send(one[-1], FoldDecision(Warmth(0.5, 0.5))).body == here.send(one[-1], FoldDecision(Warmth(1.0, 1.0))).body
    assert late.send(other[-1], FoldDecision(Warmth(0.5, 0.5))).body == there.send(other[-1], FoldDecision(Warmth(0, 0))).body


@pytest.mark.parametrize("prices", [STRONG, HALF])
def test_another_model_goes_on_with_what_was_folded_for_the_one_before(prices: CachePrices) -> None:
    """A retry or a failover: nothing is cached for the other model, and Anthropic's fallback credit wants the same messages."""
    store = Breakable(2**22)
    one, unsure, cold = Replica(store, prices), FoldDecision(Warmth(1.0, 1.0), brake=True), FoldDecision(Warmth(0.2, 0.2))
    bodies = long_chat(40, 600)
    *_, last = [one.send(body, cold) for body in bodies]
    assert last.folded
    assert not Replica(Breakable(2**22), prices).send(bodies[-1], unsure).folded
    assert one.send(bodies[-1], unsure, "other").body == last.body
    assert Replica(store, prices).send(bodies[-1], unsure, "other").body == last.body  # it was decided for all


def test_a_model_that_has_decided_borrows_nothing() -> None:
    one = Replica(Breakable(2**22), HALF)
    bodies = long_chat(30, 600)
    own = [one.send(body, FoldDecision(Warmth(1.0, 1.0)), "other").body for body in bodies]
    for body in bodies:
        one.send(body, FoldDecision(Warmth(0.0, 0.0)))
    assert one.send(bodies[-1], FoldDecision(Warmth(0.0, 0.0)), "other").body == own[-1]


@each("value", [b"{", b'{"turns": 3, "loops": 1}', b'{"record_version": 9}'])
def test_a_record_in_no_known_form_counts_for_nothing(value: bytes) -> None:
    store = Breakable(2**22)
    one = Replica(store, HALF)
    bodies = long_chat(20, 600)
    same = [one.send(body, FoldDecision(Warmth(0.7, 1.0))).body for body in bodies]
    two = Replica(store, HALF)

    async def spoil() -> None:
        for key in await store.keys(Scope("t1", "decision")):
            await store.put([Item(key, value, 60.0)])

    asyncio.run(spoil())
    assert two.send(bodies[-1], FoldDecision(Warmth(0.7, 1.0))).body == same[-1]


@pytest.mark.parametrize("away", [True, False])
def test_what_the_store_has_is_forgotten_in_memory_and_what_it_lacks_is_not(away: bool) -> None:
    store = Breakable()
    store.away = away
    replica = Replica(store, STRONG, budget=3000)
    body = long_chat(12, 600)[-1]
    decided = replica.send(body, Believing.believed).decided
    assert decided
    name = conversation_name(CHAT.read(body, WARM))
    replica.decisions.forget_in_memory()
    known = replica.decisions.options(FoldOptions(belief=Believing.believed), Place(SPOT, name, name)).precedents
    assert known == (tuple(decided) if away else ())
