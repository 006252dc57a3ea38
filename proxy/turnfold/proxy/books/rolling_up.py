"""Making room in a store, at the cost of detail and never of a total.

A full store: the oldest conversations lose their own totals: these are added to those of ``(other)`` with the same tenant, model,
status and reason, on the same day, so that every sum of the report stays what it was. The oldest receipts are deleted along with
them. A day at a time, a sixteenth of it in each step, until the store has some room again.

Any store: hours of some weeks ago are no longer told apart. Their days have the same sums.

Lives here: what goes first, and when it is enough. Does not belong here: how a store adds one count to another, and how full
it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from turnfold.proxy.books.receipt_log import RECEIPTS, read_line
from turnfold.proxy.books.rollups import CONVERSATIONS, SumRow, first_kept_hour, is_hour_before
from turnfold.proxy.learning.places import OTHER
from turnfold.proxy.store import Item, Key, Store, StoreFailed, StoreOff

_ROOMY: Final = 0.9  # of the limit: the work is done once for many requests
_PARTS: Final = 16  # of a day
_AT_ONCE: Final = 2_000  # counts of a step
_PAGE: Final = 1_000  # receipts
_MOST_READ: Final = 20_000  # receipts that are read to tell which conversations are the newest
# One process of all that share a store does it; the others see the room that it made.
_CLAIM: Final = Key("", "rolling-up", "")
_CLAIM_TTL: Final = 50.0

# Since when hours are told apart: written before older ones are deleted, so that no report takes a part of a day for all of it.
_HOURS_SINCE: Final = Key("", "hours-since", "")
_HOURS_AT_ONCE: Final = 12
_LONG: Final = 10 * 366 * 86400.0

#: A conversation: its tenant and its name.
_Name = tuple[str, str]

_log = logging.getLogger(__name__)


async def roll_up(store: Store) -> int:
    """Make room if the store is full. Returns the number of conversations that lost their own totals.

    Raises:
        StoreError: the store does not answer.
    """
    room = await store.room()
    if room is None or room.used <= room.limit or not await _is_ours(store):
        return 0
    count, last = 0, ""
    async for day, done in _steps(store):
        count, last, room = count + done, day, await store.room()
        if room is None or room.used <= _ROOMY * room.limit:
            break
    _log.warning(
        "the store is full: %d conversations up to %s are now counted as %s in the report, which keeps its totals, and the oldest"
        " receipts are deleted; give it more room or shorten TURNFOLD_STORE_RECEIPTS_TTL",
        count, last, OTHER,
    )  # fmt: skip
    return count


async def roll_up_hours(store: Store, now: float) -> int:
    """Delete the totals of old hours, which those of their days have as well. Returns the number of tables. Several processes may
    do it at a time.

    Raises:
        StoreError: the store does not answer.
    """
    first = first_kept_hour(now)
    old = [name for name in (await store.names())[1] if is_hour_before(name, first)]
    if not old:
        return 0
    since = max(first.timestamp(), await hours_since(store))
    await store.put([Item(_HOURS_SINCE, str(since).encode(), _LONG)])
    for start in range(0, len(old), _HOURS_AT_ONCE):
        page = old[start : start + _HOURS_AT_ONCE]
        tables = await store.counts(page)
        await store.erase({}, {name: list(counts) for name, counts in zip(page, tables, strict=True)})
    return len(old)


async def hours_since(store: Store) -> float:
    """The Unix time from which on hours are told apart; 0 if all are.

    Raises:
        StoreError: the store does not answer.
    """
    try:
        (value,) = await store.get([_HOURS_SINCE])
        return float(value or 0)
    except (StoreOff, ValueError):  # it keeps sums alone, and all of them
        return 0.0


async def _is_ours(store: Store) -> bool:
    try:
        return await store.swap(None, Item(_CLAIM, b"1", _CLAIM_TTL))
    except StoreFailed:  # it keeps nothing, or is too full even for this; merging twice does no harm
        return True


async def _steps(store: Store) -> AsyncIterator[tuple[str, int]]:
    """Steps from the oldest day to the newest: the day, and how many conversations the step has rolled up."""
    logs, tables = await store.names()
    by_day: dict[str, list[str]] = {name.removeprefix(CONVERSATIONS): [] for name in tables if name.startswith(CONVERSATIONS)}
    for name in sorted(logs):
        if name.startswith(RECEIPTS):
            by_day.setdefault(name.removeprefix(RECEIPTS)[:10], []).append(name)
    for day in sorted(by_day):
        async for done in _steps_of_day(store, CONVERSATIONS + day, by_day[day]):
            yield day, done


async def _steps_of_day(store: Store, table: str, logs: Sequence[str]) -> AsyncIterator[int]:
    (counts,) = await store.counts([table])
    fields = await asyncio.to_thread(_fields_by_conversation, counts)
    newest = await _newest_first(store, logs) if fields else {}
    oldest_first = sorted(fields, key=lambda name: -newest.get(name, len(newest)))
    for part in range(_PARTS):
        going = oldest_first[len(fields) * part // _PARTS : len(fields) * (part + 1) // _PARTS]
        for name, share in _shares(logs, part):
            await store.trim(name, share)
        cells = (cell for name in going for cell in fields[name].items())
        while page := dict(islice(cells, _AT_ONCE)):
            await store.merge(table, page)
        yield len(going)


def _fields_by_conversation(counts: Iterable[str]) -> dict[_Name, dict[str, str]]:
    """For each conversation with its own totals: its fields, each with the one that it is to be added to."""
    found: dict[_Name, dict[str, str]] = {}
    rows: dict[str, tuple[SumRow, str] | None] = {}
    for field in counts:
        measure, _, stem = field.partition(":")
        if stem not in rows:
            rows[stem] = _with_target(SumRow.from_stem(stem))
        if (known := rows[stem]) is not None:
            row, target = known
            found.setdefault((row.tenant, row.conversation), {})[field] = f"{measure}:{target}"
    return found


def _with_target(row: SumRow | None) -> tuple[SumRow, str] | None:
    """A conversation's row, and the name of the one that it becomes a part of; None for any other row."""
    if row is None or row.conversation in ("", OTHER):
        return None
    return row, row._replace(conversation=OTHER, session=OTHER if row.session else "").to_stem()


async def _newest_first(store: Store, logs: Sequence[str]) -> Mapping[_Name, int]:
    """The conversations of the newest receipts of a day, with their ranks: 0 is the newest."""
    ranks: dict[_Name, int] = {}
    left = _MOST_READ
    for name in reversed(logs):
        skip = 0
        while left > 0 and (lines := await store.newest(name, skip, _PAGE)):
            skip, left = skip + len(lines), left - len(lines)
            for known in await asyncio.to_thread(lambda lines=lines: list(_names(lines))):  # type: ignore[misc]
                ranks.setdefault(known, len(ranks))
    return ranks


def _names(lines: Iterable[bytes]) -> Iterator[_Name]:
    for line in lines:
        receipt = read_line(line)
        if receipt is not None and receipt["conversation"]:
            yield receipt["tenant"], receipt["conversation"]


def _shares(logs: Sequence[str], part: int) -> Iterator[tuple[str, float]]:
    """What goes in one part of a day: its logs with the share of each, of what earlier parts have left."""
    before, after = len(logs) * part / _PARTS, len(logs) * (part + 1) / _PARTS
    for number, name in enumerate(logs):
        start, end = max(before - number, 0.0), min(after - number, 1.0)
        if start < 1.0 and end > start:
            yield name, (end - start) / (1.0 - start)
