"""The sentences of a text for the rules of ties, made at once or each when a rule first asks for it.

Lives here: the two sequences. Does not belong here: what a sentence is asked (``statement_pieces``), which sentences a rule asks
(``cues``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import overload

from turnfold.compression.text.spans import Span
from turnfold.compression.text.statement_pieces import Hints, StatementPiece


class PieceList(list[StatementPiece]):
    """All sentences of a text."""

    def __init__(self, pieces: Sequence[StatementPiece], hints: Hints, spans: Sequence[Span]) -> None:
        super().__init__(pieces)
        self.hints, self.spans = hints, spans

    def starts_line(self, i: int) -> bool:
        """Whether a line begins with this sentence."""
        return self[i].starts_line


class LazyPieces(Sequence[StatementPiece]):
    """The sentences of a text of one line. Rules ask a few of them."""

    __slots__ = ("_made", "_make", "hints", "spans")

    def __init__(self, make: Callable[[int], StatementPiece], hints: Hints, spans: Sequence[Span]) -> None:
        self.hints, self.spans = hints, spans
        self._make = make
        self._made: list[StatementPiece | None] = [None] * len(spans)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> StatementPiece: ...

    @overload
    def __getitem__(self, index: slice) -> list[StatementPiece]: ...

    def __getitem__(self, index: int | slice) -> StatementPiece | list[StatementPiece]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self._made)))]
        piece = self._made[index]
        if piece is None:
            piece = self._made[index] = self._make(index)
        return piece

    def __iter__(self) -> Iterator[StatementPiece]:
        return iter([self[i] for i in range(len(self._made))])

    def starts_line(self, i: int) -> bool:
        """Whether a line begins with this sentence: the first one alone."""
        return i == 0


Pieces = PieceList | LazyPieces
