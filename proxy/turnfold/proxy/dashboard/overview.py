"""What the dashboard shows at a glance.

Lives here: one read of the report's sums, grouped in every way that the page shows. Does not belong here: arithmetic
(``books.report``), single requests (``newest``), HTML.

The hold-out comparison is not in it: it reads the much larger sums by conversation. The page asks ``/admin/report`` for it, where
`holds_out` says that there is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from turnfold.proxy.books import rollups
from turnfold.proxy.books.headline import headline
from turnfold.proxy.books.reasons import in_words
from turnfold.proxy.books.report import Groups, Query, TimedRow, figures, grouped, list_groups, read_rows, rows_by_tag
from turnfold.proxy.books.rollups import HELD_OUT
from turnfold.proxy.store import Store

#: Ranges up to this many seconds are shown by hour, longer ones by day.
_BY_HOUR: Final = 49 * 3600
_SHOWN: Final = 50
_STEPS: Final[Mapping[str, tuple[str, timedelta]]] = {
    "hour": ("%Y-%m-%dT%H:00Z", timedelta(hours=1)),
    "day": ("%Y-%m-%d", timedelta(days=1)),
}


async def overview(store: Store, start: float, end: float, only: Mapping[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    """The figures of a time range, ready for JSON.

    Args:
        start, end: Unix times.
        only: filters of a report.
        names: of tenants.

    Raises:
        InvalidInput: the range or a filter is invalid.
        StoreError: the store does not answer.
    """
    step = "hour" if end - start <= _BY_HOUR else "day"
    query = Query(start, end, step, only)
    query.check()
    rows = await read_rows(store, query)
    tagged = rows if "tag" in only else await rows_by_tag(store, query, rows)
    totals = figures(rollups.total(one.sums for one in rows))
    first, last = rollups.whole_hours(start, end)
    return {
        "headline": headline(totals),
        "from": first.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "to": last.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "step": step,
        "filters": dict(only),
        "totals": totals,
        "series": _series(grouped(rows, step), step, first, last),
        "models": _largest(rows, "model"),
        "tenants": [{**group, "name": names.get(group["tenant"], "")} for group in _largest(rows, "tenant")],
        "tags": _largest(tagged, "tag"),
        "statuses": _statuses(rows),
        "holds_out": any(one.row.reason == HELD_OUT for one in rows),
    }


def _largest(rows: Iterable[TimedRow], group_by: str) -> list[dict[str, Any]]:
    """The largest groups; those beyond as one group, named by how many it holds."""
    groups = grouped(rows, group_by)
    listed = list_groups(groups, group_by)
    rest = [pair for group in listed[_SHOWN:] for pair in groups[group[group_by]]]
    more = {group_by: f"({len(listed) - _SHOWN} more)", **figures(rollups.total(sums for _, sums in rest))}
    return [*listed[:_SHOWN], *([more] if rest else [])]


def _series(groups: Groups, step: str, first: datetime, last: datetime) -> list[dict[str, Any]]:
    """A point for every hour or day of the range, those without a request too."""
    form, width = _STEPS[step]
    at = first if step == "hour" else first.replace(hour=0)
    points = []
    while at < last:
        name = at.astimezone(UTC).strftime(form)
        found = figures(rollups.total(sums for _, sums in groups.get(name, ())))
        points.append({"at": name, **{part: found[part] for part in ("requests", "tokens", "dollars", "observed")}})
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
