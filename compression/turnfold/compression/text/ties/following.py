"""Sentences that depend on the one right before them: fragments, orders about it, settings, outcomes.

This module pairs a claim with the next sentence if that may limit it, judged by place, length and reference rather than by words.
Ties by a sentence's first words are in ``near``, ties over several sentences in ``reaching``.

Each rule looks back one sentence, so all are linear. A sentence that leans on another leaning one is not tied by its form alone;
otherwise whole stretches of small talk would become one statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import all_words, lexicon
from turnfold.compression.text.ties.cues import ARTICLES, CUES
from turnfold.compression.text.ties.hints import Hints
from turnfold.compression.text.ties.pieces import StatementPiece

Pair = tuple[int, int]

_TIES: Final = lexicon("ties")
_ANAPHORS: Final = _TIES["anaphors"]
_FUNCTION_WORDS: Final = all_words("function_words")
#: Words for something that was said, and for nothing else: "Der Aufzug darf dafür nicht benutzt werden."
_FOR_THAT: Final = frozenset(("dafür", "davon", "daran", "daraus", "dagegen"))
_SETTINGS: Final = _TIES["settings"]
_DENSE_SETTINGS: Final = tuple(_TIES["settings-run-on"])
_ASKING_WHAT: Final = _TIES["asking-what"]
_REPORTS: Final = _TIES["reports"]
_REPORT_MARKS: Final = tuple(mark.replace("_", " ") for mark in _TIES["reports-run-on"])
_DIFFERING: Final = _TIES["differing"]
_COMPARATIVES: Final = _TIES["comparatives"]
_POINTING: Final = _ANAPHORS | {"that", "then"}
_NEGATIVE: Final = _TIES["negative"]
#: Second words of a fragment that leaves out who or what: "Lost by two votes.", "Sold out."
_LINKS: Final = _SETTINGS | {"to", "out", "off", "free"}
_COURTESIES: Final = frozenset(("thanks", "thank", "danke", "merci", "gracias", "grazie", "cheers", "sorry", "welcome"))
_STANDARDS: Final = frozenset(("of", "from", "than", "to"))  # behind a word for a difference: from what
_SPEAKERS: Final = frozenset(
    ("i", "i'm", "i've", "i'll", "i'd", "we", "we're", "we've", "we'll", "ich", "wir", "je", "j'ai", "nous")
)
_ONES: Final = frozenset(("one", "ones"))
_LONGEST: Final = 24  # words of a sentence that is asked at all
#: "..., has it not?", "..., oder?": it tells what it asks.
_TAG: Final = lazy.pattern(r"[,，]\s*[^\W\d_]+(?:['’]t)?(?:\s[^\W\d_]+){0,2}\s?[?？]\W*\Z")
_QUESTION_WORDS: Final = 2  # among which one says that more than yes or no is asked
_FRAGMENT_WORDS: Final = 6
_LEANING_WORDS: Final = 10
_CONDITION_WORDS: Final = 8
_DENYING_WORDS: Final = 18
_SETTING_WORDS: Final = 20
_GOVERNED: Final = 3  # sentences that the condition of one before them may govern
_GOVERNED_WORDS: Final = 8
_REPORTED_WITHIN: Final = 9
_DENSE_WORDS: Final = 45  # characters
_DENSE_BEGIN: Final = 16
_FIGURE: Final = lazy.pattern(r"\d+(?:[.,:]\d+)*")
_DENYING, _DIFFERENT, _POINTING_BACK, _REPORTING = (CUES[name] for name in ("negative", "differing", "anaphors", "reports"))
_BEGINS_SET: Final = CUES["begins-set"]
_MAY_DENY: Final = _DENYING | CUES["begins-article"]
_CAPITAL: Final = lazy.pattern(r"[A-Z](?<=[\w,;:] .)")
_TURKISH: Final = lazy.pattern("[ğışĞİŞ]")
_TURKISH_IF: Final = ("rsa", "rse", "zsa", "zse", "rsak", "rsek", "zsak", "zsek", "rsanız", "rseniz", "zsanız", "zseniz")
_TURKISH_NOUNS: Final = frozenset(("borsa", "arsa", "course", "nurse", "horse", "reverse", "universe", "terse", "morse"))
_CODE: Final = lazy.pattern(r"\w[._/@]\w|`|\d")


def following_ties(pieces: Sequence[StatementPiece]) -> list[Pair]:
    """Pairs of a claim and the sentence behind it."""
    found: list[Pair] = []
    leaning = -1  # the last sentence that leans on the one before it
    signs = _signs(pieces[0].hints)
    for i, piece in enumerate(pieces):
        last = pieces[i - 1]
        if not signs.may_tie(signs.cues[i], piece, last) or i == 0 or not _is_next(piece, last):
            continue
        if last.asks:
            points = piece.said[0] not in _SPEAKERS and _asks_yes_or_no(last)
            limits = len(piece.said) <= _LEANING_WORDS or _is_set(piece)
        else:
            leans = leaning != i - 1 and signs.may_lean(piece) and _leans(piece, last)
            leaning = i if leans else leaning
            points, limits = signs.ties(signs.cues[i], piece, last, leans=leans)
        if points:
            found.append((i, i - 1))
        if limits:
            found.append((i - 1, i))
    if "conditions" in pieces[0].hints.opened:
        found += _under_conditions(pieces)
    return found


class _Signs(NamedTuple):
    """Features of a whole text, so that rules skip what it does not contain.

    Attributes:
        cues: bits for the cue words of each sentence.
        ascii: whether it is ASCII.
        dense: whether a part of it is in a script without blanks.
        reporting: whether it may say what somebody says.
        leaning_words: most words of a sentence that may lean on the one before it.
    """

    cues: Sequence[int]
    ascii: bool
    dense: bool
    reporting: bool
    leaning_words: int

    def may_tie(self, bits: int, piece: StatementPiece, last: StatementPiece) -> bool:
        """Whether a sentence is short or has a cue of one of the rules. Most are and have not."""
        size = len(piece.said)
        return (
            size <= _LEANING_WORDS
            or bits & _BEGINS_SET > 0
            or (size <= self.leaning_words and bits & _MAY_DENY > 0)
            or (bits & _DIFFERENT > 0 and _differs(piece))
            or (self.reporting and _reports(last))
            or (self.dense and piece.dense)
            or last.asks
        )

    def may_lean(self, piece: StatementPiece) -> bool:
        """Whether a sentence is short enough to lean on the one before it."""
        return len(piece.said) <= self.leaning_words and not piece.dense

    def ties(self, bits: int, piece: StatementPiece, last: StatementPiece, *, leans: bool) -> tuple[bool, bool]:
        """Whether a sentence needs the one before it, and whether it may limit that one."""
        said = piece.said
        sets = ((piece.dense or bits & _BEGINS_SET > 0) and _is_set(piece)) or (
            not self.ascii and len(said) <= _CONDITION_WORDS and _is_turkish_condition(piece, last)
        )
        answers = self.reporting and _reports(last)
        disputes = answers and not _NEGATIVE.isdisjoint(said) and _reports(piece)
        points = leans or disputes or _lacks_standard(said) or (sets and not _POINTING.isdisjoint(said[1:2]))
        points = points or (bits & _DIFFERENT > 0 and _differs(piece)) or _counts_nothing(piece)
        return points, sets or points or (answers and not _reports(piece))


def _signs(hints: Hints) -> _Signs:
    held = hints.held
    denying = held & _DENYING and held & _POINTING_BACK
    reporting = not hints.ascii or held & _REPORTING > 0
    return _Signs(hints.cues, hints.ascii, hints.dense, reporting, _DENYING_WORDS if denying else _LEANING_WORDS)


def _is_next(piece: StatementPiece, last: StatementPiece) -> bool:
    """Whether a sentence of usual length continues the line of another one, and is no question."""
    return 0 < len(piece.said) <= _LONGEST and not (piece.starts_line or piece.kind or last.kind or piece.asks)


def _asks_yes_or_no(piece: StatementPiece) -> bool:
    """Whether a question can be answered with yes or no, and states nothing itself."""
    return _ASKING_WHAT.isdisjoint(piece.said[:_QUESTION_WORDS]) and not _TAG.search(piece.body)


def _under_conditions(pieces: Sequence[StatementPiece]) -> Iterator[Pair]:
    """ "If it drops below 1 bar, stop the pump. Close valve 3.": short sentences behind one that begins with a condition."""
    for i, piece in enumerate(pieces):
        if "conditions" not in piece.opens or piece.kind or piece.asks or piece.is_condition:
            continue
        for k in range(i + 1, min(len(pieces), i + 1 + _GOVERNED)):
            behind = pieces[k]
            if behind.starts_line or behind.kind or behind.asks or len(behind.said) > _GOVERNED_WORDS:
                break
            yield k, i


def _is_set(piece: StatementPiece) -> bool:
    """Whether it begins by saying when or where it holds: "When the flag is up, ...", "On scans from abroad it was 0.61."."""
    said = piece.said
    if piece.dense:
        begin = piece.limiting_body[:_DENSE_BEGIN]
        return len(piece.body) <= _DENSE_WORDS and any(mark in begin for mark in _DENSE_SETTINGS)
    if said[0] not in _SETTINGS or len(said) > _SETTING_WORDS or not _SPEAKERS.isdisjoint(said):
        return False
    return "conditions" in piece.opens or not _ANAPHORS.isdisjoint(said) or not _CAPITAL.search(piece.body)


def _is_turkish_condition(piece: StatementPiece, before: StatementPiece) -> bool:
    """ "Toplantı salı günü. Yağmur yağarsa ertelenecek.": a verb's ending says "if", and of what it speaks is left out."""
    conditions = [word for word in piece.said[:-1] if word.endswith(_TURKISH_IF) and word not in _TURKISH_NOUNS]
    return bool(conditions) and (_TURKISH.search(piece.body) or _TURKISH.search(before.body)) is not None


