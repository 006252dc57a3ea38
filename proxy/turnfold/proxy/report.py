"""What Turnfold did with the requests of a range of time: the report's figures.

Lives here: from tables of sums to totals and groups. Must not: HTTP, tables for a terminal (``cli`` and ``routes`` render).

Honest by construction: only requests that the upstream served count as anything but "failed"; tokens saved and dollars saved
are different figures; cached tokens stand apart; what the upstream or the price list did not say is counted as unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from turnfold.compression.errors import InvalidInput
from turnfold.proxy import rollups
from turnfold.proxy.rollups import HELD_OUT, NANO, Row
from turnfold.proxy.store import Store

_TABLES_AT_ONCE: Final = 100
_LONGEST_RANGE: Final = 5 * 366 * 86400

_BY_ROW: Final[Mapping[str, Callable[[Row], str]]] = MappingProxyType(
    {
        "model": lambda row: row.model,
        "status": lambda row: row.status,
        "reason": lambda row: row.reason,
        "tenant": lambda row: row.tenant,
        "conversation": lambda row: row.conversation,
    }
)
_BY_TIME: Final[Mapping[str, str]] = MappingProxyType({"hour": "%Y-%m-%dT%H:00Z", "day": "%Y-%m-%d"})

#: What a report may be grouped by.
GROUPINGS: Final = (*_BY_ROW, *_BY_TIME)
#: What a report may be narrowed to.
FILTERS: Final = tuple(_BY_ROW)


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for.

    Attributes:
        start: Unix time of the beginning; rounded down to the hour (by conversation: to the day, UTC).
        end: Unix time of the end; rounded up likewise.
        group_by: one of GROUPINGS.
        only: name of FILTERS -> the value that rows must have.
    """

    start: float
    end: float
    group_by: str = "model"
    only: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what makes no sense.

        Raises:
            InvalidInput: names the parameter.
        """
        if self.group_by not in GROUPINGS:
            raise InvalidInput("group_by", f"must be one of {', '.join(GROUPINGS)}")
        if unknown := sorted(set(self.only) - set(FILTERS)):
            raise InvalidInput(unknown[0], f"cannot be filtered by; there are {', '.join(FILTERS)}")
        if not self.start < self.end:
            raise InvalidInput("from", "must lie before 'to'")
        if self.end - self.start > _LONGEST_RANGE:
            raise InvalidInput("from", "lies more than five years before 'to'")


def _tables(query: Query) -> list[tuple[str, datetime]]:
    first, end = rollups.whole_hours(query.start, query.end)
    if "conversation" in {query.group_by, *query.only}:
        return list(rollups.conversation_days(first, end))
    return list(rollups.hours(first, end) if query.group_by == "hour" else rollups.covering(first, end))


async def _sums(store: Store, query: Query) -> dict[str, list[tuple[Row, dict[str, int]]]]:
    """Rows of sums by group."""
    tables = _tables(query)
    groups: dict[str, list[tuple[Row, dict[str, int]]]] = {}
    for start in range(0, len(tables), _TABLES_AT_ONCE):
        page = tables[start : start + _TABLES_AT_ONCE]
        for (_, at), table in zip(page, await store.counts([name for name, _ in page]), strict=True):
            for row, sums in rollups.rows(table).items():
                if any(_BY_ROW[name](row) != value for name, value in query.only.items()):
                    continue
                named = _BY_TIME.get(query.group_by)
                group = at.strftime(named) if named else _BY_ROW[query.group_by](row)
                groups.setdefault(group, []).append((row, sums))
    return groups


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _mean(total: int, number: int, scale: float = 1.0) -> float | None:
    return round(total / number / scale, 3) if number else None


def figures(sums: Mapping[str, int]) -> dict[str, Any]:
    """The figures of one group.

    ``folds`` are requests that went out folded, and of these the events at which the folded sections of a conversation (with
    a label) changed; ``tokens`` are our counts of what came in and what went out, of requests that the upstream served;
    ``usage`` is what the upstream reported; ``dollars`` are None where no request of known price reported its usage.
    """

    def of(measure: str) -> int:
        return sums.get(measure, 0)

    served = of("requests") - of("failed")
    saved = of("before") - of("after")
    priced = of("priced") > 0
    return {
        "requests": of("requests"),
        "served": served,
        "failed": of("failed"),
        "incomplete": of("incomplete"),
        "streamed": of("streamed"),
        "folds": {
            "requests": of("folded"),
            "events": of("fold_events"),
            "requests_per_event": _mean(of("folded"), of("fold_events")),
        },
        "tokens": {
            "before": of("before"),
            "after": of("after"),
            "saved": saved,
            "saved_share": _share(saved, of("before")),
            "uncounted_requests": of("uncounted"),
            "observed_before": of("observed_before"),
            "observed_after": of("observed_after"),
        },
        "usage": {
            "prompt_tokens": of("prompt"),
            "completion_tokens": of("completion"),
            "cached_tokens": of("cached"),
            "cache_write_tokens": of("written"),
            "cached_share": _share(of("cached"), of("prompt")),
            "unknown_requests": of("no_usage"),
        },
        "dollars": {
            "paid": round(of("paid") / NANO, 6) if priced else None,
            "without_turnfold": round(of("without") / NANO, 6) if priced else None,
            "saved": round((of("without") - of("paid")) / NANO, 6) if priced else None,
            "saved_share": _share(of("without") - of("paid"), of("without")) if priced else None,
            "unknown_requests": of("unpriced") + of("no_usage"),
        },
        "ms": {
            "overhead_mean": _mean(of("overhead_us"), of("requests"), 1000),
            "first_byte_mean": _mean(of("first_byte_us"), of("first_bytes"), 1000),
            "total_mean": _mean(of("total_us"), served, 1000),
        },
    }


def _interval(sums: Mapping[str, int], measure: str, square: str, scale: float = 1.0) -> dict[str, float] | None:
    """Mean and half the width of its 95% confidence interval (normal approximation over requests)."""
    number = sums.get("requests", 0) - sums.get("failed", 0)
    if number < 2:
        return None
    mean = sums.get(measure, 0) * scale / number
    variance = max(0.0, (sums.get(square, 0) - number * mean * mean) / (number - 1))
    return {"mean": round(mean, 6), "plus_minus": round(1.96 * math.sqrt(variance / number), 6)}


def _side(sums: Mapping[str, int]) -> dict[str, Any]:
    micro = _interval(sums, "paid", "paid_sq", 1e6 / NANO)
    return {
        "requests": sums.get("requests", 0),
        "failed_share": _share(sums.get("failed", 0), sums.get("requests", 0)),
        "prompt_tokens": _interval(sums, "prompt", "prompt_sq"),
        "completion_tokens": _interval(sums, "completion", "completion_sq"),
        "total_ms": _interval(sums, "total_us", "total_sq", 1 / 1000),
        "dollars": {name: round(value / 1e6, 9) for name, value in micro.items()} if micro and sums.get("priced") else None,
    }


def _comparison(rows: Iterable[tuple[Row, dict[str, int]]]) -> dict[str, Any] | None:
    """The held-out conversations beside the others; None when nothing was held out.

    Requests of one conversation are not independent of each other, so the intervals are somewhat too narrow.
    """
    sides: dict[bool, list[dict[str, int]]] = {True: [], False: []}
    for row, sums in rows:
        sides[row.reason == HELD_OUT].append(sums)
    if not sides[True]:
        return None
    return {"held_out": _side(rollups.total(sides[True])), "others": _side(rollups.total(sides[False]))}


async def report(store: Store, query: Query) -> dict[str, Any]:
    """Totals and groups, ready for JSON.

    Raises:
        InvalidInput: the query makes no sense.
        StoreError: the store does not answer.
    """
    query.check()
    groups = await _sums(store, query)
    first, end = rollups.whole_hours(query.start, query.end)
    every = [pair for pairs in groups.values() for pair in pairs]
    listed = [{query.group_by: name, **figures(rollups.total(sums for _, sums in groups[name]))} for name in sorted(groups)]
    if query.group_by not in _BY_TIME:
        listed.sort(key=lambda group: -group["requests"])
    return {
        "from": first.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "to": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "group_by": query.group_by,
        "filters": dict(query.only),
        "totals": figures(rollups.total(sums for _, sums in every)),
        "held_out": _comparison(every),
        "groups": listed,
    }


_UNITS: Final[Mapping[str, int]] = MappingProxyType({"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400})


def moment(text: str, name: str, now: float) -> float:
    """A point in time as a person writes it: ``24h``, ``7d`` (ago), Unix seconds, a date, or ISO 8601 (UTC unless it says).

    Raises:
        InvalidInput: names the parameter.
    """
    text = text.strip()
    if text[-1:] in _UNITS and text[:-1].isascii() and text[:-1].isdigit() and len(text) < 8:
        return max(0.0, now - int(text[:-1]) * _UNITS[text[-1]])
    try:
        if text.replace(".", "", 1).isdigit() and text.isascii():
            seconds = float(text)
        else:
            parsed = datetime.fromisoformat(text)
            seconds = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
        datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as exc:
        raise InvalidInput(
            name, "must be a date, a time as in 2026-01-31T12:00Z, Unix seconds, or an age as in 24h or 7d"
        ) from exc
    return seconds
