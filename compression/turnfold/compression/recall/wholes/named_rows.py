"""Rows of a folded table that a question names: "what is Mara's salary?", "who works in Lyon?", "show me the orders from May".

This module decides which rows these are, and what of them is quoted. Questions that all rows go into are in ``all_rows``; rows
are found in ``text.records``, and ``quote_choice`` counts how much fits.

A question is about a table if all of its words occur there, or are of a kind that the table has. Quoted are the rows with most of
those words that few others have, with the lines above all rows, and nothing else of the table: its other rows only resemble them.
Rows named by their numbers are those of the newest table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from turnfold.compression.memo import Memo, continued_by_key
from turnfold.compression.recall.fence import FRAME, fence_tokens
from turnfold.compression.recall.question import Question, content_words
from turnfold.compression.recall.wholes.found_work import FoundWork
from turnfold.compression.recall.wholes.request import WholeRequest
from turnfold.compression.recall.wholes.spread_works import fitting_spread, joined
from turnfold.compression.text import words
from turnfold.compression.text.blocks import Range
from turnfold.compression.text.dialogue.wanted.row_numbers import named_row_numbers
from turnfold.compression.text.dialogue.wanted.row_requests import (
    ABOVE,
    COMMON,
    asked_of_rows,
    joins_values,
    words_of_kinds,
)
from turnfold.compression.text.quotes import Quotable, Quote
from turnfold.compression.text.records import main_rows, records_of, table_records

_FEWEST: Final = 8  # fewest records of a table
_FIRST: Final = 400  # characters of rows that contain their headings
_MOST: Final = 5000
_SIGNS: Final = ("\t", "|", ";", ",")  # between cells
_SURE_SIGNS: Final = ("\t", "|")
_ALIKE: Final = 0.8  # share of the rows that have the same number of cells
_WORD: Final = 100  # approximate bytes of a word


class _HeldTable(NamedTuple):
    """A table, with the words in and above it, and the words by which people name its contents."""

    runs: tuple[Range, ...]
    above: int
    said: frozenset[str]
    kinds: frozenset[str]


def find_named_rows(
    sources: Sequence[Quotable], question: Question, folded: str, count: Callable[[str], int], memo: Memo
) -> FoundWork:
    """The rows that a question names; empty if it names none.

    Args:
        sources: messages that may be quoted.
        folded: the question, case-folded.
    """
    if not (question.whole_room and asked_of_rows(folded)):
        return FoundWork()
    asked = frozenset(content_words(folded))
    tables = _tables(sources, memo)
    for at in range(len(sources) - 1, -1, -1):
        table = tables[at]
        if table is None or at in question.held:
            continue
        if all(word in table.said or not table.kinds.isdisjoint((word, f"{word}s")) for word in asked):
            room = question.whole_room - fence_tokens(count)
            return _quoted(at, sources[at].text, table, asked, joins_values(folded), room, count)
    return FoundWork()


def find_numbered_rows(asked: WholeRequest) -> FoundWork:
    """The rows of the newest table that a question names by number, with the text above all rows."""
    sources, behind, question, room, count, memo = asked
    numbers, are_lines = named_row_numbers(words.fold(question))
    if not numbers:
        return FoundWork()
    every = [*sources, *behind]
    tables = _tables(every, memo)
    held = ((n, one) for n, one in reversed([*enumerate(tables)]) if one is not None)
    at, table, records = next(((n, one, found) for n, one in held if (found := _grid(every[n].text, one))), (0, None, []))
    if table is None or at >= len(sources):
        return FoundWork()
    text = sources[at].text
    first = 0 if are_lines or not _has_header(text, records) else 1
    rows = [*range(first, len(records))]
    named = [rows[n - 1 if n > 0 else n] for n in numbers if 0 < (n if n > 0 else -n) <= len(rows)]
    quotes = joined(sources, [Quote(at, table.above, records[0][1]), *(Quote(at, *records[n]) for n in named)] if named else [])
    chosen, tokens = fitting_spread(sources, quotes, room, count)
    return FoundWork(tuple(chosen), (), tokens)


def _grid(text: str, table: _HeldTable) -> list[Range]:
    """The rows of a table whose records have the same number of cells, or separators used nowhere else; empty for a list."""
    records = [one for one in _records(text, table) if any(map(str.isalnum, text[slice(*one)]))]
    for sign in _SIGNS:
        cells = Counter(text.count(sign, *one) for one in records)
        alike = cells.total() - cells[0] if sign in _SURE_SIGNS else max(n for size, n in (*cells.items(), (1, 0)) if size)
        if alike >= _ALIKE * len(records):
            return records
    return []


def _has_header(text: str, records: Sequence[Range]) -> bool:
    figures = [any(map(str.isdigit, text[slice(*one)])) for one in records]
    return not figures[0] and 2 * sum(figures) > len(figures)


def _records(text: str, table: _HeldTable) -> list[Range]:
    return [one for run in table.runs for one in records_of(text, run)][:_MOST]


def _tables(sources: Sequence[Quotable], memo: Memo) -> list[_HeldTable | None]:
    """For each source, its table, or None."""

    def run(known: list[_HeldTable | None] | None, same: int) -> list[_HeldTable | None]:
        return [*(known or ())[:same], *map(_table, sources[same:])]

    return continued_by_key(memo, "named rows", sources, run, _weight)


def _weight(tables: Sequence[_HeldTable | None]) -> int:
    return 8 * len(tables) + sum(_WORD * len(table.said) for table in tables if table is not None)


def _table(source: Quotable) -> _HeldTable | None:
    text = source.text
    if len(table_records(text)) < _FEWEST:
        return None
    runs = tuple(main_rows(text))
    start = runs[0][0]
    above = max(0, text.rfind("\n", 0, max(0, start - ABOVE)) + 1) if start > ABOVE else 0
    said = _words(text[above:start]).union(*(_words(text[slice(*run)]) for run in runs), *_between(text, runs))
    return _HeldTable(runs, above, said, words_of_kinds(words.fold(text[above : start + _FIRST])))


def _between(text: str, runs: Sequence[Range]) -> Iterator[frozenset[str]]:
    """The words between the rows, which may be a heading of some; what has a figure there is of no row."""
    for (_, end), (start, _) in pairwise(runs):
        yield frozenset(word for word in _words(text[end:start]) if not any(map(str.isdigit, word)))


def _words(text: str) -> frozenset[str]:
    return frozenset(words.words(words.fold(text)))


def _named(said: Sequence[frozenset[str]], asked: frozenset[str], *, joined: bool) -> list[int]:
    """The numbers of the records that the question names, given the words of each. The first one goes with the text above all."""
    held = ([n for n, one in enumerate(said) if word in one] for word in asked)
    telling = [found for found in held if 0 < len(found) <= COMMON * len(said) and found != [0]]
    having = Counter(n for found in telling for n in found)
    least = 1 if joined else max(having.values(), default=0)
    return sorted(n for n, number in having.items() if n and number >= least)


def _quoted(
    source: int, text: str, table: _HeldTable, asked: frozenset[str], joined: bool, room: int, count: Callable[[str], int]
) -> FoundWork:
    """The records with the text above all; nothing if they don't all fit, since some could be mistaken for all."""
    records = _records(text, table)
    chosen = _named([_words(text[slice(*one)]) for one in records], asked, joined=joined)
    if not chosen:
        return FoundWork()
    quotes = [Quote(source, table.above, records[0][1]), *(Quote(source, *records[n]) for n in chosen)]
    spent = sum(count(text[start:end]) + FRAME for _, start, end in quotes)
    others = (Quote(source, table.above, table.runs[0][1]), *(Quote(source, *run) for run in table.runs[1:]))
    return FoundWork(tuple(quotes), others, spent) if spent <= room else FoundWork()
