"""Vectors made in the background: which, in what order and at what pace, and what is remembered of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from yarl import URL

from tests.support.bodies import encode
from tests.support.no_time import in_no_time, now
from tests.support.warm import WARM
from turnfold.compression.options import Likeness
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.message import Message
from turnfold.config.settings import Settings
from turnfold.proxy.asking.own_upstream import Caller
from turnfold.proxy.asking.spending import Payer
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.semantic.encoder import Encoded, EncoderFailed, VectorRequest
from turnfold.proxy.semantic.vector_records import LikenessRecords, VectorRecords
from turnfold.proxy.semantic.vectors import PassageVectors
from turnfold.proxy.store.base import Item, Key, Scope
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.records import encode_record

Call = tuple[float, str, str | None, tuple[str, ...]]


class Encoder:
    """Implements ``Encoder``: notes when it was called, for whom, and with which texts."""

    name = "made-up"
    knows: frozenset[str] | None = None

    def __init__(self, most_texts: int = 3, most_calls: int = 1, dimension: int = 8, *, only_while_served: bool = False) -> None:
        self.most_texts, self.most_calls, self.dimension = most_texts, most_calls, dimension
        self.only_while_served, self.ready = only_while_served, True
        self.failures = Counter[str]()
        self.calls: list[Call] = []
        self.takes, self.seconds, self.fails = 0.0, 0.0, 0

    def is_ready(self, errand: VectorRequest) -> bool:
        del errand
        return self.ready

    async def encode(self, texts: Sequence[str], errand: VectorRequest) -> Encoded:
        self.calls.append((now(), errand.payer.tenant, errand.payer.conversation, tuple(texts)))
        await asyncio.sleep(self.takes)
        if self.fails:
            self.fails -= 1
            raise EncoderFailed("not now")
        return Encoded([bytes([len(text) % 251]) * (self.dimension or 8) for text in texts], self.seconds)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        yield

    @property
    def texts(self) -> list[str]:
        return [text for *_, texts in self.calls for text in texts]


class Counting(MemoryStore):
    """A store that counts the keys of its readers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        self.asked.append(len(keys))
        return await super().get(keys)


class Slow(MemoryStore):
    """A store that takes a second to read, and another one to write each value."""

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        await asyncio.sleep(1)
        return await super().get(keys)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        await asyncio.sleep(1)
        return await super().swap(expected, item)


def made_of(
    encoder: Encoder, store: MemoryStore | None = None, incidents: Incidents | None = None, **groups: Any
) -> PassageVectors:
    groups = {"semantic": {"embedding_model": "m", **groups.pop("semantic", {})}, **groups}
    return PassageVectors(encoder, store or MemoryStore(), Settings.model_validate(groups), incidents or Incidents())


def said(*texts: str, role: str = "user") -> list[Message]:
    return list(CHAT.read(encode([{"role": role, "content": text} for text in texts]), WARM).messages)


def errand(tenant: str = "anna", conversation: str | None = "c") -> VectorRequest:
    return VectorRequest(Payer(tenant, conversation), "m", Caller("h", ()), URL("https://h"))


async def settled(vectors: PassageVectors) -> None:
    while tasks := [*vectors._work, *vectors._served]:
        await asyncio.gather(*tasks, return_exceptions=True)


def test_the_oldest_come_first_so_many_at_once_with_a_pause_behind_each() -> None:
    async def times(**semantic: Any) -> list[float]:
        encoder = Encoder()
        encoder.takes = encoder.seconds = 1.0
        vectors = made_of(encoder, semantic=semantic)
        assert vectors.begin(errand(), said(*map(str, range(7))))() is None
        await settled(vectors)
        assert [texts for *_, texts in encoder.calls] == [("0", "1", "2"), ("3", "4", "5"), ("6",)]
        assert {call[1:3] for call in encoder.calls} == {("anna", "c")}
        vectors.begin(errand(), said("0", "6", "7"))
        await settled(vectors)
        assert encoder.texts[7:] == ["7"]
        return [at for at, *_ in encoder.calls[:3]]

    assert in_no_time(times()) == [0.0, 2.0, 4.0]
    assert in_no_time(times(cpu_share=0.25)) == [0.0, 4.0, 8.0]
    assert in_no_time(times(cpu_share=1.0)) == [0.0, 1.0, 2.0]


