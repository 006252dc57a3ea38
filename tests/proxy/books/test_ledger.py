"""The ledger: everything arrives once, nothing waits for it, a store that is away loses nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest

from tests.proxy.receipts import NOON, SECTION, receipt
from tests.support.growth import assert_linear
from turnfold.compression.errors import SectionUnknown
from turnfold.compression.fold import Section
from turnfold.config.fold import fold_options
from turnfold.config.prices import TokenUse, dollars
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.books import ledger as module
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import receipts_between
from turnfold.proxy.books.report import Query, report
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.books.section_records import SectionExpired, find_section
from turnfold.proxy.chat.receipts import OwnCall, Receipt, Usage
from turnfold.proxy.store import Batch, Key, Scope, Store, StoreTimedOut, StoreUnavailable
from turnfold.proxy.store.memory import MemoryStore


def ledger(store: Store, **settings: Any) -> Ledger:
    return Ledger(store, StoreSettings(**settings), dollars)


async def logged(store: Store) -> list[dict[str, Any]]:
    return [line async for line in receipts_between(store, NOON - 1, NOON + 7200)]


async def test_receipts_and_originals_arrive(store: Store) -> None:
    book = ledger(store)
    await book.start()
    book.record(receipt(request_id="one"), (SECTION,))
    book.record(receipt(request_id="two", at=NOON + 3600), (SECTION,))
    await book.stop()
    assert [line["request_id"] for line in await logged(store)] == ["one", "two"]
    assert await find_section(store, "anna", SECTION.id) == SECTION
    assert (book.written, book.queued, book.dropped) == (2, 0, 0)


async def test_what_is_recorded_comes_to_the_store_by_itself() -> None:
    store = MemoryStore()
    book = ledger(store)
    await book.start()
    book.record(receipt(), ())
    async with asyncio.timeout(60):
        while not await logged(store):  # noqa: ASYNC110 - the store gives no sign
            await asyncio.sleep(0.02)
    assert len(await logged(store)) == 1
    await book.stop()
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize(("characters", "in_loop"), [(200, True), (200_000, False)])
async def test_large_originals_are_packed_outside_the_event_loop(characters: int, *, in_loop: bool) -> None:
    threads: list[threading.Thread] = []

    def price(model: str, use: TokenUse, at: float) -> float | None:
        threads.append(threading.current_thread())
        return dollars(model, use, at)

    store = MemoryStore()
    book = Ledger(store, StoreSettings(), price)
    section = Section("s-2", "facts", ("x" * characters,), 12)
    book.record(receipt(), (section,))
    await book.flush()
    assert {one is threading.current_thread() for one in threads} == {in_loop}
    assert await find_section(store, "anna", "s-2") == section


async def test_no_tenant_gets_anothers_section(store: Store) -> None:
    book = ledger(store)
    book.record(receipt(), (SECTION,))
    await book.flush()
    with pytest.raises(SectionUnknown) as caught:
        await find_section(store, "bert", SECTION.id)
    assert type(caught.value) is SectionUnknown


async def test_expired_and_deleted_are_told_from_never_seen(store: Store) -> None:
    book = ledger(store)
    book.record(receipt(), (SECTION,))
    await book.flush()
    await store.delete(Scope("anna", conversation="c"))
    with pytest.raises(SectionExpired, match=f"{SECTION.id}' is no longer kept") as expired:
        await find_section(store, "anna", SECTION.id)
    await store.delete(Scope("anna"))
    with pytest.raises(SectionUnknown) as caught:
        await find_section(store, "anna", SECTION.id)
    assert type(caught.value) is SectionUnknown
    assert caught.value.section_id == expired.value.section_id == SECTION.id


async def test_without_save_originals_none_is_kept() -> None:
    store = MemoryStore()
    book = ledger(store, save_originals=False)
    book.record(receipt(), (SECTION,))
    await book.flush()
    assert await store.keys(Scope("anna", "section")) == []
    assert len(await logged(store)) == 1


async def test_an_original_in_use_is_written_once_an_hour_not_once_a_request() -> None:
    writes: list[int] = []

    class Counting(MemoryStore):
        async def record(self, batch: Batch) -> None:
            writes.append(sum(item.key.kind == "section" for item in batch.items))
            await super().record(batch)

    book = ledger(Counting())
    for _ in range(3):
        book.record(receipt(), (SECTION,))
        await book.flush()
    book.record(receipt(tenant="bert"), (SECTION,))
    await book.flush()
    book.forget("anna".__eq__)
    book.record(receipt(), (SECTION,))
    await book.flush()
    assert writes == [1, 0, 0, 1, 1]


class Failing(MemoryStore):
    """Takes a batch and fails to say so, or is away, as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.plan: list[str] = []

    async def record(self, batch: Batch) -> None:
        step = self.plan.pop(0) if self.plan else ""
        if step == "away":
            raise StoreUnavailable("away")
        await super().record(batch)
        if step == "late":
            raise StoreTimedOut("late")


