"""The report over a real ledger. Does not belong here: the routes that give it (``test_report_routes``)."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from tests.proxy.receipts import DAY, HOUR, NOON, SECTION, fill, price, receipt, requests
from tests.support.cases import each
from turnfold.compression.errors import InvalidInput
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.config.fold import fold_options
from turnfold.config.prices import dollars
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.books.csv_rows import as_csv
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.pacing import pacing
from turnfold.proxy.books.receipt_log import line_of, read_line
from turnfold.proxy.books.report import GROUPINGS, Query, moment, report, report_csv, with_tenant_names
from turnfold.proxy.books.rollups import UNPRICED, SumRow
from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.store import Store
from turnfold.proxy.store.memory import MemoryStore

EVERYTHING = (NOON - 5 * DAY, NOON + 5 * DAY)


@pytest.mark.parametrize("group", GROUPINGS)
async def test_a_table_of_nothing_has_the_header_of_a_full_one(group: str) -> None:
    memory = MemoryStore()
    book = Ledger(memory, StoreSettings(), price)
    for seed in range(4):
        for one, _ in requests(seed):
            book.record(one, ())
    await book.flush()
    options = partial(fold_options, Settings())
    full = with_tenant_names(await report(memory, Query(NOON - 3600, NOON + 90_000, group_by=group), options), {})
    empty = with_tenant_names(await report(memory, Query(NOON - 9e6, NOON - 8e6, group_by=group), options), {})
    assert full["groups"]
    assert empty["groups"] == []
    columns = [name for name in report_csv(full).splitlines()[0].split(",") if not name.startswith("recall.")]
    assert report_csv(empty) == ",".join(columns) + "\n"  # where recall never used vectors, it has no columns


async def test_totals_count_what_was_served(store: Store) -> None:
    await fill(store)
    result = await report(store, Query(*EVERYTHING))
    totals = result["totals"]
    assert (totals["requests"], totals["failed"], totals["served"]) == (5, 1, 4)
    tokens = totals["tokens"]
    # Two folded (1000 -> 400), one observed (sent as it was), one that nobody counted; the failure counts nowhere.
    assert (tokens["before"], tokens["after"], tokens["saved"]) == (3000, 1800, 1200)
    assert (tokens["observed_before"], tokens["observed_after"], tokens["uncounted_requests"]) == (1000, 400, 1)
    assert totals["usage"]["cached_tokens"] == 400
    assert totals["dollars"]["unknown_requests"] == 1
    assert totals["ms"]["overhead_mean"] == 1.5
    assert [group["model"] for group in result["groups"]] == ["gpt-4o", "mine"]
    assert result["groups"][1]["dollars"]["paid"] is None
    json.dumps(result)


async def test_every_grouping_adds_up(store: Store) -> None:
    await fill(store)
    expected = {
        "day": ["2025-10-09", "2025-10-10", "2025-10-11"],
        "hour": ["2025-10-09T12:00Z", "2025-10-09T13:00Z", "2025-10-10T12:00Z", "2025-10-11T12:00Z"],
        "tenant": ["anna", "bert"],
        "conversation": ["c", "d"],
        "status": ["bypassed", "failed-open", "folded", "observed"],
    }
    for grouping in GROUPINGS:
        groups = (await report(store, Query(*EVERYTHING, grouping)))["groups"]
        assert sum(group["requests"] for group in groups) == (4 if grouping == "conversation" else 5), grouping
        assert all(grouping in group for group in groups), grouping
        if grouping in expected:
            assert sorted(group[grouping] for group in groups) == expected[grouping]


@pytest.mark.parametrize(
    ("start", "end", "only", "requests"),
    [
        (NOON, NOON + 1, {}, 1),
        (NOON + HOUR, NOON + 2 * HOUR, {}, 1),
        (NOON - 10 * HOUR, NOON + DAY + HOUR, {}, 3),
        (*EVERYTHING, {"tenant": "bert"}, 1),
        (*EVERYTHING, {"status": "folded", "model": "gpt-4o"}, 1),
        (*EVERYTHING, {"conversation": "c"}, 3),
        (*EVERYTHING, {"model": "no such"}, 0),
    ],
)
async def test_ranges_and_filters(start: float, end: float, only: dict[str, str], requests: int) -> None:
    store = MemoryStore()
    await fill(store)
    assert (await report(store, Query(start, end, only=only)))["totals"]["requests"] == requests


@pytest.mark.parametrize(
    ("query", "field"),
    [
        (Query(1, 2, "colour"), "group_by"),
        (Query(2, 1), "from"),
        (Query(0, 1e10), "from"),
        (Query(1, 2, only={"colour": "x"}), "colour"),
        (Query(1, 2, only={"status": "fold"}), "status"),
    ],
)
async def test_queries_that_make_no_sense(query: Query, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await report(MemoryStore(), query)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("group_by", "only", "begins", "ends"),
    [
        ("model", {}, "2025-10-09T11:00:00Z", "2025-10-09T14:00:00Z"),
        ("model", {"conversation": "c"}, "2025-10-09T00:00:00Z", "2025-10-10T00:00:00Z"),
        ("conversation", {}, "2025-10-09T00:00:00Z", "2025-10-10T00:00:00Z"),
        ("session", {}, "2025-10-09T00:00:00Z", "2025-10-10T00:00:00Z"),
    ],
)
async def test_a_report_names_the_time_that_it_sums(
    store: Store, group_by: str, only: dict[str, str], begins: str, ends: str
) -> None:
    made = await report(store, Query(NOON - 30 * 60, NOON + 90 * 60, group_by, only))
    assert (made["from"], made["to"]) == (begins, ends)
    at = [datetime.fromisoformat(made[edge]).timestamp() for edge in ("from", "to")]
    assert (await report(store, Query(at[0], at[1], group_by, only)))["totals"] == made["totals"]
    midnight = datetime.fromisoformat("2025-10-10").replace(tzinfo=UTC).timestamp()
    assert (await report(store, Query(NOON, midnight, group_by, only)))["to"] == "2025-10-10T00:00:00Z"


def test_times_are_read_in_every_form() -> None:
    assert moment("24h", "from", NOON) == NOON - DAY
    assert moment("7d", "from", NOON) == NOON - 7 * DAY
    assert moment(str(NOON), "from", 0) == NOON
    assert moment("2025-10-09T12:00:00Z", "from", 0) == moment("2025-10-09T14:00+02:00", "from", 0) == NOON
    assert moment("2025-10-09", "from", 0) == NOON - 12 * HOUR
    for wrong in ("", "yesterday", "1" * 400, "-5", "nan", "99999999999999", "²h", "5x"):
        with pytest.raises(InvalidInput):
            moment(wrong, "from", NOON)


async def test_held_out_conversations_are_compared() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    for number in range(50):
        for _ in range(4):  # the requests of a conversation are alike: they are worth one
            book.record(receipt(usage=(390 + number % 20, 50, 0, 0), conversation=str(number)), ())
        plain = {"status": "bypassed", "reason": "held-out", "tokens_after": 1000, "conversation": f"h{number}"}
        book.record(receipt(usage=(990 + number % 20, 50, 0, 0), **plain), ())
    book.record(receipt(status="bypassed", reason="off", conversation="off", usage=(9000, 1, 0, 0)), ())
    book.record(receipt(conversation="bad", upstream_status=500, usage=()), ())
    await book.flush()
    compared = (await report(store, Query(*EVERYTHING)))["held_out"]
    assert (compared["held_out"]["conversations"], compared["held_out"]["requests"]) == (50, 50)
    assert (compared["others"]["conversations"], compared["others"]["requests"]) == (51, 201)
    assert compared["held_out"]["prompt_tokens"]["mean"] == pytest.approx(999, abs=1)
    assert compared["others"]["prompt_tokens"]["mean"] == pytest.approx(399, abs=1)
    # Uniform over 20 values: standard deviation 5.8, so 1.96 * 5.8 / sqrt(50) = 1.6, whichever way a conversation is cut up.
    assert compared["others"]["prompt_tokens"]["plus_minus"] == pytest.approx(1.6, abs=0.1)
    assert compared["held_out"]["prompt_tokens"]["plus_minus"] == pytest.approx(1.6, abs=0.1)
    assert compared["others"]["completion_tokens"]["plus_minus"] == 0
    assert compared["others"]["dollars"]["mean"] == pytest.approx((399 * 2.5 + 500) / 1e6, rel=0.01)
    assert compared["others"]["failed_share"]["mean"] == pytest.approx(1 / 201)
    assert compared["held_out"]["failed_share"] == {"mean": 0, "plus_minus": 0}
    assert compared["others"]["first_byte_ms"]["mean"] == 200


async def test_a_mean_of_few_says_so() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(status="bypassed", reason="held-out", usage=()), ())
    await book.flush()
    compared = (await report(store, Query(*EVERYTHING)))["held_out"]
    assert compared["held_out"]["requests"] == 1
    assert all(compared["held_out"][name] is None for name in ("prompt_tokens", "dollars", "total_ms", "failed_share"))
    assert compared["others"]["conversations"] == 0


async def test_a_conversation_says_why_it_folds_as_often_as_it_does() -> None:
    """Claude reads a cached token at a tenth and writes it at 1.25; a model without a cache has to wait for nothing. Where a
    model without known prices was seen to have a cache, the pace is that of the prices that were assumed."""
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    for model, cached in (("claude-sonnet-4-5", 100), ("my-local-model", 0), ("my-other-model", 100)):
        for turn in range(1, 41):
            usage = (400, 50, cached, 0)
            changes: dict[str, Any] = {"model": model, "conversation": model, "tokens_before": 1000 * turn, "usage": usage}
            book.record(receipt(at=NOON + turn, **changes), (SECTION,) if turn > 20 else ())
    await book.flush()
    result = await report(store, Query(*EVERYTHING, "conversation"), partial(fold_options, Settings()))
    paces = {group["conversation"]: group["pacing"] for group in result["groups"]}
    claude, local = paces["claude-sonnet-4-5"], paces["my-local-model"]
    assert (claude["read"], claude["write"], claude["turn"], claude["events"]) == (0.1, 1.25, 1000, 1)
    assert claude["turns"] > local["turns"] > 0
    assert claude["start"] > local["start"]
    assert (local["read"], paces["my-other-model"]["read"], paces["my-other-model"]["write"]) == (1.0, 0.1, 1.0)
    assert claude["turns"] == pytest.approx((claude["fold_at"] - claude["keep_recent"]) / 1000, abs=0.1)
    assert f"folds every {claude['turns']:.0f} turns at these prices" in claude["words"]
    assert len(list(csv.DictReader(io.StringIO(as_csv(result["groups"]))))) == 3
    assert "pacing" not in (await report(store, Query(*EVERYTHING, "conversation")))["groups"][0]


async def test_a_conversation_that_only_repeats_has_a_pace_of_nothing() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    for at in (NOON, NOON + DAY, NOON + DAY + 60):
        book.record(receipt(at=at, tokens_before=5000), ())
        await book.flush()
    result = await report(store, Query(NOON + DAY, NOON + DAY + HOUR, "conversation"), partial(fold_options, Settings()))
    (group,) = result["groups"]
    assert group["requests"] == 2
    assert (group["pacing"]["turns"], group["pacing"]["words"], group["pacing"]["events"]) == (None, None, 0)


@each(("turns", "tokens"), [(0, 900), (3, 0), (0, 0), (-1, 900)])
def test_no_turns_or_no_growth_is_no_pace(turns: int, tokens: int) -> None:
    assert pacing("gpt-4o", fold_options(Settings(), "gpt-4o"), turns, tokens) is None


def test_prices_that_are_not_known_are_assumed_where_a_cache_was_seen() -> None:
    known, assumed = CachePrices(1.0, 1.0), CachePrices(0.5)
    options = FoldOptions(prices=known, prices_if_cached=assumed)
    assert pacing("m", options, 10, 9000) == pacing("m", FoldOptions(prices=known), 10, 9000, cached=True)
    found, expected = pacing("m", options, 10, 9000, cached=True), pacing("m", FoldOptions(prices=assumed), 10, 9000)
    assert found == expected != pacing("m", options, 10, 9000)


async def test_an_error_in_place_of_an_answer_saves_nothing() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(tokens_before=9000, tokens_after=1000, usage=(), refused=True), ())
    await book.flush()
    totals = (await report(store, Query(*EVERYTHING)))["totals"]
    assert (totals["requests"], totals["served"], totals["failed"]) == (1, 0, 1)
    assert (totals["tokens"]["saved"], totals["dollars"]["unknown_requests"]) == (0, 0)


async def test_a_conversation_of_which_nothing_was_served_has_no_pace() -> None:
    store = MemoryStore()
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(upstream_status=500, usage=()), ())
    await book.flush()
    result = await report(store, Query(*EVERYTHING, "conversation"), partial(fold_options, Settings()))
    assert result["groups"][0]["pacing"]["turn"] is None
    assert result["totals"]["tokens"]["saved_share"] is None


async def named(store: Store) -> None:
    """Requests on three wires, of sessions that clients named, and one from before there were either."""
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(wire="chat", session="s-1"), ())
    book.record(receipt(wire="responses", session="s-1", conversation="d"), ())
    book.record(receipt(wire="messages", session="=cmd", at=NOON + DAY), ())
    book.record(receipt(at=NOON + DAY, conversation=None), ())
    await book.flush()


@pytest.mark.parametrize(
    ("grouping", "expected"),
    [("wire", {"chat": 1, "responses": 1, "messages": 1, "": 1}), ("session", {"s-1": 2, "=cmd": 1, "": 1})],
)
async def test_wires_and_sessions_are_told_apart(store: Store, grouping: str, expected: dict[str, int]) -> None:
    await named(store)
    result = await report(store, Query(*EVERYTHING, grouping))
    assert {group[grouping]: group["requests"] for group in result["groups"]} == expected
    lines = as_csv(result["groups"]).splitlines()
    assert lines[0].startswith(f"{grouping},requests,")
    assert ("\n'=cmd,1," in "\n".join(lines)) == (grouping == "session")
    only = await report(store, Query(*EVERYTHING, grouping, {"session": "s-1", "conversation": "d"}))
    assert only["totals"]["requests"] == 1
    by_conversation = await report(store, Query(*EVERYTHING, "conversation", {"session": "s-1"}))
    assert sorted(group["conversation"] for group in by_conversation["groups"]) == ["c", "d"]


def test_a_receipt_of_an_older_release_has_the_plain_value_of_every_field_that_it_lacks() -> None:
    new = json.loads(line_of(receipt(), UNPRICED))
    needed = {field.name for field in fields(Receipt) if field.default is MISSING}
    old = {name: value for name, value in new.items() if name in {*needed, "v"}}
    assert len(old) < len(new) - 5
    read = read_line(json.dumps(old).encode())
    assert read is not None
    assert {name: value for name, value in read.items() if name not in old} == {
        **{field.name: field.default for field in fields(Receipt) if field.name in read and field.name not in old},
        "sections": [],
        "tags": [],
        "paid": None,
        "paid_own": 0.0,
        "without": None,
    }


async def test_receipts_and_rows_from_before_wires_are_read(store: Store) -> None:
    await fill(store)
    old = b'{"v":1,' + b",".join(
        part for part in line_of(receipt(), UNPRICED)[1:-1].split(b",") if not part.startswith((b'"v"', b'"wire"', b'"session"'))
    )
    read = read_line(old + b"}")
    assert read is not None
    assert (read["wire"], read["session"], read["request_id"]) == ("", "", "r")
    for stem in ('["anna","gpt-4o","folded","","c"]', '{"tenant":"anna","model":"gpt-4o","status":"folded","conversation":"c"}'):
        row = SumRow.from_stem(stem)
        assert row == SumRow("anna", "gpt-4o", "folded", "", "c", "", "")
