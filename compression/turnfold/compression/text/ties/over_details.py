"""What limits a claim over the details between: "Members may use the boat. Fuel is free. The key is inside. It needs a pass.".

This module finds sentences that take back, limit or set a condition for something said up to four sentences earlier in their
line. The adjacent sentence is handled in ``near`` and ``following``; corrections after a label are in ``correcting``.

A limit is about the subject of its paragraph, and details may come between. It is recognised by its form: it points back ("it
ends", "that is for the red kind"), says what came of something or for whom it is different, corrects, or names what is needed to
do what is allowed.

Each rule looks back a bounded number of sentences: all are linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import all_words, lexicon
from turnfold.compression.text.ties.cues import CUES, DEFINITE, HAVING, first_words
from turnfold.compression.text.ties.governing import is_from_a_time
from turnfold.compression.text.ties.pieces import StatementPiece, before_in_line

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")
_POINTING: Final = _TIES["anaphors"] | _TIES["demonstratives"]
_LIMITING: Final = (_TIES["going-on"] | _TIES["ending"] | _TIES["demands"]) - _TIES["weakly-negative"] - {"do"}
_UNDONE, _PERMITS, _DEMANDS = (_TIES[name] for name in ("undone", "permits", "demands"))
_UNDONE_DENSE, _PERMITS_DENSE, _DEMANDS_DENSE = (tuple(_TIES[f"{name}-run-on"]) for name in ("undone", "permits", "demands"))
_UNDONE_LAST: Final = _TIES["undone-last"]
#: Verbs that say it together with one of some particles.
_PARTED: Final = {
    verb: frozenset(phrase.split("_")[1] for phrase in _TIES["undone-parted"] if phrase.startswith(f"{verb}_"))
    for verb in first_words(_TIES["undone-parted"])
}
_PARTED_WITHIN: Final = 5  # words
#: In front of what was not named before.
_NEW: Final = frozenset(("a", "an", "another", "some", "ein", "eine", "un", "une", "una", "uma", "um", "een"))
#: In front of the last of some steps.
_LAST_STEP: Final = frozenset(("last", "lastly", "finally", "zuletzt", "schließlich", "enfin", "finalmente", "infine"))
_OTHERWISE: Final = _TIES["shifts"] | _TIES["whoever"]
_OTHERWISE_FIRST: Final = first_words(_OTHERWISE)
_SHIFTS_DENSE, _WHOEVER_DENSE = tuple(_TIES["shifts-run-on"]), tuple(_TIES["whoever-run-on"])
_PHRASES: Final = (1, 2, 3)  # words of those
_TO: Final = frozenset(("to", "que"))  # behind a word for having: "guests have to"
_THIS: Final = _TIES["demonstratives"] | {"that", "ça", "ceci", "cela", "eso", "questo", "ciò", "isso", "isto", "dit", "dat"}
_IS: Final = frozenset(("is", "was", "are", "were", "goes", "went", "ist", "war", "sind", "est", "es", "era", "è", "é", "jest"))
_THIS_DENSE: Final = ("これは", "それは", "以上は", "这是", "那是", "以上是", "這是", "那是")
_FOR: Final = _TIES["settings"] | {"of", "about", "meant", "what", "ce", "was", "lo", "quello", "wat", "o"}
#: "The status is 'requested'.": what has become of all that was said.
_OUTCOMES, _OUTCOMES_OF = _TIES["outcome-labels"], DEFINITE
_POINTERS: Final = _THIS | _OUTCOMES_OF
_SPEAKERS: Final = frozenset(("i", "i'm", "i've", "i'll", "i'd", "we", "we're", "we've", "we'll"))
_SPEAKING_EARLY: Final = 4  # words among which it says that the speaker did it
_FUNCTION_WORDS: Final = all_words("function_words")
_TWICE: Final = 2
_SUBJECT_WITHIN: Final = 4  # words of a claim among which its subject is named
_FEWEST_SAID: Final = 3  # words of a sentence that says something of its subject
_FIGURE: Final = lazy.pattern(r"\d+")
_LITTLE: Final = ["well"]  # begins what limits a little, or nothing
_REACH: Final = 4  # sentences back
_LONGEST: Final = 18  # words of a limit
_DENSE_LONGEST: Final = 40  # characters
_DENSE_START: Final = 10
_POINTS, _FOLLOWS_UP = CUES["anaphors"] | CUES["refers-this"], CUES["following-up"]
_MAY_UNDO, _MAY_SHIFT, _MAY_REVOKE = CUES["judging"], CUES["begins-set"], CUES["rare"] | CUES["limits"]
#: Of a sentence with none of these, which does not point back to what it limits either, only its first words are asked.
_ASKED: Final = _MAY_UNDO | _MAY_SHIFT | _MAY_REVOKE
#: Lists with a phrase of which a sentence begins that corrects, or points back by its first word.
_BEGINNING: Final = frozenset(("restricts", "amends", "objects", "follows"))


def ties_over_details(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Pairs of a claim and what limits it farther on in its line."""
    hints = pieces[0].hints
    begins = not _BEGINNING.isdisjoint(hints.opened)
    if len(pieces) > _TWICE:
        yield from _named_again(pieces)
    permits = hints.dense or not _PERMITS.isdisjoint(hints.distinct)
    for i, bits in enumerate(hints.cues):
        piece = pieces[i]
        is_asked = bits & _ASKED or (bits & _FOLLOWS_UP and bits & _POINTS) or piece.dense or (begins and piece.opens)
        if i and is_asked and not (piece.starts_line or piece.kind or piece.item or piece.asks) and _is_brief(piece):
            yield from ((k, i) for k in _limited(pieces, i, -1 if piece.dense else bits, permits=permits))


