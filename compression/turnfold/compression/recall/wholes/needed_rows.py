"""The rows that a question over a table needs first, where there is no room for all: of "which is the cheapest?" the ends of the
column, of "how many are above 850?" the rows beyond it.

This module reads cells, and decides which column and rows a question is about. Which table it is about, and what fits, is decided
in ``all_rows``; rows are found in ``text.records``, and single words are in ``lexicon/tallies.txt``.

Both ends of a column are taken, since more than one word says which: "the best price" is the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from json import JSONDecodeError, loads
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.wanted.row_requests import held_fields
from turnfold.compression.text.lexicon import lexicon, one_of

_ENDS: Final = 5  # rows at either end, if a question gives no number
_MOST_ENDS: Final = 25
_NUMERIC: Final = 0.7  # share of cells with a figure from which a column counts as numeric
_SEPARATORS: Final = "|\t;,"
_GAP: Final = lazy.pattern(r"[ \t]{2,}")
_ELEMENT: Final = lazy.pattern(r"<t[dh][^<>]{0,200}>([^<>]{0,400})</t[dh]>")
_NUMBER: Final = lazy.pattern(r"-?\d+(?:[.,]\d+)*")
_DAY: Final = lazy.pattern(r"\d{4}-\d\d-\d\d")
_THOUSANDS: Final = lazy.pattern(r"[,.](?=\d{3}(?!\d))")
_BETWEEN: Final = lazy.pattern(rf"({_NUMBER.pattern})\D{{1,12}}({_NUMBER.pattern})")
_LIMIT: Final = rf"\D{{0,16}}({_NUMBER.pattern})"
_UPWARD, _DOWNWARD = (
    lazy.pattern(rf"(?:\b(?:{one_of('tallies', f'ranges {way}')})\b|{one_of('tallies', f'ranges {way} run-on')}|{sign}){_LIMIT}")
    for way, sign in (("upward", ">"), ("downward", "<"))
)
_COUNTED: Final = lazy.pattern(r"\b(\d{1,2})\b")
_HOW_MANY: Final = lazy.pattern(r"\b(?:top|best|worst|the|die|les|los|las|os|i|le|de)[ -](\d{1,2})\b")
#: Words for numbers, in any language.
_SPELT: Final = frozenset(pair.partition("=")[2] for pairs in lexicon("numbers").values() for pair in pairs).union(
    *(forms for base, forms in lexicon("irregular_english").items() if base.isdigit())
)


class _FigureColumn(NamedTuple):
    """A numeric column: its heading, and its figure in each record (None if a record has none)."""

    head: str
    figures: Sequence[float | None]


def needed_rows(records: Sequence[str], among: Sequence[int], folded: str, having: Callable[[str], int]) -> list[int]:
    """The numbers of the records that a question needs first, chosen from `among`.

    Args:
        records: the records' texts; the first may be the heading of all.
        folded: the question, case-folded.
        having: counts the question's words in a text.
    """
    columns = _asked_columns(_columns(records), folded, having)
    beyond = _beyond(columns, among, folded)
    return beyond or _ends(columns, among, _number_of_ends(folded))


def counting_words(folded: str) -> frozenset[str]:
    """The words of a question that say how many rows it wants, or up to which figure: "the three cheapest", "above 850"."""
    limits = _NUMBER.findall(folded) if _limits(folded) else ()
    spelt = _SPELT.intersection(words.words(folded))
    return spelt.union(_HOW_MANY.findall(folded), *(words.words(one) for one in limits))


def _cells(records: Sequence[str]) -> list[dict[str, str]]:
    """The cells of each record, by the headings of their columns."""
    if all(record.lstrip().startswith("{") for record in records):
        return [*map(_fields, records)]
    heads, *_ = split = [_split(record, max(_SEPARATORS, key=records[0].count)) for record in records]
    return [dict(zip(heads, cells, strict=False)) for cells in split]


def _split(record: str, separator: str) -> list[str]:
    if "</t" in record:
        return _ELEMENT.findall(record)
    return [*map(str.strip, record.split(separator) if separator in record else _GAP.split(record.strip()))]


def _fields(record: str) -> dict[str, str]:
    try:
        found = loads(record)
    except (JSONDecodeError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _columns(records: Sequence[str]) -> list[_FigureColumn]:
    """The numeric columns, except those that only number the records."""
    cells = _cells(records)
    found = []
    for head in dict.fromkeys(key for one in cells[:2] for key in one):
        figures = [_figure(one.get(head, "")) for one in cells]
        known = [one for one in figures if one is not None]
        counts = all(b - a == 1.0 for a, b in pairwise(known))
        if len(known) >= _NUMERIC * len(records) and len(set(known)) > 1 and not counts:
            found.append(_FigureColumn(head, figures))
    return found


def _figure(cell: str) -> float | None:
    """The value of a cell: a day as a number, or its only figure."""
    if day := _DAY.match(cell):
        return float(day[0].replace("-", ""))
    numbers = _NUMBER.findall(cell)
    return _value(numbers[0]) if len(numbers) == 1 else None


def _value(number: str) -> float | None:
    plain = _THOUSANDS.sub("", number).replace(",", ".")
    return float(plain) if plain.count(".") <= 1 else None


def _asked_columns(columns: Sequence[_FigureColumn], folded: str, having: Callable[[str], int]) -> Sequence[_FigureColumn]:
    """The columns whose headings have words of the question, else those of the kinds that it names, else all columns."""
    fields = frozenset(held_fields(folded))
    named = [one for one in columns if having(one.head.replace("_", " "))]
    of_kind = [one for one in columns if fields.intersection(held_fields(one.head.lower().replace("_", " ")))]
    return named or of_kind or columns


def _beyond(columns: Sequence[_FigureColumn], among: Sequence[int], folded: str) -> list[int]:
    """The records on one side of a limit in the question, the farthest first; empty if that is all of them or none."""
    limits = _limits(folded)
    if limits is None:
        return []
    least, most = limits
    for column in columns:
        held = [(figure, n) for n in among if (figure := column.figures[n]) is not None]
        found = sorted((figure, n) for figure, n in held if least <= figure <= most)
        if found and len(found) < len(held):
            return [n for _, n in (found if least == -_FAR else reversed(found))]
    return []


def _limits(folded: str) -> tuple[float, float] | None:
    """The lower and upper limit of the rows that a question asks for; days are numbers."""
    said = _DAY.sub(lambda day: day[0].replace("-", ""), folded)
    up, down, both = _UPWARD.search(said), _DOWNWARD.search(said), _BETWEEN.search(said)
    found = up or down or both
    ends = [limit for one in (found.groups() if found else ()) if (limit := _value(one)) is not None]
    if not ends:
        return None
    return (ends[0], _FAR) if up else (-_FAR, ends[0]) if down else (min(ends), max(ends))


_FAR: Final = float("inf")


def _ends(columns: Sequence[_FigureColumn], among: Sequence[int], number: int) -> list[int]:
    """The records at both ends of each column, the outermost first."""
    found: dict[int, None] = {}
    for column in columns:
        ordered = sorted((n for n in among if column.figures[n] is not None), key=lambda n: (column.figures[n], n))
        for low, high in zip(ordered[:number], ordered[::-1][:number], strict=True):
            found |= {high: None, low: None}
    return [*found]


def _number_of_ends(folded: str) -> int:
    """The number of rows that a question asks for, as in "the five cheapest"; by default a few."""
    return max(_ENDS, next((int(one) for one in _COUNTED.findall(folded) if int(one) <= _MOST_ENDS), 0))
