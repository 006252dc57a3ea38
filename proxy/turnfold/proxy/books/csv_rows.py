"""Nested figures as CSV rows.

Lives here: flattening and CSV. Does not belong here: what the figures mean.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

# A spreadsheet takes a cell that begins so for a formula; names of models and conversations come from clients.
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


#: Names that clients choose may hold spaces, but no commas.
_CHOSEN: Final = frozenset({"tags"})


def _cell(name: str, value: Any) -> Any:
    if isinstance(value, list):  # ids with a space between them; whatever else has structure stays JSON
        value = (", " if name in _CHOSEN else " ").join(
            one if isinstance(one, str) else orjson.dumps(one).decode() for one in value
        )
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def as_csv(rows: Iterable[Mapping[str, Any]], header: bool = True) -> str:
    """Rows with the same names, below a header line."""
    out = io.StringIO()
    writer = None
    for row in map(flat, rows):
        if writer is None:
            writer = csv.DictWriter(out, list(row), lineterminator="\n")
            if header:
                writer.writeheader()
        writer.writerow({name: _cell(name, value) for name, value in row.items()})
    return out.getvalue()
