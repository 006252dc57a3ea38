"""The newest requests.

This module reads receipts from the newest backwards, a page at a time. Sums are in ``overview``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from turnfold.compression.errors import InvalidInput
from turnfold.proxy.books.receipt_log import has_value, log_name, read_line
from turnfold.proxy.books.wording import in_words
from turnfold.proxy.store import Store

#: Filters of the list.
NARROWED_BY: Final = ("tenant", "model", "status", "reason", "conversation", "session", "tag", "failed")
#: Maximum requests per page.
MOST: Final = 200

_READ_AT_ONCE: Final = 200
_MOST_READ: Final = 10_000
_MOST_HOURS: Final = 24 * 31
_CURSOR: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d)\.(\d{1,9})")
_HOUR: Final = "%Y-%m-%dT%H"


def _position(cursor: str | None, newest: datetime) -> tuple[datetime, int]:
    """The hour to begin with, and how many of its newest lines to leave out."""
    if cursor is None:
        return newest, 0
    found = _CURSOR.fullmatch(cursor)
    try:
        if found is None:
            raise ValueError
        return min(newest, datetime.strptime(found[1], _HOUR).replace(tzinfo=UTC)), int(found[2])
    except ValueError:
        raise InvalidInput("before", "must be the 'next' of an earlier page") from None


async def newest_requests(
    store: Store, only: Mapping[str, str], limit: int, cursor: str | None, now: float, names: Mapping[str, str]
) -> dict[str, Any]:
    """A page of receipts, the newest first, and where the next page begins; None: there are no more within a month.

    A page may be short, even empty, and not be the last: so many lines are looked through at most. While new requests come in, a
    request may be on two pages.

    Args:
        only: names of NARROWED_BY, with the values that receipts must have.
        cursor: `next` of the page before; None: the newest.
        names: of tenants.

    Raises:
        InvalidInput: "before" is no cursor.
        StoreError: the store does not answer.
    """
    newest = datetime.fromtimestamp(now, UTC).replace(minute=0, second=0, microsecond=0)
    hour, skip = _position(cursor, newest)
    sought = [orjson.dumps(value) for name, value in only.items() if value and name != "failed"]  # most lines need not be parsed
    found: list[dict[str, Any]] = []
    looked, last = 0, newest - timedelta(hours=_MOST_HOURS)
    while hour > last:
        lines = await store.newest(log_name(hour.timestamp()), skip, _READ_AT_ONCE)
        for line in lines:
            skip, looked = skip + 1, looked + 1
            receipt = read_line(line) if all(part in line for part in sought) else None
            if receipt is not None and all(_matches(receipt, name, value) for name, value in only.items()):
                found.append(_shown(receipt, names))
            if len(found) == limit or looked == _MOST_READ:
                return {"requests": found, "next": f"{hour:{_HOUR}}.{skip}"}
        if len(lines) < _READ_AT_ONCE:
            hour, skip = hour - timedelta(hours=1), 0
    return {"requests": found, "next": None}


def _matches(receipt: Mapping[str, Any], name: str, value: str) -> bool:
    return _failed(receipt) == (value != "false") if name == "failed" else has_value(receipt, name, value)


def _failed(receipt: Mapping[str, Any]) -> bool:
    """Whether the upstream did not serve it, its answer broke off, or we could not fold it."""
    status = receipt["upstream_status"]
    served = receipt["status"] == "answered" or (isinstance(status, int) and 200 <= status < 300)
    return not served or not receipt["complete"] or receipt["status"] == "failed-open"


def _shown(receipt: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    why = in_words(receipt["status"], receipt["reason"], receipt["folds_at"])
    folded = len(receipt.pop("sections"))
    return {
        **receipt,
        "folded_sections": folded,
        "why": why,
        "failed": _failed(receipt),
        "tenant_name": names.get(receipt["tenant"], ""),
    }
