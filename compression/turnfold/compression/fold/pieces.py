"""Pieces: runs of units that are folded together, and who gets recall of them.

Lives here: the values that a replay makes and a plan holds. Does not belong here: where borders fall (``replay``), texts.

Pieces form levels as in a log-structured merge tree (O'Neil et al., 1996): FACTS, then SUMMARY, then LINE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from turnfold.compression.fold import policy
from turnfold.compression.fold.units import Unit
from turnfold.compression.options import FoldOptions, Warmth


class Level(Enum):
    """How much of a piece is left."""

    FACTS = "facts"
    SUMMARY = "summary"
    LINE = "line"


class Piece(NamedTuple):
    """Units ``start..end`` folded together.

    Attributes:
        tokens: raw tokens of what can be folded in it.
        size: about the tokens that it takes when folded.
        anchor: its last user unit, kept verbatim as what follows the piece still answers it; None where a user message follows.
        answered: the unit that the anchor answers, quoted at every level (``answered``); None under a budget.
        requests: the newest user units of it, the anchor left out, under which an agent went to work (``is_request``): quoted
            at every level too.
    """

    start: int
    end: int
    level: Level
    tokens: int
    size: int
    anchor: int | None
    answered: int | None = None
    requests: tuple[int, ...] = ()


def answered(units: Sequence[Unit], start: int, anchor: int | None) -> int | None:
    """The unit of a piece that its anchor answers, if it is an assistant's message: while a tool loop goes on under "yes, do all
    of that", nothing else says what was agreed."""
    if anchor is None:
        return None
    before = next((i for i in range(anchor - 1, start - 1, -1) if not units[i].pinned), None)
    if before is None or units[before].is_user or units[before].asks or units[before].attached:
        return None
    return before


def is_request(units: Sequence[Unit], index: int, end: int, *, called: bool) -> bool:
    """Whether a user unit is followed, up to the unit `end`, by what a program reports to an agent: the task may be older than
    the person's last word, which is "use port 8081".

    Args:
        called: whether results of native calls count as well as those in messages of the user's role.
    """
    behind = next((units[i] for i in range(index + 1, end + 1) if not units[i].pinned), None)
    if behind is None or units[index].attached:
        return False
    return behind.reports or (called and behind.asks and not behind.is_user)


class Asker(NamedTuple):
    """A user unit in the raw tail that gets recall.

    Attributes:
        unit: index of the user unit.
        pieces: what was folded before it when it was sent.
        warmth: what was decided of the cache then.
        shape: what kind of conversation it was then.
        last: whether it is the last user message of the request.
    """

    unit: int
    pieces: tuple[Piece, ...]
    warmth: Warmth
    shape: policy.Shape
    last: bool


def piece_runs(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """Ranges of units that neighbouring pieces cover together."""
    start = pieces[0].start
    for here, after in zip(pieces, [*pieces[1:], None], strict=True):
        if after is None or after.start != here.end:
            yield start, here.end
            start = after.start if after is not None else start


def recall_tokens(asker: Asker, options: FoldOptions) -> int:
    """What recall for an asker takes as a rule when no budget was given."""
    return policy.recall_tokens(options, asker.warmth, asker.shape, *_saved_of(asker))


def most_recall_tokens(asker: Asker, options: FoldOptions) -> int:
    """What recall for an asker may take at most when no budget was given."""
    return policy.most_recall_tokens(options, asker.warmth, asker.shape, *_saved_of(asker))


def _saved_of(asker: Asker) -> tuple[int, int]:
    """Tokens that the fold before an asker leaves out, and raw tokens of what is folded."""
    return saved_by(asker.pieces)


def saved_by(pieces: Iterable[Piece]) -> tuple[int, int]:
    """Tokens that pieces leave out, and raw tokens of what is folded in them."""
    folded = left = 0
    for piece in pieces:
        folded += piece.tokens
        left += piece.size
    return folded - left, folded
