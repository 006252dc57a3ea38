"""Which versions of a work a message asks for: "the first draft", "undo the last change", "compare both versions".

Lives here: reading such words. Does not belong here: which work is meant (``works``), what its versions are
(``recall.wholes.works``), single words (``lexicon/versions.txt``).
"""

from __future__ import annotations

import re
from typing import Final

from turnfold.compression.text.lexicon import lexicon, one_of

#: Versions by number, counted from the first (0) or from the newest (-1).
Versions = tuple[int, ...]
NEWEST: Final[Versions] = (-1,)
ALL: Final[Versions] = tuple(range(8))
#: The newest, and all that may hold what is wanted back in it.
WITH_OLDER: Final[Versions] = (-1, *ALL)

_TABLES: Final = lexicon("versions")
_NUMBERS: Final = {"first": 0, "second": 1, "third": 2, "previous": -2, "newest": -1}
_NUMBER_OF: Final = {word.replace("_", " "): n for section, n in reversed(_NUMBERS.items()) for word in _TABLES[section]}
_VERSION: Final = one_of("versions", "versions")
_NUMBERED: Final = "|".join(one_of("versions", section) for section in _NUMBERS)
#: Words that tell which version is meant, and not which work.
VERSION_WORDS: Final = frozenset(
    word for section in _TABLES if section != "run-on" for phrase in _TABLES[section] for word in phrase.split("_")
)
_WORK: Final = "|".join(one_of("works", kind) for kind in ("code", "prose", "either"))
# Parts of a work, of which there is a first one in every version.
_PART: Final = r"(?:paragraph|chapter|scene|message|text|list|table|line|kapitel|tabelle|liste|chapitre|capítulo|tabla|lista)\b"
# "the first version", "the original letter".
_BEFORE_NOUN: Final = re.compile(
    rf"\b(?!secondo (?:il|lo|la|le|i|gli|l['’]))({_NUMBERED})(?: of the)?(?: two)? (?!{_PART})(?:\w+ )?(?:{_VERSION}|{_WORK})\b"
)
# "la versión anterior", "la version d'avant", "the version before the vegan one".
_BEHIND_NOUN: Final = re.compile(rf"\b(?:{_VERSION}) (?:d['’])?({_NUMBERED})\b")
_ANY: Final = re.compile(rf"\b({_NUMBERED})\b")
_MANY: Final = re.compile(rf"\b(?:{one_of('versions', 'all')})\b (?:\w+ ){{0,2}}?(?:{_VERSION})\b")
_NAMES_VERSION: Final = re.compile(rf"\b(?:{_VERSION})\b")
_UNDO: Final = re.compile(rf"\b(?:{one_of('versions', 'undo')})\b|\b(?:how|what|the way) it was before\b")
_RESTORE: Final = re.compile(rf"\b(?:{one_of('versions', 'restore')})\b")
_COMPARE: Final = re.compile(rf"\b(?:{one_of('versions', 'compare')})\b")
_CHANGED: Final = re.compile(rf"\b(?:{one_of('versions', 'changed')})\b")
_RUN_ON: Final = [(phrase.replace("_", " "), int(n)) for phrase, n in (one.split("=") for one in sorted(_TABLES["run-on"]))]


def asked_versions(folded: str) -> Versions:
    """The versions of a work that a case-folded message asks for; () where it says nothing of them, and means the newest."""
    named = {_NUMBER_OF[found[1]] for pattern in (_BEFORE_NOUN, _BEHIND_NOUN) for found in pattern.finditer(folded)}
    named |= {number for phrase, number in _RUN_ON if phrase in folded}
    if _COMPARE.search(folded) or _CHANGED.search(folded):
        return _compared(folded, named)
    if _MANY.search(folded):
        return ALL
    if named - {-1}:
        return tuple(sorted(named))
    if _RESTORE.search(folded):
        return WITH_OLDER
    return (-2, -1) if _UNDO.search(folded) else ()


def _compared(folded: str, named: set[int]) -> Versions:
    if _MANY.search(folded) and not named:
        return ALL
    if named or _NAMES_VERSION.search(folded):
        named = named | {_NUMBER_OF[found[1]] for found in _ANY.finditer(folded)}
        return tuple(sorted(named if len(named) > 1 else {*(named - {-1} or {-2}), -1}))
    return (-2, -1) if _CHANGED.search(folded) else ()
