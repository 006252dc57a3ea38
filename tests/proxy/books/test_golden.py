"""What the books make of many receipts (``tests.support.golden`` says when to write the files anew).

Lives here: conversations of receipts as providers bill them, through the cache model, the sums and the report. Does not belong
here: whether the model is right (``test_baseline`` replays a provider's cache beside it).
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.proxy.receipts import NOON, SECTION, price, requests
from tests.support import golden
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.baseline import (
    PastRequest,
    cache_was_warm,
    next_past,
    token_use,
    with_dollars,
    with_fold,
    without_turnfold,
)
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.books.metrics import Health, Metrics
from turnfold.proxy.books.report import GROUPINGS, Query, report
from turnfold.proxy.books.rollups import RequestCost, add, conversation_days, covering_tables, hours, rows, whole_hours
from turnfold.proxy.store.memory import MemoryStore

FILES = Path(__file__).parent / "golden"


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
            every += [past, past.overdue, round(past.missing_marks(0.8), 9), PastRequest.from_bytes(past.to_bytes()) == past]
        assert past is not None
        told = f"{past.unfolded} for {past.sent}, {past.warm} of {past.seen} warm, {past.silent} of {past.events} silent"
        lines.append(f"{seed}: {told} {golden.name_of(every)}")
    golden.agrees(FILES / "cache_model.txt", lines)


def test_sums() -> None:
    sums: dict[str, dict[str, int]] = {}
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
            add(sums, one, cost)
    lines = []
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