async def test_a_store_that_fails_costs_nothing_and_counts_once() -> None:
    store = Failing()
    book = ledger(store)
    store.plan = ["away", "late", "away", "late"]
    for number in range(5):
        book.record(receipt(request_id=str(number)), (SECTION,))
        await book.flush()
    await book.stop()
    assert sorted(line["request_id"] for line in await logged(store)) == list("01234")
    totals = (await report(store, Query(NOON, NOON + 3600)))["totals"]
    assert totals["requests"] == 5
    assert book.written == 5


async def test_flushes_at_the_same_time_write_everything_once() -> None:
    class Slow(MemoryStore):
        async def get(self, keys: Sequence[Key]) -> list[bytes | None]:
            await asyncio.sleep(0)
            return await super().get(keys)

        async def record(self, batch: Batch) -> None:
            await asyncio.sleep(0.01)
            await super().record(batch)

    store = Slow()
    book = ledger(store)
    for number in range(5):
        book.record(receipt(request_id=str(number)), (SECTION,))
    assert await asyncio.gather(*(book.flush() for _ in range(4))) == [True] * 4
    assert [line["request_id"] for line in await logged(store)] == list("01234")
    assert (book.written, book.queued) == (5, 0)
    assert (await report(store, Query(NOON, NOON + 3600)))["totals"]["requests"] == 5


async def test_a_store_that_stays_away_holds_up_neither_requests_nor_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STOP_PATIENCE", 0.3)
    store = Failing()
    store.plan = ["away"] * 1000
    book = ledger(store)
    await book.start()
    for _ in range(7):
        book.record(receipt(), ())
    await book.stop()
    assert book.dropped == 7
    assert store.plan  # it was not tried to the end


async def test_the_queue_is_bounded_and_counts_what_it_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_QUEUED", 10)
    monkeypatch.setattr(module, "_MOST_QUEUED_BYTES", 1000)
    store = MemoryStore()
    book = ledger(store)
    large = Section("large", "facts", ("x" * 2000,), 500)
    for _ in range(12):
        book.record(receipt(), (large,))
    assert (book.dropped, book.dropped_originals, book.queued) == (2, 10, 10)
    await book.flush()
    assert await store.keys(Scope("anna", "section")) == []
    assert len(await logged(store)) == 10


async def test_one_tenant_does_not_fill_the_queue_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_QUEUED", 10)
    monkeypatch.setattr(module, "_MOST_QUEUED_BYTES", 1000)
    store = MemoryStore()
    book = ledger(store)
    section = Section("s", "facts", ("x" * 300,), 500)
    for number in range(30):
        book.record(receipt(), (replace(section, id=f"s{number}"),))
    assert (book.dropped, book.queued) == (20, 10)
    book.record(receipt(tenant="bert"), (section,))
    assert book.queued == 11
    await book.flush()
    assert len(await store.keys(Scope("bert", "section"))) == 1
    assert len(await store.keys(Scope("anna", "section"))) == 3
    book.record(receipt(), ())
    assert book.queued == 1


async def test_made_up_model_names_do_not_grow_the_tables(store: Store) -> None:
    for start in (0, 20):  # nor does a restart begin anew
        book = ledger(store, max_models=3)
        for number in range(start, start + 20):
            book.record(receipt(model=f"m{number}\ud800" + "x" * 1000, conversation=None), ())
        await book.flush()
    groups = (await report(store, Query(NOON, NOON + 3600)))["groups"]
    assert sorted(group["model"][:7] for group in groups) == ["(other)", "m0?xxxx", "m1?xxxx", "m2?xxxx"]
    assert max(len(group["model"]) for group in groups) == 200
    assert [line["model"][:5] for line in await logged(store)][-1] == "m39?x", "a receipt keeps its name"


