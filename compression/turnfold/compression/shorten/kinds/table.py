"""Tables in text: the header, the rows that the task's words point to, the first, the last and the unusual ones.

This module takes rows of CSV, TSV and Markdown tables, split by their dialect. It does no arithmetic over columns.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.shorten.evidence import MOST_ODD, graded_lines, grades, odd_cells
from turnfold.compression.shorten.lines import MOST_ROWS, WeighedLine, rows_of, short_lines

#: A row that refers to the row above it.
_SAME: Final = lazy.pattern(r"[|+\s]*(?:the same|same|ditto|idem|dito|dieselben?|le même|lo mismo|同上)\b", re.IGNORECASE)
_LONGEST_CELL: Final = 120
_LONGEST_NOTE: Final = 200  # characters of a note below a table
_MOST_NOTES: Final = 3
_SHORT_NAME: Final = 3  # letters of a column name that is too short to be informative
_FIELD_LIMIT: Final = 10_000_000


def _dialect(lines: Sequence[str]) -> str:
    """The delimiter that occurs equally often in most lines."""
    sample = [line for line in lines[:40] if line.strip()]
    best, score = ",", 0
    for delimiter in "\t,;|":
        width, found = Counter(line.count(delimiter) for line in sample).most_common(1)[0] if sample else (0, 0)
        if width and found * min(width, 3) > score:
            best, score = delimiter, found * min(width, 3)
    return best


def _records(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if not any('"' in line for line in lines):
        return [line.split(delimiter) for line in lines]
    csv.field_size_limit(_FIELD_LIMIT)
    try:
        return list(csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=False))
    except csv.Error:  # a NUL or a field beyond the limit: treat lines as single cells
        return [[line] for line in lines]


def _cut(cell: str) -> str:
    if len(cell) <= _LONGEST_CELL and "\n" not in cell:
        return cell
    flat = " ".join(cell.split())
    return flat if len(flat) <= _LONGEST_CELL else f"{flat[: _LONGEST_CELL - 20]}…[{len(flat)} chars]"


def _quoted(cell: str, delimiter: str) -> str:
    """A cell quoted for CSV if it contains a delimiter or a quote."""
    return '"' + cell.replace('"', '""') + '"' if delimiter in cell or cell.startswith('"') else cell


def rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """CSV or TSV, one line per record; long cells are cut and show their length."""
    given = text.rstrip("\n").split("\n")
    delimiter = _dialect(given)
    records = [record for record in _records(given, delimiter) if record]
    odd = odd_cells(records[1:])
    notes = _notes(records)
    lines = [delimiter.join([_quoted(cell, delimiter) for cell in record]) for record in records]
    found = grades(lines)
    unusual = Counter(
        i for at, cells in odd.items() for i, record in enumerate(records) if i and at < len(record) and record[at] in cells
    )
    ends = (1, len(records) - 1)
    few = len(unusual.keys() - {0}) <= MOST_ODD
    # Without column names, a row would not say what its figures mean.
    headed = len(lines) <= MOST_ROWS and not any(cell[:1].isdecimal() for cell in records[0]) if records else False

    def row(i: int) -> WeighedLine:
        worth = 0.3 + 2.0 * unusual[i] + (2.0 if i in ends else 0.0)
        long = len(lines[i]) > _LONGEST_CELL or "\n" in lines[i]
        evidence = 2 if i == 0 or i in notes else (1 if found[i] == 3 or (few and unusual[i]) else 0)
        said = delimiter.join([_quoted(_cut(cell), delimiter) for cell in records[i]]) if long else lines[i]
        return WeighedLine(said, weight=worth, evidence=evidence, unmarked=True, needs=(i,) if i and headed else ())

    return rows_of(lines, words, {0, 1, *unusual, *notes, *graded_lines(found)}, row)


def _notes(records: Sequence[Sequence[str]]) -> set[int]:
    """The last rows if they are not part of the table: "# without tax", "Note: T3 is broken, ignore it"."""
    usual = Counter(map(len, records)).most_common(1)[0][0] if records else 0
    found: set[int] = set()
    for i in range(len(records) - 1, max(0, len(records) - 1 - _MOST_NOTES), -1):
        if len(records[i]) >= usual or " " not in " ".join(records[i]).strip():
            break
        found.add(i)
    return found


def markdown_rows(text: str, words: frozenset[str]) -> list[WeighedLine]:
    """A table drawn with bars: header and rule are kept, padding is removed."""
    lines = short_lines(text)
    found = grades(lines)
    header = next((i for i, line in enumerate(lines) if "|" in line), 0)
    above = _titles(lines)
    odd = _odd_rows(lines, header)

    def row(i: int) -> WeighedLine:
        line = lines[i].strip()
        if not line.strip("|+-=: \t"):
            return WeighedLine(line[:12], weight=-1, unmarked=True)
        cells = "|".join([" ".join(cell.split()) for cell in line.split("|")])
        evidence = 2 if i == header else (1 if found[i] == 3 or i in odd else 0)
        needs = (*above.get(i, ()), 1) if _SAME.match(line) and i > header else above.get(i, ())
        return WeighedLine(cells, weight=0.5, evidence=evidence, unmarked=True, needs=needs)

    return rows_of(lines, words, {header, *odd, *graded_lines(found)}, row)


def _odd_rows(lines: Sequence[str], header: int) -> set[int]:
    """Rows of a drawn table with a value that is rare in its column, if they are few."""
    at = [i for i, line in enumerate(lines) if i > header and "|" in line and line.strip("|+-=: \t")]
    records = [[cell.strip() for cell in lines[i].split("|")] for i in at]
    odd = odd_cells(records)
    found = {i for i, record in zip(at, records, strict=True) if any(n < len(record) and record[n] in odd[n] for n in odd)}
    return found if len(found) <= MOST_ODD else set()


def _is_note(line: str, header: str) -> bool:
    """Whether a line below a table begins with a mark or mentions a column's name."""
    named = [word for word in header.lower().replace("|", " ").split() if len(word) > _SHORT_NAME]
    return len(line) <= _LONGEST_NOTE and (line[0] in "*†‡(¹" or any(name[:-1] in line.lower() for name in named))


def _titles(lines: Sequence[str]) -> dict[int, tuple[int, ...]]:
    """By index of a table's row the distance to the last line above the table, which says what it is a table of, and to the
    note close below it."""
    found: dict[int, tuple[int, ...]] = {}
    title = first = -1
    for i, line in enumerate(lines[:MOST_ROWS]):
        if "|" in line:
            first = i if first < 0 else first
            if title >= 0:
                found[i] = (i - title,)
        elif line.strip():
            title = i
            if first >= 0 and _is_note(line, lines[first]):
                for k in range(first, i):
                    found[k] = (*found.get(k, ()), k - i)
            first = -1
    return found if len(lines) <= MOST_ROWS else {}
