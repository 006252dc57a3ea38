"""Abbreviations whose full stop does not end a sentence ("Ms. Duarte", "3 Mio. Euro", "рис. 5").

This module corrects the segmenter: cuts after short forms that it takes for ends of sentences, and a month that it takes for a
short form. Texts are cut in ``sentences``. The words are in ``lexicon/short_forms.txt``, grouped by what follows them: a small
letter, a number, a capital.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Final

import sentencex

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon

_TABLE: Final = lexicon("short_forms")
_STOPPED: Final = {section: frozenset(f"{word}." for word in words) for section, words in _TABLE.items()}
_ANY: Final = frozenset().union(*_STOPPED.values())
#: Short forms that are words in small letters ("5 ms"): titles before a name, words before a number.
_BY_CASE: Final = lazy.pattern(
    r"\b(?:Ms|Mx|Mlle|Messrs|Fr|Sra|Srta)\. \Z|\b(?P<number>[Vv]ols?|[Cc]h|[Ee]qs?|[Ff]igs|pp|[Nn]os)\. \Z"
)
#: The last four characters of each of them.
_ENDS: Final = frozenset(
    f"{end}. "
    for end in ("Ms", "Mx", "le", "rs", "Fr", "ra", "ta", "ol", "ls", "ch", "Ch", "eq", "Eq", "qs", "gs", "pp", "no", "No", "os")
)
_LONGEST: Final = 12  # characters of the longest short form with what is around it
_OPENING: Final = "«„“\"'(["
#: A short form before a small letter, told by its letters: Latin ones have no vowel, Cyrillic ones stop behind a consonant.
#: The end of a sentence that is taken for one does no harm.
_SHORTENED: Final = lazy.pattern(
    r"(?:[b-df-hj-np-tv-xzčćďłńňřśšťžźżçñß]{2,}"
    r"|[\u0400-\u04ff]{1,3}[.-][\u0400-\u04ff]{1,4}|[\u0400-\u04ff]{0,4}[б-дж-зк-нп-тф-щґђѓјљњћќџ])\."
)
_MONTH: Final = "May. "
_IN_MAY: Final = lazy.pattern(r"May\. (?<=[a-z0-9] May\. )(?=[A-Z\"“(])")
_LATIN_END: Final = lazy.pattern(r"[A-Za-z]\.\s*\Z")
#: The segmenter's rules for Cyrillic, which know no short forms in Latin script.
_CYRILLIC_RULES: Final = "ru"


def segments(rules: str, text: str) -> list[str]:
    """The segmenter's sentences of a text; a short form in Latin script is read by English rules among Cyrillic ones too."""
    found: list[str] = sentencex.segment(rules, text)
    if _MONTH in text:
        found = [part for piece in found for part in _cut_behind_may(piece)]
    if rules != _CYRILLIC_RULES or not any(map(_is_latin, found[:-1])) or "".join(found) != text:
        return found
    english = set(accumulate(map(len, sentencex.segment("en", text))))
    ends = accumulate(map(len, found[:-1]))
    kept = [end for end, piece in zip(ends, found, strict=False) if end in english or not _is_latin(piece)]
    return [text[start:end] for start, end in pairwise([0, *kept, len(text)])]


def _cut_behind_may(piece: str) -> list[str]:
    """The piece, cut behind the month, which the segmenter takes for a short form: "It lasts until May. Lorries ..."."""
    ends = [m.end() for m in _IN_MAY.finditer(piece)]
    return [piece[start:end] for start, end in pairwise([0, *ends, len(piece)])]


def _is_latin(piece: str) -> bool:
    """Whether its last word is in Latin script."""
    return _LATIN_END.search(piece, max(0, len(piece) - 4)) is not None


def may_be_short(pieces: Sequence[str], rules: str) -> bool:
    """Whether any of the pieces of a line but the last may end with a short form: mostly told without a pattern."""
    if rules == _CYRILLIC_RULES or not _ENDS.isdisjoint([piece[-4:] for piece in pieces[:-1]]):
        return True
    words = [piece[piece.rfind(" ", 0, -1) + 1 : -1].lower() for piece in pieces[:-1]]
    return not _ANY.isdisjoint(words) or True in [piece[:1].islower() for piece in pieces[1:]]


def is_short_form(line: str, last: int, at: int) -> bool:
    """Whether the words before a cut, from `last` on, belong to what follows it."""
    if line[at - 4 : at] in _ENDS and (found := _BY_CASE.search(line, max(last, at - _LONGEST), at)):
        return line[at].isdigit() if found["number"] else line[at].isupper()
    word = _last_word(line[max(last, at - _LONGEST) : at])
    following = line[at : at + 2].lstrip(_OPENING)[:1]
    if following.islower():
        return word in _STOPPED["small"] or _SHORTENED.fullmatch(word) is not None
    return word in _STOPPED["number" if following.isdigit() else "name"]


def _last_word(text: str) -> str:
    """The last word of a few characters, in small letters, with its full stop."""
    words = text.split()
    return words[-1].lstrip(_OPENING).lower() if words else ""
