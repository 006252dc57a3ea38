"""Receipts for tests: one, a store with a few, and conversations of them as providers bill them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from random import Random
from typing import Any

from turnfold.compression.fold import Section
from turnfold.config.prices import TokenUse, dollars
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.chat.receipts import OwnCall, Receipt, Usage
from turnfold.proxy.store import Store
from turnfold.proxy.trails.trail import Trail, Trails

NOON = 1_760_011_200.0  # 2025-10-09T12:00:00Z
HOUR, DAY = 3600, 86400

STATUSES = ("folded", "folded", "folded", "passthrough", "observed", "shaped", "recovered", "bypassed")

SECTION = Section(
    "s-1", "facts", ('{"role":"user","content":"Grüße, \\ud800"}', '{"role": "assistant", "content": "b\ud800"}'), 12
)


def receipt(**changes: Any) -> Receipt:
    """A folded request that went well."""
    usage = changes.pop("usage", (400, 50, 100, 0))
    fields: dict[str, Any] = {
        "request_id": "r",
        "at": NOON,
        "tenant": "anna",
        "model": "gpt-4o",
        "conversation": "c",
        "status": "folded",
        "reason": "",
        "tokens_before": 1000,
        "tokens_after": 400,
        "usage": Usage(*usage),
        "upstream_status": 200,
        "overhead_ms": 1.5,
        "first_byte_ms": 200.0,
        "total_ms": 900.0,
        "streamed": True,
        "complete": True,
    }
    return Receipt(**(fields | changes))


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


async def fill(store: Store) -> Ledger:
    """Record five requests over three days, one of another tenant."""
    book = Ledger(store, StoreSettings(), dollars)
    book.record(receipt(), (SECTION,))
    book.record(receipt(model="mine", tenant="bert", conversation="d", at=NOON + HOUR), ())
    book.record(receipt(status="observed", at=NOON + DAY, conversation=None), ())
    book.record(receipt(status="bypassed", reason="off", tokens_before=0, tokens_after=0, at=NOON + 2 * DAY), ())
    book.record(receipt(status="failed-open", reason="slow", upstream_status=400, usage=(), at=NOON + 2 * DAY), ())
    await book.flush()
    return book
