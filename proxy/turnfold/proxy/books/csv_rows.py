"""Nested figures as CSV rows.

Flattening and CSV only; what the figures mean makes no difference here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

# Spreadsheets treat a cell with such a beginning as a formula, and clients choose names of models and conversations.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def flat(row: Mapping[str, Any], stem: str = "") -> dict[str, Any]:
    """``{"a": {"b": 1}}`` as ``{"a.b": 1}``."""
    result: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            result |= flat(value, f"{stem}{name}.")
        else:
            result[stem + name] = value
    return result


#: Fields with lists of names that clients choose: they may contain spaces, but no commas.
_CHOSEN: Final = frozenset({"tags"})


def _cell(name: str, value: Any) -> Any:
    if isinstance(value, list):  # space-separated ids; other structures stay JSON
        value = (", " if name in _CHOSEN else " ").join(
            one if isinstance(one, str) else orjson.dumps(one).decode() for one in value
        )
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same names, below a header line; nothing if there are none."""
    return csv_header(flat(rows[0])) + csv_lines(rows) if rows else ""


def csv_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows with the same names."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_cell(name, value) for name, value in flat(row).items()] for row in rows)
    return out.getvalue()


def csv_header(names: Iterable[str]) -> str:
    """The line above rows with these names."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(names)
    return out.getvalue()
