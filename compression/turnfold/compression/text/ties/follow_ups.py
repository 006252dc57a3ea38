"""Additions to a message by its own author before anyone else writes: "Everybody is off on Friday", "except the hotline".

This module deals with two consecutive messages of one speaker in a chat, the second of them short. Who speaks is known to
``statements``; objections by another speaker are in ``near``. Messages of a conversation that are not one text are handled
elsewhere.

In a chat, people correct, limit and take back in a separate message, in words that no list contains. A short message that comes
next is about the one before it. This does not hold for somebody who writes one line after another: that is a log. Names without
times indicate a chat if there are two of them; a single name may be a field of records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.transcripts import STAMPED
from turnfold.compression.text.ties.pieces import StatementPiece

Pair = tuple[int, int]

_STAMP: Final = lazy.pattern(r"[\s\[\]<>(),:：\d/.\-–]+|\b[AaPp]\.?[Mm]\b")
_FEW: Final = 14  # words of an addition
_FEW_DENSE: Final = 30  # characters
_MOST: Final = 3  # messages in a row of one speaker that are no log


def follow_up_ties(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of a message's sentences and what its writer adds, both ways."""
    for run in _runs(pieces, _speakers(pieces)):
        if not 1 < len(run) <= _MOST:
            continue
        for before, after in pairwise(run):
            if _is_short(pieces, after):
                yield from ((i, after.start) for i in before)
                yield from ((i, before[-1]) for i in after)


def _speakers(pieces: Sequence[StatementPiece]) -> frozenset[str]:
    """Possible speakers of a text: names after times, and other labels if there are at least two."""
    labels = [piece.text for piece in pieces if piece.kind == "label"]
    stamped = {_name(label) for label in labels if STAMPED.match(f"{label}.")}
    named = {_name(label) for label in labels}
    return frozenset(named if len(named) > 1 else stamped) - {""}


def _name(label: str) -> str:
    return _STAMP.sub("", label)


def _runs(pieces: Sequence[StatementPiece], speakers: Set[str]) -> Iterator[list[range]]:
    """The messages of one speaker in a row, each by its sentences."""
    if not speakers:
        return
    run: list[range] = []
    speaker, begin = "", -1
    for i, piece in enumerate(pieces):
        if piece.kind != "label":
            if piece.kind:  # what is pasted between is no message
                if begin >= 0 and begin < i:
                    run.append(range(begin, i))
                yield run
                run, speaker, begin = [], "", -1
            continue
        if begin >= 0 and begin < i:
            run.append(range(begin, i))
        name = _name(piece.text)
        if name not in speakers:
            name = ""
        if not name or name != speaker:
            yield run
            run = []
        speaker, begin = name, i + 1 if name else -1
    if begin >= 0 and begin < len(pieces):
        run.append(range(begin, len(pieces)))
    yield run


def _is_short(pieces: Sequence[StatementPiece], message: range) -> bool:
    said = [pieces[i] for i in message]
    if any(piece.dense for piece in said):
        return sum(len(piece.body.strip()) for piece in said) <= _FEW_DENSE
    return sum(len(piece.said) for piece in said) <= _FEW
