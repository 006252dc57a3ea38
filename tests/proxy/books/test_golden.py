"""What the books make of many receipts (``tests.support.golden`` says when to write the files anew).

Lives here: conversations of receipts as providers bill them, through the cache model, the sums and the report. Does not belong
here: whether the model is right (``test_baseline`` replays a provider's cache beside it).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.proxy.receipts import NOON, SECTION, receipt
from tests.support import golden
from turnfold.config.prices import TokenUse
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
from turnfold.proxy.books.rollups import Additions, RequestCost, conversation_days, covering_tables, hours, rows, whole_hours
from turnfold.proxy.chat.receipts import OwnCall, Receipt, Usage
from turnfold.proxy.chat.trail import Trail, Trails
from turnfold.proxy.store.memory import MemoryStore

FILES = Path(__file__).parent / "golden"
STATUSES = ("folded", "folded", "folded", "passthrough", "observed", "shaped", "recovered", "bypassed")


def price(model: str, use: TokenUse, at: float) -> float | None:
    """Dollars; those of the price table change with its releases."""
    fresh = use.prompt - use.cached - use.written
    factor = 1.0 if at < NOON + 40_000 else 0.5
    return (
        None
        if model == "nobody's"
        else factor * (fresh + use.cached / 10 + use.written + use.written_hour + 4 * use.completion) / 1e6
    )


def trail(tokens: int, kept: int, version: int) -> Trail:
    """Of a text of which the first `kept` tokens are those of every version."""
    names = (f"{step}" if 256 * step < kept else f"{step}/{version}" for step in range(tokens // 256))
    return Trail(4 * tokens, b"".join(zlib.crc32(name.encode()).to_bytes(4, "little") for name in names))


def requests(seed: int) -> Iterator[tuple[Receipt, str]]:
    """The requests of a conversation, with the fingerprint of what is folded in each."""
    random = Random(seed)
    before, folded, version = 200 + random.randrange(3000), 0, 0
    trails, writes = random.random() < 0.8, random.random() < 0.5
    for number in range(14):
        before += random.choice([90, 128, 700, 2100])
        if random.random() < 0.3:
            folded, version = int(before * random.choice([0.0, 0.2, 0.7])), version + 1
        after = before - folded
        prompt = int(after * random.choice([0.98, 1.0, 1.1]))
        cached = random.choice([0, 0, prompt // 2, prompt - prompt % 128, max(0, prompt - 700)])
        written = random.choice([0, prompt - cached]) if writes else 0
        usage: tuple[Any, ...] = (prompt, random.randrange(300), cached, written, written // 3)
        if random.random() < 0.1:
            usage = random.choice([(None, None, None, None, None), (prompt, None, None, None, None), (0, 0, 0, 0, 0)])
        yield (
            receipt(
                request_id=f"{seed}-{number}",
                at=NOON + 5000 * seed + 400 * number,
                conversation=f"c{seed}" if seed % 7 else None,
                model=random.choice(["gpt-4o", "claude-sonnet-4-5", "nobody's"]),
                tenant=random.choice(["anna", "bert"]),
                status=random.choice(STATUSES) if folded else random.choice(STATUSES[3:]),
                tokens_before=before if random.random() < 0.9 else 0,
                tokens_after=after,
                usage=usage,
                upstream_status=random.choice([200, 200, 200, 200, 299, 300, 199, None, 500]),
                overhead_ms=random.random() * 9,
                first_byte_ms=random.choice([None, 180.25]),
                total_ms=random.random() * 900,
                streamed=random.random() < 0.5,
                complete=random.random() < 0.8,
                wire=random.choice(["", "chat", "messages"]),
                session=random.choice(["", "s"]),
                loop=random.random() < 0.3,
                foldable=random.choice([None, before // 2]),
                recall=random.choice(["", "words", "vectors"]),
                tags=random.choice([(), ("team-a",), ("team-a", "night")]),
                reason=random.choice(["", "", "held-out", "short"]),
                calls=(OwnCall("summary", "gpt-4o", Usage(90, 12, 0, 0)),) * random.choice([0, 0, 2]),
                trails=Trails(trail(before, before - 300 * (number % 3 == 2), seed), trail(after, before - folded, version))
                if trails
                else None,
            ),
            f"v{version}" if folded else "",
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
            every += [past, past.overdue, round(past.missing_marks(0.8), 9), PastRequest.from_bytes(past.to_bytes()) == past]
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
