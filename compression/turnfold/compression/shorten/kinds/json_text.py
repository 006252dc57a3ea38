"""JSON: the important keys and values, records of equal shape as a table.

This is the lossy form of JSON values. Lossless forms are in `birth`, the arguments of calls in `arguments`.

A value is cut into leaves: a scalar with its key, or a whole record if an array has many of equal shape. The shared chooser ranks
them; the chosen leaves are written as a pruned tree in a loose notation, `{key: value, …2 more}`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from pydantic_core import from_json

from turnfold.compression import lazy
from turnfold.compression.shorten.asked_lines import EVIDENCE, with_asked
from turnfold.compression.shorten.evidence import MOST_ODD, grade, grades
from turnfold.compression.shorten.exact_json import Number
from turnfold.compression.shorten.lines import RankedLines, WeighedLine, short_lines, with_needed, within
from turnfold.compression.text.ties.status import is_off
from turnfold.compression.tokens import Count

_EXACT: Final = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=Number)
_LONGEST: Final = 160  # characters of a string to show
_CUT: Final = " chars]"  # ends the shown part of a longer text
_MOST_ASKED: Final = 2_000  # characters of a record that a task asks for
_RECORDS: Final = 6  # this many objects of one shape are a table
_WHOLE: Final = 260  # tokens: a value of at most this size, written without quotes, is kept whole
_SMALL: Final = 8  # entries of an object that is kept in one piece
_DEEPEST: Final = 40
_VITAL_KEYS: Final = frozenset(
    {"error", "errors", "status", "message", "code", "state", "exit_code", "exitcode", "returncode", "reason", "exception"}
)

#: Numbers that would be written differently after parsing.
_INEXACT: Final = lazy.pattern(r"[0-9]\.[0-9]*0(?![0-9])|[0-9.]{16}|[0-9][eE]|0\.0000|-0(?![.0-9])|\bNaN\b|Infinity")
#: A string, perhaps cut, or a number.
_TOKEN: Final = lazy.pattern(r'"(?:[^"\\]|\\.)*+"?|(?P<number>-?(?:[0-9][0-9.eE+-]*+|Infinity)|NaN)', re.DOTALL)

_OPENING: Final = ("{", "[")  # start of another value: JSON lines

Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _JsonLeaf:
    path: Path
    shown: str
    row: WeighedLine


def parse(text: str) -> Any:
    """The value of a JSON text, of JSON lines (a list), or of the intact part of truncated JSON.

    A value followed by text becomes a list of both.

    Raises:
        ValueError: no part of it can be read.
    """
    try:
        return _parse_exact(text)
    except ValueError:
        lines = text.strip().split("\n")
        if len(lines) > 1 and lines[0][:1] == "{" and lines[0][-1:] == "}":
            return [_or_text(line) for line in lines if line.strip()]
        return _parse_beginning(text)


def _parse_beginning(text: str) -> Any:
    begin = len(text) - len(text.lstrip())
    with suppress(ValueError, RecursionError):
        value, end = _EXACT.raw_decode(text, begin)
        return [value, text[end:].strip()]
    try:
        if not _INEXACT.search(text):
            return from_json(text, allow_partial=True)
        return _numbers(from_json(_TOKEN.sub(_mark_number, text), allow_partial=True))
    except TypeError as exc:  # raised for lone surrogates
        raise ValueError("not encodable") from exc


def _mark_number(token: re.Match[str]) -> str:
    """A number as a marked string, so that no reader of numbers changes it."""
    return token[0] if token["number"] is None else f'"\\u0000{token["number"]}"'


def _numbers(value: Any) -> Any:
    """The value with its marked numbers as numbers."""
    if isinstance(value, dict):
        return {key: _numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_numbers(inner) for inner in value]
    return Number(value[1:]) if isinstance(value, str) and value[:1] == "\0" else value


def _parse_exact(text: str) -> Any:
    """The value with its numbers as written: `80.50`, or an id of twenty digits."""
    if not _INEXACT.search(text):
        return orjson.loads(text)
    try:
        return _EXACT.decode(text)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc


def _or_text(line: str) -> Any:
    try:
        return _parse_exact(line)
    except ValueError:
        return line


def _unwrap(value: Any, depth: int = 12) -> Any:
    """The value, with JSON inside its strings parsed too."""
    if not depth:
        return value
    if isinstance(value, dict):
        return {key: _unwrap(inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_unwrap(inner, depth - 1) for inner in value]
    if isinstance(value, str) and value[:1] in ("{", "[") and len(value) > 40:
        inner = _or_text(value)
        return inner if isinstance(inner, str) else _unwrap(inner, depth - 1)
    return value


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        flat = " ".join(value.split())
        return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 20]}…[{len(value)} chars]"
    if isinstance(value, (dict, list)):
        return str(value) if not value else "…"
    return orjson.dumps(value).decode()


def _worth(value: Any) -> float:
    if not value:  # null, false, zero, or empty
        return -0.6
    if isinstance(value, str):
        return 0.4 if len(value) <= 80 else 0.0
    return 0.1


def _columns(records: Sequence[Any]) -> list[str]:
    """Keys of a table, in order of appearance; empty if the array is not a table."""
    if len(records) < _RECORDS or not all(isinstance(record, dict) for record in records):
        return []
    keys = Counter(key for record in records for key in record)
    columns = [key for key, seen in keys.items() if seen * 5 >= len(records)]
    return columns if columns and len(columns) <= 40 and sum(keys.values()) * 2 > len(records) * len(columns) else []


def _varying_columns(records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> tuple[list[str], str]:
    """Columns that differ between records, and a text with the values that all records share."""
    same: dict[str, str] = {}
    for key in columns:
        shown = records[0].get(key)
        if not isinstance(shown, (dict, list)) and all(key in record and record[key] == shown for record in records):
            same[key] = _scalar(shown)
    varying = [key for key in columns if key not in same] or list(columns[:1])
    return varying, "".join(f", all with {key}: {same[key]}" for key in columns if key in same and key not in varying)


def _leaves(value: Any, path: Path = ()) -> Iterator[_JsonLeaf]:
    if len(path) > _DEEPEST:
        return
    if isinstance(value, dict) and value:
        if path and isinstance(path[-1], int) and _is_small(value):
            yield _small(value, path)
            return
        odd = _odd_members(value)
        for key, inner in value.items():
            yield from (_as_odd(leaf) if leaf.path[len(path) :] in odd else leaf for leaf in _leaves(inner, (*path, key)))
    elif isinstance(value, list) and value:
        columns = _columns(value)
        if columns:
            yield from _records(value, _varying_columns(value, columns)[0], path)
            return
        for i, inner in enumerate(value):
            yield from _leaves(inner, (*path, i))
    else:
        yield _leaf(value, path)


def _odd_members(value: Mapping[str, Any]) -> frozenset[Path]:
    """Where an object of many records of one shape has the few values that are rare under their key."""
    names, records = [*value], [*value.values()]
    odd: list[Path] = []
    for key in _columns(records):
        odd += [(names[i], key) for i in _unusual([record.get(key) for record in records]) if key in records[i]]
    return frozenset(odd) if len(odd) <= MOST_ODD else frozenset()


def _as_odd(leaf: _JsonLeaf) -> _JsonLeaf:
    return replace(leaf, row=leaf.row._replace(weight=max(leaf.row.weight, 1.5), evidence=max(leaf.row.evidence, 1)))


def _with_switches(value: Any) -> list[_JsonLeaf]:
    """The leaves. Those of a disabled object, or within it, depend on the leaf that says so."""
    leaves = list(_leaves(value))
    off: dict[Path, list[int]] = {}
    for i, leaf in enumerate(leaves):
        if leaf.path and isinstance(leaf.path[-1], str) and is_off(leaf.path[-1], leaf.shown):
            off.setdefault(leaf.path[:-1], []).append(i)
    if not off:
        return leaves
    found = []
    for i, leaf in enumerate(leaves):
        needed = [k for n in range(len(leaf.path)) for k in off.get(leaf.path[:n], ()) if k != i]
        found.append(replace(leaf, row=leaf.row._replace(needs=tuple(i - k for k in needed))) if needed else leaf)
    return found


def _is_small(value: Mapping[str, Any]) -> bool:
    return len(value) <= _SMALL and all(not isinstance(inner, (dict, list)) and len(str(inner)) <= 60 for inner in value.values())


def _small(value: Mapping[str, Any], path: Path) -> _JsonLeaf:
    """A leaf for a short flat object in an array: kept as a whole, without empty values, or not at all."""
    filled = {key: inner for key, inner in value.items() if inner not in (None, "")}
    shown = loose(filled)
    like = "/".join("*" if isinstance(part, int) else part for part in path)
    row = WeighedLine(
        " ".join(str(inner) for inner in filled.values()), weight=0.4, like=like, over=3.0 * len(filled), unmarked=True
    )
    return _JsonLeaf(path, shown, row)


def _leaf(value: Any, path: Path) -> _JsonLeaf:
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    shown = _scalar(value)
    vital = key.lower() in _VITAL_KEYS and value not in (None, "", [], {})
    evidence = 2 if vital else (1 if isinstance(value, str) and len(value) < 400 and grade(value) == 3 else 0)
    like = "/".join("*" if isinstance(part, int) else part for part in path) if any(isinstance(p, int) for p in path) else ""
    return _JsonLeaf(
        path,
        shown,
        WeighedLine(shown, weight=_worth(value), evidence=evidence, like=like, over=2.0 + len(key) / 6, unmarked=True),
    )


def _records(values: Sequence[Mapping[str, Any]], columns: Sequence[str], path: Path) -> Iterator[_JsonLeaf]:
    """One leaf per record, its cells in column order; unusual values increase its worth."""
    table = [[record.get(key) for record in values] for key in columns]
    unusual = Counter(i for column in table for i in _unusual(column))
    cells = zip(*([_cell(cell) for cell in column] for column in table), strict=True)
    shown = ["|".join(row) for row in cells]
    ends = (0, len(values) - 1)
    few = len(unusual) <= MOST_ODD
    for i, found in enumerate(grades([line.replace("\n", " ") for line in shown])):
        worth = 0.3 + 1.5 * unusual[i] + (1.5 if i in ends else 0.0)
        evidence = 1 if found == 3 or (few and unusual[i]) else 0
        yield _JsonLeaf((*path, i), shown[i], WeighedLine(shown[i], weight=worth, evidence=evidence, unmarked=True))


def _unusual(column: Sequence[Any]) -> list[int]:
    """Cells with a rare value in a column of few values."""
    plain = ["[]" if type(cell) is list or type(cell) is dict else cell for cell in column]
    if not 1 < len(set(plain)) <= max(2, len(plain) // 10):
        return []
    counts = Counter(plain)
    rare = {cell for cell, times in counts.items() if times <= 0.05 * len(plain)}
    return [i for i, cell in enumerate(plain) if cell in rare] if rare else []


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if type(value) is str and len(value) <= _LONGEST and value.isprintable():
        return value
    if isinstance(value, (dict, list)):
        text = loose(value)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 20]}…[{len(text)} chars]"
    return _scalar(value)


def loose(value: Any, depth: int = 8) -> str:
    """A whole value in the loose notation: without unnecessary quotes, down to `depth` levels."""
    if not depth:
        return "…"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {loose(inner, depth - 1)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(loose(inner, depth - 1) for inner in value) + "]"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


#: What is written of a value: a chosen leaf, or by key or index what is written of the values in it.
_Kept = str | dict[Any, Any]


def _write(value: Any, kept: _Kept) -> str:
    """The pruned tree: the chosen leaves, and the number of missing entries at each place."""
    if isinstance(kept, str):
        return kept
    if isinstance(value, list):
        columns = _columns(value)
        return _write_table(value, columns, kept) if columns else _write_list(value, kept)
    if not isinstance(value, dict):
        return _scalar(value)
    written = [f"{key}: {_write(inner, kept[key])}" for key, inner in value.items() if key in kept]
    return "{" + ", ".join([*written, *(["…"] if len(value) > len(written) else [])]) + "}"


def _write_list(value: Sequence[Any], kept: dict[Any, Any]) -> str:
    written = [_write(value[i], kept[i]) for i in sorted(kept)]
    gone = len(value) - len(written)
    return "[" + ", ".join([*written, *([f"…{gone} more"] if gone else [])]) + "]"


def _write_table(value: Sequence[Any], columns: Sequence[str], kept: dict[Any, Any]) -> str:
    varying, same = _varying_columns(value, columns)
    return f"[{len(kept)} of {len(value)} rows{same}: {'|'.join(varying)}\n" + "\n".join([kept[i] for i in sorted(kept)]) + "]"


def _prune(value: Any, leaves: Sequence[_JsonLeaf], taken: Sequence[int]) -> str:
    kept: dict[Any, Any] = {}
    for leaf in (leaves[i] for i in taken):
        place = kept
        for part in leaf.path[:-1]:
            place = place.setdefault(part, {})
        place[leaf.path[-1]] = leaf.shown
    return _write(value, kept)


def _dense(value: Any, most: int, count: Count) -> str:
    """The whole value without quotes, with records of equal shape as a table; "" if that exceeds `most` tokens."""
    try:
        text = full(value)
    except RecursionError:
        return ""
    return text if len(text) <= 12 * most and count(text) <= most else ""


def full(value: Any) -> str:
    """A whole value in the loose notation, at any depth; an array of many records of equal shape is a table."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {full(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        columns = _columns(value)
        if columns and all(columns == list(record) for record in value):
            varying, same = _varying_columns(value, columns)
            rows = "\n".join("|".join(full(record[key]) for key in varying) for record in value)
            return f"[{len(value)} rows{same}: {'|'.join(varying)}\n{rows}]"
        return "[" + ", ".join(map(full, value)) + "]"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def facts(text: str, keep: int, words: frozenset[str], count: Count, known: Container[str] = ()) -> str:
    """The value's leaves that fit `keep` tokens, evidence to `CEILING` times that.

    Raises:
        ValueError: the text is not JSON.
    """
    value = parse(text)
    if '\\"' in text:
        value = _unwrap(value)
    dense = _dense(value, max(_WHOLE, keep), count)
    if dense:
        return dense
    leaves = _with_asked(_with_switches(value), value, words)
    rows = [leaf.row for leaf in leaves]
    if not isinstance(value, (dict, list)) or not rows:
        return _scalar(value)
    order = RankedLines(rows, words, count, known).order(keep)
    taken = within(rows, order, lambda some: count(_prune(value, leaves, some)), keep)
    return _prune(value, leaves, sorted(with_needed(rows, taken)))


