"""A store as some weeks of use leave it.

Its made-up receipts look like an operator's: a few teams, a few models, days and nights, failures.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from turnfold.config.prices import dollars
from turnfold.config.settings import StoreSettings
from turnfold.proxy.books.ledger import Ledger
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.store import OpenStore, open_store

_DAY = 86_400
#: Tenant, share of the requests, its tags, its models.
_TEAMS = (
    ("7c0e41aa90", 8, (("search", "nightly"), ("search",), ("search", "eval", "gpu-7")), ("gpt-4o", "gpt-5")),
    ("11f3d2c09b", 5, (("support",), ()), ("claude-sonnet-4-5", "gpt-4o-mini")),
    ("e90b77d512", 2, ((), ("<script>alert(1)</script>",)), ("gpt-5", "my-own-model")),
)
#: Status, reason, share of the requests.
_ENDS = (
    ("folded", "", 50),
    ("passthrough", "short", 24),
    ("passthrough", "waiting", 12),
    ("shaped", "", 5),
    ("bypassed", "held-out", 4),
    ("observed", "", 2),
    ("failed-open", "slow", 1),
    ("recovered", "", 1),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much, over how many days, until which Unix time."""

    receipts: int
    days: int
    end: float
    seed: int = 7


def receipts(plan: Plan) -> Iterator[Receipt]:
    """The receipts, in order of time."""
    rnd = random.Random(plan.seed)
    moments = sorted(plan.end - plan.days * _DAY * rnd.random() for _ in range(plan.receipts))
    busy = (at for at in moments)
    for number, at in enumerate(busy):
        yield _receipt(rnd, number, at)


def _receipt(rnd: random.Random, number: int, at: float) -> Receipt:
    tenant, _, tags, models = rnd.choices(_TEAMS, [team[1] for team in _TEAMS])[0]
    status, reason, _ = rnd.choices(_ENDS, [end[2] for end in _ENDS])[0]
    before = int(rnd.lognormvariate(9.4, 0.7)) if status != "passthrough" else int(rnd.lognormvariate(8.2, 0.6))
    smaller = status in ("folded", "recovered", "observed", "shaped")
    after = int(before * (rnd.uniform(0.25, 0.6) if status != "shaped" else rnd.uniform(0.8, 0.95))) if smaller else before
    failed = rnd.random() < 0.015
    sent = before if status == "observed" else after
    cached = int(sent * rnd.choice((0, 0.5, 0.7, 0.8))) // 128 * 128
    usage = Usage() if failed else Usage(sent, rnd.randint(40, 900), cached, 0)
    return Receipt(
        request_id=f"tf-{number:024x}",
        at=at,
        tenant=tenant,
        model=rnd.choice(models),
        conversation=f"{tenant[:4]}-{number // 40:05d}",
        status=status,  # type: ignore[arg-type]  # one of the table
        reason=reason,
        tokens_before=before,
        tokens_after=after,
        usage=usage,
        upstream_status=rnd.choice((429, 500, 503, None)) if failed else 200,
        overhead_ms=rnd.lognormvariate(1.2, 0.6),
        first_byte_ms=None if failed else rnd.lognormvariate(6.3, 0.4),
        total_ms=rnd.lognormvariate(8.0, 0.6),
        streamed=rnd.random() < 0.7,
        complete=rnd.random() > 0.004,
        wire="messages" if "claude" in models[0] else "chat",
        tags=rnd.choice(tags),
    )


async def seed(url: str, plan: Plan) -> OpenStore:
    """The store at a URL with the plan's receipts in it, written by the ledger as a server does."""
    settings = StoreSettings(url=url)
    store = open_store(settings)
    ledger = Ledger(store.patient, settings, dollars)
    for number, receipt in enumerate(receipts(plan)):
        ledger.record(receipt, ())
        if number % 2000 == 1999:
            await ledger.flush()
    await ledger.flush()
    assert ledger.dropped == 0, "the queue was too small"
    return store
