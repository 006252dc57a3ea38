"""Sentences that belong together in a paragraph: a claim and a later limit, cases and "otherwise", a head and its line.

This module pairs a sentence with one that it needs, judging by their places in a paragraph or list and by closed classes of
words. Ties to the adjacent sentence are in ``near`` and ``following``, pronouns in ``pointing``.

Each rule first checks the words of the whole text, then looks back a bounded number of sentences: all are linear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.ties.cues import CUES, SOME, SPEAKING
from turnfold.compression.text.ties.pieces import StatementPiece, before_in_line, is_apart

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")


def _by_first_word(name: str) -> dict[str, tuple[str, ...]]:
    """The phrases of a list, each with a blank behind it, by their first words."""
    found: dict[str, tuple[str, ...]] = {}
    for phrase in sorted(_TIES[name]):
        first = phrase.split("_")[0]
        found[first] = (*found.get(first, ()), phrase.replace("_", " ") + " ")
    return found


_OTHERWISE: Final = _by_first_word("otherwise")
_OTHERWISE_DENSE: Final = tuple(_TIES["otherwise-run-on"])
_CONDITIONS: Final = _TIES["conditions-inside"] | _TIES["case-words"]
_CONDITIONS_DENSE: Final = tuple(_TIES["case-words-run-on"])
_OTHERS: Final = _TIES["all-others"]
_OTHERS_DENSE: Final = tuple(_TIES["all-others-run-on"])
#: Comparatives and words for nobody, as in "which surprised nobody", limit the sentence before them at most.
_LIMITS: Final = (_TIES["negative"] - _TIES["weakly-negative"]) | _TIES["excluding"]
_TIMES: Final = _TIES["times"]
_NAME: Final = lazy.pattern(r"[A-Z](?<=[\w,;:] .)\w*")
_SETTINGS: Final = _TIES["settings"]
_SETTINGS_DENSE: Final = tuple(_TIES["settings-run-on"])
_TIME_FRONTS: Final = _TIES["time-fronts"]
_GROUP_WORDS: Final = 6  # of a sentence on a group, among which one must say what holds for it
_GROUPS: Final = _TIES["groups"]
_GROUPS_DENSE: Final = tuple(_TIES["groups-run-on"])
_QUANTITIES: Final = _TIES["quantities"]
#: Without those that often say no more than what there is: "Berth 3 holds 12 casks.".
_REPORTS: Final = _TIES["reports"] - _TIES["stating"]
_KOREAN_REPORTS: Final = ("다고", "라고", "대요", "래요")
_KOREAN: Final = lazy.pattern("[\uac00-\ud7af]")
_ARTICLES: Final = frozenset(("the", "der", "die", "das", "le", "la", "el", "il", "o", "a", "het", "de"))
_SPEAKERS: Final = frozenset(("i", "i'm", "i've", "i'll", "i'd", "we", "we're", "we've", "we'll", "ich", "wir", "je", "nous"))
_DUTIES: Final = _TIES["going-on"] | _TIES["duties"]
_ONLY: Final = _TIES["only"]
_SUPERSEDING: Final = _TIES["superseding"]
_SUBSETS: Final = _by_first_word("subsets")
_SEQUELS: Final = _by_first_word("sequels")
_UNIVERSAL: Final = _TIES["universal"] | _TIES["universal-too"]
_CASES: Final = 4  # sentences that a condition may govern before its "otherwise"
_REACTION_WORDS: Final = 4  # of "Judit disagrees.", behind which stands what was done
_FARTHEST: Final = 3  # sentences of its line that an exception reaches back
_ITEMS: Final = 24  # items of a list that one sentence speaks of at most
_NEAR_START: Final = 4  # words within which a sentence says that it is about the others
_DENSE_START: Final = 8  # characters, in scripts without blanks
_DENSE_SHORT: Final = 30
_LIMIT_WORDS: Final = 16
_SETTING_WORDS: Final = 14
_DENSE_SETTING: Final = 16  # characters within which it says when or where
_LIMITING_DENSE: Final = (
    "ません",
    "ない",
    "不",
    "没",
    "沒",
    "别",
    "別",
    "勿",
    "禁止",
    "只",
    "仅",
    "のみ",
    "だけ",
    *_TIES["excluding-run-on"],
)
_ALL_WITHIN: Final = 6  # words within which a claim says that it is about all
_DIGIT: Final = lazy.pattern(r"\d")
_EMPHATIC: Final = frozenset(("do", "does", "did"))
_HEAD: Final = 80  # characters in which a head inside a line ends
_HEAD_WORDS: Final = 3
_HEAD_WORD: Final = lazy.pattern(r"[^\W\d_]+")
HEADED: Final = 12  # sentences that one head governs at most
_HEADED: Final = lazy.pattern(r"(?P<head>[^\n:：.!?]+)[:：]\s*(?P<first>[^\W\d_])")


def paragraph_ties(pieces: Sequence[StatementPiece]) -> list[Pair]:
    """Pairs of a sentence and one that it needs; of many texts none."""
    found: list[Pair] = []
    hints = pieces[0].hints
    for i, bits in enumerate(hints.cues):
        if not (bits & _ASKED or hints.dense):
            continue  # many
        piece = pieces[i]
        said = piece.said
        if not said or piece.kind:
            continue
        first = said[0]
        if bits & _HEARSAY or (bits & _REACTING and len(said) <= _REACTION_WORDS):
            found += _answered(pieces, i)
        if len(said) > _LIMIT_WORDS:
            if first in _OTHERWISE and i:
                found += _about_others(pieces, i)
        elif bits & _ASKED or piece.dense:
            if bits & _ABOUT_ALL and not _UNIVERSAL.isdisjoint(said[:_ALL_WITHIN]):
                found += _of_all(pieces, i)
            if i and (bits & _ABOUT_OTHERS or first in _OTHERWISE or piece.dense):
                found += _about_others(pieces, i)
            if i and not (piece.item or pieces[i - 1].kind or is_apart(pieces, i)):
                found += _in_line(pieces, i, bits)
    if hints.introduces:
        found += _headed(pieces)
    return found


def _answered(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "Allegedly the roof leaks. He found nothing.", "Judit disagrees. We stay with 2.": what is true, what came of it."""
    if i + 1 < len(pieces) and not (pieces[i].item or pieces[i].asks or pieces[i + 1].kind or is_apart(pieces, i + 1)):
        yield i, i + 1


