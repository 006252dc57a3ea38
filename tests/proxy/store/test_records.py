"""Stored records: read whatever release wrote them, left alone where a newer one did."""

from __future__ import annotations

import json
import logging
import tracemalloc
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import httpx
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette

from tests.proxy.receipts import NOON, SECTION, receipt
from turnfold.compression.budgeted import HistoryMessage, HistorySettings
from turnfold.compression.calibration import Learned
from turnfold.compression.errors import SectionUnknown
from turnfold.compression.fold import Section
from turnfold.compression.layers import Compressor, CompressRequest, Layer
from turnfold.compression.state import Machine, Record, State, read_record
from turnfold.compression.state.record import Positions
from turnfold.config.serving import LimitSettings
from turnfold.config.settings import CacheSettings, StoreSettings
from turnfold.proxy.api.cache import CompressionCache
from turnfold.proxy.api.compressions import Compressions, request_key
from turnfold.proxy.api.conversations import Conversations, ConversationUnknown, ConversationUnreadable
from turnfold.proxy.api.roundtrips import Roundtrips, options_of, unpack_result
from turnfold.proxy.api.workshop import Workshop
from turnfold.proxy.books.csv_rows import as_csv
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import line_of, read_line, receipts_between
from turnfold.proxy.books.report import Query, report
from turnfold.proxy.books.rollups import UNPRICED, SumRow
from turnfold.proxy.books.section_records import Layered, find_section, pack_section, unpack_section
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.chat.receipts import Usage
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.routes.conversation import conversation_operations
from turnfold.proxy.routes.operations import mount
from turnfold.proxy.store import Batch, Item, Key
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.store.records import decode_record, encode_record, left_out, log_once
from turnfold.proxy.trails.trail import Trail, Trails

ROW = SumRow("anna", "gpt-4o", "folded", "", "a: c")
PAST = PastRequest(900, 700, "f", 3, 2, 1, 1, True, True, 1.5, Trails(Trail(2048, b"abcdefgh"), Trail(1024, b"abcd")), 600)
LAYERED = Layered("b1", (Layer("Grüße \ud800", 9), Layer("one", 2), Layer("1", 1)), (("user", "Grüße \ud800"),))


def packed(value: Any) -> bytes:
    return zlib.compress(json.dumps(value).encode())


def unpacked(data: bytes) -> Any:
    return json.loads(zlib.decompress(data))


@dataclass(frozen=True)
class Kind:
    """One kind of record: a value, how it is written and read, and what the first release wrote for it."""

    value: Any
    write: Callable[[Any], bytes]
    read: Callable[[bytes], Any]
    first_release: Any
    to_json: Callable[[bytes], Any] = orjson.loads
    to_bytes: Callable[[Any], bytes] = orjson.dumps


KINDS = {
    "cache model": Kind(
        PAST,
        PastRequest.to_bytes,
        PastRequest.from_bytes,
        {
            "unfolded": 900,
            "sent": 700,
            "sections": "f",
            "seen": 3,
            "warm": 2,
            "events": 1,
            "silent": 1,
            "writes": True,
            "folded": True,
            "scale": 1.5,
            "received": 600,
            "trails": [[2048, "VPa!sWoBn+"], [1024, "VPa!s"]],
        },
    ),
    "folded section": Kind(
        SECTION,
        pack_section,
        lambda data: unpack_section(SECTION.id, data),
        [1, SECTION.level, SECTION.tokens, list(SECTION.messages)],
        unpacked,
        packed,
    ),
    "layered section": Kind(
        LAYERED,
        pack_section,
        lambda data: unpack_section(LAYERED.id, data),
        [2, [["Grüße \ud800", 9], ["one", 2], ["1", 1]], [["user", "Grüße \ud800"]]],
        unpacked,
        packed,
    ),
    "row of sums": Kind(
        ROW,
        lambda row: row.to_stem().encode(),
        lambda data: SumRow.from_stem(data.decode()),
        ["anna", "gpt-4o", "folded", "", "a: c"],
    ),
    "state": Kind(
        Record(Machine(State(policies={"docker": "use"})), 3, positions=Positions()),
        lambda record: record.to_bytes(),
        read_record,
        {
            "after": 0,
            "base": None,
            "machine": {
                "authoritative_state": {"policies": {"docker": "use"}, "premise": None, "version": 2},
                "checkpoint_version": 1,
                "pending": None,
            },
            "record_version": 1,
            "seen": 3,
        },
    ),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5), lambda inner: st.lists(inner, max_size=2)
)


@pytest.fixture(autouse=True)
def _no_line_is_said_yet() -> Iterator[None]:
    log_once.cache_clear()
    yield
    log_once.cache_clear()