async def test_a_model_beyond_the_limit_is_still_billed_at_its_price() -> None:
    store, seen = MemoryStore(), list[str]()

    class Seeing:
        def observe(self, receipt: Receipt, priced: RequestCost) -> None:
            seen.append(receipt.model)

        def tick(self) -> None: ...

    book = Ledger(store, StoreSettings(max_models=1), dollars, [Seeing()])
    for name in ("mine", "gpt-4o", "gpt-4o"):
        book.record(receipt(model=name, conversation=None), ())
    await book.flush()
    assert seen == ["mine", "gpt-4o", "gpt-4o"]
    groups = {group["model"]: group for group in (await report(store, Query(NOON, NOON + 3600)))["groups"]}
    alone = dollars("gpt-4o", TokenUse(prompt=400, completion=50, cached=100), NOON)
    assert groups["(other)"]["dollars"]["paid"] == pytest.approx(2 * (alone or 0))


async def test_names_that_no_upstream_served_leave_room_for_those_it_serves() -> None:
    store = MemoryStore()
    book = ledger(store, max_models=4)
    for number in range(9):
        book.record(receipt(model=f"invented-{number}", upstream_status=404, conversation=None), ())
    for name in ("gpt-4o", "gpt-5", "gpt-6", "invented-0"):
        book.record(receipt(model=name, conversation=None), ())
    book.record(receipt(tenant="bert", model="gpt-6", conversation=None), ())
    await book.flush()
    names = {group["model"] for group in (await report(store, Query(NOON, NOON + 3600, only={"tenant": "anna"})))["groups"]}
    assert names == {"invented-0", "invented-1", "gpt-4o", "gpt-5", "(other)"}
    (his,) = (await report(store, Query(NOON, NOON + 3600, only={"tenant": "bert"})))["groups"]
    assert his["model"] == "gpt-6", "one tenant's inventions take no other's names"


async def test_a_record_costs_no_more_behind_a_long_queue() -> None:
    one = receipt()
    sections = tuple(Section(f"s{number}", "facts", ("x" * 100,), 30) for number in range(20))

    def record(times: int) -> None:
        book = ledger(MemoryStore())
        for _ in range(times):
            book.record(one, sections)

    assert_linear(record, int, 200)


async def test_dollars_without_turnfold_follow_the_cache_model() -> None:
    """Three turns: unfolded, a fold event, and one after it; gpt-4o at $2.50, cached $1.25."""
    book_of = [
        {"status": "passthrough", "tokens_before": 10_000, "tokens_after": 10_000, "usage": (10_000, 0, 0, 0)},
        {"status": "passthrough", "tokens_before": 11_000, "tokens_after": 11_000, "usage": (11_000, 0, 10_000, 0)},
        {"tokens_before": 12_000, "tokens_after": 4_000, "usage": (4_000, 0, 0, 0)},
        {"tokens_before": 13_000, "tokens_after": 5_000, "usage": (5_000, 0, 4_000, 0)},
    ]
    store = MemoryStore()
    book = ledger(store)
    for number, changes in enumerate(book_of):
        sections = (SECTION,) if number > 1 else ()
        book.record(receipt(at=NOON + number, **changes), sections)
    await book.flush()
    figures = (await report(store, Query(NOON, NOON + 3600)))["totals"]
    assert figures["folds"] == {"requests": 2, "events": 1, "requests_per_event": 2.0}
    totals = figures["dollars"]
    paid = (10_000 + 1_000 + 5_000 + 4_000 + 0.5 * 4_000 + 1_000) * 2.5 / 1e6
    # Cached prefixes come in steps of 128: of 11,000 tokens 10,880, of 12,000 tokens 11,904.
    without = (10_000 + 1_000 + 5_000 + (1_120 + 5_440) + (1_096 + 5_952)) * 2.5 / 1e6
    assert totals["paid"] == pytest.approx(paid, rel=1e-4)
    assert totals["without_turnfold"] == pytest.approx(without, rel=1e-4)


async def test_a_cold_cache_is_cold_in_both_worlds() -> None:
    store = MemoryStore()
    book = ledger(store)
    book.record(receipt(tokens_before=12_000, tokens_after=4_000, usage=(4_000, 0, 0, 0)), (SECTION,))
    book.record(receipt(at=NOON + 1, tokens_before=12_500, tokens_after=4_500, usage=(4_500, 0, 0, 0)), (SECTION,))
    await book.flush()
    totals = (await report(store, Query(NOON, NOON + 3600)))["totals"]["dollars"]
    assert totals["without_turnfold"] == pytest.approx((12_000 + 12_500) * 2.5 / 1e6, rel=1e-3)


