"""Sums over receipts, by hour and by day.

This module defines which measures a receipt adds to, how tables and rows are named, and which tables cover a time range. It
neither stores nor renders anything.

A table is an hour or a day; a field is a measure and a row (a JSON object of its names; a list of the first five in the first
release). All values are whole numbers, so that additions by several processes are exact.

A receipt with tags is also added to tables of their own: to a row for each of its tags, and once to a row without a tag. So the
untagged requests are those of the ordinary tables, minus the rows without a tag in the tables by tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

import orjson

from turnfold.proxy.chat.receipts import Receipt
from turnfold.proxy.store.records import UnreadableRecord, decode_record

#: Dollars are summed as whole billionths.
NANO: Final = 1_000_000_000

#: What the names of tables begin with: of an hour, of a day, and of a day's conversations; of tables by tag in front of that.
HOUR: Final = "hour:"
DAY: Final = "day:"
CONVERSATIONS: Final = "conversations:"
BY_TAG: Final = "tag-"

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
#: A little more than receipts are kept by default. Every sum of an hour is in that of its day, too.
_HOURS_KEPT: Final = timedelta(days=35)


class SumRow(NamedTuple):
    """What a sum is about. `conversation` and `session` are "" except in the tables by conversation, `tag` is "" except in the
    tables by tag; `wire` is "" in sums from before it was known."""

    tenant: str
    model: str
    status: str
    reason: str
    conversation: str
    wire: str = ""
    session: str = ""
    tag: str = ""

    def to_stem(self) -> str:
        """As a part of a field's name; "" is left out."""
        return orjson.dumps({name: value for name, value in zip(self._fields, self, strict=True) if value}).decode()

    @classmethod
    def from_stem(cls, stem: str) -> SumRow | None:
        """From `to_stem` or the first release's list; None where this release cannot read it."""
        try:
            return _readable_row(stem)
        except UnreadableRecord:
            return None

    @classmethod
    def _build(cls, value: Any) -> SumRow:
        return cls(*value) if isinstance(value, list) else cls(**{name: value.get(name, "") for name in cls._fields})


@lru_cache(maxsize=8192)  # the same rows are in every hour and every day
def _readable_row(stem: str) -> SumRow:
    row = decode_record("row of sums", stem.encode(), SumRow._build)
    if row is None:
        raise UnreadableRecord
    return row


@dataclass(frozen=True, slots=True)
class RequestCost:
    """Dollars of one request: paid, and without Turnfold; None if a price is unknown.

    Attributes:
        paid: for the request and our own calls.
        own: the part of `paid` for our own calls.
        fold_event: whether the request carried other folded sections than the conversation's last request.
        grown: tokens that can be folded, by our count, beyond those of the conversation's last request.
        warm: whether the upstream's cache was found warm; None where the request did not show it.
        elapsed: seconds since the conversation's last request.
        folded: dollars that an observed request would have cost folded; None if unknown, or it was not observed.
        overdue: whether the conversation's folds have not paid by the time they should have.
        reported: the request's dollars where the upstream says them; `paid` counts these.
        listed: its dollars at list prices; None if unknown.
    """

    paid: float | None
    without: float | None
    own: float = 0.0
    fold_event: bool = False
    grown: int = 0
    warm: bool | None = None
    elapsed: float = 0.0
    overdue: bool = False
    folded: float | None = None
    reported: float | None = None
    listed: float | None = None


UNPRICED: Final = RequestCost(None, None)


def is_served(receipt: Receipt) -> bool:
    """Whether the upstream served the request; only then was anything paid or saved."""
    return receipt.upstream_status is not None and 200 <= receipt.upstream_status < 300 and not receipt.refused


def _tokens(receipt: Receipt) -> list[tuple[str, int]]:
    before, after = receipt.tokens_before, receipt.tokens_after
    if before <= 0:
        return [("uncounted", 1)]
    if receipt.status == "observed":
        return [("before", before), ("after", before), ("observed_before", before), ("observed_after", after)]
    return [("before", before), ("after", after)]


def _usage(receipt: Receipt) -> list[tuple[str, int]]:
    usage = receipt.usage
    return [
        ("no_usage", int(usage.prompt_tokens is None)),
        ("prompt", usage.prompt_tokens or 0),
        ("completion", usage.completion_tokens or 0),
        ("cached", usage.cached_tokens or 0),
        ("written", usage.cache_write_tokens or 0),
    ]


