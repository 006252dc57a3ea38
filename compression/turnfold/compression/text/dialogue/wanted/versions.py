"""The versions of a work that a message asks for: "the first draft", "version 2's ending", "undo the last change".

This module reads such words. Which work is meant is read in ``works``; what its versions are is decided in
``recall.wholes.works.work_forms``. Single words are in ``lexicon/versions.txt``.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.lexicon import lexicon, one_of

#: Versions by number, counted from the first (0) or from the newest (-1).
Versions = tuple[int, ...]
NEWEST: Final[Versions] = (-1,)
ALL: Final[Versions] = tuple(range(8))
#: The newest, and all that may contain what is wanted back in it.
WITH_OLDER: Final[Versions] = (-1, *ALL)

_TABLES: Final = lexicon("versions")
_NUMBERS: Final = {"first": 0, "second": 1, "third": 2, "previous": -2, "newest": -1}
_NUMBER_OF: Final = {word.replace("_", " "): n for section, n in reversed(_NUMBERS.items()) for word in _TABLES[section]}
_VERSION: Final = one_of("versions", "versions")
_NUMBERED: Final = "|".join(one_of("versions", section) for section in _NUMBERS)
_NAMING: Final = ("versions", *_NUMBERS, "new", "undo", "restore", "compare", "changed", "combine", "all")
#: Words that say which version is meant, but not which work.
VERSION_WORDS: Final = frozenset(word for section in _NAMING for phrase in _TABLES[section] for word in phrase.split("_"))
_WORK: Final = "|".join(one_of("works", kind) for kind in ("code", "prose", "either"))
# Parts of a work, of which there is a first one in every version.
_PART: Final = r"(?:paragraph|chapter|scene|message|list|table|line|kapitel|tabelle|liste|chapitre|capítulo|tabla|lista)\b"
# "the first version", "the original letter".
_BEFORE_NOUN: Final = lazy.pattern(
    rf"\b(?!secondo (?:il|lo|la|le|i|gli|l['’]))({_NUMBERED})(?: of the)?(?: two)? (?!{_PART})(?:\w+ )?(?:{_VERSION}|{_WORK})\b"
)
# "la versión anterior", "la version d'avant", "the version before the vegan one".
_BEHIND_NOUN: Final = lazy.pattern(rf"\b(?:{_VERSION}) (?:d['’])?({_NUMBERED})\b")
_ANY: Final = lazy.pattern(rf"\b({_NUMBERED})\b")
_MANY: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'all')})\b (?:\w+ ){{0,2}}?(?:{_VERSION})\b")
_NAMES_VERSION: Final = lazy.pattern(rf"\b(?:{_VERSION})\b")
_UNDO: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'undo')})\b|\b(?:how|what|the way) it was before\b")
_RESTORE: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'restore')})\b")
_COMPARE: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'compare')})\b")
_CHANGED: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'changed')})\b")
_RUN_ON_CHANGED: Final = lazy.pattern(one_of("versions", "changed run-on"))
_COMBINE: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'combine')})\b")
_LONGEST_COMPARING: Final = 100  # characters
_PLACE: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'places')})\b")
_AT_FIRST: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'at first')})\b")
# "version 2's ending", "draft no. 3", "v4": of software too, so that a message must say what is to be done with it.
_BY_NUMBER: Final = lazy.pattern(rf"\b(?:(?:{_VERSION}) (?:no\.? |nr\.? |number )?#?|v)([1-9])\b(?!\.\d)")
_BEGINNING: Final = 6  # words of a request that are read
_REVISES: Final = lazy.pattern(
    rf"(?:(?:{one_of('versions', 'politely')})\W+)*(?:{one_of('versions', 'revise')})\b"
    r"(?! (?:me|you|i|we|is|are|was|what|how|why)\b)"
)
_INSTEAD: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'instead')})[\s.!]*$")
_OTHERWISE: Final = lazy.pattern(rf"\b(?:{one_of('versions', 'otherwise')})\b|^\w+er\b|^(?:a (?:bit|little) )\w+er\b")
_VERSION_BEFORE: Final = lazy.pattern(
    rf"\b(?:{_VERSION}) (?:from )?(?:before|prior to|vor|bevor|avant|antes de|prima di) ([^.,;?!]{{2,60}})"
)
_RUN_ON: Final = [(phrase.replace("_", " "), int(n)) for phrase, n in (one.split("=") for one in sorted(_TABLES["run-on"]))]


def _named(folded: str) -> set[int]:
    """The versions that a message names; it may combine parts of several, or restore a part in the newest."""
    named = {_NUMBER_OF[found[1]] for pattern in (_BEFORE_NOUN, _BEHIND_NOUN) for found in pattern.finditer(folded)}
    named |= {number for phrase, number in _RUN_ON if phrase in folded}
    is_of_part, combines = _PLACE.search(folded) is not None, _COMBINE.search(folded) is not None
    if is_of_part or combines or _UNDO.search(folded):
        named |= {int(found[1]) - 1 for found in _BY_NUMBER.finditer(folded)}
    if named and combines:
        named |= {_NUMBER_OF[found[1]] for found in _ANY.finditer(folded)}
    return named | {-1} if named and is_of_part and _RESTORE.search(folded) else named


def asked_versions(folded: str) -> Versions:
    """The versions of a work that a case-folded message requests; () if it mentions none and means the newest."""
    named = _named(folded)
    if _COMPARE.search(folded) or _CHANGED.search(folded):
        return _compared(folded, named)
    if not folded.isascii() and _RUN_ON_CHANGED.search(folded):
        return (-2, -1)
    if _MANY.search(folded):
        return ALL
    if named - {-1}:
        return tuple(sorted(named))
    meant = ((_RESTORE, WITH_OLDER), (_UNDO, (-2, -1)), (_AT_FIRST, (0,)))
    return next((versions for pattern, versions in meant if pattern.search(folded)), ())


def compares_versions(folded: str) -> bool:
    """Whether a short case-folded message asks how versions of anything differ: "what changed in the new version?"."""
    if len(folded) > _LONGEST_COMPARING or len(asked_versions(folded)) <= 1:
        return False
    is_compared = _COMPARE.search(folded) or _CHANGED.search(folded)
    return bool(is_compared and _NAMES_VERSION.search(folded)) or (not folded.isascii() and bool(_RUN_ON_CHANGED.search(folded)))


def asks_to_revise(folded: str) -> bool:
    """Whether a short case-folded message after a text asks for another version of it: "shorter", "now with the dog in it"."""
    said = folded.split()[:_BEGINNING]
    begins = any(map(_REVISES.match, (" ".join(said), folded.partition(", ")[2])))
    is_otherwise = len(said) < _BEGINNING and _OTHERWISE.search(folded) is not None
    return begins or is_otherwise or _INSTEAD.search(folded) is not None


def names_number(folded: str) -> bool:
    """Whether it names versions by number, which may be all that it says of the work: "v2's ending with v4's start"."""
    return _BY_NUMBER.search(folded) is not None


def version_behind(folded: str) -> str:
    """A message's description of the version after the one it means: "the dog" in "the version before the dog"."""
    found = _VERSION_BEFORE.search(folded)
    return found[1] if found else ""


def _compared(folded: str, named: set[int]) -> Versions:
    if _MANY.search(folded) and not named:
        return ALL
    if not named and -2 in {_NUMBER_OF[found[1]] for found in _ANY.finditer(folded)}:  # "the new contract and the old one"
        return (-2, -1)
    if named or _NAMES_VERSION.search(folded):
        named = named | {_NUMBER_OF[found[1]] for found in _ANY.finditer(folded)}
        return tuple(sorted(named if len(named) > 1 else {*(named - {-1} or {-2}), -1}))
    return (-2, -1) if _CHANGED.search(folded) else ()
