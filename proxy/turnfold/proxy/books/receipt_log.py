"""Receipts as lines of the store's logs.

The form of a logged receipt, the names of the logs, and reading receipts back. ``ledger`` writes them; ``rollups`` sums them up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final

import orjson

from turnfold.proxy.books import rollups
from turnfold.proxy.books.csv_rows import flat
from turnfold.proxy.books.rollups import RequestCost
from turnfold.proxy.chat.receipts import Receipt, Usage
from turnfold.proxy.store.base import Store, line_pages, lines_of
from turnfold.proxy.store.records import VERSION, UnreadableRecord, decode_record, encode_record

#: Prefix of the name of each log of receipts; the hour follows.
RECEIPTS: Final = "receipts:"

_FIELDS: Final = tuple(field for field in fields(Receipt) if field.name not in ("trails", "hosted", "refused", "served"))
_NAMES: Final = tuple(field.name for field in _FIELDS)
_values_of: Final = attrgetter(*_NAMES)
_COUNT: Final[tuple[type, ...]] = (int,)
_KINDS: Final[Mapping[str, tuple[type, ...]]] = MappingProxyType(
    {"service_tier": (str,), "inference_geo": (str,), "cost": (float, int)}
)
_USAGE: Final = tuple(field.name for field in fields(Usage))


def log_name(at: float) -> str:
    """The log of the hour of a Unix time."""
    return _log_name(int(at // 3600))


@lru_cache(maxsize=64)
def _log_name(hour: int) -> str:
    return f"{RECEIPTS}{datetime.fromtimestamp(3600 * hour, UTC):%Y-%m-%dT%H}"


def line_of(receipt: Receipt, priced: RequestCost, sections: Sequence[str] = ()) -> bytes:
    """A receipt as a log line.

    Args:
        sections: ids of what is folded in the request.
    """
    named = dict(zip(_NAMES, _values_of(receipt), strict=True))
    sums = {"paid": priced.paid, "paid_own": priced.own, "without": priced.without}
    return encode_record({VERSION: 1, **named, "sections": sections, **sums})


def column_names() -> list[str]:
    """The columns of receipts as CSV, in their order."""
    return list(flat(_with_defaults(dict.fromkeys(_NAMES) | {"usage": {}})))


def read_line(line: bytes) -> dict[str, Any] | None:
    """A logged receipt, always with the same fields in the same order; None where this release cannot read it."""
    return decode_record("receipt", line, _receipt)


def _receipt(value: Any) -> dict[str, Any]:
    """From the JSON value: unknown fields are left out, missing ones have their default."""
    made = _with_defaults(value)
    if not _is_sound(made):
        raise UnreadableRecord("a field has another type")
    return made


def _with_defaults(value: Any) -> dict[str, Any]:
    named = {
        field.name: value[field.name] if field.default is MISSING else value.get(field.name, field.default) for field in _FIELDS
    }
    usage = {name: named["usage"].get(name) for name in _USAGE}
    own = {"sections": value.get("sections", []), "tags": value.get("tags", []), "paid_own": value.get("paid_own", 0.0)}
    return {**named, "usage": usage, **own, "paid": value.get("paid"), "without": value.get("without")}


def _is_sound(made: dict[str, Any]) -> bool:
    """Whether the fields that reports and drill-down use have valid values."""
    texts = all(isinstance(made[name], str) for name in ("request_id", "tenant", "model", "status", "reason"))
    figures = all(_is_figure(name, value) for name, value in made["usage"].items())
    lists = all(_is_list_of_texts(made[name]) for name in ("sections", "tags"))
    return texts and figures and lists and type(made["at"]) in {int, float}


def _is_figure(name: str, value: Any) -> bool:
    return value is None or type(value) in _KINDS.get(name, _COUNT)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def has_value(receipt: Mapping[str, Any], name: str, value: str) -> bool:
    """Whether a logged receipt belongs to a filter of reports; "" stands for a field without a value."""
    if name == "tag":
        return value in (receipt["tags"] or [""])
    return str(receipt.get(name) or "") == value


def receipt_logs(first: datetime, end: datetime) -> Iterator[str]:
    """Names of the logs of whole hours, in order."""
    for _, at in rollups.hours(first, end):
        yield log_name(at.timestamp())


async def receipt_pages(store: Store, start: float, end: float) -> AsyncIterator[Sequence[bytes]]:
    """The lines of all hours that a time range touches, in pages, none of them empty; `read_page` reads one.

    Raises:
        StoreError: the store does not answer.
    """
    for name in receipt_logs(*rollups.whole_hours(start, end)):
        async for page in line_pages(store, name):
            if page:
                yield page


def read_page(lines: Sequence[bytes], start: float, end: float) -> list[dict[str, Any]]:
    """The receipts of a time range among these lines, as decoded objects."""
    return [receipt for line in lines if (receipt := read_line(line)) is not None and start <= receipt["at"] < end]


async def receipts_between(store: Store, start: float, end: float) -> AsyncIterator[dict[str, Any]]:
    """The logged receipts of a time range as decoded objects, one by one.

    Raises:
        StoreError: the store does not answer.
    """
    async for page in receipt_pages(store, start, end):
        for receipt in read_page(page, start, end):
            yield receipt


async def find_receipt(store: Store, request_id: str, start: float, end: float) -> dict[str, Any] | None:
    """The logged receipt of a request, searched from the newest hour backwards; None if there is none in this range.

    Raises:
        StoreError: the store does not answer.
    """
    sought = orjson.dumps(request_id)
    for name in reversed(list(receipt_logs(*rollups.whole_hours(start, end)))):
        async for line in lines_of(store, name):
            receipt = read_line(line) if sought in line else None
            if receipt is not None and receipt["request_id"] == request_id:
                return receipt
    return None