async def test_past_requests_are_remembered_across_processes() -> None:
    store = MemoryStore()
    for number, usage in enumerate([(4_000, 0, 2_000, 0), (4_500, 0, 4_000, 0)]):
        book = ledger(store)
        book.record(receipt(at=NOON + number, tokens_before=12_000, tokens_after=usage[0], usage=usage), (SECTION,))
        await book.flush()
    (held,) = await store.get([Key("anna", "cache-model", "c")])
    assert held is not None
    assert orjson.loads(held)["seen"] == 1
    lines = await logged(store)
    # The second: 12,000 tokens, of which the first one's 12,000 were all cached, in steps of 128.
    assert lines[1]["without"] == pytest.approx((96 * 2.5 + 11_904 * 1.25) / 1e6)


async def test_a_receipt_of_a_failure_is_paid_and_saved_nothing() -> None:
    store = MemoryStore()
    book = ledger(store)
    book.record(receipt(upstream_status=500, usage=()), ())
    book.record(receipt(upstream_status=None, usage=(), complete=False), ())
    book.record(receipt(usage=(), complete=False), ())
    await book.flush()
    totals = (await report(store, Query(NOON, NOON + 3600)))["totals"]
    assert (totals["requests"], totals["failed"], totals["served"], totals["incomplete"]) == (3, 2, 1, 1)
    assert totals["tokens"]["saved"] == 600
    assert totals["usage"]["unknown_requests"] == 1
    assert totals["dollars"] == {
        "paid": None, "without_turnfold": None, "saved": None, "saved_share": None, "unknown_requests": 1,
        "paid_for_own_calls": None,
    }  # fmt: skip
    assert Usage() == receipt(usage=()).usage


async def test_our_own_calls_are_paid_for_and_never_saved() -> None:
    """A summary at gpt-4o's prices: 1,000 tokens in at $2.50, 100 out at $10, a million each."""
    summary = OwnCall("summary", "gpt-4o", Usage(1000, 100))
    plain = {"status": "passthrough", "tokens_before": 400, "tokens_after": 400, "usage": (400, 0, 0, 0)}
    store = MemoryStore()
    book = ledger(store)
    book.record(receipt(**plain, calls=(summary,)), ())
    book.record(receipt(**plain, upstream_status=500, conversation="d", calls=(summary,)), ())
    await book.flush()
    totals = (await report(store, Query(NOON, NOON + 3600)))["totals"]
    own = 1000 * 2.5e-6 + 100 * 10e-6
    assert totals["own_calls"] == {"requests": 2, "prompt_tokens": 2000, "completion_tokens": 200}
    assert totals["dollars"]["paid"] == pytest.approx(400 * 2.5e-6 + 2 * own)
    assert totals["dollars"]["paid_for_own_calls"] == pytest.approx(2 * own)
    assert totals["dollars"]["without_turnfold"] == pytest.approx(400 * 2.5e-6)
    assert totals["dollars"]["saved"] == pytest.approx(-2 * own)
    assert totals["tokens"]["saved"] == 0


@pytest.mark.parametrize("call", [OwnCall("summary", "my-model", Usage(1000, 100)), OwnCall("summary", "gpt-4o", Usage())])
async def test_a_call_of_ours_of_unknown_cost_makes_the_cost_unknown(call: OwnCall) -> None:
    store = MemoryStore()
    book = ledger(store)
    book.record(receipt(calls=(call,)), ())
    await book.flush()
    dollars_ = (await report(store, Query(NOON, NOON + 3600)))["totals"]["dollars"]
    assert (dollars_["paid"], dollars_["saved"], dollars_["unknown_requests"]) == (None, None, 1)


async def test_a_conversation_grows_by_what_came_behind_its_first_request() -> None:
    """Whatever that came with: it says nothing of how fast the conversation grows."""
    store = MemoryStore()
    book = ledger(store)
    for number, before in enumerate((78_000, 79_000, 81_000)):
        book.record(receipt(at=NOON + number, tokens_before=before), ())
        await book.flush()
        query = Query(NOON, NOON + 3600, "conversation")
        (group,) = (await report(store, query, partial(fold_options, Settings())))["groups"]
        assert group["pacing"]["turn"] == (None, 1000, 1500)[number]