def _named_again(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """Claims, and a later sentence on the same subject over a detail: "The test suite is green. We ship. The suite skips ...".

    What begins more than two sentences is what a text is about, and all of them describe it.
    """
    subjects = [_subject(piece) for piece in pieces]
    often = Counter(subjects)
    for i, subject in enumerate(subjects):
        piece = pieces[i]
        if not subject or often[subject] > _TWICE or piece.starts_line or not _is_brief(piece):
            continue
        for k in _claims(pieces, i):
            begin = pieces[k].said[:_SUBJECT_WITHIN] if piece.said[0] in DEFINITE else pieces[k].said[:1]
            if k < i - 1 and subject in begin and _numbers(pieces[k]) == _numbers(piece):
                yield k, i


def _subject(piece: StatementPiece) -> str:
    """The word that its subject begins with, behind a definite article or with a capital letter; "" if unknown."""
    said = piece.said
    if piece.kind or piece.item or piece.asks or len(said) < _FEWEST_SAID:
        return ""
    subject = said[1] if said[0] in DEFINITE else said[0] if piece.body[:1].isupper() else ""
    return "" if subject in _FUNCTION_WORDS else subject


def _numbers(piece: StatementPiece) -> list[str]:
    """The figures in a subject: pump 1 is not pump 2."""
    return _FIGURE.findall(" ".join(piece.body.split(" ", _SUBJECT_WITHIN)[:_SUBJECT_WITHIN]))


def _is_brief(piece: StatementPiece) -> bool:
    return len(piece.body) <= _DENSE_LONGEST if piece.dense else 0 < len(piece.said) <= _LONGEST


def _limited(pieces: Sequence[StatementPiece], i: int, bits: int, *, permits: bool) -> Iterator[int]:
    """The sentences that the one at `i` limits; `bits`: its cues, `permits`: whether some sentence allows something."""
    piece = pieces[i]
    if piece.said[:1] == _LITTLE:
        return
    if bits & _MAY_SHIFT and _shifts(piece):
        yield from (k for k in _claims(pieces, i) if not _shifts(pieces[k]))
    if bits & _MAY_UNDO and _undoes(piece):
        tells = piece.said[:1] and piece.said[0] in _SPEAKERS
        yield from (k for k in _claims(pieces, i) if not tells or piece.shares_words(pieces[k]))
    elif _points_back(piece, bits) or _corrects(piece, bits):
        yield from (k for k in _claims(pieces, i) if k < i - 1)
    elif permits and bits & _MAY_UNDO and _demands(piece):
        yield from (k for k in _claims(pieces, i) if _holds(pieces[k], _PERMITS, _PERMITS_DENSE))


def _claims(pieces: Sequence[StatementPiece], i: int) -> Iterator[int]:
    """The sentences in front of one in its line that tell something, the nearest first."""
    return (k for k in before_in_line(pieces, i, _REACH) if not pieces[k].asks)


def _holds(piece: StatementPiece, words: Set[str], marks: tuple[str, ...]) -> bool:
    return not words.isdisjoint(piece.said) or (piece.dense and any(map(piece.body.__contains__, marks)))


def _undoes(piece: StatementPiece) -> bool:
    """Whether it says that something came to nothing, of what was said before: "The governor vetoed the plan."."""
    said = piece.said
    if piece.dense:
        return _holds(piece, _UNDONE, _UNDONE_DENSE)
    if said[0] in _LAST_STEP or (said[0] in _NEW and (said[0] != "a" or "the" in piece.hints.distinct)):
        return False  # Portuguese "a" is "the"
    return said[-1] in _UNDONE_LAST or not _UNDONE.isdisjoint(said) or _is_parted(said)


def _is_parted(said: Sequence[str]) -> bool:
    """Whether a verb and its particle say it, what was undone between them: "turned it down"."""
    return any(
        not _PARTED[verb].isdisjoint(said[(at := said.index(verb)) + 1 : at + _PARTED_WITHIN]) for verb in _PARTED.keys() & said
    )


def _shifts(piece: StatementPiece) -> bool:
    """Whether it begins with what holds now or since, or with those for whom it is different: "Whoever owes rent ..."."""
    if piece.dense:
        return piece.body.startswith(_SHIFTS_DENSE) or any(map(piece.body[:_DENSE_START].__contains__, _WHOEVER_DENSE))
    if is_from_a_time(piece):
        return True
    begin = piece.said[:_SPEAKING_EARLY]
    if not begin or begin[0] not in _OTHERWISE_FIRST or not _SPEAKERS.isdisjoint(begin):
        return False
    return any("_".join(begin[:words]) in _OTHERWISE for words in _PHRASES)


def _points_back(piece: StatementPiece, bits: int) -> bool:
    """Whether it says of what it points to that it ends, changes or depends on something, or for what it is."""
    if piece.dense:
        return piece.body.startswith(_THIS_DENSE)
    said = piece.said
    first = said[0]
    if first in _POINTERS and len(said) > 2:
        if first in _OUTCOMES_OF and said[1] in _OUTCOMES:
            return True
        if first in _THIS and said[1] in _IS and said[2] in _FOR:
            return True
    return bool(bits & _POINTS and bits & _FOLLOWS_UP) and not (_POINTING.isdisjoint(said) or _LIMITING.isdisjoint(said))


def _corrects(piece: StatementPiece, bits: int) -> bool:
    """Whether it objects, corrects, or is a condition without a subject."""
    opens = piece.opens
    if opens and ("restricts" in opens or ("amends" in opens and piece.amends) or ("objects" in opens and piece.breaks_off)):
        return True
    return bits & _MAY_REVOKE > 0 and (piece.requires or piece.holds_rare("back"))


def _demands(piece: StatementPiece) -> bool:
    if any(have in HAVING and to in _TO for have, to in pairwise(piece.said)):
        return True
    return _holds(piece, _DEMANDS, _DEMANDS_DENSE)
