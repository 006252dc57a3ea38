"""What is decided behind a long rest, among replicas that share a store: all of them send the same bytes, and no prefix changes
without a fold event.

These tests cover conversations that hop between processes at a clock that is set. They leave out how a rest is measured
(``test_pauses``), decisions that follow from the messages (``test_deciding``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cache, partial

from tests.support.bodies import cuts, encode
from tests.support.cases import each
from tests.support.finished import finished
from tests.support.prefix import Kind, classify
from tests.support.warm import WARM
from turnfold.compression.fold import Folded, conversation_name, fold
from turnfold.compression.options import CachePrices, FoldDecision, FoldOptions, Warmth
from turnfold.compression.warmth import usual_warmth
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.proxy.books.ledger import newest_at
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.learning.deciding import Decisions, Place
from turnfold.proxy.learning.pauses import Pauses
from turnfold.proxy.learning.warming import WarmthMemory
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.store.base import Item, Key, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

PRICES = CachePrices(0.1, 1.25)
HOUR = 3600.0


class View(MemoryStore):
    """A process's way to a store: it may fail alone."""

    def __init__(self, shared: MemoryStore) -> None:
        super().__init__(1)
        self.shared, self.away, self.rounds = shared, False, 0

    def ask(self) -> MemoryStore:
        self.rounds += 1
        if self.away:
            raise StoreUnavailable
        return self.shared

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        await asyncio.sleep(0)
        return await self.ask().get(keys)

    async def put(self, items: Sequence[Item]) -> None:
        await self.ask().put(items)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        await asyncio.sleep(0)
        return await self.ask().swap(expected, item)


class Knowing(WarmthMemory):
    """Knows that a cache has nothing left after five minutes, or does not."""

    knows = True

    def decision(self, spot: UpstreamModel, conversation: str, usual: FoldDecision, pause: float = 0.0) -> FoldDecision:
        return FoldDecision(Warmth(1.0, 1.0), caches=True, cold=self.knows and pause >= 300)


class World:
    """A clock, and a store that processes share."""

    def __init__(self) -> None:
        self.now = 1e6
        self.store = MemoryStore(2**26)


class Process:
    """One of them; its time of day may be wrong."""

    def __init__(self, world: World) -> None:
        self.world, self.wrong, self.view = world, 0.0, View(world.store)
        self.restart()

    def day(self) -> float:
        return self.world.now + self.wrong

    def restart(self) -> None:
        def steady() -> float:
            return self.world.now

        self.warmth = Knowing()
        pauses = Pauses(partial(newest_at, self.view), self.day, steady)
        self.decisions = Decisions(self.view, 1e9, self.warmth, pauses=pauses, steady=steady)

    async def serve(self, body: bytes, model: str = "m") -> Folded:
        conversation = CHAT.read(body, WARM)
        name = conversation_name(conversation)
        usual = FoldOptions(prices=PRICES, recall=False, belief=FoldDecision(usual_warmth(PRICES)))

        async def work(options: FoldOptions) -> Folded:
            await asyncio.sleep(0)
            return fold(conversation, options, WARM)

        made = await self.decisions.fold(usual, Place(UpstreamModel("t", "u", model), name, name), work)
        past = Item(Key("t", "cache-model", name), PastRequest(5, 5, at=self.day()).to_bytes(), 1e9, name)
        await self.world.store.put([past])
        return made


@cache
def chat(turns: int, seed: str = "") -> list[bytes]:
    """The requests of a chat; all chats begin alike."""
    messages = [{"role": "system", "content": "Be brief."}]
    for i in range(turns):
        named = seed if i else ""
        answer = " ".join(f"Store {(i * 31 + k) % 977}{named} has {k} crates of item {i}-{k}." for k in range(40))
        messages += [{"role": "user", "content": f"What of delivery {i}{named}?"}, {"role": "assistant", "content": answer}]
    return [encode(messages[:end], model="m") for end in cuts(messages)]


def test_a_chat_that_hops_between_processes_behind_rests_keeps_its_prefix() -> None:
    """Each of two processes serves every other request; another, that never served the chat, would send the same."""
    world = World()
    ways, last = [Process(world) for _ in range(2)], None
    for number, body in enumerate(chat(40)):
        world.now += HOUR if number % 10 == 9 else 20
        made = finished(ways[number % 2].serve(body))
        if last is not None:
            changed = classify(last[0], last[1].body, made.body).kind is Kind.REWRITE
            assert changed == (made.events != last[1].events)
        assert finished(Process(world).serve(body)).body == made.body
        last = body, made
    assert last is not None
    assert last[1].events >= 3


