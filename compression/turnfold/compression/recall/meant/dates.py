"""Clock times and dates in any notation: "3 pm" is "15:00"; "April 3", "3. April" and "03.04." are one day.

This module gives a text additional words for the times and dates in it. Numbers in words are forms of one word each
(``text.words``); what such a word weighs is up to ``question``.

Which of "04/03" is the month nobody knows, so it is either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.lower import plain_words

_MONTHS: Final = {name: int(number) for number, names in lexicon("months").items() for name in sorted(names)}
_HINT: Final = lazy.pattern(r"\d")
_LETTERS: Final = lazy.pattern(r"[^\W\d_]{3,}")  # of a month's name, which stands alone
_MONTH_NAMES: Final = frozenset(_MONTHS)
_NAMES: Final = "|".join(sorted(_MONTHS, key=lambda name: (-len(name), name)))
# Each starts with one character class, which the regex engine finds fast.
_TIME: Final = lazy.pattern(
    r"(?P<hour>\d(?<![\d:.,/-]\d)\d?)(?:(?:[:.](?P<minute>[0-5]\d))? ?(?P<half>[ap])\.?m\b|[:h](?P<exact>[0-5]\d)(?![\d:])"
    r"|(?:[:.](?P<clock>[0-5]\d))? ?(?:uhr|h|heures?)\b)"
)
_DAY_FIRST: Final = lazy.pattern(
    rf"(?P<day>\d(?<![\w.:/-]\d)\d?)(?:\.|st|nd|rd|th|er|º|ª)? (?:of |de |d['’])?(?P<month>{_NAMES})\b"
)
_DAY_BEHIND: Final = lazy.pattern(r"(?P<day>\d(?<=[^\s\d] \d)\d?)(?:st|nd|rd|th)?(?![\w:]|\.\d|%)")
_MONTH_BEFORE: Final = lazy.pattern(rf"\b(?P<month>{_NAMES})\.? \Z")
_LONGEST_MONTH: Final = 13  # characters, with the text before and after it
_FIGURES: Final = lazy.pattern(
    r"(?P<day>\d(?<![\w.:/-]\d)\d?)(?:\.(?P<month>[01]?\d)\.(?:(?:19|20)?\d\d\b(?!\.\d))?(?!\d)"
    r"|/(?P<other>[0-3]?\d)(?:/(?:19|20)?\d\d)?(?![\w/]))"
)
_ISO: Final = lazy.pattern(r"\d(?<![\w.:/-]\d)\d\d\d-(?P<month>[01]\d)-(?P<day>[0-3]\d)\b")
_MOST_MONTHS: Final = 12
_MOST_DAYS: Final = 31
_NOON: Final = 12
_HOURS: Final = 24


class Written(NamedTuple):
    """A time or a date as it is written, with the words that stand for it in any notation."""

    text: str
    words: tuple[str, ...]


def times_and_dates(folded: str) -> Iterator[Written]:
    """The times and dates in a case-folded text."""
    if _HINT.search(folded):
        yield from _times(folded)
        yield from _named_days(folded)
        for found in chain(_FIGURES.finditer(folded), _ISO.finditer(folded) if "-" in folded else ()):
            other = found.groupdict().get("other")
            days = ((found["day"], other), (other, found["day"])) if other else ((found["day"], found["month"]),)
            yield from _written(found[0], [(int(day), int(month)) for day, month in days])


def with_times_and_dates(folded: str) -> str:
    """A case-folded text followed by the words for its times and dates."""
    if not _HINT.search(folded):
        return folded
    more = " ".join(chain.from_iterable(written.words for written in times_and_dates(folded)))
    return f"{folded} {more}" if more else folded


def _times(folded: str) -> Iterator[Written]:
    for found in _TIME.finditer(folded):
        hour = int(found["hour"])
        if found["half"]:
            hour = hour % _NOON + (_NOON if found["half"] == "p" else 0)
        if hour < _HOURS:
            yield Written(found[0], (f"{hour}h{int(found['minute'] or found['exact'] or found['clock'] or 0):02}",))


def _named_days(folded: str) -> Iterator[Written]:
    """Dates with a named month."""
    if _MONTH_NAMES.isdisjoint(plain_words(folded) or _LETTERS.findall(folded)):
        return
    for found in _DAY_FIRST.finditer(folded):
        yield from _written(found[0], [(int(found["day"]), _MONTHS[found["month"]])])
    for found in _DAY_BEHIND.finditer(folded):
        before = _MONTH_BEFORE.search(folded[max(0, found.start() - _LONGEST_MONTH) : found.start()])
        if before:
            yield from _written(before[0] + found[0], [(int(found["day"]), _MONTHS[before["month"]])])


def _written(text: str, days: Sequence[tuple[int, int]]) -> Iterator[Written]:
    known = tuple(f"{month}m{day}d" for day, month in days if 0 < month <= _MOST_MONTHS and 0 < day <= _MOST_DAYS)
    if known:
        yield Written(text, known)