def test_tenants_take_turns_and_calls_go_out_side_by_side() -> None:
    async def work(most_calls: int) -> list[tuple[float, str]]:
        encoder = Encoder(2, most_calls)
        encoder.takes = 1.0
        vectors = made_of(encoder)
        for tenant in ("anna", "bert"):
            vectors.begin(errand(tenant), said(*map(str, range(4))))
            vectors.begin(errand(tenant), said(*map(str, range(4))))  # asked for again while they are made
        await settled(vectors)
        assert Counter(encoder.texts) == {str(i): 2 for i in range(4)}
        return [(at, tenant) for at, tenant, *_ in encoder.calls]

    assert in_no_time(work(1)) == [(0.0, "anna"), (1.0, "bert"), (2.0, "anna"), (3.0, "bert")]
    assert in_no_time(work(2)) == [(0.0, "anna"), (0.0, "bert"), (1.0, "anna"), (1.0, "bert")]
    assert in_no_time(work(3)) == [(0.0, "anna"), (0.0, "bert"), (0.0, "anna"), (1.0, "bert")]


def test_a_call_is_for_one_conversation() -> None:
    async def work() -> None:
        encoder = Encoder(most_texts=9)
        vectors = made_of(encoder)
        vectors.begin(errand(conversation="c"), said("1", "2"))
        vectors.begin(errand(conversation="d"), said("2", "3"))
        await settled(vectors)
        assert [call[2:] for call in encoder.calls] == [("c", ("1", "2")), ("d", ("3",))]

    in_no_time(work())


def test_a_message_has_a_vector_for_each_passage() -> None:
    async def work() -> None:
        encoder, store = Encoder(most_texts=2), MemoryStore()
        vectors = made_of(encoder, store)
        long = " ".join(f"Crate {i} stands at gate {i * 7 % 13} until the harbour master has counted it." for i in range(40))
        messages = said(long, "short", "")
        vectors.begin(errand(), messages)
        await settled(vectors)
        parts = len(encoder.texts) - 1
        assert parts > 3
        assert all(len(texts) <= 2 for *_, texts in encoder.calls)
        found = await vectors.find("anna", messages)
        lengths = [len(text) % 251 for text in encoder.texts]
        assert [found[m.key] for m in messages] == [
            b"".join(bytes([one]) * 8 for one in lengths[:parts]),
            bytes([len("short")]) * 8,
            b"",
        ]
        assert len(await store.keys(Scope("anna", "vectors", "c"))) == 2

    in_no_time(work())


def test_a_conversation_has_room_for_so_many_bytes() -> None:
    """A vector for each 110 characters, of 1,536 numbers where nobody knows better; what is there counts with its size."""

    async def texts(room: int, *lengths: int, dimension: int = 8) -> list[int]:
        encoder = Encoder(dimension=dimension)
        vectors = made_of(encoder, semantic={"bytes_per_conversation": room})
        messages = said(*(chr(97 + i) * length for i, length in enumerate(lengths)))
        vectors.begin(errand(), messages)
        await settled(vectors)
        found = list(map(len, encoder.texts))
        vectors.begin(errand(), messages)
        await settled(vectors)
        return found + [-len(text) for text in encoder.texts[len(found) :]]

    assert in_no_time(texts(24, 5, 6, 7, 8)) == [5, 6, 7]
    assert in_no_time(texts(23, 5, 6, 7, 8)) == [5, 6]
    assert in_no_time(texts(16, 109, 5, 6)) == [109, 5]
    assert in_no_time(texts(16, 110, 5, 6)) == [110, -5]
    assert in_no_time(texts(3072, 5, 6, 7, dimension=0))[:2] == [5, 6]
    assert in_no_time(texts(3071, 5, 6, 7, dimension=0))[:2] == [5, -6]


def test_what_recall_never_quotes_has_no_vectors() -> None:
    async def texts(**folding: Any) -> list[str]:
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        body: list[dict[str, Any]] = [
            {"role": "system", "content": "system"},
            {"role": "developer", "content": "developer"},
            {"role": "user", "content": "user"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "result"},
            {"role": "user", "content": "in front <private>hush</private> behind"},
            {"role": "user", "content": "<private>begins"},
            {"role": "user", "content": "ends</private>"},
            {"role": "user", "content": "last"},
        ]
        encoder = Encoder(most_texts=20)
        vectors = made_of(encoder, folding=folding)
        vectors.begin(errand(), CHAT.read(encode(body), WARM).messages)
        await settled(vectors)
        assert "hush" not in str(encoder.texts)
        vectors.begin(errand(), CHAT.read(encode(body), WARM).messages)
        await settled(vectors)
        return [text.split()[0] for text in encoder.texts]

    assert in_no_time(texts()) == ["user", "look", "result", "in", "last"]
    assert in_no_time(texts(recall_tool_text=False)) == ["user", "look", "in", "last"]


