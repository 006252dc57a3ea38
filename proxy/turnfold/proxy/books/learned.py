"""Learned windows and caches, as words and figures for people.

Records go in, rows ready for JSON come out. The records are defined in ``learning.window_records``, the meaning of a figure in
``compression.calibration``; tables for a terminal are up to the CLI.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from turnfold.compression.calibration import Belief
from turnfold.compression.options import CachePrices
from turnfold.compression.warmth import belief, usual_warmth
from turnfold.proxy.books.pacing import OptionsOf
from turnfold.proxy.books.report import Query
from turnfold.proxy.learning.warmth_records import WarmthRecord, list_warmth
from turnfold.proxy.learning.window_records import WindowRecord, list_records, tenants
from turnfold.proxy.store import Key, Store

_HUGE: Final = 2**62  # tokens: a prompt so long that every window applies

_IN_WORDS: Final[dict[str, Callable[[Belief, WindowRecord], str]]] = {
    "error": lambda belief, _: f"named by an error {_times(belief.seen)}",
    "cut-off": lambda belief, _: f"silently cut off, seen {_times(belief.seen)}",
    "refusal": lambda _, record: f"a guess: refused at {record.known.fails:,}",
}


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


async def learned_windows(
    store: Store, now: float, options_of: OptionsOf | None, tenant: str | None = None, model: str | None = None
) -> list[dict[str, Any]]:
    """Rows of all tenants, or of one, of all models, or of one; for each what `learned_rows` gives.

    Raises:
        StoreError: the store does not answer.
    """
    chosen = sorted(await tenants(store)) if tenant is None else [tenant]
    rows = [row for one in chosen for row in learned_rows(await list_records(store, one, now), now, options_of)]
    return [row for row in rows if model is None or row["model"] == model]


async def windows_of(store: Store, query: Query, now: float, options_of: OptionsOf | None) -> list[dict[str, Any]]:
    """The rows that belong to a report: of its tenant and model where it is narrowed to them, and only those with a window.

    Raises:
        StoreError: the store does not answer.
    """
    rows = await learned_windows(store, now, options_of, query.only.get("tenant"), query.only.get("model"))
    return [row for row in rows if row["window"] is not None]


async def learned_of(store: Store, query: Query, now: float, options_of: OptionsOf | None) -> dict[str, Any]:
    """What a report says of upstreams: their ``windows`` and their ``caches``.

    Raises:
        StoreError: the store does not answer.
    """
    return {
        "windows": await windows_of(store, query, now, options_of),
        "caches": await caches_of(store, query, options_of),
    }


async def caches_of(store: Store, query: Query, options_of: OptionsOf | None) -> list[dict[str, Any]]:
    """A row for each upstream and model of whose prompt cache something was seen.

    ``turns`` and ``loops`` are the shares of requests that are expected to find it warm, those that a person's message ends and
    those that a tool's result ends; ``seen`` is how many requests that rests on, older ones counting less.

    Raises:
        StoreError: the store does not answer.
    """
    wanted = query.only.get("tenant")
    chosen = sorted(await tenants(store)) if wanted is None else [wanted]
    rows = [_cache_row(one, record, options_of) for one in chosen for record in await list_warmth(store, one)]
    return [row for row in rows if query.only.get("model") in (None, row["model"])]


def _cache_row(tenant: str, record: WarmthRecord, options_of: OptionsOf | None) -> dict[str, Any]:
    prices = CachePrices() if options_of is None else options_of(record.model).prices
    found, seen = belief(record.counts, usual_warmth(prices)), record.counts
    kinds = [
        f"by {share:.0%} of {name}"
        for name, share, counts in (("people's messages", found.turns, seen.turns), ("tool loops", found.loops, seen.loops))
        if sum(counts) >= 1
    ]
    words = f"found warm {' and '.join(kinds)} (learned from {seen.seen:,.0f} requests)"
    named = {"tenant": tenant, "upstream": record.upstream, "model": record.model}
    return {**named, "turns": found.turns, "loops": found.loops, "seen": round(seen.seen), "words": words}


def learned_rows(records: Iterable[tuple[Key, WindowRecord]], now: float, options_of: OptionsOf | None) -> list[dict[str, Any]]:
    """One row for each upstream and model; figures are tokens as the upstream counts them, times are Unix times.

    ``upstream`` and ``model`` are None in records of the first release. ``window`` is None where nothing was learned but how the
    upstream counts. ``in_force`` says whether requests are made to fit it now: not while it is tested again, nor where only one
    error named less than the published window.
    """
    return [_row(key, record, now, options_of) for key, record in records]


def _row(key: Key, record: WindowRecord, now: float, options_of: OptionsOf | None) -> dict[str, Any]:
    known, belief, named = record.known, record.known.belief, bool(record.upstream)
    published = options_of(record.model).window if options_of is not None and named else None
    return {
        "tenant": key.tenant,
        "upstream": record.upstream if named else None,
        "model": record.model if named else None,
        "window": belief.window if belief else None,
        "source": belief.source if belief else None,
        "how": _IN_WORDS[belief.source](belief, record) if belief else "",
        "in_force": belief is not None and record.at(now).window(_HUGE, published) == belief.window,
        "learned_at": record.learned_at,
        "retry_at": record.retry_at if belief else None,
        "largest_prompt": known.fits or None,
        "tokens_per_token": round(known.ratio, 4) if known.ratios else None,
    }
