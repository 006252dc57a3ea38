"""Columnar tables read back into JSON, as whoever reads a shaped tool result has to.

It is the inverse of ``shorten.birth.shape_json``, written from the form alone and without a line of the shaping code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_HEAD: Final = re.compile(r"@(\d+): (\d+) rows of (.*)")
_BARE_NAME: Final = re.compile(r"[A-Za-z_$][\w$ -]*(?<! )")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")

Column = tuple[str, "tuple[Column, ...]"]


def _parse_names(text: str, at: int) -> tuple[tuple[Column, ...], int]:
    out: list[Column] = []
    while True:
        if text[at : at + 1] == '"':
            name, at = json.JSONDecoder().raw_decode(text, at)
        else:
            found = _BARE_NAME.match(text, at)
            if found is None:
                raise ValueError(f"no column name at {at}")
            name, at = found[0], found.end()
        inner: tuple[Column, ...] = ()
        if text[at : at + 1] == "{":
            inner, at = _parse_names(text, at + 1)
            at += 1
        out.append((name, inner))
        if text[at : at + 1] != "|":
            return tuple(out), at
        at += 1


def _value(cell: str) -> Any:
    if cell in ("null", "true", "false") or cell[:1] in ('"', "[", "{") or _NUMBER.fullmatch(cell):
        return json.loads(cell)
    return cell


def _record(cells: Iterator[str], columns: Sequence[Column]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, inner in columns:
        if inner:
            out[name] = _record(cells, inner)
        elif cell := next(cells):
            out[name] = _value(cell)
    return out


def _fill_tables(value: Any, tables: Mapping[str, list[dict[str, Any]]]) -> Any:
    if isinstance(value, str):
        return tables.get(value, value)
    if isinstance(value, dict):
        return {key: _fill_tables(inner, tables) for key, inner in value.items()}
    return [_fill_tables(inner, tables) for inner in value] if isinstance(value, list) else value


def unshape_json(table: str) -> Any:
    """The JSON value of a columnar form, equal to `json.loads` of the original."""
    lines = table.split("\n")
    skeleton = "@1" if _HEAD.fullmatch(lines[0]) else json.loads(lines.pop(0))
    tables: dict[str, list[dict[str, Any]]] = {}
    at = 0
    while at < len(lines):
        head = _HEAD.fullmatch(lines[at])
        if head is None:
            raise ValueError(f"line {at + 1} is no head of a table")
        columns, _ = _parse_names(head[3], 0)
        rows = lines[at + 1 : at + 1 + int(head[2])]
        tables[f"@{head[1]}"] = [_record(iter(row.split("|")), columns) for row in rows]
        at += 1 + len(rows)
    return _fill_tables(skeleton, tables)
