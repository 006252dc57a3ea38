"""What every store must do, shown on each of them; the Redis one is a real Valkey server."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Sequence

import pytest

from turnfold.proxy.store import Batch, Item, Key, Scope, Store
from turnfold.proxy.store.base import BooksOf
from turnfold.proxy.store.cached import CachedStore
from turnfold.proxy.store.guard import GuardedStore, TimedStore
from turnfold.proxy.store.memory import MemoryStore, NothingStore
from turnfold.proxy.store.redis_store import RedisStore
from turnfold.proxy.store.sealed import SealedStore
from turnfold.proxy.store.sqlite import SqliteStore

A, B = Key("anna", "section", "s1"), Key("anna", "section", "s2")
STATE = Key("anna", "conversation", "c1")

# Text that breaks careless layouts of keys.
ODD = ["", ":", "a:b", "*", "{x}", "}:i:section", "日本語", "a\x00b", "%3A", "\ud800", " ", "x" * 500]


def item(key: Key, value: bytes = b"v", ttl: float = 60, conversation: str | None = None) -> Item:
    return Item(key, value, ttl, conversation)


async def everything(store: Store, scope: Scope) -> list[Key]:
    found: list[Key] = []
    while page := await store.keys(scope, len(found), 3):
        found += page
    assert len(found) == len(set(found))
    return sorted(found)


async def test_items_come_back_in_the_order_asked_for(store: Store) -> None:
    await store.put([item(A, b"\x00\xff" * 1000), item(B, b"")])
    missing = Key("anna", "section", "s3")
    assert await store.get([B, missing, A, A]) == [b"", None, b"\x00\xff" * 1000, b"\x00\xff" * 1000]
    assert await store.get([]) == []
    await store.put([])
    await store.put([item(A, b"new")])
    assert await store.get([A]) == [b"new"]


async def test_odd_names_are_names_like_any(store: Store) -> None:
    """Each beside those before it, which it must not touch."""
    for odd in ODD:
        keys = [Key(odd, "section", "x"), Key("anna", odd, "x"), Key("anna", "section", odd)]
        for number, key in enumerate(keys):
            await store.put([item(key, str(number).encode(), conversation=odd)])
        assert await store.get(keys) == [b"0", b"1", b"2"], odd
        assert await everything(store, Scope("anna", conversation=odd)) == sorted(keys[1:]), odd
        assert await store.delete(Scope(odd)) == 1, odd
        assert await store.get(keys) == [None, b"1", b"2"], odd
    kept = [Key("anna", *names) for odd in ODD for names in ((odd, "x"), ("section", odd))]
    assert await store.get(kept) == [b"1", b"2"] * len(ODD)


async def test_no_tenant_sees_another(store: Store) -> None:
    await store.put([item(A, b"hers", conversation="c")])
    other = Key("bert", A.kind, A.id)
    assert await store.get([other]) == [None]
    assert await store.keys(Scope("bert")) == []
    assert await store.delete(Scope("bert", conversation="c")) == 0
    assert await store.discard([other]) == 0
    assert not await store.swap(b"hers", item(other))
    assert await store.get([A]) == [b"hers"]


async def test_items_go_when_their_time_is_over(store: Store) -> None:
    await store.put([item(A, ttl=0.05, conversation="c"), item(B)])
    assert await store.swap(None, item(STATE, ttl=0.05))
    await asyncio.sleep(0.08)
    assert await store.get([A, B, STATE]) == [None, b"v", None]
    assert await everything(store, Scope("anna")) == [B]
    assert await store.keys(Scope("anna", conversation="c")) == []
    assert await store.swap(None, item(STATE, b"again"))


async def test_a_new_time_to_live_replaces_the_old(store: Store) -> None:
    await store.put([item(A, ttl=0.05)])
    await store.put([item(A, ttl=60)])
    await asyncio.sleep(0.08)
    assert await store.get([A]) == [b"v"]
    assert await store.keys(Scope("anna")) == [A]


async def test_swap_compares(store: Store) -> None:
    assert not await store.swap(b"x", item(STATE, b"1"))
    assert await store.swap(None, item(STATE, b"1"))
    assert not await store.swap(None, item(STATE, b"2"))
    assert not await store.swap(b"", item(STATE, b"2"))
    assert await store.swap(b"1", item(STATE, b"2", conversation="c"))
    assert await store.get([STATE]) == [b"2"]
    assert await store.keys(Scope("anna", conversation="c")) == [STATE]


async def add(store: Store, text: str) -> None:
    while True:
        (held,) = await store.get([STATE])
        if await store.swap(held, item(STATE, (held or b"") + text.encode() + b";")):
            return


async def test_concurrent_additions_lose_nothing(store: Store) -> None:
    await asyncio.gather(*(add(store, str(number)) for number in range(32)))
    (held,) = await store.get([STATE])
    assert held is not None
    assert sorted(map(int, held.decode().rstrip(";").split(";"))) == list(range(32))


async def test_listing_by_tenant_kind_and_conversation(store: Store) -> None:
    old, new = "old", "new"
    await store.put([item(A, conversation=old), item(B, conversation=new), item(STATE, conversation=old)])
    await store.put([item(A, conversation=new)])
    assert await everything(store, Scope("anna")) == sorted([A, B, STATE])
    assert await everything(store, Scope("anna", "section")) == [A, B]
    assert await everything(store, Scope("anna", conversation=old)) == sorted([A, STATE])
    assert await everything(store, Scope("anna", "section", new)) == [A, B]
    assert await store.keys(Scope("anna", "unheard of")) == []


DELETED: list[tuple[Scope, Sequence[Key]]] = [
    (Scope("anna"), [A, B, STATE]),
    (Scope("anna", "section"), [A, B]),
    (Scope("anna", conversation="c"), [A, STATE]),
    (Scope("anna", "section", "c"), [A]),
    (Scope("anna", conversation="unheard of"), []),
]


async def test_deletion(store: Store) -> None:
    other = Key("bert", "section", "s1")
    for scope, gone in DELETED:
        await store.put([item(A, conversation="c"), item(B), item(STATE, conversation="c"), item(other, conversation="c")])
        assert await store.delete(scope) == len(gone), scope
        left = sorted({A, B, STATE} - set(gone))
        assert await everything(store, Scope("anna")) == left, scope
        assert [key for key in (A, B, STATE) if (await store.get([key]))[0] is None] == list(gone), scope
        assert await store.get([other]) == [b"v"], scope
        assert await store.delete(scope) == 0, scope
        await store.put([item(A, conversation="c")])
        assert await store.keys(Scope("anna", conversation="c", kind="section")) == [A], scope
        await store.delete(Scope("anna"))


async def test_a_label_does_not_outlive_its_item(store: Store) -> None:
    await store.put([item(A, conversation="c")])
    await store.delete(Scope("anna"))
    await store.put([item(A)])
    assert await store.keys(Scope("anna", conversation="c")) == []


async def test_discard(store: Store) -> None:
    await store.put([item(A), item(B)])
    assert await store.discard([A, A, STATE]) == 1
    assert await store.discard([]) == 0
    assert await everything(store, Scope("anna")) == [B]


async def test_a_batch_counts_once(store: Store) -> None:
    batch = Batch("b1", {"log": [b"1", b"2"]}, {"day": {"x": 3, "y": -1}, "hour": {"x": 2**53}}, ttl=60, items=[item(A)])
    for _ in range(2):
        await store.record(batch)
    await store.record(Batch("b2", {"log": [b"3"], "other": []}, {"day": {"x": 1}, "nothing": {}}, ttl=60))
    assert await store.log("log") == ([b"1", b"2", b"3"], None)
    assert await store.counts(["day", "unknown", "hour"]) == [{"x": 4, "y": -1}, {}, {"x": 2**53}]
    assert await store.get([A]) == [b"v"]


async def test_concurrent_batches_add_up(store: Store) -> None:
    batches = [Batch(f"b{number}", {"log": [str(number).encode()]}, {"t": {"x": 1}}, ttl=60) for number in range(40)]
    await asyncio.gather(*(store.record(batch) for batch in batches))
    assert await store.counts(["t"]) == [{"x": 40}]
    assert sorted((await store.log("log"))[0]) == sorted(str(number).encode() for number in range(40))


async def test_logs_are_read_in_pages(store: Store) -> None:
    lines = [str(number).encode() for number in range(10)]
    await store.record(Batch("b", {"log": lines, "beside": [b"x"] * 3}, {}, ttl=60))
    await store.record(Batch("c", {"log": [b"last"]}, {}, ttl=60))
    read: list[bytes] = []
    position: int | None = 0
    while position is not None:
        page, position = await store.log("log", position, 4)
        read += page
    assert read == [*lines, b"last"]
    assert await store.log("log", 0, 11) == ([*lines, b"last"], None), "a page that ends with the log is the last"
    assert await store.log("unknown") == ([], None)
    assert await store.newest("log", 0, 3) == [b"last", *lines[:-3:-1]]
    assert await store.newest("log", 2, 2) == lines[-2:-4:-1]
    assert await store.newest("log", len(lines), 50) == [lines[0]]
    assert await store.newest("log", len(lines) + 1, 50) == await store.newest("unknown") == []


@pytest.mark.parametrize("around", [lambda store: CachedStore(store, frozenset()), lambda store: SealedStore(store, None, 60.0)])
async def test_a_store_around_another_reads_its_books(around: Callable[[Store], Store]) -> None:
    store = around(MemoryStore())
    await store.record(Batch("b", {"log": [b"1", b"2", b"3", b"4"]}, {"day": {"x": 1}}, ttl=60))
    assert await store.log("log", 1, 2) == ([b"2", b"3"], 3)
    assert await store.newest("log", 1, 2) == [b"3", b"2"]
    assert (await store.counts(["day"]), await store.names()) == ([{"x": 1}], (["log"], ["day"]))
    assert await store.erase({"log": [b"1"]}, {"day": ["x"]}) == 2
    assert await store.newest("log") == [b"4", b"3", b"2"]


async def test_logs_and_counts_go_when_their_time_is_over(store: Store) -> None:
    await store.record(Batch("b", {"log": [b"1"]}, {"t": {"x": 1}}, ttl=0.05))
    await asyncio.sleep(0.08)
    assert await store.log("log") == ([], None)
    assert await store.counts(["t"]) == [{}]


async def test_logs_may_go_before_the_counts(store: Store) -> None:
    await store.record(Batch("b", {"log": [b"1"]}, {"t": {"x": 1}}, ttl=60, lines_ttl=0.05))
    await asyncio.sleep(0.08)
    assert await store.log("log") == ([], None)
    assert await store.counts(["t"]) == [{"x": 1}]
    await store.record(Batch("b", {"log": [b"1"]}, {"t": {"x": 1}}, ttl=60, lines_ttl=0.05))
    assert await store.counts(["t"]) == [{"x": 1}]


async def test_counts_begin_anew_after_their_time(store: Store) -> None:
    await store.record(Batch("b", {}, {"t": {"x": 1}}, ttl=0.05))
    await asyncio.sleep(0.08)
    await store.record(Batch("c", {}, {"t": {"x": 5}}, ttl=60))
    assert await store.counts(["t"]) == [{"x": 5}]


async def test_erasing_lines_and_fields(store: Store) -> None:
    lines = [b"%d" % number for number in range(2500)]
    await store.record(Batch("b", {"log": lines, "beside": [b"1"]}, {"t": {"x": 1, "y": 2, "\ud800": 3}, "u": {"x": 4}}, ttl=60))
    assert await store.names() == (["beside", "log"], ["t", "u"])
    gone = [*lines[:1100], lines[-1], b"unknown"]
    assert await store.erase({"log": gone, "nothing": [b"1"], "beside": []}, {"t": ["x", "z", "\ud800"], "none": ["x"]}) == 1103
    left: list[bytes] = []
    position: int | None = 0
    while position is not None:
        page, position = await store.log("log", position)
        left += page
    assert left == lines[1100:-1]
    assert await store.counts(["t", "u"]) == [{"y": 2}, {"x": 4}]
    assert await store.log("beside") == ([b"1"], None)
    await store.record(Batch("c", {"log": [b"later"]}, {}, ttl=60))
    assert (await store.log("log", 0, 5000))[0][-1] == b"later"
    assert await store.erase({}, {}) == 0


async def test_an_erased_log_still_expires(store: Store) -> None:
    begin = time.monotonic()
    await store.record(Batch("b", {"log": [b"1", b"2"]}, {}, ttl=0.3))
    await store.erase({"log": [b"1"]}, {})
    left = await store.log("log")
    assert left == ([b"2"], None) or time.monotonic() - begin >= 0.3
    await asyncio.sleep(0.35)
    assert await store.log("log") == ([], None)


async def test_merging_fields_keeps_their_sum(store: Store) -> None:
    await store.record(Batch("b", {}, {"t": {"x": 1, "y": -2, "\ud800": 3, "z": 2**53}, "u": {"x": 4}}, ttl=60))
    into = {"x": "rest", "y": "rest", "\ud800": "z", "unknown": "rest"}
    for _ in range(2):
        await store.merge("t", into)
        assert await store.counts(["t", "u"]) == [{"rest": -1, "z": 2**53 + 3}, {"x": 4}]
    await store.merge("none", into)
    await store.merge("t", {f"n{number}": "z" for number in range(2500)} | {"rest": "z"})
    assert await store.counts(["t", "none"]) == [{"z": 2**53 + 2}, {}]
    await store.record(Batch("c", {}, {"t": {"x": 7}}, ttl=60))
    assert await store.counts(["t"]) == [{"z": 2**53 + 2, "x": 7}]


async def test_merged_counts_still_expire(store: Store) -> None:
    await store.record(Batch("b", {}, {"t": {"x": 1, "y": 2}}, ttl=0.3))
    await store.merge("t", {"x": "rest", "y": "rest"})
    await asyncio.sleep(0.35)
    assert await store.counts(["t"]) == [{}]


async def test_trimming_a_log_takes_the_oldest_lines(store: Store) -> None:
    await store.record(Batch("b", {"log": [b"%d" % number for number in range(10)], "beside": [b"x"]}, {}, ttl=60))
    for share, first in ((0.0, 0), (0.25, 3), (1 / 7, 4), (0.5, 7), (1.0, 10)):
        await store.trim("log", share)
        assert await store.log("log") == ([b"%d" % number for number in range(first, 10)], None), share
    await store.trim("unknown", 1.0)
    assert await store.log("beside") == ([b"x"], None)
    await store.record(Batch("c", {"log": [b"later"]}, {}, ttl=60))
    assert await store.log("log") == ([b"later"], None)


async def test_a_store_says_how_full_it_is(store: Store, store_kind: str) -> None:
    room = await store.room()
    names = [str(n) for n in range(24)]  # on every server of a cluster, of which the fullest one counts
    sums = {f"t{name}": {"x" * 1000 + str(n): 1 for n in range(50)} for name in names}
    await store.record(Batch("b", {f"log{name}": [bytes(1000)] * 50 for name in names}, sums, ttl=60))
    more = await store.room()
    if room is not None and more is not None:
        grown = 500_000 if store_kind == "cluster" else 2_160_000
        assert room.limit == more.limit > more.used > room.used + grown


async def test_scrubbing_loses_nothing(store: Store) -> None:
    await store.put([item(A), item(B)])
    await store.discard([A])
    await store.scrub()
    await store.scrub()
    assert await store.get([A, B]) == [None, b"v"]


async def test_ping_and_closing_twice(store: Store) -> None:
    await store.ping()
    await store.close()
    await store.close()


KINDS = (Store, BooksOf, MemoryStore, NothingStore, SqliteStore, RedisStore, CachedStore, TimedStore, GuardedStore, SealedStore)


def test_a_call_without_limits_means_the_same_to_every_store() -> None:
    """A store may stand around another one, which must not be asked for another page."""
    pages = {"keys": {"offset": 0, "limit": 1000}, "log": {"position": 0, "limit": 1000}, "newest": {"skip": 0, "limit": 100}}
    for kind in KINDS:
        for name in pages.keys() & dir(kind):
            given = inspect.signature(getattr(kind, name)).parameters.values()
            assert {one.name: one.default for one in given if one.default is not one.empty} == pages[name], (kind, name)


def test_what_is_stored_is_not_shown_where_an_item_is() -> None:
    assert "secret" not in repr(item(A, b"secret"))
    assert "s1" in repr(item(A, b"secret"))