def test_a_clients_own_key_works_while_its_request_is_served() -> None:
    async def work() -> None:
        encoder, store = Encoder(most_texts=1, only_while_served=True), MemoryStore()
        encoder.takes = 1.0
        vectors = made_of(encoder, store)
        end = vectors.begin(errand(), said("1", "2", "3"))
        again = vectors.begin(errand(), said("1", "2"))  # under way for the first
        more = vectors.begin(errand(), said("3", "4"))
        await asyncio.sleep(1.5)
        again()
        end()
        await asyncio.sleep(5)
        more()
        assert Counter(encoder.texts) == Counter(["1", "2", "4"])
        assert vectors._size == 0
        vectors.begin(errand(), said("1", "2", "3"))
        await settled(vectors)
        assert encoder.texts[3:] == ["2", "3"]
        assert sorted((await vectors.find("anna", said("1", "2", "3", "4"))).values()) == [bytes([1]) * 8] * 4

    in_no_time(work())


def test_what_a_request_ended_before_it_was_begun_is_made_for_the_next_one() -> None:
    async def work() -> None:
        encoder = Encoder(only_while_served=True)
        vectors = made_of(encoder)
        vectors.begin(errand(), said("1", "2"))()  # a request that was refused at once
        await settled(vectors)
        assert (encoder.calls, vectors._size) == ([], 0)
        vectors.begin(errand(), said("1", "2"))
        await settled(vectors)
        assert encoder.texts == ["1", "2"]

    in_no_time(work())


def test_sixteen_million_characters_wait_and_no_more() -> None:
    async def work(*, served: bool) -> None:
        encoder = Encoder(only_while_served=served)
        encoder.takes = 1.0
        vectors = made_of(encoder, semantic={"bytes_per_conversation": 2**40})
        small, large = said("a"), said("bb")
        one = replace(said("x")[0], text="x" * (16 * 2**20 - 1))
        for messages in ([one], large, small, large):
            vectors.begin(errand(), messages)
        assert vectors._size == 16 * 2**20
        vectors.forget_in_memory()
        assert vectors._size == 0
        await vectors.close()
        assert (vectors._size, encoder.calls) == (0, [])

    in_no_time(work(served=False))
    in_no_time(work(served=True))


def test_what_is_deleted_while_it_is_made_does_not_come_back() -> None:
    async def work(*, served: bool) -> None:
        encoder, store = Encoder(only_while_served=served), MemoryStore()
        encoder.takes = 1.0
        vectors = made_of(encoder, store)
        messages = said(*map(str, range(7)))
        vectors.begin(errand(), messages)
        await asyncio.sleep(1.5)
        assert len(await vectors.find("anna", messages)) == 3
        await store.delete(Scope("anna"))
        vectors.forget_in_memory()
        await settled(vectors)
        assert await vectors.find("anna", messages) == {}
        assert vectors._size == 0
        vectors.begin(errand(), messages)
        await settled(vectors)
        assert len(await vectors.find("anna", messages)) == 7

    in_no_time(work(served=False))
    in_no_time(work(served=True))


def test_what_is_deleted_while_the_store_is_slow_does_not_come_back() -> None:
    async def work(after: float, calls: int, *, served: bool) -> None:
        encoder, store = Encoder(only_while_served=served), Slow()
        vectors = made_of(encoder, store)
        messages = said("1", "22", "333")
        vectors.begin(errand(), messages)
        await asyncio.sleep(after)  # while it looks whether there are any, or while the second one is being written
        await store.delete(Scope("anna"))
        vectors.forget_in_memory()
        await settled(vectors)
        assert (await store.keys(Scope("anna")), len(encoder.calls)) == ([], calls)

    for served in (False, True):
        in_no_time(work(0.5, 0, served=served))
        in_no_time(work(2.5, 1, served=served))


def test_a_call_that_fails_is_made_again_with_the_next_request() -> None:
    async def work() -> None:
        encoder = Encoder()
        encoder.fails = 1
        vectors = made_of(encoder)
        for ready, calls in ((True, 1), (False, 1), (True, 2), (True, 2)):
            encoder.ready = ready
            vectors.begin(errand(), said("1", "2"))
            await settled(vectors)
            assert len(encoder.calls) == calls

    in_no_time(work())


