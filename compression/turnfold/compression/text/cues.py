"""Cues: what a sentence has where a rule of ties may have to ask it. Most sentences have none, and are asked nothing.

Lives here: the words that make a cue, and how long a sentence that has one may be. Does not belong here: what a rule says of such
a sentence (the files of ties), finding the cues (``heard``, ``heard_page``).

A cue never decides. It names a superset of the sentences for which its rule holds, so that one look finds them all.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final, NamedTuple

from turnfold.compression.text.lexicon import lexicon
from turnfold.compression.text.listed_phrases import LISTED

_TIES: Final = lexicon("ties")
_NONE: Final[Set[str]] = frozenset()
_ANY: Final = 1 << 30


class Cue(NamedTuple):
    """What a sentence has: one of some words anywhere, or one of some as its first; where both are empty, words at all.

    Attributes:
        most: words of a sentence that counts.
    """

    words: Set[str] = _NONE
    begins: Set[str] = _NONE
    most: int = _ANY


#: By name; who asks for one says what it is for.
CUES: Final[Mapping[str, Cue]] = {
    "persons": Cue(frozenset(LISTED["persons"])),
    "limits": Cue(frozenset(LISTED["limits"])),
    "limits-briefly": Cue(frozenset(LISTED["limits"]), most=12),
    "moods": Cue(_TIES["moods"]),
    "contrasts": Cue(_TIES["negative"], most=14),
    "follows-up": Cue(_TIES["going-on"], _TIES["places"], most=9),
    "measures": Cue(_TIES["measures"], most=8),
    "choosing": Cue(_TIES["choosing"], most=12),
    # What an option is called that is not the only one.
    "second": Cue(frozenset("bc23")),
    "brief": Cue(most=10),
    "fragment": Cue(most=6),
    "points": Cue(_TIES["anaphors"], most=10),
    "points-at-length": Cue(_TIES["anaphors"], most=18),
    "denies": Cue(_TIES["negative"], most=18),
    "sets": Cue(begins=_TIES["settings"], most=20),
    "differs": Cue(_TIES["differing"], most=24),
    "reports": Cue(_TIES["reports"]),
}
#: The words of all of them.
CUE_WORDS: Final[Set[str]] = frozenset().union(*[cue.words | cue.begins for cue in CUES.values()])