def _with_asked(leaves: list[_JsonLeaf], value: Any, words: frozenset[str]) -> list[_JsonLeaf]:
    """The leaves, with requested records uncut and marked as evidence, if most leaves are records.

    No part of a record is worth more than the parts that belong to it.
    """
    records = [i for i, leaf in enumerate(leaves) if leaf.path and isinstance(leaf.path[-1], int)]
    if 2 * len(records) <= len(leaves):
        return leaves
    cut = {i: _uncut(value, leaves[i].path) for i in records if _CUT in leaves[i].shown}
    whole = {i: shown for i, shown in cut.items() if 0 < len(shown) <= _MOST_ASKED}
    rows = [leaf.row._replace(text=whole.get(i, leaf.row.text)) for i, leaf in enumerate(leaves)]
    found = list(leaves)
    for i, row in enumerate(with_asked(rows, words)):
        if row.evidence != rows[i].evidence:
            is_asked = i in whole and row.evidence == EVIDENCE
            shown = whole[i] if is_asked else leaves[i].shown
            found[i] = replace(leaves[i], shown=shown, row=row._replace(text=shown if is_asked else leaves[i].row.text))
    return found


def _uncut(value: Any, path: Path) -> str:
    """A record of a table as a row without cuts."""
    for part in path[:-1]:
        value = value[part]
    columns = _columns(value)
    return "|".join(_whole_cell(value[path[-1]].get(key)) for key in _varying_columns(value, columns)[0]) if columns else ""


def _whole_cell(cell: Any) -> str:
    return loose(cell) if isinstance(cell, (dict, list)) else _cell(cell)


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """A value within other text, one line for each leaf (`items[3].id: o_3`); a record of a table is one leaf.

    A value that is at most a short line is that line; text after a value gets lines of its own.
    """
    whole = text.strip()
    if len(whole) <= _LONGEST and "\n" not in whole:
        return _plain_rows(text)
    with suppress(ValueError, RecursionError):
        _, end = _EXACT.raw_decode(whole)
        if end < len(whole) and not whole[end:].lstrip().startswith(_OPENING):
            return [*rows(whole[:end], words), *_plain_rows(whole[end:].lstrip("\n"))]
    try:
        value = parse(text)
    except ValueError:
        return _plain_rows(text)
    return [leaf.row._replace(text=_leaf_line(leaf), over=0.0) for leaf in _with_switches(_unwrap(value))]


def _plain_rows(text: str) -> list[WeighedLine]:
    return [WeighedLine(line, weight=0.5) for line in short_lines(text)]


def _leaf_line(leaf: _JsonLeaf) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in leaf.path).lstrip(".")
    return f"{path}: {leaf.shown}" if path else leaf.shown
