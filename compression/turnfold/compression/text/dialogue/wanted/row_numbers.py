"""Rows of pasted data that a message names by their numbers: "row 5", "lines 10 to 20", "the last three records", "the header".

This module reads such words. Which table is meant, and what is quoted, is decided in ``recall.wholes.named_rows``. Rows that are
named by their content are in ``row_requests``, single words in ``lexicon/row_numbers.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.wanted.picks import PLACES
from turnfold.compression.text.lexicon import lexicon, one_of

_LONGEST: Final = 240  # characters of a message that names rows so
_MOST: Final = 200  # rows
_SAMPLE: Final = 3  # rows
_ROW: Final = rf"(?:{one_of('row_numbers', 'rows')})"
_LINE: Final = rf"(?:{one_of('row_numbers', 'lines')})"
_TO: Final = rf"(?:[-–—]|\b(?:{one_of('row_numbers', 'to')})\b)"
_AND: Final = rf"(?:[,&]|\b(?:{one_of('row_numbers', 'and')})\b)"
_NUMBERS: Final = lazy.pattern(
    rf"\b(?:(?P<row>{_ROW})|(?P<line>{_LINE}))\b[^\S\n]*(?:no\.?|nr\.?|number|#)?[^\S\n]*"
    rf"(?P<numbers>\d{{1,6}}(?:[^\S\n]*(?:{_TO}|{_AND})+[^\S\n]*(?:{_ROW}|{_LINE})?[^\S\n]*\d{{1,6}}){{0,8}})(?!\w|[.:]\d)"
)
_RANGE: Final = lazy.pattern(rf"(\d+)(?:[^\S\n]*{_TO}[^\S\n]*(?:{_ROW}|{_LINE})?[^\S\n]*(\d+))?")
#: Words for small numbers.
COUNT_WORDS: Final = {
    **{word: n for n in (2, 3, 4, 5) for word in lexicon("places")[f"count {n}"]},
    **{word: n for n in (10, 15, 20) for word in lexicon("row_numbers")[f"count {n}"]},
}
_ENDS: Final = lazy.pattern(
    rf"\b(?P<place>{'|'.join(sorted(map(re.escape, PLACES), key=len, reverse=True))})[^\S\n]+"
    rf"(?:(?P<count>\d{{1,3}}|{'|'.join(sorted(COUNT_WORDS))}|{one_of('row_numbers', 'few')})[^\S\n]+)?(?:{_ROW}|{_LINE})\b"
)
_HEADER: Final = lazy.pattern(rf"\b(?:{one_of('row_numbers', 'header')})\b")


def named_row_numbers(folded: str) -> tuple[tuple[int, ...], bool]:
    """The numbers of the rows that a case-folded message names, and whether they are line numbers, which count the header as the
    first line.

    Numbers are from 1, or from the end from -1. For a message that asks for the header, those of the first rows.
    """
    if len(folded) > _LONGEST:
        return (), False
    if found := _NUMBERS.search(folded):
        return tuple(_numbers(found["numbers"]))[:_MOST], bool(found["line"])
    if found := _ENDS.search(folded):
        place, count = PLACES[found["place"]], _count(found["count"])
        return tuple(range(-count, 0) if place == -1 else range(place, place + count)), False
    return (tuple(range(1, _SAMPLE + 1)), False) if _HEADER.search(folded) else ((), False)


def _numbers(said: str) -> Iterator[int]:
    for found in _RANGE.finditer(said):
        first, last = int(found[1]), int(found[2] or found[1])
        yield from range(first, min(last, first + _MOST) + 1)


def _count(said: str | None) -> int:
    if said is None:
        return 1
    return int(said) if said.isdigit() else COUNT_WORDS.get(said, _SAMPLE)
