"""Summaries that a model wrote, in place of blocks of quotes.

This module decides at which fold event a summary is adopted, and defines the values that pass between a fold and whoever has
summaries written. Writing and checking one is up to ``summary``, borders to ``replay``, and its form in a request to ``write``.

A summary is written after its block was folded, while the block's quotes serve. It is adopted at a fold event, and only where
nothing is written again because of it that would not be anyway, but for the block itself: the block stands behind the first
piece that the event makes new, or right before it, with nothing between but blocks that are adopted too. Once adopted it stays
as long as its block does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from turnfold.compression.fold.pieces import Level, Piece
from turnfold.compression.fold.units.unit import Unit
from turnfold.compression.options import WrittenSummary

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WantedSummary:
    """A block for which a written summary would be used.

    Attributes:
        start, end: its range of messages; `indices` are the ones that it replaces.
        prefix: as in `WrittenSummary`.
        tokens: of the originals.
        room: tokens of its quotes, except the users' standing orders, which stay; a summary must take less.
        requests: expected number of requests that will contain the summary.
        price: expected price of sending one of its tokens again, in uncached input tokens.
        rewrite: price of a token in the request that adopts it.
    """

    start: int
    end: int
    prefix: str
    indices: tuple[int, ...]
    tokens: int
    room: int
    requests: float
    price: float
    rewrite: float


def message_range(piece: Piece, units: Sequence[Unit]) -> Range:
    """The messages of a piece."""
    return units[piece.start].start, units[piece.end - 1].end


def adoptable(
    units: Sequence[Unit], before: Sequence[Piece], after: Sequence[Piece], available: Iterable[WrittenSummary]
) -> tuple[WrittenSummary, ...]:
    """The summaries adopted at a fold event that turns the pieces `before` into the pieces `after`, in order."""
    known = {(one.start, one.end): one for one in available}
    if not known:
        return ()
    found = [known.get(message_range(piece, units)) if _may_be_written(piece) else None for piece in after]
    first = next((i for i, piece in enumerate(after) if piece not in before), len(after))
    while first and found[first - 1] and (first == len(after) or after[first - 1].end == after[first].start):
        first -= 1
    return tuple(one for one in found[first:] if one is not None)


def _may_be_written(piece: Piece) -> bool:
    return piece.level is Level.SUMMARY and piece.anchor is None
