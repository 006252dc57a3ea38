"""Days that a message names, and dates as logs write them: "on the 14th", "Nov 24", "am 14.11.", "2026-11-14".

This module reads both, and tells whether they are one day. Times of the day are in ``text.dialogue.wanted.moments``, months'
names in ``lexicon/months.txt``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon

#: A month (0 if none is given) and a day.
Day = tuple[int, int]

_MONTHS: Final = {word: int(number) for number, listed in lexicon("months").items() if number.isdigit() for word in listed}
_ISO: Final = lazy.pattern(r"(?<!\d)\d{4}[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_FIGURES: Final = lazy.pattern(
    r"(?<![\d:./-])(\d{1,2})(?:(/)(\d{1,2})(?:/(?:\d{4}|\d\d))?|\.(\d{1,2})\.(?:\d{4}|\d\d)?)(?![\d:/])"
)
_WITH_MONTH: Final = lazy.pattern(
    r"(?<![\w.:])(\d{1,2})(?:st|nd|rd|th|\.|º)?[^\S\n](?:of[^\S\n]|de[^\S\n])?([^\W\d_]{3,})"
    r"|(?<![^\W\d_])([^\W\d_]{3,})\.?[^\S\n](\d{1,2})(?:st|nd|rd|th)?(?![\w:])"
)
_CJK: Final = lazy.pattern(r"(?:(\d{1,2})[月월]\s?)?(\d{1,2})[日号號일]")
_ALONE: Final = lazy.pattern(r"(?<![\w.:/-])(?:am |den |le |el |il |dia )?(\d{1,2})(?:st|nd|rd|th|\.(?=\s|$)|º)(?!\d)")
_IN_LOG: Final = lazy.pattern(r"[-/.\s]+")
_MOST_MONTHS: Final = 12
_MOST_DAYS: Final = 31


def named_days(folded: str) -> frozenset[Day]:
    """The days that a lower-case message names."""
    found = {day for day in _with_months(folded) if _is_date(day)}
    return frozenset(found or {(0, day) for one in _ALONE.finditer(folded) if 1 <= (day := int(one[1])) <= _MOST_DAYS})


def _with_months(folded: str) -> Iterator[Day]:
    yield from ((int(month), int(day)) for month, day in _ISO.findall(folded))
    for a, slash, b, after_dot in _FIGURES.findall(folded):
        yield int(b or after_dot), int(a)
        if slash:
            yield int(a), int(b)
    for found in _WITH_MONTH.finditer(folded):
        day, word = (found[1], found[2]) if found[1] else (found[4], found[3])
        if word in _MONTHS:
            yield _MONTHS[word], int(day)
    yield from ((int(month or 0), int(day)) for month, day in _CJK.findall(folded))


def _is_date(day: Day) -> bool:
    return 0 <= day[0] <= _MOST_MONTHS and 1 <= day[1] <= _MOST_DAYS


def is_day(date: str, day: Day) -> bool:
    """Whether a date at the start of a line is a given day. A numeric date may begin with the day or the month."""
    return any(one[1] == day[1] and day[0] in (0, one[0]) for one in _read(date.lower()))


def _read(date: str) -> Iterator[Day]:
    parts = [part for part in _IN_LOG.split(date) if part]
    named = [_MONTHS[part] for part in parts if part in _MONTHS]
    figures = [int(part) for part in parts if part.isdigit()]
    if named:
        yield from ((named[0], figure) for figure in figures)
    elif len(figures) > 1 and len(parts[0]) == len("2026"):
        yield figures[1], figures[-1]
    else:
        yield from (one for one in permutations(figures[:2], 2) if _is_date(one))
