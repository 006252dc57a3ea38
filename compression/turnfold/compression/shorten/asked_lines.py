"""Lines of a text that the user asked for.

This module finds the lines that a task's own words point to. What lines are worth otherwise is up to ``lines`` and the kinds;
quoting them to a later question is up to ``recall``.

An agent that was asked for one record of a list reads the list first and uses the record many steps later. No rule of a kind
tells this record from the others; the words of the task do, if hardly another line has them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, pairwise
from typing import Final, Self

from turnfold.compression.shorten.lines import WeighedLine
from turnfold.compression.text import words
from turnfold.compression.text.ties.stanzas import Stanzas

_LONGEST: Final = 600  # characters of a message with a request; the words of a longer one name too much
_SHORTEST: Final = 3  # letters of a word; a figure may be shorter
_MOST_WORDS: Final = 60
_FEWEST_ROWS: Final = 8
_FEW: Final = 2  # rows with an informative word
_MOST: Final = 3  # requested rows
_NEAR: Final = 24  # rows after one in which the rest of the request may be
_MOST_NEAR: Final = 2  # such rows for each word, for example the two sides of a diff
#: Evidence grade of a requested row: that of a failure.
EVIDENCE: Final = 3
_NEARBY: Final = 2
_RECORD: Final = 800  # characters of a requested record


class TaskWords(frozenset[str]):
    """Words of a task; some of them are what the user asked for."""

    asked: tuple[str, ...]

    def __new__(cls, said: Iterable[str], asked: Iterable[str]) -> Self:
        """Words, with those that the user asked for."""
        found = super().__new__(cls, said)
        found.asked = tuple(asked)
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TaskWords) and self.asked == other.asked and frozenset.__eq__(self, other)

    __hash__ = frozenset.__hash__


def task_words(said: Iterable[str], messages: Iterable[str]) -> TaskWords:
    """The words of a task.

    Args:
        said: all words, in lower case.
        messages: what the user wrote.
    """
    short = [words.fold(text) for text in messages if len(text) <= _LONGEST]
    return TaskWords(said, islice(dict.fromkeys(word for text in short for word in _content(text)), _MOST_WORDS))


def _content(folded: str) -> Iterator[str]:
    """The content words, and pairs of words as code joins them: "pod IP" is "podIP"."""
    said = words.words(folded)
    content = words.content(said, words.language(set(said)))
    yield from (word for word in content if len(word) >= _SHORTEST or word.isdigit() or not word.isascii())
    yield from (f"{a}{b}" for a, b in pairwise(content))


def with_asked(rows: list[WeighedLine], said: frozenset[str]) -> list[WeighedLine]:
    """The rows, with the requested ones marked as evidence.

    These are up to three rows that have a word occurring in few others, or more of the words than all others; and after them the
    next rows with the rest of the request.
    """
    asked = said.asked if isinstance(said, TaskWords) else ()
    if not asked or len(rows) < _FEWEST_ROWS:
        return rows
    places = _places(rows, asked)
    held = Counter(i for found in places.values() for i in found)
    named = _named(places, held)
    out = list(rows)
    for k in _of_records(rows, [i for i in named if held[i] == held[named[0]]]):
        out[k] = out[k]._replace(evidence=max(out[k].evidence, _NEARBY))
    for i in named:
        out[i] = out[i]._replace(evidence=EVIDENCE)
        below = (k for found in places.values() if i not in found for k in _next(found, i))
        for k in below:
            out[k] = out[k]._replace(evidence=max(out[k].evidence, _NEARBY))
    return out


def _of_records(rows: Sequence[WeighedLine], named: Sequence[int]) -> Iterator[int]:
    """The rows of the multi-line records around some rows, if those are one or two records."""
    if not named or len(named) > _FEW:
        return
    starts = [0, *accumulate(len(row.text) + 1 for row in rows)]
    stanzas = Stanzas("\n".join(row.text for row in rows))
    for i in named:
        if record := stanzas.around(starts[i], _RECORD):
            first, last = (bisect_right(starts, at) - 1 for at in (record[0], record[1] - 1))
            yield from range(first, last + 1)


def _named(places: Mapping[str, Sequence[int]], held: Mapping[int, int]) -> list[int]:
    """The requested rows, those with most words first."""
    telling = {i for found in places.values() if len(found) <= _FEW for i in found}
    most = max(held.values(), default=0)
    best = [i for i, number in held.items() if number == most]
    if most > 1 and len(best) <= _MOST:
        telling.update(best)
    return sorted(telling, key=lambda i: (-held[i], i))[:_MOST]


def _next(found: Sequence[int], at: int) -> Sequence[int]:
    """The next rows with a word after a row."""
    first = bisect_right(found, at)
    return [k for k in found[first : first + _MOST_NEAR] if k <= at + _NEAR]


def _places(rows: Sequence[WeighedLine], asked: Sequence[str]) -> dict[str, list[int]]:
    """The rows with each of the words, in order."""
    lines = [row.text.lower() for row in rows]
    whole = "\n".join(lines)
    found: dict[str, list[int]] = {}
    for word in asked:
        if word in whole:
            is_whole = re.compile(rf"(?<![a-z\d]){re.escape(word)}(?![a-z\d])")
            if held := [i for i, line in enumerate(lines) if word in line and is_whole.search(line)]:
                found[word] = held
    return found