def _money(receipt: Receipt, priced: RequestCost) -> list[tuple[str, int]]:
    if receipt.usage.prompt_tokens is None and is_served(receipt):
        return []
    if priced.paid is None or priced.without is None:
        return [("unpriced", 1)]
    return [
        ("priced", 1),
        ("paid", round(priced.paid * NANO)),
        ("paid_own", round(priced.own * NANO)),
        ("without", round(priced.without * NANO)),
        *_reported(priced),
    ]


def _reported(priced: RequestCost) -> list[tuple[str, int]]:
    """Dollars that the upstream says, and beside those what list prices come to."""
    if priced.reported is None:
        return []
    told = round(priced.reported * NANO)
    found = [("reported", 1), ("paid_reported", told)]
    if priced.listed is None:
        return found
    return [*found, ("compared_reported", told), ("compared_listed", round(priced.listed * NANO))]


def _observed(receipt: Receipt, priced: RequestCost) -> list[tuple[str, int]]:
    if receipt.status != "observed":
        return []
    if priced.paid is None or priced.folded is None:
        return [("observed", 1)]
    return [
        ("observed", 1),
        ("observed_priced", 1),
        ("observed_paid", round(priced.paid * NANO)),
        ("observed_folded", round(priced.folded * NANO)),
    ]


def _own_calls(receipt: Receipt) -> list[tuple[str, int]]:
    if not receipt.calls:
        return []
    return [
        ("own_calls", len(receipt.calls)),
        ("own_prompt", sum(call.usage.prompt_tokens or 0 for call in receipt.calls)),
        ("own_completion", sum(call.usage.completion_tokens or 0 for call in receipt.calls)),
    ]


def measures(receipt: Receipt, priced: RequestCost) -> list[tuple[str, int]]:
    """What one receipt adds to each measure; some of it may be nothing."""
    if receipt.status == "own":  # no request of a client's: calls that nobody waited for, or that Turnfold's own API made
        return [*_own_calls(receipt), *_money(receipt, priced)]
    found = [("requests", 1), ("overhead_us", round(receipt.overhead_ms * 1000)), *_own_calls(receipt)]
    if not is_served(receipt):  # or answered by ourselves: nothing was paid, and nothing saved, but for our own calls
        if receipt.status != "answered":
            found.append(("failed", 1))
        return [*found, *_money(receipt, priced)] if receipt.calls else found
    found += [
        ("incomplete", int(not receipt.complete)),
        ("streamed", int(receipt.streamed)),
        ("folded", int(receipt.status in {"folded", "recovered"})),
        ("fold_events", int(priced.fold_event)),
        (f"recall_by_{receipt.recall}", int(receipt.recall != "")),
        ("grown", priced.grown),
        ("total_us", round(receipt.total_ms * 1000)),
    ]
    if receipt.first_byte_ms is not None:
        found += [("first_bytes", 1), ("first_byte_us", round(receipt.first_byte_ms * 1000))]
    return [*found, *_tokens(receipt), *_usage(receipt), *_money(receipt, priced), *_observed(receipt, priced)]


def _hour_table(at: datetime) -> str:
    return f"{HOUR}{at:%Y-%m-%dT%H}"


def _day_table(at: datetime) -> str:
    return f"{DAY}{at:%Y-%m-%d}"


def _conversations_table(at: datetime) -> str:
    return f"{CONVERSATIONS}{at:%Y-%m-%d}"


@lru_cache(maxsize=64)
def _table_names(hour: int) -> tuple[str, str, str]:
    """The tables of an hour since 1970, of its day, and of the day's conversations."""
    when = datetime.fromtimestamp(3600 * hour, UTC)
    return _hour_table(when), _day_table(when), _conversations_table(when)