def test_chats_that_begin_alike_each_keep_what_their_rests_decided() -> None:
    """They have one name: that one is served here says nothing of another."""
    world = World()
    here, there = Process(world), Process(world)
    one, other = chat(30, "a"), chat(30, "b")
    for body in (*one[:25], *other[:25]):
        world.now += 20
        finished(here.serve(body))
    world.now += HOUR
    folded = [finished(there.serve(chat[25])) for chat in (one, other)]
    assert folded[0].events == 1
    world.now += 20
    for body in (one[26], other[26], one[27], other[27]):
        assert finished(here.serve(body)).body == finished(there.serve(body)).body
    assert finished(Process(world).serve(one[28])).body == finished(there.serve(one[28])).body


@each("fault", ["store away", "restart", "two at once", "nobody else knows", "another model", "clock set"])
def test_what_goes_wrong_at_a_rest_breaks_no_more_than_that_request(fault: str) -> None:
    world, bodies = World(), chat(34)
    here, there = Process(world), Process(world)
    for number, body in enumerate(bodies[:25]):
        world.now += 20
        finished((here, there)[number % 2].serve(body))
    world.now += HOUR
    folded = finished(there.serve(bodies[25]))
    assert folded.events == 1
    world.now += 5
    if fault == "two at once":
        world, here, there = _at_once(bodies)
    here.view.away = fault == "store away"
    here.warmth.knows = fault != "nobody else knows"
    here.wrong = -2 * HOUR if fault == "clock set" else 0.0
    if fault == "restart":
        here.restart()
    if fault == "another model":
        finished(here.serve(bodies[26], "other"))
    asked = finished(here.serve(bodies[26]))
    assert asked.events == (0 if fault == "store away" else 1)  # it sends what it last knew
    here.view.away = False
    for body in bodies[27:]:
        world.now += 5
        assert finished(here.serve(body)).body == finished(there.serve(body)).body


def _at_once(bodies: list[bytes]) -> tuple[World, Process, Process]:
    world = World()
    here, there = Process(world), Process(world)
    for number, body in enumerate(bodies[:25]):
        world.now += 20
        finished((here, there)[number % 2].serve(body))
    world.now += HOUR

    async def both() -> tuple[Folded, ...]:
        return await asyncio.gather(here.serve(bodies[25]), there.serve(bodies[25]), here.serve(bodies[25]))

    one, two, again = finished(both())
    assert one.body == two.body == again.body
    assert one.events == 1
    return world, here, there


def test_a_process_that_was_restarted_behind_a_rest_folds_as_well() -> None:
    """What was recorded tells it how long the rest was."""
    world, bodies = World(), chat(34)
    here = Process(world)
    for body in bodies[:25]:
        world.now += 20
        finished(here.serve(body))
    world.now += HOUR
    here.restart()
    assert finished(here.serve(bodies[25])).events == 1


def test_what_a_store_has_lost_is_kept_again_by_whoever_knows_it() -> None:
    """A record has run out, or the store was emptied: with the next decision it is there again, for processes yet to come."""
    world, bodies = World(), chat(40)
    here = Process(world)
    for number, body in enumerate(bodies[:30]):
        world.now += HOUR if number == 25 else 20
        finished(here.serve(body))
    world.store = here.view.shared = MemoryStore(2**26)
    for body in bodies[30:]:
        world.now += 20
        made = finished(here.serve(body))
    assert made.events >= 1
    assert finished(Process(world).serve(bodies[-1])).body == made.body


def test_behind_a_rest_the_store_is_asked_four_times_at_most_and_else_as_ever() -> None:
    world, bodies, rounds = World(), chat(34), list[int]()
    here = Process(world)
    for number, body in enumerate(bodies):
        world.now += HOUR if number in {2, 25, 27} else 20
        before = here.view.rounds
        finished(here.serve(body))
        rounds.append(here.view.rounds - before)
    assert not any(rounds[:2])
    assert max(rounds) <= 4
    assert rounds[26] == rounds[28] == 0
