"""Entries of a series that say the same of one thing after another: "Pump 1 holds 7 bar, nobody called. Pump 2 holds ...".

This module removes ties between such entries, of one sentence or a few. What is repeated is found in ``text.duplicates``; records
of several lines are in ``text.records``.

Each entry shares words with the next one and may deny something, as a limit of a claim does. If entries were tied to their
neighbours, the whole series would be one statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from turnfold.compression.text.ties.pieces import StatementPiece

Pair = tuple[int, int]

_ENTRIES: Final = 5  # sentences of one form in a row that are a series
_LONGEST: Final = 3  # sentences of an entry
_WORDS: Final = 4  # of an entry at least: shorter ones are alike by chance


def without_series(
    pieces: Sequence[StatementPiece], joined: Sequence[bool], ties: Sequence[Pair]
) -> tuple[Sequence[bool], Sequence[Pair]]:
    """Which sentences are one with that before them, and the ties, without those between entries of one series.

    Ties of a sentence to one that says the same are left out too.
    """
    if not ties:
        return joined, ties
    series = _series(pieces, [*ties, *((i, i - 1) for i, tied in enumerate(joined) if tied)])
    kept = [
        (one, other)
        for one, other in ties
        if not _are_entries(series.get(one), series.get(other)) and not _says_the_same(pieces, one, other)
    ]
    if not series:
        return joined, kept
    return [tied and not _are_entries(series.get(i - 1), series.get(i)) for i, tied in enumerate(joined)], kept


def _are_entries(one: Pair | None, other: Pair | None) -> bool:
    """Whether two sentences are in different entries of one series."""
    return one is not None and other is not None and one[0] == other[0] and one[1] != other[1]


def _series(pieces: Sequence[StatementPiece], ties: Sequence[Pair]) -> dict[int, Pair]:
    """The series of a sentence, by where it begins, and its entry there; entries are up to `_LONGEST` sentences long."""
    found: dict[int, Pair] = {}
    needed: dict[int, list[int]] = {}
    for one, other in ties:
        needed.setdefault(one, []).append(other)
    for size in range(1, _LONGEST + 1) if len(ties) >= _ENTRIES <= len(pieces) else ():
        goes_on = [_is_next(one, other) for one, other in zip(pieces, pieces[size:], strict=False)]
        for begin, last in _runs(goes_on):
            stop = last + size
            if stop - begin >= _ENTRIES * size:
                shift = _shift(begin, stop, size, needed)
                for k in range(begin, stop):
                    found.setdefault(k, (begin, (k - begin + shift) // size))
    return found


def _shift(begin: int, stop: int, size: int, needed: Mapping[int, Sequence[int]]) -> int:
    """How many sentences in front of a run belong to its first entry, so that the fewest ties reach over the ends of entries."""
    if size == 1:
        return 0
    within = [(k - begin, other - begin) for k in range(begin, stop) for other in needed.get(k, ()) if begin <= other < stop]
    over = [sum((one + shift) // size != (other + shift) // size for one, other in within) for shift in range(size)]
    return over.index(min(over))


def _runs(flags: Sequence[bool]) -> Iterator[Pair]:
    """Where runs of true flags begin and end."""
    at = 0
    for flag, run in groupby(flags):
        begin, at = at, at + sum(1 for _ in run)
        if flag:
            yield begin, at


def _is_next(one: StatementPiece, other: StatementPiece) -> bool:
    """Whether both have as many words, two of three in the same places; where no blanks part words, characters. Lines have other
    signs that they are a list."""
    if one.kind or other.kind or other.starts_line:
        return False
    mine, theirs = (_characters(one), _characters(other)) if one.dense and other.dense else (one.said, other.said)
    size = len(mine)
    return _WORDS <= size == len(theirs) and 3 * sum(map(str.__eq__, mine, theirs)) >= 2 * size


def _characters(piece: StatementPiece) -> list[str]:
    """Those of a sentence besides its figures, which have any length."""
    return [sign for sign in piece.body if not sign.isdigit()]


def _says_the_same(pieces: Sequence[StatementPiece], one: int, other: int) -> bool:
    """Whether a sentence is said again in its line. A fragment ("Only on Mondays.") is about something each time."""
    mine, theirs = pieces[one], pieces[other]
    if len(mine.said) != len(theirs.said) or not mine.stands_alone or pieces[max(one, other)].starts_line:
        return False
    return mine.body.strip() == theirs.body.strip()