def _about_others(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    piece = pieces[i]
    if _begins(piece, _OTHERWISE) or (piece.dense and piece.body.startswith(_OTHERWISE_DENSE)):
        yield from _otherwise(pieces, i)
    if not _OTHERS.isdisjoint(piece.said[:_NEAR_START]) or (piece.dense and _holds(piece.body[:_DENSE_START], _OTHERS_DENSE)):
        yield from _all_others(pieces, i)


def _in_line(pieces: Sequence[StatementPiece], i: int, bits: int) -> Iterator[Pair]:
    piece, said = pieces[i], pieces[i].said
    first = said[0]
    if first in _SEQUELS and _begins(piece, _SEQUELS):
        yield i, i - 1
    if (first in SPEAKING and not _EMPHATIC.isdisjoint(said[1:2])) or (bits & _COUNTS_SOME and first in SOME and said[1] == "of"):
        yield i - 1, i
    if bits & _ABOUT_QUANTITIES and first in _ARTICLES and not _QUANTITIES.isdisjoint(said[1:2]):
        yield from ((k, i) for k in before_in_line(pieces, i, _FARTHEST) if _DIGIT.search(pieces[k].text))
    if (bits & _REPORTING or piece.dense or not piece.hints.ascii) and _differ(pieces[i - 1], piece):
        yield i - 1, i
    if (bits & _LIMITING or piece.dense) and _may_limit(piece, bits):
        yield from _limited(pieces, i)


def _differ(before: StatementPiece, piece: StatementPiece) -> bool:
    """Whether two sentences report, of the same thing, what need not be the same."""
    if piece.said == before.said or not (_reports(piece) and _reports(before)):
        return False
    return piece.shares_words(before) or _KOREAN.search(piece.body) is not None


def _begins(piece: StatementPiece, phrases: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether it begins with a phrase of a table by their first words."""
    found = phrases.get(piece.said[0])
    return found is not None and " ".join([*piece.said[:_NEAR_START], ""]).startswith(found)


def _reports(piece: StatementPiece) -> bool:
    if not _REPORTS.isdisjoint(piece.said):
        return True
    return _KOREAN.search(piece.body) is not None and _holds(piece.body, _KOREAN_REPORTS)


def _holds(text: str, marks: Sequence[str]) -> bool:
    return any(map(text.__contains__, marks))


def _otherwise(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "If it rains we meet in the hall. It has room for 600. If not, on the square.": the condition, and what it governs."""
    between: list[int] = []
    for k in before_in_line(pieces, i, _CASES) if not is_apart(pieces, i) else ():
        piece = pieces[k]
        if not _CONDITIONS.isdisjoint(piece.said) or (piece.dense and _holds(piece.body, _CONDITIONS_DENSE)):
            yield i, k
            yield from ((governed, k) for governed in between)
            return
        between.append(k)


def _all_others(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "All other endpoints work.": the list above it, or the sentence before it, that names the exceptions."""
    if pieces[i].item:
        return
    if not pieces[i].starts_line:
        yield i, i - 1
        return
    for k in range(i - 1, max(-1, i - 1 - _ITEMS), -1):
        if pieces[k].kind or (pieces[k].starts_line and not pieces[k].item):
            return
        yield i, k


def _may_limit(piece: StatementPiece, bits: int) -> bool:
    """Whether it may limit what was said shortly before it: it denies, excludes, or says for whom, when or where something else
    applies. `bits`: its cues.
    """
    said = piece.said
    if not said or len(said) > _LIMIT_WORDS or piece.asks:
        return False
    if piece.dense:
        body = piece.limiting_body
        limits = (
            _holds(body, _LIMITING_DENSE)
            or _holds(body[:_DENSE_SETTING], _SETTINGS_DENSE)
            or piece.body.startswith(_GROUPS_DENSE)
        )
        return limits and len(piece.body) <= _DENSE_SHORT
    first = said[0]
    return bits & _LIMITING > 0 and first != "well" and _limits(piece, first, bits)  # "Well, ..." limits a little, or nothing


def _limits(piece: StatementPiece, first: str, bits: int) -> bool:
    said = piece.said
    if (bits & _DENYING and not _LIMITS.isdisjoint(said)) or first in _ONLY:
        return True
    if bits & _OUTDATING and not _SUPERSEDING.isdisjoint(said[:_NEAR_START]):
        return True
    if first in _SETTINGS or (bits & _TIMED and not _TIME_FRONTS.isdisjoint(said[:2])):
        if len(said) > _SETTING_WORDS or not _SPEAKERS.isdisjoint(said if piece.hints.ascii else said[1:2]):
            return False
        return not piece.hints.ascii or all(name.lower() in _TIMES for name in _NAME.findall(piece.body))
    if first in _GROUPS and not (piece.hints.ascii and _DUTIES.isdisjoint(said[:_GROUP_WORDS])):
        return True
    return _begins(piece, _SUBSETS) or ("amends" in piece.opens and piece.amends)


def _limited(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "The clinic takes new patients. Call before ten. We cannot see children under six.": the claims shortly before it in its
    line. Of those that limit something themselves only the last: else whole stretches would be one statement."""
    cues = pieces[0].hints.cues
    for k in before_in_line(pieces, i, _FARTHEST):
        if not pieces[k].asks and pieces[k].said != pieces[i].said and (k == i - 1 or not _may_limit(pieces[k], cues[k])):
            yield k, i


def _of_all(pieces: Sequence[StatementPiece], i: int) -> Iterator[Pair]:
    """ "All staff have access." and the next sentence: exceptions are often stated without any cue word."""
    piece = pieces[i]
    if piece.item or piece.asks:
        return
    begins = not _UNIVERSAL.isdisjoint(piece.said[:1])
    for k in range(i + 1, min(len(pieces), i + 1 + _FARTHEST)):
        behind = pieces[k]
        if behind.kind or behind.said == piece.said or is_apart(pieces, k):
            return
        restricts = not _DUTIES.isdisjoint(behind.said) or not _TIME_FRONTS.isdisjoint(behind.said[-1:])
        if begins or restricts or _may_limit(behind, piece.hints.cues[k]) or behind.shares_words(piece):
            yield i, k


def _headed(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "In the EU only: Data is stored in Frankfurt. Invoices carry the VAT number.": the rest of the line and its head; in front
    of a small letter only a condition is one."""
    i = 0
    while i < len(pieces) - 1:
        piece = pieces[i]
        i += 1
        if not piece.starts_line or piece.kind or piece.item or pieces[i].starts_line or pieces[i].kind:
            continue
        begin = piece.body[: _HEAD + 2]
        found = _HEADED.match(begin) if ":" in begin or "：" in begin else None
        if not found or len(found["head"].split()) < _HEAD_WORDS:
            continue
        if found["first"].islower() and _CONDITIONS.isdisjoint(_HEAD_WORD.findall(found["head"].lower())):
            continue
        for k in range(i, min(len(pieces), i + HEADED)):
            if pieces[k].starts_line or pieces[k].kind:
                break
            yield k, i - 1


_ABOUT_ALL, _ABOUT_OTHERS, _ABOUT_QUANTITIES = CUES["about-all"], CUES["all-others"], CUES["quantities"]
_REPORTING, _OUTDATING, _TIMED = CUES["reports"], CUES["superseding"], CUES["time-fronts"]
_HEARSAY, _REACTING = CUES["hearsay"], CUES["reacting"]
_DENYING: Final = CUES["negative"] | CUES["excluding"]
_LIMITING: Final = _DENYING | _OUTDATING | _TIMED | CUES["begins-limit"]
_COUNTS_SOME: Final = CUES["some-of"]
#: Of a sentence without any of these nothing is asked.
_ASKED: Final = (
    _LIMITING
    | _HEARSAY
    | _REACTING
    | _ABOUT_ALL
    | _ABOUT_OTHERS
    | _ABOUT_QUANTITIES
    | _REPORTING
    | _COUNTS_SOME
    | CUES["begins-paragraph-tie"]
)
