"""What governs the sentences behind it: a time up to the next one, indirect speech, a question of what is false, brackets.

This module pairs a sentence with one that says when, by whom or how far it is meant, judging by the form of the latter: for
example a remark on the text itself, or an exception that somebody adds in a chat. Heads with a colon or on a line of their own
are in ``near`` and ``status``, limits after a claim in ``over_details``.

Each rule first checks the words of the whole text, then looks a bounded number of sentences away: all are linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.ties.cues import CUES, DEFINITE
from turnfold.compression.text.ties.pieces import StatementPiece, before_in_line
from turnfold.compression.text.ties.status import limits_what_is_below

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")
_ASKED_WRONG, _INDIRECT, _REPORTS, _DATING = (_TIES[name] for name in ("asked-wrong", "indirect", "reports", "dating"))
_TIMES: Final = _TIES["times"] | _TIES["now-and-then"]
_FROM: Final = _TIES["from-and-until"]
_TIMES_DENSE: Final = tuple(_TIES["times-run-on"])
_BEGINS_SET: Final = CUES["begins-set"]
_NAMING: Final = _TIES["documents"] | _TIES["claims"]
_EXCEPTIONS: Final = _TIES["excepting"]
_THE: Final = DEFINITE | _TIES["demonstratives"]
_SPEAKER: Final = frozenset(("ich",))  # "ich habe" is no indirect speech
_DIGIT: Final = lazy.pattern(r"\d")
_HEAD: Final = lazy.pattern(r"[^\n()（）]{1,60}[(（]([^\n()（）]{2,60})[)）][.:。：]?\s*\Z")
_REACH: Final = 5  # sentences
_MESSAGES: Final = 10  # spans of a chat, names among them
_TIME_WORDS: Final = 4  # among which a time stands
_REMARK_WORDS: Final = 12
_FEW: Final = 8  # words of an exception that is a message


def governing_ties(text: str, pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of a sentence and one that it needs; of most texts few."""
    hints = pieces[0].hints
    if hints.dense or hints.held & _BEGINS_SET:
        yield from _between_times(pieces)
    if not _INDIRECT.isdisjoint(hints.distinct):
        yield from _reported(pieces)
    if not _ASKED_WRONG.isdisjoint(hints.distinct):
        yield from _tested(pieces)
    if not _DATING.isdisjoint(hints.distinct) and not _NAMING.isdisjoint(hints.distinct):
        yield from _of_the_text(pieces)
    if ")" in text or "）" in text:
        yield from _bracketed(pieces)
    if "\n" in text and not _EXCEPTIONS.isdisjoint(hints.distinct):
        yield from _excepted(pieces)


def _rest_of_line(pieces: Sequence[StatementPiece], i: int) -> Iterator[int]:
    """The next few sentences of the line."""
    for k in range(i + 1, min(len(pieces), i + 1 + _REACH)):
        if pieces[k].starts_line or pieces[k].kind:
            return
        yield k


def _between_times(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "From May the desk opens at nine. Pay by card. Until then, all stays.": what is between two times needs the first, which
    needs the second.
    """
    first = -1
    for i, bits in enumerate(pieces[0].hints.cues):
        piece = pieces[i]
        if piece.kind or piece.starts_line:
            first = -1
        if piece.kind or not (bits & _BEGINS_SET or piece.dense) or not is_from_a_time(piece):
            continue
        if first >= 0 and i - first <= _REACH:
            yield from ((k, first) for k in range(first + 1, i))
            yield first, i
        first = i


def is_from_a_time(piece: StatementPiece) -> bool:
    """Whether it begins with a time from which, or until which, something holds: "As of 1 July ..."."""
    if piece.dense:
        return piece.body.startswith(_TIMES_DENSE)
    if not piece.said or piece.said[0] not in _FROM:
        return False
    begin = piece.said[:_TIME_WORDS]
    return not _TIMES.isdisjoint(begin) or any(map(str.isdecimal, begin))


def _reported(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Die Kanzlei schreibt, der Baum sei krank. Die Hecke müsse weg.": indirect speech, and who says it."""
    for i, piece in enumerate(pieces):
        if (
            i
            and not (piece.starts_line or piece.kind)
            and not _INDIRECT.isdisjoint(piece.said)
            and _SPEAKER.isdisjoint(piece.said)
        ):
            before = pieces[i - 1]
            if not before.kind and not (_REPORTS.isdisjoint(before.said) and _INDIRECT.isdisjoint(before.said)):
                yield i, i - 1


def _tested(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Which of these is false? Sound is faster than light.": the sentences after such a question."""
    for i, piece in enumerate(pieces):
        if piece.asks and not piece.kind and not _ASKED_WRONG.isdisjoint(piece.said):
            yield from ((k, i) for k in _rest_of_line(pieces, i))


def _bracketed(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Article 7 (repealed). Tenants pay for the light.": the rest of a line whose head's brackets limit it."""
    for i, piece in enumerate(pieces[:-1]):
        head = _HEAD.match(piece.text) if piece.starts_line and not (piece.kind or pieces[i + 1].starts_line) else None
        if head and limits_what_is_below(head[1]):
            yield from ((k, i) for k in _rest_of_line(pieces, i))


def _of_the_text(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "Two for the price of one. The offer was valid in May.": the sentences before one that names and dates the text itself."""
    for i, piece in enumerate(pieces):
        said = piece.said
        if not i or piece.starts_line or piece.kind or piece.asks or not 2 < len(said) <= _REMARK_WORDS:
            continue
        is_remark = said[0] in _THE and said[1] in _NAMING and said[2] in _DATING
        if is_remark and (_DIGIT.search(piece.text) or not (_TIMES | _FROM).isdisjoint(said[3:])):
            yield from ((k, i) for k in before_in_line(pieces, i, _REACH))


def _excepted(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "bo: no merges to main", "cy: for how long?", "bo: except hotfixes": what was said before an exception."""
    for i, piece in enumerate(pieces):
        if not i or pieces[i - 1].kind != "label" or piece.asks or len(piece.said) > _FEW:
            continue
        if not _EXCEPTIONS.isdisjoint(piece.said[:1]):
            yield from ((k, i) for k in range(max(0, i - 1 - _MESSAGES), i - 1) if not pieces[k].kind)