def _lacks_standard(said: Sequence[str]) -> bool:
    """Whether it leaves out what it is about, or than what: "The spare one is in the cellar.", "The owner wants more."."""
    if said[-1] in _COMPARATIVES:
        return len(said) <= _LEANING_WORDS and said[-2:-1] != ["no"]
    return said[0] in ARTICLES and not _ONES.isdisjoint(said[2:3])


def _counts_nothing(piece: StatementPiece) -> bool:
    """Whether it has a figure at its end and does not say what of: "The ceiling is 210."."""
    said = piece.said
    if not 2 < len(said) <= _FRAGMENT_WORDS or not said[-1].isdecimal():
        return False
    return said[-2] in _FUNCTION_WORDS or said[-2] in _REPORTS  # behind a noun it is a number: "valve 3"


def _leans(piece: StatementPiece, before: StatementPiece) -> bool:
    """Whether it is a fragment, denies, or is an order or clause about what it does not name: "Halve it for children."."""
    said = piece.said
    if said[0] in _SPEAKERS:
        return False
    points = not _ANAPHORS.isdisjoint(said)
    denies = points and not _NEGATIVE.isdisjoint(said) and not piece.names_something
    if denies or not _FOR_THAT.isdisjoint(said):
        return True
    if len(said) > _LEANING_WORDS or not _SPEAKERS.isdisjoint(said):
        return False
    if piece.follows or "pronouns" in piece.opens:
        return len(said) > 1 and said[1].endswith("n't")
    if points:
        return not piece.names_something or _names_figures(piece, before)
    is_fragment = 1 < len(said) <= _FRAGMENT_WORDS and said[1] in _LINKS and said[0] not in _COURTESIES
    return is_fragment and not piece.names_something


def _names_figures(piece: StatementPiece, before: StatementPiece) -> bool:
    """Whether it names only figures, and the sentence before it has figures too."""
    if not _FIGURE.search(before.text):
        return False
    rest = _FIGURE.sub("", piece.body)
    return not (_CAPITAL.search(rest) or _CODE.search(rest))


def _reports(piece: StatementPiece) -> bool:
    """Whether its beginning says that somebody says, wants or believes something."""
    if not _REPORTS.isdisjoint(piece.said[:_REPORTED_WITHIN]):
        return True
    return not piece.hints.ascii and any(map(piece.body.__contains__, _REPORT_MARKS))


def _differs(piece: StatementPiece) -> bool:
    """Whether it says that something is different without saying from what: "The opposite is true for Bremen."."""
    said = piece.said
    if _DIFFERING.isdisjoint(said):
        return False
    return any(word in _DIFFERING and (k + 1 == len(said) or said[k + 1] not in _STANDARDS) for k, word in enumerate(said))
