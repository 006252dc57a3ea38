"""Cues: bits that say which lists of words a text, and each of its sentences, has a word of.

Lives here: the lists for which many sentences are asked, and looking all of them up at once. Does not belong here: what a rule
says of a sentence that has such a word.

A rule that asks for a cue costs a text one look at a number, and a sentence another one; a set of words costs five times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from turnfold.compression.text.heard import HeardWords
from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.listed_phrases import LISTED, RARE_WORDS, SWEEPING

_TIES: Final = lexicon("ties")
_REFERENCES: Final = lexicon("references")
SUBJECTS: Final = frozenset(("it", "he", "she", "they", "er", "es"))
POSSESSIVES: Final = frozenset(("its", "their", "his"))
#: Lists for which each sentence is asked.
_OF_SENTENCES: Final[Mapping[str, Set[str]]] = {
    **{name: frozenset(LISTED[name]) for name in ("limits", "persons")},
    **{name: _TIES[name] for name in ("negative", "moods", "differing", "reacting", "compared", "rest-of-all", "outcomes")},
    **{name: _TIES[name] for name in ("places-in-order", "telling-figures", "quantities", "meanwhile", "dropped-subjects")},
    "objects": _TIES["object-pronouns"] | _TIES["object-pointers"],
    "clauses": frozenset(("so", "this", "that", "these", "those")),
    **{name: _TIES[name] for name in ("pronouns", "exceptions")},
    **{name: words for name, words in _REFERENCES.items() if name.startswith("refers-")},  # the others are not asked for alone
    "in-the-end": frozenset(phrase.split("_")[0] for phrase in _REFERENCES["in-the-end"]),
    **{name: _TIES[name] for name in ("all-others", "excluding", "time-fronts", "superseding", "reports")},
    "about-all": _TIES["universal"] | _TIES["universal-too"],
    "beginnings": frozenset(),  # told by the first word alone
}
#: Lists for which only the text as a whole is asked.
_OF_TEXTS: Final[Mapping[str, Set[str]]] = {
    **{name: _TIES[name] for name in ("anaphors", "measures", "choosing")},
    "rare": RARE_WORDS,
    "sweeping": SWEEPING,
    "following-up": _TIES["going-on"] | _TIES["places"],
    "second-options": frozenset("bc23"),  # what an option is called that is not the only one
    "fronted": SUBJECTS | POSSESSIVES | _TIES["object-pointers"],
}
_LISTS: Final = {**_OF_SENTENCES, **_OF_TEXTS}
#: The bit of each list.
CUES: Final[Mapping[str, int]] = {name: 1 << n for n, name in enumerate(_LISTS)}


def _bits_of(word: str) -> int:
    return sum(CUES[name] for name, words in _LISTS.items() if word in words)


_BITS: Final[Mapping[str, int]] = {word: _bits_of(word) for word in sorted(frozenset().union(*_LISTS.values()))}
_WORDS: Final = frozenset(_BITS)
_ASKED: Final = frozenset().union(*_OF_SENTENCES.values())


def text_cues(heard: HeardWords) -> int:
    """The cues of a text."""
    held = 0
    for word in heard.distinct & _WORDS:
        held |= _BITS[word]
    return held


def sentence_cues(heard: HeardWords) -> list[int]:
    """Those of each sentence that sentences are asked for."""
    known = heard.distinct & _ASKED
    found = []
    for said in heard.said:
        bits = 0
        for word in known.intersection(said):
            bits |= _BITS[word]
        found.append(bits)
    return found
