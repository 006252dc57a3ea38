"""What the books make of many receipts (``tests.support.golden`` says when to write the files anew).

These tests cover conversations of receipts as providers bill them, through the cache model, the sums and the report. They leave
out whether the model is right (``cache_model/test_replayed_cache`` replays a provider's cache beside it).
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, get_args

from tests.proxy.receipts import NOON, SECTION, price, receipt, requests
from tests.support import golden
from turnfold.compression.layers import Layer
from turnfold.compression.warmth import WarmthCounts, observe
from turnfold.config.fold import fold_options
from turnfold.config.settings import Settings, StoreSettings
from turnfold.proxy.books.learned import learned_of
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.report import GROUPINGS, Query, report
from turnfold.proxy.books.request_details import request_details
from turnfold.proxy.books.rollups import Additions, RequestCost, conversation_days, covering_tables, hours, rows, whole_hours
from turnfold.proxy.books.section_records import Layered, section_items
from turnfold.proxy.books.wording import in_words
from turnfold.proxy.cache_model.bills import with_fold, without_turnfold
from turnfold.proxy.cache_model.evidence import cache_was_warm, token_use
from turnfold.proxy.cache_model.past_request import PastRequest
from turnfold.proxy.cache_model.succession import next_past, with_dollars
from turnfold.proxy.chat.receipts import Status
from turnfold.proxy.learning.warmth_records import add_counts
from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.learning.windows import Windows
from turnfold.proxy.store import Key
from turnfold.proxy.store.memory import MemoryStore
from turnfold.proxy.telemetry.metrics import Health, Metrics

FILES = Path(__file__).parent / "golden"
REASONS = (
    *("short", "waiting", "unfoldable", "braked", "not-smaller", "over-budget", "attachments-left-out", "unparsable"),
    *("content-encoding", "window", "held-out", "slow", "slow-before", "busy", "too-large", "client-left", "observer-busy"),
    *(
        "as-before",
        "stopped",
        "asks-for-all",
        "server-history",
        "background",
        "upstream-truncated",
        "thinking-refused",
        "unheard-of",
        "",
    ),
)


def test_the_cache_model() -> None:
    lines = []
    for seed in range(60):
        past: PastRequest | None = None
        every = list[Any]()
        for one, sections in requests(seed):
            used = token_use(one.usage)
            if used is None:
                continue
            without = without_turnfold(one, used, past, sections)
            every += [without, cache_was_warm(one, used, past, sections), with_fold(one, used, past)]
            past = next_past(one, used, without, past if one.conversation else None, sections)
            past = with_dollars(past, used.prompt / 1e6, without.prompt / 1e6 if one.model != "nobody's" else None)
            every += [past, past.overdue, round(past.missing_marks(), 9), PastRequest.from_bytes(past.to_bytes()) == past]
        assert past is not None
        told = f"{past.unfolded} for {past.sent}, {past.warm} of {past.seen} warm, {past.silent} of {past.events} silent"
        lines.append(f"{seed}: {told} {golden.name_of(every)}")
    golden.agrees(FILES / "cache_model.txt", lines)


def test_sums() -> None:
    additions = Additions()
    random = Random(5)
    for seed in range(30):
        for one, _ in requests(seed):
            paid = random.choice([None, random.random()])
            cost = RequestCost(
                paid,
                random.choice([None, 0.5, random.random()]),
                own=random.choice([0.0, 0.01]),
                fold_event=random.random() < 0.2,
                grown=random.randrange(900),
                folded=random.choice([None, 0.25]),
            )
            additions.add(one, cost)
    lines, sums = [], additions.tables()
    for table in sorted(sums):
        found = sorted(rows(sums[table]).items())
        lines.append(f"{table}: {len(found)} rows {golden.name_of(found)}")
    lines += [f"  {row.to_stem()} {json.dumps(dict(sorted(measured.items())))}" for row, measured in found[:12]]
    for end in (NOON, NOON + 1, NOON + 3599, NOON + 3600, NOON + 40 * 3600, NOON + 80 * 3600 + 0.5):
        span = whole_hours(NOON - 1800, end)
        lines.append(f"{span} {golden.name_of([list(of(*span)) for of in (covering_tables, hours, conversation_days)])}")
    golden.agrees(FILES / "sums.txt", lines)


async def test_the_report() -> None:
    lines, memory = [], MemoryStore()
    book = Ledger(memory, StoreSettings(), price)
    for seed in range(16):
        for one, sections in requests(seed):
            book.record(one, (SECTION,) if sections else ())
    await book.flush()
    for group in GROUPINGS:
        made = await report(memory, Query(NOON - 3600, NOON + 90_000, group_by=group))
        lines.append(f"{group} {golden.name_of(json.dumps(made, sort_keys=True))}")
    golden.agrees(FILES / "report.txt", [*lines, *json.dumps(made["totals"], indent=1, sort_keys=True).splitlines()])


def test_the_metrics() -> None:
    """Every series with its value, and every bucket: dashboards and alarms of operators are written for these."""
    made, random = (
        Metrics(
            lambda: Health(
                store_up=False, store_failures=3, queued=2, dropped=1, tasks=7, incidents={"trace": 2}, left_out={"row": 1}
            )
        ),
        Random(3),
    )
    for seed in range(20):
        for one, _ in requests(seed):
            paid = random.choice([None, random.random()])
            made.observe(replace(one, model=f"m-{seed % 3}"), RequestCost(paid, random.choice([None, random.random()])))
    text = made.render()[0].decode()
    own = [line for line in text.splitlines() if line.startswith(("turnfold_", "# HELP turnfold_"))]
    golden.agrees(
        FILES / "metrics.txt", (line for line in own if not line.startswith(("turnfold_build", "# HELP turnfold_build")))
    )


def test_reasons() -> None:
    """Every status with every reason, and with one that nobody knows; those that wait also with the tokens that they wait for."""
    lines = [f"{status} {reason}: {in_words(status, reason)}" for status in ("folded", "odd") for reason in REASONS]
    lines += [f"{status}: {in_words(status, '')} {in_words(status, 'short')}" for status in get_args(Status)]
    lines += [
        f"at {status} {reason}: {in_words(status, reason, 12_345)}" for status in ("passthrough", "shaped") for reason in REASONS
    ]
    golden.agrees(FILES / "reasons.txt", lines)


async def test_what_is_learned() -> None:
    """Windows and caches of two tenants, as reports show them: of everybody, of one tenant, of one model."""
    memory, lines = MemoryStore(), list[str]()
    windows = Windows(memory)
    for tenant, model, times in (("anna", "m", 1), ("anna", "n", 3), ("bert", "m", 2)):
        spot = UpstreamModel(tenant, "http://u", model)
        for _ in range(times):
            await windows.learn_from_refusal(spot, 5000 * times, 16_000)
        await windows.learn_from_usage(spot, 1000, 1000 + times)
        seen = WarmthCounts()
        for n in range(7 * times):
            seen = observe(seen, 40.0 * n, loop=n % 3 == 0, warm=n % 5 > 1)
        await add_counts(memory, spot, seen)
    await add_counts(memory, UpstreamModel("bert", "http://u", "few"), observe(WarmthCounts(), 9.0, loop=True, warm=True))
    narrowed: tuple[dict[str, str], ...] = ({}, {"tenant": "anna"}, {"model": "m"}, {"tenant": "bert", "model": "few"})
    for only in narrowed:
        for options_of in (None, partial(fold_options, Settings())):
            found = await learned_of(memory, Query(NOON, NOON + 1, only=only), time.time(), options_of)
            for rows_ in found.values():
                lines += [json.dumps({key: one for key, one in row.items() if not key.endswith("_at")}) for row in rows_]
            lines.append("")
    golden.agrees(FILES / "learned.txt", lines)


async def test_request_details() -> None:
    """A request whose sections are kept, expired, of another kind, or never came."""
    memory = MemoryStore()
    book = Ledger(memory, StoreSettings(), price)
    layers = Layered("s-2", (Layer("raw", 3), Layer("facts", 2), Layer("sum", 1)), (("user", "raw"),))
    replaced = replace(SECTION, id="s-3", instead=("short", None))
    book.record(receipt(request_id="tf-1", folds_at=9000, reason="short"), (SECTION, replaced, replace(SECTION, id="s-4")))
    book.record(receipt(request_id="tf-2"), (replace(SECTION, id="s-2"),))
    await book.flush()
    await memory.put(section_items("anna", layers, 60.0, "c"))
    await memory.discard([Key("anna", "section", "s-4")])
    lines = []
    for name, tenant in (("tf-1", None), ("tf-1", "anna"), ("tf-1", "bert"), ("tf-2", None), ("tf-3", None)):
        found = await request_details(memory, name, NOON - 1, NOON + 1, tenant)
        lines += [f"{name} {tenant}", *(json.dumps(found, indent=1).splitlines() if tenant is None else [golden.name_of(found)])]
    golden.agrees(FILES / "details.txt", lines)
