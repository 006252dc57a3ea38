"""Tags: from the header to receipts, sums, exports and metrics."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from tests.proxy.harness import ProxyServer, UpstreamServer
from tests.proxy.receipts import NOON, receipt
from turnfold.compression.errors import InvalidInput
from turnfold.config.prices import dollars
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.csv_rows import as_csv
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.receipt_log import line_of, read_line
from turnfold.proxy.books.report import Query, report, with_tenants_by_name
from turnfold.proxy.books.rollups import UNPRICED
from turnfold.proxy.http.refusals import Refused
from turnfold.proxy.http.tags import tags_of
from turnfold.proxy.learning.places import OTHER, NamePlaces
from turnfold.proxy.routes.admin import query_of
from turnfold.proxy.store import Store
from turnfold.proxy.store.memory import NothingStore
from turnfold.proxy.store.records import TAGS
from turnfold.proxy.telemetry.metrics import Metrics

TAG = b"x-turnfold-tag"
DAY = 86_400
RANGE = (NOON - DAY, NOON + DAY)
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}]}


def test_the_header_may_be_repeated_and_hold_several() -> None:
    assert tags_of([]) == ()
    assert tags_of([(TAG, b" team a , nightly"), (b"x-other", b"x"), (TAG, b"nightly,")]) == ("team a", "nightly")
    assert tags_of([(TAG, "größe".encode())]) == ("größe",)
    assert tags_of([(TAG, b"x" * 64)]) == ("x" * 64,)


@pytest.mark.parametrize("bad", [b"a,b,c,d", b"x" * 65, b"a\x00", b"a\tb", b"\xff", b"sk-abcdefgh1234", "a\u202eb".encode()])
def test_a_bad_tag_is_refused_like_any_bad_header(proxy: ProxyServer, upstream: UpstreamServer, bad: bytes) -> None:
    with pytest.raises(Refused) as refused:
        tags_of([(TAG, bad)])
    assert (refused.value.status, refused.value.code, refused.value.param) == (400, "invalid_header", "x-turnfold-tag")
    if bad.isascii() and b"\x00" not in bad:
        answer = proxy.chat(BODY, ("x-turnfold-tag", bad.decode()))
        assert (answer.status, answer.json()["error"]["param"]) == (400, "x-turnfold-tag")
        assert upstream.seen == []


def test_tags_reach_the_receipt_and_never_the_upstream(proxy: ProxyServer, upstream: UpstreamServer) -> None:
    assert proxy.chat(BODY, ("x-turnfold-tag", "team-a, nightly"), ("X-Turnfold-Tag", "x")).status == 200
    assert [one.tags for one in proxy.recorder.receipts] == [("team-a", "nightly", "x")]
    ours = {key for key, _ in upstream.seen[0].headers if b"turnfold" in key}
    assert ours == {b"x-turnfold-via"}


async def _filled(store: Store, most: int = 100) -> Ledger:
    book = Ledger(store, StoreSettings(max_tags=most), dollars)
    book.record(receipt(tags=("a", "b", "c")), ())
    book.record(receipt(tags=("a",), model="mine", at=NOON + 60), ())
    book.record(receipt(at=NOON + 3600), ())
    await book.flush()
    return book


async def test_a_request_with_three_tags_counts_once_in_the_total(store: Store) -> None:
    await _filled(store)
    found = await report(store, Query(*RANGE, group_by="tag"))
    assert found["totals"]["requests"] == 3
    assert {group["tag"]: group["requests"] for group in found["groups"]} == {"a": 2, "b": 1, "c": 1, "": 1}
    assert found["groups"][0]["tag"] == "a"
    assert found["totals"] == (await report(store, Query(*RANGE)))["totals"]
    untagged = next(group for group in found["groups"] if group["tag"] == "")
    assert untagged["tokens"]["before"] == 1000


async def test_a_report_can_be_narrowed_to_a_tag(store: Store) -> None:
    await _filled(store)
    for group_by in ("model", "day", "hour", "tag", "tenant"):
        found = await report(store, Query(*RANGE, group_by=group_by, only={"tag": "a"}))
        assert found["totals"]["requests"] == sum(group["requests"] for group in found["groups"]) == 2
    none = await report(store, Query(*RANGE, only={"tag": ""}))
    assert (none["totals"]["requests"], [group["model"] for group in none["groups"]]) == (1, ["gpt-4o"])
    with pytest.raises(InvalidInput, match="tag"):
        await report(store, Query(*RANGE, group_by="conversation", only={"tag": "a"}))


async def test_tags_beyond_the_limit_are_other_in_sums_and_themselves_in_receipts(store: Store) -> None:
    await _filled(store, most=1)
    after_a_restart = await _filled(store, most=1)
    found = await report(store, Query(*RANGE, group_by="tag"))
    assert {group["tag"]: group["requests"] for group in found["groups"]} == {"a": 4, OTHER: 2, "": 2}
    assert after_a_restart.written == 3
    lines = [read_line(line) for line in (await store.log("receipts:2025-10-09T12"))[0]]
    assert [line and line["tags"] for line in lines[:2]] == [["a", "b", "c"], ["a"]]


async def test_the_limit_holds_where_nothing_is_kept() -> None:
    store = NothingStore()
    book = Ledger(store, StoreSettings(max_tags=2), dollars)
    for number in range(6):
        book.record(receipt(tags=(f"t{number}",)), ())
        await book.flush()
    found = await report(store, Query(*RANGE, group_by="tag"))
    assert {group["tag"] for group in found["groups"]} == {"t0", "t1", OTHER}


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=3, unique=True), max_size=30), st.integers(0, 5))
def test_no_tenant_has_more_places_than_the_limit(sent: list[list[str]], most: int) -> None:
    places = NamePlaces(TAGS, most, {})
    named = {tag for tags in sent for tag in places.placed("anna", tags, NOON)}
    assert len(named - {OTHER}) <= most


def test_an_unused_tag_gives_its_place_away() -> None:
    today = int(NOON) // DAY
    places = NamePlaces(TAGS, 2, {"anna": {"old": today - 31, "new": today - 1}})
    assert places.placed("anna", ("fresh", "new", "more"), NOON) == ("fresh", "new", OTHER)
    (item,) = places.items(60)
    assert json.loads(item.value)["seen"] == {"new": today, "fresh": today}


def test_exports_name_tags() -> None:
    line = read_line(line_of(receipt(tags=("team a", "=b")), UNPRICED))
    assert line is not None
    assert line["tags"] == ["team a", "=b"]
    assert '"team a, =b"' in as_csv([line])
    old = json.loads(line_of(receipt(), UNPRICED))
    del old["tags"]
    read = read_line(json.dumps(old).encode())
    assert read is not None
    assert read["tags"] == []


def test_metrics_have_a_bounded_number_of_tags() -> None:
    metrics = Metrics()
    for number in range(300):
        metrics.observe(receipt(tags=(f"t{number}", "all"), at=time.time()), UNPRICED)
    text = metrics.render()[0].decode()
    assert 'turnfold_tag_requests_total{tag="all"} 300.0' in text
    assert text.count("turnfold_tag_requests_total{") == 201
    assert 'turnfold_tag_requests_total{tag="(other)"}' in text


def test_a_tenant_can_be_named_in_a_filter() -> None:
    names = {"7c0e": "Search", "99aa": "Ads", "11bb": "Ads"}
    assert with_tenants_by_name({"tenant": "Search", "model": "m"}, names) == {"tenant": "7c0e", "model": "m"}
    assert with_tenants_by_name({"tenant": "7c0e"}, names) == {"tenant": "7c0e"}
    assert query_of(QueryParams({"tenant": "Search"}), None, NOON, names).only == {"tenant": "7c0e"}
    assert query_of(QueryParams({"tenant": "Search"}), "99aa", NOON, names).only == {"tenant": "99aa"}
    with pytest.raises(InvalidInput, match="tenant"):
        with_tenants_by_name({"tenant": "Ads"}, names)