def _rows(receipt: Receipt) -> Iterator[tuple[tuple[str, ...], SumRow]]:
    """The rows that a receipt is added to, each with the tables that have it."""
    hour, day, conversations = _table_names(int(receipt.at // 3600))
    about = SumRow(receipt.tenant, receipt.model, receipt.status, receipt.reason, "", receipt.wire)
    yield (hour, day), about
    yield (conversations,), SumRow(*about[:4], receipt.conversation or "", receipt.wire, receipt.session)
    for tag in ("", *receipt.tags) if receipt.tags else ():
        yield (BY_TAG + hour, BY_TAG + day), about._replace(tag=tag)


class Additions:
    """What the receipts of a batch add to the tables. Fields are named once for all receipts of a row."""

    def __init__(self) -> None:
        self._sums: dict[tuple[tuple[str, ...], SumRow], dict[str, int]] = {}

    def add(self, receipt: Receipt, priced: RequestCost) -> None:
        """Add a receipt."""
        added = {measure: number for measure, number in measures(receipt, priced) if number}
        for row in _rows(receipt):
            if row in self._sums:
                _add(self._sums[row], added)
            else:
                self._sums[row] = dict(added)

    def tables(self) -> dict[str, dict[str, int]]:
        """Additions to fields, by table."""
        found: dict[str, dict[str, int]] = {}
        for (tables, row), sums in self._sums.items():
            stem = row.to_stem()
            named = {f"{measure}:{stem}": number for measure, number in sums.items()}
            for table in tables:
                fields = found.setdefault(table, {})
                if fields.keys().isdisjoint(named):
                    fields.update(named)
                else:  # an hour before has the row too, on the same day
                    _add(fields, named)
        return found


def _add(sums: dict[str, int], more: Mapping[str, int]) -> None:
    for name, number in more.items():
        sums[name] = sums.get(name, 0) + number


def rows(table: Mapping[str, int]) -> dict[SumRow, dict[str, int]]:
    """A table of the store as sums by row; rows that differ only in what this release does not know are one."""
    by_stem: dict[str, dict[str, int]] = {}
    for name, number in table.items():
        measure, _, stem = name.partition(":")
        by_stem.setdefault(stem, {})[measure] = number
    found: dict[SumRow, dict[str, int]] = {}
    for stem, sums in by_stem.items():
        if (row := SumRow.from_stem(stem)) is not None:
            found[row] = total([found[row], sums]) if row in found else sums
    return found


def whole_hours(start: float, end: float) -> tuple[datetime, datetime]:
    """The hours that a range touches."""
    first = datetime.fromtimestamp(start, UTC).replace(minute=0, second=0, microsecond=0)
    last = datetime.fromtimestamp(end, UTC).replace(minute=0, second=0, microsecond=0)
    return first, last if last.timestamp() >= end else last + _HOUR


def first_kept_hour(now: float) -> datetime:
    """From when on hours are told apart, at a Unix time: whole days before it are one sum each."""
    return datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0) - _HOURS_KEPT


def is_hour_before(table: str, first: datetime) -> bool:
    """Whether a table has sums of an hour before that time, by tag or not."""
    name = table.removeprefix(BY_TAG)
    return name.startswith(HOUR) and name < _hour_table(first)


def known_hours(first: datetime, end: datetime, since: float) -> tuple[datetime, datetime]:
    """Whole hours, extended to whole days where no hours are known, which is before the Unix time `since`."""
    start = first if first.timestamp() >= since else first.replace(hour=0)
    return start, end if end.timestamp() >= since else whole_days(start, end)[1]


def covering_tables(first: datetime, end: datetime) -> Iterator[tuple[str, datetime]]:
    """The fewest tables that cover whole hours from `first` to `end`: days, and hours at the edges."""
    at = first
    while at < end:
        if at.hour == 0 and at + _DAY <= end:
            yield _day_table(at), at
            at += _DAY
        else:
            yield _hour_table(at), at
            at += _HOUR


def hours(first: datetime, end: datetime, since: float = 0.0) -> Iterator[tuple[str, datetime]]:
    """One table per hour; before the Unix time `since`, one per day."""
    while first < end:
        if first.timestamp() < since:
            yield _day_table(first), first
            first += _DAY
            continue
        yield _hour_table(first), first
        first += _HOUR


def whole_days(first: datetime, end: datetime) -> tuple[datetime, datetime]:
    """The days that whole hours touch."""
    last = end.replace(hour=0)
    return first.replace(hour=0), last if last == end else last + _DAY


def conversation_days(first: datetime, end: datetime) -> Iterator[tuple[str, datetime]]:
    """Tables by conversation: whole days only."""
    at, end = whole_days(first, end)
    while at < end:
        yield _conversations_table(at), at
        at += _DAY


def total(sums: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Sums by measure."""
    result: dict[str, int] = {}
    for one in sums:
        _add(result, one)
    return result
