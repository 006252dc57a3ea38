"""A user's message whose answers have all become a summary goes into the line with them, not beside the next one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tests.support.bodies import encode
from turnfold.compression.fold.course import course
from turnfold.compression.fold.pieces import Level, Piece, piece_of, promote
from turnfold.compression.fold.units.grouping import units
from turnfold.compression.memo import Memo
from turnfold.compression.options import FoldOptions
from turnfold.compression.wire.formats.chat import CHAT

_CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
_MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is the ledger? " * 40},
    {"role": "assistant", "content": "In the harbour office. " * 40},
    {"role": "user", "content": "And who keeps it?"},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "Mara Lind keeps it. " * 40},
    {"role": "assistant", "content": "Mara Lind."},
    {"role": "user", "content": "Thank her for it, and ask when she is in."},
    {"role": "assistant", "content": "I shall."},
    {"role": "user", "content": "Good."},
]


def _promoted(*borders: int, level: Level = Level.SUMMARY) -> list[tuple[int, int, int | None]]:
    """The pieces between the borders, all of them but the first one too many at its level: as a line, with what they keep."""
    conversation = CHAT.read(encode(_MESSAGES), Memo())
    whole = course(units(conversation.messages), FoldOptions(), 1.0)
    none = frozenset[int]()
    first = piece_of(whole, borders[0], borders[1], Level.SUMMARY, none)
    rest: list[Piece] = [piece_of(whole, a, b, level, none) for a, b in pairwise(borders[1:])]
    left = sum(piece.size for piece in rest)
    found = promote(whole, (first, *rest), Level.SUMMARY, left, left, none, keeps=False)
    return [(piece.start, piece.end, piece.anchor) for piece in found if piece.level is Level.LINE]


def test_it_goes_along_if_all_of_its_answers_are_summaries() -> None:
    assert _promoted(0, 3, 4, 5) == [(0, 5, None)]
    assert _promoted(0, 3, 5) == [(0, 5, None)]


def test_it_stays_for_answers_that_are_shown() -> None:
    assert _promoted(0, 3, 4) == [(0, 3, 2)]
    assert _promoted(0, 3, 4, 5, level=Level.FACTS) == [(0, 3, 2)]