@pytest.mark.parametrize("name", KINDS)
def test_a_record_survives_the_store(name: str) -> None:
    kind = KINDS[name]
    assert kind.read(kind.write(kind.value)) == kind.value


@pytest.mark.parametrize("name", KINDS)
def test_what_the_first_release_wrote_is_read(name: str) -> None:
    kind = KINDS[name]
    assert kind.read(kind.to_bytes(kind.first_release)) == kind.value


@pytest.mark.parametrize("name", KINDS)
@given(extra=st.dictionaries(st.text(min_size=1, max_size=8).map(lambda text: f"new {text}"), JSON, max_size=3))
def test_a_field_of_a_later_release_is_passed_over(name: str, extra: dict[str, Any]) -> None:
    kind = KINDS[name]
    with_extra = {**kind.to_json(kind.write(kind.value)), **extra}
    assert kind.read(kind.to_bytes(with_extra)) == kind.value


@pytest.mark.parametrize("name", [name for name in KINDS if name != "state"])
@pytest.mark.parametrize("broken", [{"record_version": 99}, {"record_version": "1"}, [], [7, 8, 9], "text", None, 5])
def test_what_cannot_be_read_counts_as_absent(name: str, broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    kind, before = KINDS[name], left_out.copy()
    with caplog.at_level(logging.WARNING):
        assert kind.read(kind.to_bytes(broken)) is None
        assert kind.read(kind.to_bytes(broken)) is None
    (told,) = caplog.messages
    ((what, number),) = (left_out - before).items()
    assert number == 2
    assert told.startswith(f"A stored {what} is skipped: it")
    assert what.replace(" ", "").isalpha()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in ("tags", "sections") for value in ("text", [5], ["a", None], {"a": "b"}, 5)),
        *(("at", "5"), ("at", True), ("tenant", 5), ("reason", None)),
    ],
)
def test_a_receipt_with_a_field_of_another_type_is_left_out(name: str, value: Any) -> None:
    sound = {"tags": ["a"], "sections": [], **first_release_line()}
    assert read_line(encode_record(sound)) is not None
    assert read_line(encode_record(sound | {name: value})) is None


def test_numbers_are_read_up_to_those_that_are_exact_everywhere() -> None:
    def read(number: float) -> object:
        return decode_record("thing", encode_record({"deep": [{"number": number}]}), lambda value: value["deep"][0]["number"])

    for number in (2**53, -(2**53), 0, 0.5):
        assert read(number) == number
    for number in (2**53 + 1, -(2**53) - 1, 1e300):
        assert read(number) is None


@given(st.binary(max_size=40))
def test_no_bytes_raise(data: bytes) -> None:
    readers = [kind.read for name, kind in KINDS.items() if name not in ("state", "row of sums")]
    assert [read(data) for read in [*readers, read_line, unpack_result]] == [None] * 5


# --- receipts ---


async def lines(store: MemoryStore) -> list[dict[str, Any]]:
    return [line async for line in receipts_between(store, NOON - 1, NOON + 3600)]


def first_release_line(**changes: Any) -> dict[str, Any]:
    """As the first release logged a receipt."""
    usage = {"prompt_tokens": 400, "completion_tokens": 50, "cached_tokens": 100, "cache_write_tokens": 0}
    times = {"at": NOON, "overhead_ms": 1.5, "first_byte_ms": 200.0, "total_ms": 900.0}
    names = {"request_id": "old", "tenant": "anna", "model": "gpt-4o", "conversation": "c", "status": "folded", "reason": ""}
    rest = {"upstream_status": 200, "streamed": True, "complete": True, "state": "", "calls": [], "sections": ["s-1"]}
    sums = {"tokens_before": 1000, "tokens_after": 400, "paid": None, "paid_own": 0.0, "without": None}
    return names | times | rest | sums | {"usage": usage} | changes


async def test_receipts_of_all_releases_have_the_same_columns() -> None:
    store = MemoryStore()
    later = orjson.loads(line_of(receipt(request_id="later"), UNPRICED, ["s-1"])) | {"wire": "messages", "usage": {"audio": 5}}
    without_state = {name: value for name, value in first_release_line(request_id="older").items() if name != "state"}
    batch = [orjson.dumps(one) for one in (first_release_line(), later, without_state, later | {"record_version": 9})]
    await store.record(
        Batch("b", {"receipts:2025-10-09T12": [*batch, line_of(receipt(request_id="new"), UNPRICED, ["s-1"])]}, {}, 60)
    )
    found = await lines(store)
    assert [line["request_id"] for line in found] == ["old", "later", "older", "new"]
    assert found[0] == found[3] | {"request_id": "old"} == found[2] | {"request_id": "old"}
    rows = as_csv(found).splitlines()
    assert len({row.count(",") for row in rows}) == 1
    assert found[1]["usage"] == dict.fromkeys(field.name for field in fields(Usage))