def test_a_fault_of_the_encoder_is_an_incident() -> None:
    class Faulty(Encoder):
        async def encode(self, texts: Sequence[str], errand: VectorRequest) -> Encoded:
            raise LookupError

    async def work(*, served: bool) -> None:
        told = Incidents()
        vectors = made_of(Faulty(only_while_served=served), incidents=told)
        vectors.begin(errand(), said("1", "2"))
        await settled(vectors)
        await asyncio.sleep(0)
        assert dict(told.counts) == {"vectors": 1}

    in_no_time(work(served=False))
    in_no_time(work(served=True))


def test_the_store_is_asked_for_sixty_four_at_once_and_only_for_what_is_not_known() -> None:
    async def work() -> None:
        encoder, store = Encoder(most_texts=200), Counting()
        messages = said(*map(str, range(130)))
        first, second = made_of(encoder, store), made_of(encoder, store)
        first.begin(errand(), messages)
        await settled(first)
        assert store.asked == [64, 64, 2]
        found = await second.find("anna", [*messages, messages[0]])
        assert (len(found), store.asked[3:]) == (130, [64, 64, 2])
        assert await second.find("anna", messages) == found
        assert len(store.asked) == 6
        assert await second.find("bert", messages[:1]) == {}
        second.begin(errand("bert"), messages[:1])
        await settled(second)
        assert len(encoder.texts) == 131

    in_no_time(work())


async def test_of_vectors_that_two_replicas_made_the_first_are_used() -> None:
    store = MemoryStore()
    records = VectorRecords(store, 60.0, Encoder())
    mine, theirs = bytes([1]) * 8, bytes([2]) * 8
    assert await records.keep_first("anna", {b"one": mine}, "c") == {b"one": mine}
    found = await records.keep_first("anna", {b"one": theirs, b"two": theirs}, "c")
    assert found == {b"one": mine, b"two": theirs}
    assert await records.find("anna", [b"one", b"two", b"three"]) == found
    assert await records.find("bert", [b"one"]) == {}
    assert await VectorRecords(store, 60.0, Encoder(dimension=16)).find("anna", [b"one"]) == {}, "another dimension"
    for key in await store.keys(Scope("anna")):
        await store.put([Item(key, b"\x02" + mine, 60)])
    assert await records.find("anna", [b"one"]) == {}, "another form"


async def test_of_likenesses_that_two_replicas_decided_the_first_is_used() -> None:
    store = MemoryStore()
    records, spot = LikenessRecords(store, 60.0), UpstreamModel("anna", "u", "m")
    mine, theirs = (Likeness(3, "p", (bytes([one]) * 3, b"")) for one in (1, 2))
    assert await records.keep_first(spot, mine, "c") == mine
    assert await records.keep_first(spot, theirs, "c") == mine
    others = [Likeness(3, "q"), Likeness(4, "p")]
    assert await records.find(spot, [theirs, *others]) == [mine, None, None]
    (key,) = await store.keys(Scope("anna", "likeness", "c"))
    await store.put([Item(key, encode_record({"record_version": 1, "messages": ["AQ=="]}), 60)])
    assert await records.find(spot, [mine]) == [None], "of another number of messages"
    assert await records.keep_first(spot, theirs, "c") == theirs
    await store.put([Item(key, encode_record({"record_version": 1, "messages": []}), 60)])
    assert await records.find(spot, [mine]) == [Likeness(3, "p")]


def test_sixty_four_megabytes_of_vectors_are_remembered() -> None:
    class Dropping(Counting):
        """A store that keeps nothing, so that what is found again was in memory."""

        async def swap(self, expected: bytes | None, item: Item) -> bool:
            del expected, item
            return True

    class Blank(Encoder):
        async def encode(self, texts: Sequence[str], errand: VectorRequest) -> Encoded:
            return Encoded([bytes(self.dimension) for _ in texts])

    async def remembered(dimension: int) -> int:
        vectors = made_of(Blank(dimension=dimension), Dropping(), semantic={"bytes_per_conversation": 2**40})
        vectors.begin(errand(), said("1", "2", "3", "4"))
        await settled(vectors)
        return len(await vectors.find("anna", said("1", "2", "3", "4")))

    assert in_no_time(remembered(2**24 - 200)) == 4
    assert in_no_time(remembered(2**24 - 199)) == 3
