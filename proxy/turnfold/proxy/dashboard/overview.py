"""The figures of the dashboard's overview.

One read of the report's sums, grouped in every way that the page shows. The arithmetic is in ``books.report``; single requests
are in ``newest``.

What takes longer is not in it, so that the page has something to show at once: the sums by tag (`by_tag`), and the hold-out
comparison, which reads the sums by conversation. The page asks ``/admin/report`` for that one where `holds_out` says that there
is one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from turnfold.proxy.books import rollups
from turnfold.proxy.books.figures import figures
from turnfold.proxy.books.report import GroupName, Groups, Query, TimedRow, grouped, list_groups, read_rows, rows_by_tag
from turnfold.proxy.books.rollups import SumRow
from turnfold.proxy.books.wording import DOLLARS_ARE, headline, in_words
from turnfold.proxy.learning.holdout import HELD_OUT
from turnfold.proxy.store import Store

#: Ranges up to this many seconds are shown by hour, longer ones by day.
_BY_HOUR: Final = 49 * 3600
_SHOWN: Final = 50
_STEPS: Final[Mapping[str, tuple[str, timedelta]]] = {
    "hour": ("%Y-%m-%dT%H:00Z", timedelta(hours=1)),
    "day": ("%Y-%m-%d", timedelta(days=1)),
}


@dataclass(frozen=True, slots=True)
class _Found:
    """The sums that were read.

    Attributes:
        rows: sums by hour or day.
        every: the same without the time.
    """

    step: str
    first: datetime
    last: datetime
    rows: Sequence[TimedRow]
    every: Sequence[TimedRow]


async def overview(store: Store, start: float, end: float, only: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """The figures of a time range, ready for JSON. The range is widened to whole hours, or to whole days (UTC) if it is long.

    Args:
        start, end: Unix times.
        only: filters of a report.
        names: of tenants.

    Raises:
        InvalidInput: the range or a filter is invalid.
        StoreError: the store does not answer.
    """
    step = "hour" if end - start <= _BY_HOUR else "day"
    Query(start, end, step, only).check()
    first, last = _whole_steps(step, start, end)
    rows = await read_rows(store, Query(first.timestamp(), last.timestamp(), step, only))
    every = await asyncio.to_thread(_over_time, rows)
    found = _Found(step, first, last, rows, every)
    return await asyncio.to_thread(_figures, found, names) | {"filters": dict(only)}


async def by_tag(store: Store, start: float, end: float, only: Mapping[str, str]) -> dict[str, Any]:
    """The figures of each tag in the same range; "" stands for requests without tags. This reads several times as many sums.

    Raises:
        InvalidInput, StoreError: as for `overview`.
    """
    step = "hour" if end - start <= _BY_HOUR else "day"
    Query(start, end, step, only).check()
    first, last = _whole_steps(step, start, end)
    query = Query(first.timestamp(), last.timestamp(), step, only)
    rows = await read_rows(store, query)
    if "tag" not in only:
        rows = await rows_by_tag(store, query, rows)
    return {"tags": await asyncio.to_thread(lambda: _largest(_over_time(rows), "tag"))}


def _whole_steps(step: str, start: float, end: float) -> tuple[datetime, datetime]:
    first, last = rollups.whole_hours(start, end)
    if step == "hour":
        return first, last
    midnight = last.replace(hour=0)
    return first.replace(hour=0), midnight if midnight == last else midnight + timedelta(days=1)


def _over_time(rows: Iterable[TimedRow]) -> list[TimedRow]:
    """The same sums without the time: a row for each combination of names."""
    by_row: dict[SumRow, list[dict[str, int]]] = {}
    at = datetime.fromtimestamp(0, UTC)
    for one in rows:
        by_row.setdefault(one.row, []).append(one.sums)
    return [TimedRow(at, row, rollups.total(sums)) for row, sums in by_row.items()]


def _figures(found: _Found, names: Mapping[str, str]) -> dict[str, Any]:
    totals = figures(rollups.total(one.sums for one in found.every))
    return {
        "headline": headline(totals),
        "dollars_are": DOLLARS_ARE,
        "from": found.first.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "to": found.last.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "step": found.step,
        "totals": totals,
        "series": _series(grouped(found.rows, found.step), found),
        "models": _largest(found.every, "model"),
        "tenants": [{**group, "name": names.get(group["tenant"], "")} for group in _largest(found.every, "tenant")],
        "statuses": _statuses(found.every),
        "holds_out": any(one.row.reason == HELD_OUT for one in found.every),
    }


def _largest(rows: Iterable[TimedRow], group_by: str) -> list[dict[str, Any]]:
    """The largest groups, and the rest as one group that is named by their number."""
    groups = grouped(rows, group_by)
    listed = list_groups(groups, group_by)
    rest = [pair for group in listed[_SHOWN:] for pair in groups[GroupName(group[group_by])]]
    more = {group_by: f"({len(listed) - _SHOWN} more)", **figures(rollups.total(sums for _, sums in rest))}
    return [*listed[:_SHOWN], *([more] if rest else [])]


def _series(groups: Groups, found: _Found) -> list[dict[str, Any]]:
    """A point for every hour or day of the range, those without a request too."""
    form, width = _STEPS[found.step]
    at, points = found.first, []
    while at < found.last:
        name = at.strftime(form)
        sums = figures(rollups.total(one for _, one in groups.get(GroupName(name), ())))
        points.append({"at": name, **{part: sums[part] for part in ("requests", "tokens", "dollars", "observed")}})
        at += width
    return points


def _statuses(rows: Iterable[TimedRow]) -> list[dict[str, Any]]:
    """Requests by status and reason, in words."""
    counted: dict[tuple[str, str], dict[str, int]] = {}
    for one in rows:
        key = one.row.status, one.row.reason
        counted[key] = rollups.total([counted.get(key, {}), {name: one.sums.get(name, 0) for name in ("requests", "failed")}])
    listed = [
        {"status": status, "reason": reason, "words": in_words(status, reason), **sums}
        for (status, reason), sums in counted.items()
    ]
    return sorted((one for one in listed if one["requests"]), key=lambda one: (-one["requests"], one["status"], one["reason"]))