async def test_sums_of_two_releases_are_added() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), lambda *_: None)
    book.record(receipt(), ())
    await book.flush()
    old = {'requests:["anna","gpt-4o","folded","",""]': 2, 'before:["anna","gpt-4o","folded","",""]': 500}
    later = {'requests:{"tenant":"anna","model":"gpt-4o","status":"folded","wire":"messages"}': 4}
    unknown = {'requests:{"record_version":9}': 8, "requests:[]": 16}
    await store.record(Batch("old", {}, {"hour:2025-10-09T12": old | later | unknown, "day:2025-10-09": old}, 60))
    totals = (await report(store, Query(NOON, NOON + 60)))["totals"]
    assert (totals["requests"], totals["tokens"]["before"]) == (7, 1500)


# --- sections, conversations, caches ---


async def test_a_section_of_a_newer_release_is_not_to_be_had() -> None:
    store = MemoryStore()
    await store.put([Item(Key("anna", "section", "s-1"), packed({"record_version": 2, "form": "folded"}), 60)])
    with pytest.raises(SectionUnknown):
        await find_section(store, "anna", "s-1")


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    made = Workshop(1)
    yield made
    made.close()


class Anna:
    """A gate that lets everybody in."""

    def tenant(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        del headers
        return "anna"

    def is_admin(self, headers: Sequence[tuple[bytes, bytes]], method: str = "") -> bool:
        del headers
        return False


async def answer_to(conversations: Conversations, workshop: Workshop, path: str) -> httpx.Response:
    """What the API answers to a GET."""
    app = Starlette(routes=mount(conversation_operations(conversations, workshop), Anna(), LimitSettings()))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t") as client:
        return await client.get(path)


def conversation_of_the_first_release(**changes: Any) -> bytes:
    texts = {"pinned": [["system", "Be brief."]], "orders": [], "recent": [["user", "hello"], ["assistant", "hi"]]}
    numbers = {"recent_tokens": [3, 3], "raw_tokens": 10, "messages": 3, "duplicates": 0, "version": 3, "settings": [700, 4]}
    head = {"format": 1, "blocks": [], "tokens": [["key-1", "appended"]], **texts, **numbers}
    return orjson.dumps(head | changes)


async def test_a_conversation_of_the_first_release_goes_on(workshop: Workshop) -> None:
    store = MemoryStore()
    key = Key("anna", "conversation", "c")
    await store.put([Item(key, conversation_of_the_first_release(), 60, "c")])
    conversations = Conversations(store, StoreSettings(), workshop)
    before = await conversations.read("anna", "c")
    assert (before.settings.compress_threshold, before.settings.keep_recent) == (700, 4)
    assert [message.content for message in before.history.recent] == ["hello", "hi"]
    message = replace(before.history.recent[0], content="What now?")
    assert (await conversations.add("anna", "c", message, before.settings, "key-1")).kept.history == before.history
    added = await conversations.add("anna", "c", message, before.settings, "key-2")
    assert added.kept.history.messages == 4
    (held,) = await store.get([key])
    assert held is not None
    later = orjson.loads(held) | {"mood": "good"}
    await store.put([Item(key, orjson.dumps(later), 60, "c")])
    assert await conversations.read("anna", "c") == added.kept


@pytest.mark.parametrize(
    "head", [conversation_of_the_first_release(record_version=4), conversation_of_the_first_release(format=2), b"[]", b"\xff"]
)
async def test_a_conversation_of_a_newer_release_is_left_alone(workshop: Workshop, head: bytes) -> None:
    store = MemoryStore()
    key = Key("anna", "conversation", "c")
    await store.put([Item(key, head, 60, "c")])
    conversations = Conversations(store, StoreSettings(), workshop)
    with pytest.raises(ConversationUnreadable, match=r"^Conversation '[^']+' was written by a newer Turnfold; update this one"):
        await conversations.read("anna", "c")
    with pytest.raises(ConversationUnreadable):
        await conversations.add("anna", "c", HistoryMessage("user", "hello"), HistorySettings())
    assert await store.get([key]) == [head]
    answer = await answer_to(conversations, workshop, "/v1/conversation/c")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conversation_unreadable")
    await conversations.forget("anna", "c")
    with pytest.raises(ConversationUnknown):
        await conversations.read("anna", "c")


async def test_learned_windows_are_read_from_every_release() -> None:
    store = MemoryStore()
    spot = UpstreamModel("anna", "http://up", "m")
    known = {"ratios": [1.1, 1.2], "limit": 9000, "fits": 5, "fails": None, "quiet": [[10, 12]]}
    believed = Learned(ratios=(1.1, 1.2), limit=9000, claims=2, over=(False,), fits=5, quiet=((10, 12),))  # one claim was enough
    for until, quiet, expected in (
        (9e9, [[10, 12]], believed),
        (9e9, [{"ours": 10, "reported": 12, "why": "?"}], believed),
        (9e9, "oh", Learned()),
    ):
        await store.put([Item(spot.key, orjson.dumps({**known, "until": until, "quiet": quiet, "new": 1}), 60)])
        assert await Windows(store).learned(spot) == expected
    await store.put([Item(spot.key, orjson.dumps({**known, "until": 9e9, "record_version": 2}), 60)])
    assert await Windows(store).learned(spot) == Learned()


async def test_what_windows_write_they_read() -> None:
    store = MemoryStore()
    spot = UpstreamModel("anna", "http://up", "m")
    one = Windows(store)
    await one.learn_from_usage(spot, 1000, 1100)
    learned = await one.learn_from_refusal(spot, 9000, 9500)
    assert learned != Learned()
    assert await Windows(store).learned(spot) == learned


async def test_the_index_of_the_cache_is_read_from_every_release() -> None:
    store = MemoryStore()
    cache = CompressionCache(store, CacheSettings())
    index = Key("anna", "compression-index", "")
    await store.put([Item(index, orjson.dumps([4, 3, 2, [["a", 10, 9e9], ["b", 20, 9e9], ["gone", 5, 1.0]]]), 60)])
    stats = await cache.stats("anna")
    assert (stats.hits, stats.misses, stats.evictions, stats.bytes, list(stats.entries)) == (4, 3, 2, 30, ["a", "b"])
    await cache.count_miss("anna", "c", 5)
    assert list((await cache.stats("anna")).entries) == ["a", "b", "c"]
    later = orjson.dumps({"record_version": 2, "hits": [1]})
    await store.put([Item(index, later, 60)])
    assert (await cache.stats("anna")).hits == 0
    await cache.count_miss("anna", "d", 5)
    assert await store.get([index]) == [later]


async def test_results_in_the_cache_are_read_from_every_release(workshop: Workshop) -> None:
    store = MemoryStore()
    settings = StoreSettings()
    compressions = Compressions(store, settings, CompressionCache(store, CacheSettings()), workshop)
    request = CompressRequest("The budget is 400 euros. " * 20)
    made = await compressions.compress("anna", request)
    key = Key("anna", "compression", request_key(request))
    (held,) = await store.get([key])
    assert held is not None
    record = unpacked(held)
    for form in (record["result"], record | {"new": 1}):
        await store.put([Item(key, packed(form), 60)])
        again = await compressions.compress("anna", request)
        assert (again.cached, again.result) == (True, made.result)
    for form in (record | {"record_version": 2}, {"result": {}}, []):
        await store.put([Item(key, packed(form), 60)])
        again = await compressions.compress("anna", request)
        assert (again.cached, again.result) == (False, made.result)
    assert made.result == Compressor().compress(request)


async def test_round_trips_are_read_from_every_release(workshop: Workshop) -> None:
    store = MemoryStore()
    roundtrips = Roundtrips(store, StoreSettings(), workshop)
    messages = [{"role": "user", "content": f"Number {n}. " + "We met Mara Lind on Monday. " * 30} for n in range(6)]
    result, kept = await roundtrips.compress("anna", messages, options_of({"recency_window": 1}), None)
    assert kept
    key = Key("anna", "roundtrip", result.result_id)
    (held,) = await store.get([key])
    assert held is not None
    record = unpacked(held)
    for form in ({"messages": record["messages"], "verbatim": record["verbatim"]}, record | {"new": 1}):
        await store.put([Item(key, packed(form), 60)])
        assert (await roundtrips.uncompress("anna", result.messages, None, recursive=False)).messages == messages
    for form in (record | {"record_version": 2}, {"messages": 5}):
        await store.put([Item(key, packed(form), 60)])
        back = await roundtrips.uncompress("anna", result.messages, None, recursive=False)
        assert (back.messages_expanded, bool(back.missing_ids)) == (0, True)


def test_a_section_is_a_section_of_either_form() -> None:
    assert isinstance(unpack_section("x", pack_section(SECTION)), Section)
    assert isinstance(unpack_section("x", pack_section(LAYERED)), Layered)


def test_a_record_takes_as_much_memory_as_it_is_long() -> None:
    """orjson's own bytes hold on to the buffer in which they were written."""
    tracemalloc.start()
    kept = [encode_record({"text": "x" * 20_000}) for _ in range(8)]
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 1.1 * sum(map(len, kept))
