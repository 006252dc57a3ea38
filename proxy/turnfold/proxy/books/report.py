"""What Turnfold did in a time range: the report's figures.

Lives here: from tables of sums to totals and groups. Does not belong here: HTTP, tables for a terminal (``cli`` and ``routes``
render).

Honest by construction: requests that the upstream did not serve count only as failed; saved tokens and saved dollars are separate
figures; cached tokens are listed apart; whatever the upstream or the price list does not say is counted as unknown.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from turnfold.compression.errors import InvalidInput
from turnfold.proxy.books import rollups
from turnfold.proxy.books.headline import headline
from turnfold.proxy.books.pacing import OptionsOf, Pacing, pacing
from turnfold.proxy.books.reasons import in_words
from turnfold.proxy.books.rollups import NANO, SumRow
from turnfold.proxy.chat.holdout import HELD_OUT
from turnfold.proxy.store import Store

_TABLES_AT_ONCE: Final = 100
_LONGEST_RANGE: Final = 5 * 366 * 86400

_BY_ROW: Final[Mapping[str, Callable[[SumRow], str]]] = MappingProxyType(
    {name: attrgetter(name) for name in ("model", "status", "reason", "tenant", "conversation", "wire", "session", "tag")}
)
_ALMOST: Final = 0.9999  # a part is never rounded to the whole
_BY_TIME: Final[Mapping[str, str]] = MappingProxyType({"hour": "%Y-%m-%dT%H:00Z", "day": "%Y-%m-%d"})

#: What only the tables by conversation tell apart, and these are whole days.
_BY_DAY_ONLY: Final = frozenset({"conversation", "session"})

#: Names that each tenant gives for itself: two tenants may use one for different things.
_OF_A_TENANT: Final = _BY_DAY_ONLY

#: What a report may be grouped by.
GROUPINGS: Final = (*_BY_ROW, *_BY_TIME)
#: What a report may be narrowed to.
FILTERS: Final = tuple(_BY_ROW)


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for.

    Attributes:
        start: Unix time of the beginning; rounded down to the hour (by conversation or session: to the day, UTC).
        end: Unix time of the end; rounded up in the same way.
        group_by: one of GROUPINGS.
        only: filter name (of FILTERS) -> the value that rows must have.
    """

    start: float
    end: float
    group_by: str = "model"
    only: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Check the query.

        Raises:
            InvalidInput: names the parameter.
        """
        if self.group_by not in GROUPINGS:
            raise InvalidInput("group_by", f"must be one of {', '.join(GROUPINGS)}")
        if unknown := sorted(set(self.only) - set(FILTERS)):
            raise InvalidInput(unknown[0], f"is not a filter; these are: {', '.join(FILTERS)}")
        if not self.start < self.end:
            raise InvalidInput("from", "must lie before 'to'")
        if self.end - self.start > _LONGEST_RANGE:
            raise InvalidInput("from", "lies more than five years before 'to'")
        if self.by_tag and self.by_day_only:
            raise InvalidInput("tag", "cannot be combined with conversation or session")

    @property
    def by_tag(self) -> bool:
        """Whether tags are told apart."""
        return "tag" in {self.group_by, *self.only}

    @property
    def by_day_only(self) -> bool:
        """Whether something is told apart that is known by whole days only."""
        return not _BY_DAY_ONLY.isdisjoint({self.group_by, *self.only})


class TimedRow(NamedTuple):
    """Sums of one hour or day: its beginning, what they are about, and the sums by measure."""

    at: datetime
    row: SumRow
    sums: dict[str, int]


def _tables(query: Query) -> list[tuple[str, datetime]]:
    first, end = rollups.whole_hours(query.start, query.end)
    if query.by_day_only:
        return list(rollups.conversation_days(first, end))
    return list(rollups.hours(first, end) if query.group_by == "hour" else rollups.covering_tables(first, end))


async def _read(store: Store, tables: Sequence[tuple[str, datetime]], only: Mapping[str, str]) -> list[TimedRow]:
    found = []
    wanted = [(_BY_ROW[name], value) for name, value in only.items() if name != "tag"]
    for start in range(0, len(tables), _TABLES_AT_ONCE):
        page = tables[start : start + _TABLES_AT_ONCE]
        for (_, at), table in zip(page, await store.counts([name for name, _ in page]), strict=True):
            rows = await asyncio.to_thread(rollups.rows, table)  # tens of thousands of fields in a large store
            found += [TimedRow(at, row, sums) for row, sums in rows.items() if all(of(row) == value for of, value in wanted)]
    return found


async def read_rows(store: Store, query: Query) -> list[TimedRow]:
    """The rows that a query is about; where it tells tags apart, those of `rows_by_tag`.

    Raises:
        StoreError: the store does not answer.
    """
    every = [] if query.only.get("tag") else await _read(store, _tables(query), query.only)
    return await rows_by_tag(store, query, every) if query.by_tag else every


async def rows_by_tag(store: Store, query: Query, every: Sequence[TimedRow]) -> list[TimedRow]:
    """Rows by tag; a request with several tags is in a row of each.

    Those without any are in rows without a tag: every request, and those with tags once more as negative sums.

    Args:
        every: the query's rows where tags are not told apart.

    Raises:
        StoreError: the store does not answer.
    """
    chosen = query.only.get("tag")
    tagged = await _read(store, [(rollups.BY_TAG + name, at) for name, at in _tables(query)], query.only)
    named = [one for one in tagged if one.row.tag and chosen in (None, one.row.tag)]
    if chosen:
        return named
    less = [one._replace(sums={name: -number for name, number in one.sums.items()}) for one in tagged if not one.row.tag]
    return [*named, *every, *less]


class GroupName(NamedTuple):
    """What a group is: a value of what the report is grouped by, and whose it is where each tenant has its own, else ""."""

    value: str
    tenant: str = ""


Groups = dict[GroupName, list[tuple[SumRow, dict[str, int]]]]


def grouped(rows: Iterable[TimedRow], group_by: str) -> Groups:
    """Rows by what they are grouped by; groups without a request are left out."""
    groups: Groups = {}
    named = _BY_TIME.get(group_by)
    for at, row, sums in rows:
        if group_by == "conversation" and not row.conversation:  # requests that went through unread
            continue
        value = at.strftime(named) if named else _BY_ROW[group_by](row)
        name = GroupName(value, row.tenant if value and group_by in _OF_A_TENANT else "")
        groups.setdefault(name, []).append((row, sums))
    return {name: found for name, found in groups.items() if sum(sums.get("requests", 0) for _, sums in found)}


def _share(part: float, whole: float) -> float | None:
    if not whole:
        return None
    share = round(part / whole, 4)
    return min(share, _ALMOST) if part < whole else share


def _mean(total: int, number: int, scale: float = 1.0) -> float | None:
    return round(total / number / scale, 3) if number else None


def _dollars(sums: Mapping[str, int]) -> dict[str, Any]:
    def of(measure: str) -> int:
        return sums.get(measure, 0)

    priced = of("priced") > 0
    return {
        "paid": round(of("paid") / NANO, 6) if priced else None,
        "without_turnfold": round(of("without") / NANO, 6) if priced else None,
        "saved": round((of("without") - of("paid")) / NANO, 6) if priced else None,
        "saved_share": _share(of("without") - of("paid"), of("without")) if priced else None,
        "paid_for_own_calls": round(of("paid_own") / NANO, 6) if priced else None,
        "unknown_requests": of("unpriced") + of("no_usage"),
    }


def figures(sums: Mapping[str, int]) -> dict[str, Any]:
    """The figures of one group.

    ``folds`` counts requests that were sent folded, and the fold events among them (requests at which the folded sections of a
    labelled conversation changed). ``tokens`` are our counts of received and sent tokens of served requests. ``usage`` is what
    the upstream reported. ``dollars`` are None if no request of known price reported its usage; paid dollars include our own
    calls, which ``own_calls`` counts.
    """

    def of(measure: str) -> int:
        return sums.get(measure, 0)

    served = _served_requests(sums)
    saved = of("before") - of("after")
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
        "dollars": _dollars(sums),
        "observed": _observed(sums),
        **_recall(sums),
        "own_calls": {
            "requests": of("own_calls"),
            "prompt_tokens": of("own_prompt"),
            "completion_tokens": of("own_completion"),
        },
        "ms": {
            "overhead_mean": _mean(of("overhead_us"), of("requests"), 1000),
            "first_byte_mean": _mean(of("first_byte_us"), of("first_bytes"), 1000),
            "total_mean": _mean(of("total_us"), served, 1000),
        },
    }


def _recall(sums: Mapping[str, int]) -> dict[str, Any]:
    """By what passages were recalled; left out where sentence vectors were never used."""
    by = {name: sums.get(f"recall_by_{name}", 0) for name in ("vectors", "words")}
    return {"recall": by} if any(by.values()) else {}


def _observed(sums: Mapping[str, int]) -> dict[str, Any]:
    """Requests that went out as they came, and what they would have been folded."""
    priced = sums.get("observed_priced", 0) > 0
    return {
        "requests": sums.get("observed", 0),
        "tokens_before": sums.get("observed_before", 0),
        "tokens_after": sums.get("observed_after", 0),
        "paid": round(sums.get("observed_paid", 0) / NANO, 6) if priced else None,
        "paid_folded": round(sums.get("observed_folded", 0) / NANO, 6) if priced else None,
    }


def _served_requests(sums: Mapping[str, int]) -> int:
    return sums.get("requests", 0) - sums.get("failed", 0)


#: What both groups are compared by: name -> the measure, the measure that counts what it is a mean over, and its unit.
_COMPARED: Final[Mapping[str, tuple[str, Callable[[Mapping[str, int]], int], float]]] = MappingProxyType(
    {
        "prompt_tokens": ("prompt", lambda sums: _served_requests(sums) - sums.get("no_usage", 0), 1.0),
        "completion_tokens": ("completion", lambda sums: _served_requests(sums) - sums.get("no_usage", 0), 1.0),
        "dollars": ("paid", lambda sums: sums.get("priced", 0), 1 / NANO),
        "first_byte_ms": ("first_byte_us", lambda sums: sums.get("first_bytes", 0), 1 / 1000),
        "total_ms": ("total_us", _served_requests, 1 / 1000),
        "failed_share": ("failed", lambda sums: sums.get("requests", 0), 1.0),
    }
)
#: Statuses of requests that would have been folded if it paid, but for the hold-out.
_COMPARABLE: Final = frozenset({"folded", "shaped", "passthrough", "failed-open", "recovered"})


def _interval(clusters: Sequence[Mapping[str, int]], name: str) -> dict[str, float] | None:
    """Mean over requests, and half the width of its 95% confidence interval; None for fewer than two conversations.

    All requests of a conversation are in one group, so the sample consists of conversations: the interval is that of a ratio of
    sums over clusters (Cochran, Sampling Techniques, 3rd ed., 1977, section 6.4), by the normal approximation.
    """
    measure, over, scale = _COMPARED[name]
    pairs = [(sums.get(measure, 0) * scale, number) for sums in clusters if (number := over(sums)) > 0]
    number = sum(count for _, count in pairs)
    if len(pairs) < 2:
        return None
    mean = sum(total for total, _ in pairs) / number
    square = sum((total - mean * count) ** 2 for total, count in pairs)
    width = 1.96 * math.sqrt(square * len(pairs) / (len(pairs) - 1)) / number
    return {"mean": round(mean, 9), "plus_minus": round(width, 9)}


def _side(clusters: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    requests = sum(sums.get("requests", 0) for sums in clusters)
    return {"conversations": len(clusters), "requests": requests, **{name: _interval(clusters, name) for name in _COMPARED}}


def _by_conversation(rows: Iterable[tuple[SumRow, dict[str, int]]], wanted: Callable[[SumRow], bool]) -> list[dict[str, int]]:
    found: dict[tuple[str, str], list[dict[str, int]]] = {}
    for row, sums in rows:
        if wanted(row):
            found.setdefault((row.tenant, row.conversation), []).append(sums)
    return [rollups.total(found[name]) for name in sorted(found)]


async def _comparison(store: Store, query: Query, every: Iterable[SumRow]) -> dict[str, Any] | None:
    """The held-out conversations compared with the others, over whole days; None if nothing was held out, or where the query is
    narrowed to a tag."""
    if "tag" in query.only or not any(row.reason == HELD_OUT for row in every):
        return None
    found = await read_rows(store, replace(query, group_by="conversation"))
    return await asyncio.to_thread(_sides, found)  # of every conversation


def _sides(found: Iterable[TimedRow]) -> dict[str, Any]:
    rows = [pair for pairs in grouped(found, "conversation").values() for pair in pairs]
    return {
        "held_out": _side(_by_conversation(rows, lambda row: row.reason == HELD_OUT)),
        "others": _side(_by_conversation(rows, lambda row: row.status in _COMPARABLE)),
    }


_PACING: Final = tuple(field.name for field in fields(Pacing))


def _pacing(rows: Sequence[tuple[SumRow, dict[str, int]]], options_of: OptionsOf) -> dict[str, Any]:
    """Why a conversation folds as often as it does, and how often it did, for its most frequent model."""
    by_model: dict[str, dict[str, int]] = {}
    for row, sums in rows:
        by_model[row.model] = rollups.total([by_model.get(row.model, {}), sums])
    model, sums = max(by_model.items(), key=lambda pair: (_served_requests(pair[1]), pair[0]))
    found = pacing(model, options_of(model), _served_requests(sums) - 1, sums.get("grown", 0))  # from the second request on
    said = {name: getattr(found, name, None) for name in _PACING}
    status, reason = _most(rows)
    return {
        **said,
        "words": found.words if found else None,
        "why": in_words(status, reason),
        "events": sum(s.get("fold_events", 0) for _, s in rows),
    }


def _most(rows: Sequence[tuple[SumRow, dict[str, int]]]) -> tuple[str, str]:
    """Status and reason of most of the requests."""
    counted: dict[tuple[str, str], int] = {}
    for row, sums in rows:
        counted[row.status, row.reason] = counted.get((row.status, row.reason), 0) + sums.get("requests", 0)
    return max(counted, key=lambda name: (counted[name], name))


def list_groups(groups: Groups, group_by: str) -> list[dict[str, Any]]:
    """The figures of each group: in time, or the largest first."""
    whose = group_by in _OF_A_TENANT
    listed = [
        {
            group_by: name.value,
            **figures(rollups.total(sums for _, sums in groups[name])),
            **({"tenant": name.tenant} if whose else {}),
        }
        for name in sorted(groups)
    ]
    return listed if group_by in _BY_TIME else sorted(listed, key=lambda group: -group["requests"])


async def report(store: Store, query: Query, options_of: OptionsOf | None = None) -> dict[str, Any]:
    """Totals and groups, ready for JSON.

    Args:
        options_of: fold options by model, to explain each conversation's pacing; None: no explanation.

    Raises:
        InvalidInput: the query is invalid.
        StoreError: the store does not answer.
    """
    query.check()
    rows = await read_rows(store, query)
    groups = grouped(rows, query.group_by)
    first, end = rollups.whole_hours(query.start, query.end)
    if query.group_by == "tag" and "tag" not in query.only:  # in the total a request with several tags counts once
        rows = await read_rows(store, replace(query, group_by="model"))
    every = [pair for pairs in grouped(rows, query.group_by).values() for pair in pairs]
    listed = list_groups(groups, query.group_by)
    if query.group_by == "conversation" and options_of is not None:
        listed = [
            {**group, "pacing": _pacing(groups[GroupName(group["conversation"], group["tenant"])], options_of)}
            for group in listed
        ]
    totals = figures(rollups.total(sums for _, sums in every))
    return {
        "headline": headline(totals),
        "from": first.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "to": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "group_by": query.group_by,
        "filters": dict(query.only),
        "totals": totals,
        "held_out": await _comparison(store, query, (row for row, _ in every)),
        "groups": listed,
    }


def with_tenant_names(result: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A report with the name that the operator gave each tenant in it, "" where there is none: ``name`` of a tenant's group,
    ``tenant_name`` of a conversation's or a session's."""
    by = result["group_by"]
    if by != "tenant" and by not in _OF_A_TENANT:
        return result
    label = "name" if by == "tenant" else "tenant_name"
    return result | {"groups": [{**group, label: names.get(group["tenant"], "")} for group in result["groups"]]}


def with_tenants_by_name(only: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Filters in which a tenant's name is replaced by the tenant.

    Raises:
        InvalidInput: several tenants have this name.
    """
    chosen = [tenant for tenant, name in names.items() if name == only.get("tenant")]
    if len(chosen) > 1:
        raise InvalidInput("tenant", f"is the name of {len(chosen)} tenants; name one as the report by tenant shows it")
    return {**only, "tenant": chosen[0]} if chosen else dict(only)


_UNITS: Final[Mapping[str, int]] = MappingProxyType({"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400})


def moment(text: str, name: str, now: float) -> float:
    """A point in time as people write it: ``24h``, ``7d`` (ago), Unix seconds, a date, or ISO 8601 (UTC by default).

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
