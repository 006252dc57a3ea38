"""Smaller forms of a fresh tool result from which every value and every line can still be copied exactly.

JSON without white space or as a columnar table (and back), repeated lines counted, and terminal output as a terminal shows it.
Nothing is dropped. The caller decides which results a model may have to quote with their white space: such a text must not be
passed here.

The table: a skeleton of JSON in which each array of records is the string "@n", then per array a head line `@n: 3 rows of
id|name|price{net|gross}` and a line per record. A cell is bare text, or JSON if bare text would be ambiguous; an empty cell is a
missing key. A result that is one array has no skeleton.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from turnfold.compression import lazy
from turnfold.compression.shorten.exact_json import Inexact, Number, encodable, read, write, write_string
from turnfold.compression.text.kinds import parts
from turnfold.compression.tokens import Count

#: Records that make a table: in a short one, a key next to each value is clearer than a distant header.
_FEWEST: Final = 5
_WORTH: Final = 0.8  # share of the tokens of plain JSON that a table may have
_GAIN: Final = 0.9  # share of a text's tokens that its form may have
_REFERENCE: Final = lazy.pattern(r"@\d+")
_BARE_NAME: Final = lazy.pattern(r"[A-Za-z_$][\w$ -]*(?<! )")
_NUMBER: Final = lazy.pattern(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NOT_BARE: Final = lazy.pattern(r"[|\n\r\x00-\x1f\x7f\x85\u2028\u2029]|^[\s\"\[{@]|\s$")
_ANSI: Final = lazy.pattern(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_RUN: Final = 3  # consecutive equal lines worth counting
_COUNTED: Final = lazy.pattern(r" \[×\d+\]$")
#: Kinds whose white space a model may have to repeat.
_QUOTED_KINDS: Final = frozenset({"code", "diff", "yaml", "fence", "markdown", "html", "xml", "csv", "table"})


# Columns: a name, or a name with the columns of the object that every record has there.

Column = tuple[str, "tuple[Column, ...]"]


def _columns(records: Sequence[Mapping[str, Any]], depth: int = 0) -> tuple[Column, ...]:
    keys = list(dict.fromkeys(key for record in records for key in record))
    return tuple((key, _inner([record[key] for record in records if key in record], len(records), depth)) for key in keys)


def _inner(values: Sequence[Any], records: int, depth: int) -> tuple[Column, ...]:
    if depth >= 3 or len(values) < records or not all(isinstance(value, dict) and value for value in values):
        return ()
    inner = _columns(values, depth + 1)
    return inner if len(inner) <= 2 * min(len(value) for value in values) else ()


def _cells(record: Mapping[str, Any], columns: Sequence[Column]) -> Iterator[str]:
    for name, inner in columns:
        if inner:
            yield from _cells(record[name], inner)
        else:
            yield _cell(record[name]) if name in record else ""


def _cell(value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, Number):
        return write(value).replace("|", "\\u007c")
    if (
        not value
        or value in ("null", "true", "false")
        or _NUMBER.fullmatch(value)
        or _NOT_BARE.search(value)
        or not encodable(value)
    ):
        return write_string(value).replace("|", "\\u007c")
    return value


def _column_names(columns: Sequence[Column]) -> str:
    return "|".join(
        (name if _BARE_NAME.fullmatch(name) else write_string(name)) + (f"{{{_column_names(inner)}}}" if inner else "")
        for name, inner in columns
    )


def _is_table(value: Any) -> bool:
    if not isinstance(value, list) or len(value) < _FEWEST or not all(isinstance(record, dict) and record for record in value):
        return False
    keys = {key for record in value for key in record}
    return sum(len(record) for record in value) * 3 >= 2 * len(keys) * len(value)


def _lift_tables(value: Any, tables: list[list[dict[str, Any]]]) -> Any:
    """The value with its arrays of records replaced by references; the arrays are appended to `tables`."""
    if _is_table(value):
        tables.append(value)
        return f"@{len(tables)}"
    if isinstance(value, dict):
        return {key: _lift_tables(inner, tables) for key, inner in value.items()}
    if isinstance(value, list):
        return [_lift_tables(inner, tables) for inner in value]
    if isinstance(value, str) and _REFERENCE.fullmatch(value):
        raise Inexact("a string that reads as a reference")
    return value


def _table(number: int, records: Sequence[Mapping[str, Any]]) -> str:
    columns = _columns(records)
    rows = ("|".join(_cells(record, columns)) for record in records)
    return "\n".join([f"@{number}: {len(records)} rows of {_column_names(columns)}", *rows])


def shape_json(text: str) -> str | None:
    """The columnar form of a JSON text; None if it contains no table or could not be restored exactly."""
    try:
        return _in_columns(read(text))
    except Inexact:
        return None


def _in_columns(value: Any) -> str | None:
    """`shape_json` of a value."""
    tables: list[list[dict[str, Any]]] = []
    try:
        skeleton = _lift_tables(value, tables)
        if not tables:
            return None
        lines = [_table(i, records) for i, records in enumerate(tables, 1)]
        return "\n".join(lines if skeleton == "@1" else [write(skeleton), *lines])
    except (Inexact, RecursionError):
        return None


def render_terminal(text: str) -> str:
    """Terminal output as displayed: without colours, and only the last state of a line that was overwritten."""
    clean = _ANSI.sub("", text) if "\x1b" in text else text
    if "\r" in clean:
        clean = "\n".join(map(_last_state, clean.split("\n")))
    return _apply_backspaces(clean) if "\b" in clean else clean


def _last_state(line: str) -> str:
    """The final state of a line that was overwritten; a carriage return at its end belongs to the line break."""
    body, end = (line[:-1], "\r") if line.endswith("\r") else (line, "")
    return next((state for state in reversed(body.split("\r")) if state.strip()), "") + end if "\r" in body else line


def _apply_backspaces(text: str) -> str:
    out: list[str] = []
    for character in text:
        if character != "\b":
            out.append(character)
        elif out and out[-1] != "\n":
            out.pop()
    return "".join(out)


def count_runs(text: str) -> str:
    """The text with each run of three or more equal lines as one line with a count; the line itself is unchanged."""
    lines = text.split("\n")
    if any(_COUNTED.search(line) for line in lines):
        return text
    out: list[str] = []
    for line, run in groupby(lines):
        times = sum(1 for _ in run)
        out.extend([f"{line} [×{times}]"] if times >= _RUN and line.strip() else [line] * times)
    return "\n".join(out)


def _as_output(text: str) -> str:
    """Terminal forms, unless part of the text may be a file that is quoted."""
    shown = render_terminal(text)
    if any(part.kind in _QUOTED_KINDS for part in parts(shown)):
        return shown if "\x1b" in text else text
    return count_runs(shown)


def _as_json(text: str, count: Count) -> str | None:
    """JSON (or JSON lines) without white space, or as a table if that is clearly smaller; None if it is not JSON."""
    try:
        value = read(text)
        plain = write(value)
    except (Inexact, RecursionError):
        lines = [_plain(line) if line.strip() else line for line in text.split("\n")]
        return None if None in lines else "\n".join(line for line in lines if line is not None)
    table = _in_columns(value)
    return table if table is not None and count(table) <= _WORTH * count(plain) else plain


def _plain(text: str) -> str | None:
    try:
        return write(read(text))
    except (Inexact, RecursionError):
        return None


def shape(text: str, count: Count) -> str:
    """A fresh tool result in a smaller exact form; `text` itself if none is clearly smaller in tokens."""
    json_form = _as_json(text, count) if text.lstrip()[:1] in ("{", "[") else None
    shaped = _as_output(text) if json_form is None else json_form
    return shaped if shaped != text and count(shaped) <= _GAIN * count(text) else text
