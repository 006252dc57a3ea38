"""Tables in text: the header, the rows that the task's words point to, the first, the last and the unusual ones.

Lives here: rows of CSV, TSV and Markdown tables, cut as their dialect says. Must not: arithmetic over columns.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from typing import Final

from turnfold.compression.shorten.evidence import grades
from turnfold.compression.shorten.lines import Row, short_lines

_LONGEST_CELL: Final = 120
_MOST_COLUMNS: Final = 60
_FIELD_LIMIT: Final = 10_000_000


def _dialect(lines: Sequence[str]) -> str:
    """The delimiter that most lines carry equally often."""
    sample = [line for line in lines[:40] if line.strip()]
    best, score = ",", 0
    for delimiter in "\t,;|":
        width, found = Counter(line.count(delimiter) for line in sample).most_common(1)[0] if sample else (0, 0)
        if width and found * min(width, 3) > score:
            best, score = delimiter, found * min(width, 3)
    return best


def _records(lines: Sequence[str]) -> list[list[str]]:
    csv.field_size_limit(_FIELD_LIMIT)
    try:
        return list(csv.reader((line + "\n" for line in lines), delimiter=_dialect(lines), strict=False))
    except csv.Error:  # a NUL or a field beyond the limit: read it as lines of one cell
        return [[line] for line in lines]


def _cut(cell: str) -> str:
    if len(cell) <= _LONGEST_CELL and "\n" not in cell:
        return cell
    flat = " ".join(cell.split())
    return flat if len(flat) <= _LONGEST_CELL else f"{flat[: _LONGEST_CELL - 20]}…[{len(flat)} chars]"


def _unusual(records: Sequence[Sequence[str]]) -> list[float]:
    """Extra worth per record: values that are rare in columns of few values."""
    usual = Counter(map(len, records)).most_common(1)[0][0] if records else 0
    width = min(usual, _MOST_COLUMNS)
    columns = [Counter(record[i] for record in records if i < len(record)) for i in range(width)]
    rare = len(records) * 0.05
    odd = [
        frozenset(cell for cell, times in counts.items() if times <= rare)
        if 1 < len(counts) <= max(2, len(records) // 10)
        else ()
        for counts in columns
    ]
    telling = [i for i in range(width) if odd[i]]
    return [sum(2.0 for i in telling if i < len(record) and record[i] in odd[i]) for record in records]


def rows(text: str) -> list[Row]:
    """CSV or TSV, a row per record; long cells cut with their length."""
    records = [record for record in _records(text.rstrip("\n").split("\n")) if record]
    extra = _unusual(records)
    lines = [",".join(map(_cut, record)) for record in records]
    out: list[Row] = []
    for i, (line, more, found) in enumerate(zip(lines, extra, grades(lines), strict=True)):
        edge = 2.0 if i in (1, len(records) - 1) else 0.0
        out.append(Row(line, weight=0.3 + edge + more, evidence=2 if i == 0 else (1 if found == 3 else 0), unmarked=True))
    return out


def markdown_rows(text: str) -> list[Row]:
    """A table drawn with bars: header and rule kept, padding taken out."""
    lines = short_lines(text)
    header = next((i for i, line in enumerate(lines) if "|" in line), 0)
    out: list[Row] = []
    for i, (line, found) in enumerate(zip(lines, grades(lines), strict=True)):
        rule = not line.strip(" |+-=:\t")
        cells = "|".join(" ".join(cell.split()) for cell in line.strip().split("|")) if not rule else line.strip()[:12]
        out.append(Row(cells, weight=-1 if rule else 0.5, evidence=2 if i == header else (1 if found == 3 else 0), unmarked=True))
    return out
