"""What is decided with vectors, and when none are made: a made-up encoder, no server."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from yarl import URL

from tests.proxy.semantic.test_making_vectors import Encoder
from tests.support.bodies import encode
from tests.support.cases import each
from tests.support.no_time import in_no_time, now
from tests.support.warm import WARM
from turnfold.compression.fold.likeness import nothing_known
from turnfold.compression.options import Likeness
from turnfold.compression.wire.formats.chat import CHAT
from turnfold.compression.wire.message import Message
from turnfold.config.settings import Settings
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.own_models import end_nothing
from turnfold.proxy.incidents import Incidents
from turnfold.proxy.learning.deciding import Place
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.semantic.encoder import Encoded, VectorRequest
from turnfold.proxy.semantic.likenesses import Likenesses
from turnfold.proxy.store.base import Item, Key, Scope, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore

PLACE = Place(UpstreamModel("anna", "https://h", "m"), "name", "label")
HISTORY = [
    {"role": "user", "content": "The harbour office opens at seven."},
    {"role": "assistant", "content": "Noted: the office opens at seven."},
    {"role": "user", "content": "When does the harbour office open, and who opens it?"},
]
AT = "https://h/v1/chat/completions?api-version=1&key=hush&api-version=2"


class Away(MemoryStore):
    """A store that may be away for readers or for those who swap."""

    reads_fail = swaps_fail = False

    async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
        if self.reads_fail:
            raise StoreUnavailable
        return await super().get(keys)

    async def swap(self, expected: bytes | None, item: Item) -> bool:
        if self.swaps_fail:
            raise StoreUnavailable
        return await super().swap(expected, item)


class Noting(Encoder):
    """An encoder that notes for which errands it worked."""

    def __init__(self, *, only_while_served: bool = False) -> None:
        super().__init__(only_while_served=only_while_served)
        self.errands: list[VectorRequest] = []

    async def encode(self, texts: Sequence[str], errand: VectorRequest) -> Encoded:
        self.errands.append(errand)
        return await super().encode(texts, errand)


def likenesses(store: MemoryStore, encoder: Encoder, patient: MemoryStore | None = None, **groups: Any) -> Likenesses:
    settings = Settings.model_validate({"semantic": {"model": "m", "timeout": 0.5, "languages": "all"}, **groups})
    made = Likenesses(settings, store, patient or store, Incidents(), cast("Any", None))
    made._use(encoder)
    return made


def read(messages: Sequence[dict[str, Any]] = HISTORY) -> Any:
    return CHAT.read(encode(list(messages)), WARM)


def exchange(messages: Sequence[dict[str, Any]] = HISTORY, **changes: Any) -> Exchange:
    request = SimpleNamespace(
        mode=changes.pop("mode", "on"), tenant="anna", headers=((b"authorization", b"Bearer k"),), to=SimpleNamespace(url=URL(AT))
    )
    fields = {"conversation": read(messages), "tokens": (2000, 2000), "folded": None, "status": "", "request": request}
    return cast("Exchange", SimpleNamespace(**(fields | changes)))


async def made(of: Likenesses, of_exchange: Exchange) -> bool:
    """Whether vectors are made for an exchange, until there are no more."""
    end = of.begin(of_exchange, PLACE)
    vectors = of._vectors
    assert vectors is not None
    begun = bool(vectors._work or vectors._served)
    while tasks := [*vectors._work, *vectors._served]:
        await asyncio.gather(*tasks)
    assert (end is end_nothing) == (not vectors.encoder.only_while_served or not begun)
    return begun


@each(
    ("changes", "is_made"),
    [
        ({}, True),
        ({"tokens": (1999, 5000)}, False),
        ({"tokens": (1999, 0), "folded": object()}, True),
        ({"tokens": None}, False),
        ({"status": "bypassed"}, False),
        ({"mode": "observe"}, False),
        ({"conversation": None}, False),
    ],
)
def test_which_requests_have_vectors_made(changes: dict[str, Any], is_made: bool) -> None:
    async def work() -> None:
        for served in (True, False):
            encoder = Noting(only_while_served=served)
            assert await made(likenesses(MemoryStore(), encoder), exchange(**changes)) == is_made
            for errand in encoder.errands:
                assert (errand.payer.tenant, errand.payer.conversation, errand.model) == ("anna", "label", "m")
                assert (errand.caller.host, bool(errand.caller.headers)) == ("h:443", served)
                assert str(errand.url) == "https://h/v1/chat/completions?api-version=1&api-version=2"

    in_no_time(work())


async def decided(of: Likenesses, messages: Sequence[dict[str, Any]] = HISTORY) -> tuple[Likeness, ...]:
    found = exchange(messages)
    return await of.decide(found, [len(messages) - 1], PLACE)


def test_the_first_decision_holds_for_every_replica() -> None:
    async def work() -> None:
        store, encoder = MemoryStore(), Encoder()
        one, two = likenesses(store, encoder), likenesses(store, Encoder())
        assert await made(one, exchange())
        (first,) = await decided(one)
        assert (first.at, [len(part) for part in first.by_message]) == (3, [1, 1])
        assert one.known(messages(), PLACE) == (first,)
        two._vectors = None
        assert two.known(messages(), PLACE) == ()
        assert await decided(two) == (first,)
        assert two.known(messages(), PLACE) == (first,)
        assert one.known(messages(HISTORY[:1]), PLACE) == ()
        calls = len(encoder.calls)
        assert await decided(one) == (first,)
        assert len(encoder.calls) == calls
        one.forget_in_memory()
        assert one.known(messages(), PLACE) == ()
        assert one._vectors is not None
        await store.delete(Scope("anna"))
        assert await decided(one) == (Likeness(3, first.prefix),), "nothing is left of what was deleted"

    in_no_time(work())


def messages(of: Sequence[dict[str, Any]] = HISTORY) -> Sequence[Message]:
    found: Sequence[Message] = read(of).messages
    return found


INSIDE = [
    HISTORY[0],
    {"role": "assistant", "content": "It opens. <private>So"},
    {"role": "user", "content": "Who opens the office?"},
]
LOOP = [*HISTORY, {"role": "assistant", "content": "At seven."}]


def test_when_words_alone_decide() -> None:
    async def by_words(
        encoder: Encoder, asked: Sequence[dict[str, Any]] = HISTORY, at: int = 2, *, warm: bool = True
    ) -> Likenesses:
        store = MemoryStore()
        of = likenesses(store, encoder)
        if warm:
            await made(of, exchange(asked))
        encoder.calls.clear()
        encoder.takes, encoder.fails = getattr(encoder, "later", (0.0, 0))
        began = now()
        (found,) = await of.decide(exchange(asked), [at], PLACE)
        assert found.by_message == ()
        assert now() - began <= 0.5
        return of

    def question(text: str) -> list[dict[str, Any]]:
        return [*HISTORY[:2], {"role": "user", "content": text}]

    async def work() -> None:
        for asked, at in ((question("x <private>hush</private>"), 2), (LOOP, 2), (INSIDE, 2)):
            encoder = Encoder()
            await by_words(encoder, asked, at)
            assert encoder.calls == []
        encoder = Encoder()
        await by_words(encoder, warm=False)
        assert encoder.calls == [], "there is nothing to compare with"
        encoder = Encoder()
        encoder.knows = frozenset({"german"})
        await by_words(encoder)
        encoder = Encoder()
        encoder.ready = False
        await by_words(encoder)
        assert encoder.calls == []
        failing = Encoder()
        failing.later = (0.0, 1)  # type: ignore[attr-defined]
        of = await by_words(failing)
        assert (of.late, of.failures) == (0, Counter())
        slow = Encoder()
        slow.later = (0.6, 0)  # type: ignore[attr-defined]
        of = await by_words(slow)
        assert (of.late, of.failures) == (1, Counter(late=1))
        slow.failures["slow"] += 2
        assert of.failures == Counter(late=1, slow=2)
        assert of._questions, "it is paid for, so it goes on"
        await asyncio.sleep(1)
        assert not of._questions

    in_no_time(work())


def test_a_question_with_a_clients_key_ends_with_its_wait() -> None:
    async def work() -> None:
        encoder = Encoder(only_while_served=True)
        of = likenesses(MemoryStore(), encoder)
        await made(of, exchange())
        encoder.takes = 0.6
        assert (await decided(of))[0].by_message == ()
        await asyncio.sleep(0.01)
        assert not of._questions

    in_no_time(work())


def test_vectors_that_cannot_be_read_are_told(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        patient = Away()
        of = likenesses(MemoryStore(), Encoder(), patient)
        patient.reads_fail = True
        assert (await decided(of))[0].by_message == ()
        assert "recall uses only words: StoreUnavailable" in caplog.messages

    caplog.set_level(logging.INFO)
    in_no_time(work())


def test_a_store_that_is_away_is_asked_again() -> None:
    async def work() -> None:
        store, patient = Away(), MemoryStore()
        of = likenesses(store, Encoder(), patient)
        await made(of, exchange())
        for reads, swaps in ((True, False), (False, True)):
            store.reads_fail, store.swaps_fail = reads, swaps
            (found,) = await decided(of)
            assert found.by_message == ()
            assert (of.known(messages(), PLACE) == ()) == reads
            of.forget_in_memory()
            await made(of, exchange())
        store.reads_fail = store.swaps_fail = False
        (found,) = await decided(of)
        assert len(found.by_message) == 2

    in_no_time(work())


@each(
    ("groups", "is_on"),
    [
        ({}, True),
        ({"semantic": {}}, False),
        ({"folding": {"recall": False}}, False),
        ({"store": {"save_originals": False}}, False),
        ({"store": {"url": "none://"}}, False),
    ],
)
def test_when_vectors_are_on(groups: dict[str, Any], is_on: bool) -> None:
    settings = Settings.model_validate({"semantic": {"model": "m"}, **groups})
    assert Likenesses(settings, MemoryStore(), MemoryStore(), Incidents(), cast("Any", None)).is_on is is_on


async def test_questions_and_work_end_with_the_process() -> None:
    semantic = {"embedding_model": "text-embedding-3-small", "api_key": "k"}
    of = likenesses(MemoryStore(), Encoder(), semantic=semantic)
    async with of.running():
        encoder = Encoder()
        encoder.takes = 1000.0
        of._use(encoder)
        of.begin(exchange(), PLACE)
        of._questions.add(question := asyncio.create_task(asyncio.sleep(1000)))
        vectors = of._vectors
        await asyncio.sleep(0)
    assert question.cancelled()
    assert vectors is not None
    assert not vectors._work


def test_thirty_two_megabytes_of_decisions_are_remembered() -> None:
    """Some 300 bytes for each, and 34 for each message in it."""
    for more, known in ((0, 1), (1, 0)):
        of = likenesses(MemoryStore(), Encoder())
        of._remember(PLACE, nothing_known(messages(), 2))
        large = bytes(2**24 - 501 + more)
        of._remember(PLACE, Likeness(5, "p", (large,)))
        of._remember(PLACE, Likeness(6, "p", (large, b"")))
        assert len(of.known(messages(), PLACE)) == known
