"""The figures and sentences of reports, over grids of small sums (``tests.support.golden`` says when to write the files anew).

These tests show what is computed and said of given sums, times as people write them, what a query may ask. They leave out many
receipts at once (``test_golden``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.proxy.receipts import NOON, price, receipt, requests
from tests.support import golden
from turnfold.compression.errors import InvalidInput
from turnfold.compression.options import CachePrices, FoldOptions
from turnfold.config.prices import TokenUse
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.figures import figures
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.pacing import pacing
from turnfold.proxy.books.pricing import RequestPricing
from turnfold.proxy.books.report import (
    GROUPINGS,
    Query,
    moment,
    report,
    with_tenant_names,
    with_tenants_by_name,
)
from turnfold.proxy.books.wording import headline, uncounted
from turnfold.proxy.cache_model.bills import without_turnfold
from turnfold.proxy.cache_model.evidence import token_use
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.chat.receipts import OwnCall, Receipt, Usage
from turnfold.proxy.store.memory import MemoryStore

FILES = Path(__file__).parent / "golden"
MOMENTS = (
    *("24h", "7d", "90m", "2w", "0h", "9999999d", "99999999d", " 1h ", "h", "-1h", "1.5h", "٣h", "1s", "", "x", "1e5", "nan"),
    *(
        "1760011200",
        "1760011200.5",
        "1.2.3",
        "99999999999999",
        "2026-01-31",
        "2026-01-31T12:00Z",
        "2026-01-31T12:00",
        "2026-13-01",
    ),
    *("2026-01-31T12:00+02:00", "0001-01-01", "9999-12-31T23:59"),
)


def sums() -> Iterator[dict[str, int]]:
    """Sums of a group: what was served and failed, priced and not, saved and lost, observed and recalled."""
    for served, failed, observed in ((0, 0, 0), (0, 3, 0), (1, 0, 0), (2, 1, 0), (2000, 0, 0), (3, 0, 3), (3, 0, 2), (5, 1, 2)):
        for saved, dollars in ((0, None), (0, 0), (900, None), (-50, None), (99_500, 3), (-70, -2), (4_000_000, 1500)):
            found = {"requests": served + failed, "failed": failed, "before": 10**6, "after": 10**6 - saved, "folded": 1}
            found |= {"overhead_us": 1500, "total_us": 900_000, "first_bytes": served, "first_byte_us": 7000, "grown": 3}
            if dollars is None:
                found |= {"unpriced": served, "no_usage": served * (failed > 0)}
            else:
                found |= {"priced": served, "paid": 2 * 10**9, "without": (2 + dollars) * 10**9, "unpriced": failed}
            if observed:
                found |= {"observed": observed, "observed_before": 5000, "observed_after": 5000 - saved // 1000}
                if dollars is not None:
                    found |= {"observed_priced": 1, "observed_paid": 10**9, "observed_folded": (3 - (dollars > 0) * 3) * 10**8}
            yield found


def test_headlines_and_figures() -> None:
    lines = []
    for one in sums():
        made = figures(one)
        lines.append(f"{headline(made)} {golden.name_of(json.dumps(made, sort_keys=True))}")
    for paid, without in (
        (1, 1),
        (999_999, 10**6),
        (5 * 10**3, 10**9),
        (10**9, 1004 * 10**6),
        (0, 49_999),
        (50_001, 0),
        (10**12, 0),
    ):
        made = figures(
            {"requests": 1, "priced": 1, "paid": paid, "without": without, "before": 9999, "after": 10, "recall_by_words": 1}
        )
        lines.append(f"{headline(made)} {made['recall']} {json.dumps(made['dollars'])}")
    lines += [uncounted(number) for number in (1, 2, 1000)]
    golden.agrees(FILES / "headlines.txt", lines)


def test_paces() -> None:
    lines = []
    for prices in (CachePrices(), CachePrices(0.5, 1.0), CachePrices(0.1, 1.25)):
        for turns, tokens in ((0, 5), (5, 0), (1, 1), (10, 900), (10, 60_000), (3, 400_000)):
            found = pacing("m", FoldOptions(prices=prices), turns, tokens)
            lines.append(f"{found} {found and found.words}")
    golden.agrees(FILES / "paces.txt", lines)


def test_times_and_queries() -> None:
    lines = []
    for text in MOMENTS:
        try:
            lines.append(f"{text!r}: {moment(text, 'from', NOON)}")
        except InvalidInput as exc:
            lines.append(f"{text!r}: ! {exc}")
    year = 366 * 86400.0
    queries = (
        *(Query(1, 2, group) for group in (*GROUPINGS, "colour")),
        *(Query(1, 2, "model", {name: "x"}) for name in ("tag", "hour", "session", "tenant")),
        *(Query(1, 2, "tag", {"conversation": "c"}), Query(1, 2, "session", {"tag": ""}), Query(2, 2), Query(3, 2)),
        *(Query(1, 1 + 5 * year), Query(0, 1 + 5 * year)),
    )
    for query in queries:
        try:
            query.check()
            lines.append(f"{query}: {query.by_tag} {query.by_day_only}")
        except InvalidInput as exc:
            lines.append(f"{query}: ! {exc}")
    names = {"t1": "Anna", "t2": "Bert", "t3": "Bert"}
    for only in ({}, {"tenant": "Anna"}, {"tenant": "Bert"}, {"tenant": "t1", "model": "m"}):
        try:
            lines.append(f"{only}: {with_tenants_by_name(only, names)}")
        except InvalidInput as exc:
            lines.append(f"{only}: ! {exc}")
    lines += [
        str(with_tenant_names({"group_by": by, "groups": [{"tenant": "t1"}, {"tenant": "t9"}]}, names))
        for by in ("tenant", "conversation", "session", "model")
    ]
    golden.agrees(FILES / "queries.txt", lines)


def test_what_each_request_costs() -> None:
    """Every figure of every request of many conversations, in the order in which they come."""
    lines = []
    for seed in range(40):
        pricing, every = RequestPricing(price), list[Any]()
        past: PastRequest | None = None
        for one, sections in requests(seed):
            priced, after = pricing.price(one, past, sections)
            past = after if one.conversation else None
            every.append(priced)
        lines.append(f"{seed}: {golden.name_of(every)} {every[-1] if seed % 8 == 0 else ''}")
    odd = ((400, 50, 300, 200), (400, 50, 500, 0), (400, 50, 0, 900), (3, 0, 1, 2), (0, 0, 9, 9))
    for one in (receipt(usage=usage) for usage in odd):
        used = token_use(one.usage)
        assert used is not None
        lines.append(f"{without_turnfold(one, used, None, 'v')} {RequestPricing(price).price(one, None, 'v')[0]}")
    huge = RequestPricing(lambda model, use, at: use.prompt / 100)
    sizes = (99_999_900, 100_000_000, 100_000_100)
    lines += [f"{size}: {huge.price(receipt(usage=(size, 0, 0, 0)), None, '')[0].paid}" for size in sizes]
    unknown = RequestPricing(lambda model, use, at: None if model == "nobody's" else 1.0)
    for calls in ((), (OwnCall("summary", "", Usage(1, 1)),), (OwnCall("summary", "nobody's", Usage(1, 1)),)):
        asked = (receipt(model=model, calls=calls) for model in ("m", "nobody's"))
        lines += [f"{one.model} {len(calls)}: {unknown.price(one, None, '')[0]}" for one in asked]
    golden.agrees(FILES / "costs.txt", lines)


def test_what_costs_nothing_is_never_overdue() -> None:
    past = PastRequest(9, 9, since=4, paid=0.0, without=0.0)
    assert not past.overdue
    assert past._replace(paid=1e-6).overdue
    assert not past._replace(paid=1e-6, since=3).overdue


async def test_a_request_of_one_token_is_counted() -> None:
    memory = MemoryStore()
    book = Ledger(memory, StoreSettings(), dollars)
    for size in (0, 1):
        book.record(receipt(tokens_before=size, tokens_after=size), ())
    await book.flush()
    tokens = (await report(memory, Query(NOON - 3600, NOON + 3600)))["totals"]["tokens"]
    assert (tokens["before"], tokens["uncounted_requests"]) == (1, 1)


def dollars(model: str, use: TokenUse, at: float) -> float | None:
    return price(model, use, at)


def compared(conversations: int, held_out: int) -> Iterator[Receipt]:
    """Conversations of a few requests each, of which some are held out, some fail, and some have no price or no usage."""
    for number in range(conversations):
        for turn in range(1 + number % 3):
            yield receipt(
                request_id=f"{number}-{turn}",
                at=NOON + 10 * number + turn,
                conversation=f"c{number}",
                tenant=("anna", "bert")[number % 2],
                model="nobody's" if number == 3 else "gpt-4o",
                status="passthrough" if number < held_out else ("folded", "recovered", "observed")[number % 3],
                reason="held-out" if number < held_out else "",
                usage=(None,) * 4 if number == 4 else (400 + 30 * number, 50 + turn, 100, 0),
                upstream_status=500 if (number, turn) == (5, 0) else 200,
                first_byte_ms=None if turn else 100.0 + number,
                total_ms=900.0 + 7 * number * turn,
            )


async def test_held_out_conversations_are_compared() -> None:
    lines = []
    for conversations, held_out in ((6, 0), (3, 1), (4, 2), (9, 6), (9, 3)):
        memory = MemoryStore()
        book = Ledger(memory, StoreSettings(), dollars)
        for one in compared(conversations, held_out):
            book.record(one, ())
        await book.flush()
        for only in ({}, {"tenant": "anna"}, {"tag": "x"}):
            made = await report(memory, Query(NOON - 3600, NOON + 3600, only=only))
            lines.append(f"{conversations} {held_out} {only}: {made['headline']} {json.dumps(made['held_out'], sort_keys=True)}")
    golden.agrees(FILES / "held_out.txt", lines)
