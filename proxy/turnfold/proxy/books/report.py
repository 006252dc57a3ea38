"""What Turnfold did in a time range: the report's figures.

This module turns tables of sums into totals and groups. The figures of one group are computed in ``figures``; ``cli`` and
``routes`` render the result.

Honest by construction: requests that the upstream did not serve count only as failed; saved tokens and saved dollars are separate
figures; cached tokens are listed apart; whatever the upstream or the price list does not say is counted as unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, get_args

from turnfold.compression.errors import InvalidInput
from turnfold.proxy.books import rollups
from turnfold.proxy.books.csv_rows import as_csv, csv_header, flat
from turnfold.proxy.books.figures import figures, served_requests, sides
from turnfold.proxy.books.pacing import OptionsOf, Pacing, pacing
from turnfold.proxy.books.rolling_up import hours_since
from turnfold.proxy.books.rollups import SumRow
from turnfold.proxy.books.wording import DOLLARS_ARE, headline, in_words
from turnfold.proxy.chat.receipts import Status
from turnfold.proxy.learning.holdout import HELD_OUT
from turnfold.proxy.store import Store

_TABLES_AT_ONCE: Final = 100
_STATUSES: Final = get_args(Status)
_LONGEST_RANGE: Final = 5 * 366 * 86400

_BY_ROW: Final[Mapping[str, Callable[[SumRow], str]]] = MappingProxyType(
    {name: attrgetter(name) for name in ("model", "status", "reason", "tenant", "conversation", "wire", "session", "tag")}
)
_BY_TIME: Final[Mapping[str, str]] = MappingProxyType({"hour": "%Y-%m-%dT%H:00Z", "day": "%Y-%m-%d"})

#: Groupings that only the tables by conversation have; these cover whole days.
BY_DAY_ONLY: Final = frozenset({"conversation", "session"})

#: Names that each tenant chooses itself: two tenants may use the same one.
_OF_A_TENANT: Final = BY_DAY_ONLY

#: What a report may be grouped by.
GROUPINGS: Final = (*_BY_ROW, *_BY_TIME)
#: What a report may be narrowed to.
FILTERS: Final = tuple(_BY_ROW)


@dataclass(frozen=True, slots=True)
class Query:
    """A query.

    Attributes:
        start: Unix time of the beginning; rounded down to the hour (by conversation or session: to the day, UTC).
        end: Unix time of the end; rounded up in the same way.
        group_by: one of GROUPINGS.
        only: filter name (of FILTERS) -> the value that rows must have.
        hours_since: Unix time before which the store has whole days only; the range is extended to these.
    """

    start: float
    end: float
    group_by: str = "model"
    only: Mapping[str, str] = field(default_factory=dict)
    hours_since: float = 0.0

    def check(self) -> None:
        """Check the query.

        Raises:
            InvalidInput: names the parameter.
        """
        if self.group_by not in GROUPINGS:
            raise InvalidInput("group_by", f"must be one of {', '.join(GROUPINGS)}")
        if unknown := sorted(set(self.only) - set(FILTERS)):
            raise InvalidInput(unknown[0], f"is not a filter; these are: {', '.join(FILTERS)}")
        if self.only.get("status", _STATUSES[0]) not in _STATUSES:
            raise InvalidInput("status", f"must be one of {', '.join(_STATUSES)}")
        if not self.start < self.end:
            raise InvalidInput("from", "must lie before 'to'")
        if self.end - self.start > _LONGEST_RANGE:
            raise InvalidInput("from", "lies more than five years before 'to'")
        if self.by_tag and self.by_day_only:
            raise InvalidInput("tag", "cannot be combined with conversation or session")

    @property
    def by_tag(self) -> bool:
        """Whether the query needs the tables by tag."""
        return "tag" in {self.group_by, *self.only}

    @property
    def by_day_only(self) -> bool:
        """Whether the query needs data that exists only for whole days."""
        return not BY_DAY_ONLY.isdisjoint({self.group_by, *self.only})

    @property
    def covered(self) -> tuple[datetime, datetime]:
        """Beginning and end of the summed range."""
        first, end = rollups.whole_hours(self.start, self.end)
        return rollups.whole_days(first, end) if self.by_day_only else rollups.known_hours(first, end, self.hours_since)


class TimedRow(NamedTuple):
    """Sums of one hour or day: its beginning, what they are about, and the sums by measure."""

    at: datetime
    row: SumRow
    sums: dict[str, int]


def _tables(query: Query) -> list[tuple[str, datetime]]:
    first, end = query.covered
    if query.by_day_only:
        return list(rollups.conversation_days(first, end))
    by_hour = query.group_by == "hour"
    return list(rollups.hours(first, end, query.hours_since) if by_hour else rollups.covering_tables(first, end))


async def _read(store: Store, tables: Sequence[tuple[str, datetime]], only: Mapping[str, str]) -> list[TimedRow]:
    found = []
    wanted = [(_BY_ROW[name], value) for name, value in only.items() if name != "tag"]
    for start in range(0, len(tables), _TABLES_AT_ONCE):
        page = tables[start : start + _TABLES_AT_ONCE]
        for (_, at), table in zip(page, await store.counts([name for name, _ in page]), strict=True):
            found += await asyncio.to_thread(_rows, at, table, wanted)  # tens of thousands of fields in a large store
    return found


def _rows(at: datetime, table: Mapping[str, int], wanted: Sequence[tuple[Callable[[SumRow], str], str]]) -> list[TimedRow]:
    """The rows of a table that have these values."""
    rows = rollups.rows(table)
    return [TimedRow(at, row, sums) for row, sums in rows.items() if all(of(row) == value for of, value in wanted)]


async def read_rows(store: Store, query: Query) -> list[TimedRow]:
    """The rows that a query is about; where it tells tags apart, those of `rows_by_tag`.

    Raises:
        StoreError: the store does not answer.
    """
    query = replace(query, hours_since=await hours_since(store))
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
    tagged = await _read(store, [(rollups.BY_TAG + name, at) for name, at in _tables(query)], query.only)
    return await asyncio.to_thread(_tag_rows, tagged, query.only.get("tag"), every)


def _tag_rows(tagged: Sequence[TimedRow], chosen: str | None, every: Sequence[TimedRow]) -> list[TimedRow]:
    """Rows by tag, out of those that are stored and those without tags.

    Args:
        chosen: the one tag that is asked for; None or "": all.
    """
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
        if group_by == "conversation" and not row.conversation:  # requests that passed through unread
            continue
        value = at.strftime(named) if named else _BY_ROW[group_by](row)
        name = GroupName(value, row.tenant if value and group_by in _OF_A_TENANT else "")
        groups.setdefault(name, []).append((row, sums))
    return {name: found for name, found in groups.items() if sum(sums.get("requests", 0) for _, sums in found)}


async def _comparison(store: Store, query: Query) -> dict[str, Any]:
    """The held-out conversations compared with the others, over whole days."""
    found = await read_rows(store, replace(query, group_by="conversation"))
    return await asyncio.to_thread(_sides, found)  # of every conversation


def _sides(found: Iterable[TimedRow]) -> dict[str, Any]:
    return sides([pair for pairs in grouped(found, "conversation").values() for pair in pairs])


_PACING: Final = tuple(field.name for field in fields(Pacing))


def _pacing(rows: Sequence[tuple[SumRow, dict[str, int]]], options_of: OptionsOf) -> dict[str, Any]:
    """Why a conversation folds as often as it does, and how often it did, for its most frequent model."""
    by_model: dict[str, dict[str, int]] = {}
    for row, sums in rows:
        by_model[row.model] = rollups.total([by_model.get(row.model, {}), sums])
    model, sums = max(by_model.items(), key=lambda pair: (served_requests(pair[1]), pair[0]))
    turns = served_requests(sums) - 1  # from the second request on
    found = pacing(model, options_of(model), turns, sums.get("grown", 0), cached=sums.get("cached", 0) > 0)
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
    query = replace(query, hours_since=await hours_since(store))
    rows = every = await read_rows(store, query)
    if query.group_by == "tag" and "tag" not in query.only:  # in the total a request with several tags counts once
        every = await read_rows(store, replace(query, group_by="model"))
    totals, holds_out = await asyncio.to_thread(_totals, every, query.group_by)
    groups = await asyncio.to_thread(_listed, rows, query.group_by, options_of)
    for read in (rows, every):  # in a large store, freeing them takes as long as a dozen small requests
        await asyncio.to_thread(read.clear)
    first, end = query.covered
    return {
        "headline": headline(totals),
        "dollars_are": DOLLARS_ARE,
        "from": first.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "to": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "group_by": query.group_by,
        "filters": dict(query.only),
        "totals": totals,
        "held_out": await _comparison(store, query) if holds_out and "tag" not in query.only else None,
        "groups": groups,
    }


def _totals(rows: Iterable[TimedRow], group_by: str) -> tuple[dict[str, Any], bool]:
    """The figures of all groups together, and whether conversations were held out in them."""
    every = [pair for pairs in grouped(rows, group_by).values() for pair in pairs]
    return figures(rollups.total(sums for _, sums in every)), any(row.reason == HELD_OUT for row, _ in every)


def _listed(rows: Iterable[TimedRow], group_by: str, options_of: OptionsOf | None) -> list[dict[str, Any]]:
    """The figures of each group; of a conversation also why it folds as often as it does."""
    groups = grouped(rows, group_by)
    listed = list_groups(groups, group_by)
    if group_by != "conversation" or options_of is None:
        return listed
    return [
        {**group, "pacing": _pacing(groups[GroupName(group["conversation"], group["tenant"])], options_of)} for group in listed
    ]


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
        raise InvalidInput("tenant", f"is the name of {len(chosen)} tenants; use the id that the report by tenant shows")
    return {**only, "tenant": chosen[0]} if chosen else dict(only)


def report_csv(result: Mapping[str, Any]) -> str:
    """The groups of a report (with tenants' names) as CSV. A report without requests has the header line alone."""
    if groups := result["groups"]:
        return as_csv(groups)
    by = result["group_by"]
    blank: dict[str, Any] = {by: "", **result["totals"]} | ({"tenant": ""} if by in _OF_A_TENANT else {})
    if by == "conversation":
        blank["pacing"] = dict.fromkeys((*_PACING, "words", "why", "events"))
    return csv_header(flat(with_tenant_names({"group_by": by, "groups": [blank]}, {})["groups"][0]))


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
