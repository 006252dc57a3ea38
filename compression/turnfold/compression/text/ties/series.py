"""Entries of a series that say the same of one thing after another: "Pump 1 holds 7 bar, nobody called. Pump 2 holds ...".

This module removes ties between such sentences. What is repeated is found in ``text.duplicates``; records of several lines are in
``text.records``.

Each entry shares words with the next one and may deny something, as a limit of a claim does. If entries were tied to their
neighbours, the whole series would be one statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

from turnfold.compression.text.ties.pieces import StatementPiece

Pair = tuple[int, int]

_ENTRIES: Final = 5  # sentences of one form in a row that are a series
_WORDS: Final = 4  # of an entry at least: shorter ones are alike by chance


def without_series(pieces: Sequence[StatementPiece], ties: Sequence[Pair]) -> Sequence[Pair]:
    """The ties except those within one series, and those of a sentence to one that says the same."""
    if not ties:
        return ties
    series = _series(pieces) if len(ties) >= _ENTRIES <= len(pieces) else [-1] * len(pieces)
    return [
        (one, other)
        for one, other in ties
        if (series[one] < 0 or series[one] != series[other]) and not _says_the_same(pieces, one, other)
    ]


def _series(pieces: Sequence[StatementPiece]) -> list[int]:
    """The number of each sentence's series; -1 if it is in none."""
    runs = [*accumulate((not _is_next(one, other) for one, other in pairwise(pieces)), initial=0)]
    sizes = [0] * (runs[-1] + 1)
    for run in runs:
        sizes[run] += 1
    return [run if sizes[run] >= _ENTRIES else -1 for run in runs]


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
