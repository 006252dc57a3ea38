"""The words of a text's sentences, so that a rule asks only those that hold one of its cue words.

Lives here: which sentences hold a word of a list. Does not belong here: the lists, and what a rule says of such a sentence.

A rule names its cue words once, in a frozen set. A text that holds none of them pays for one intersection, whatever its length.
Where many rules ask, each list has a cue, which is a bit: words are looked up once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import count
from typing import Final

_BITS: Final[dict[str, int]] = {}
_ASKED: Final[set[str]] = set()  # words with a cue for sentences
_PLACES: Final = count()


def cue(words: Set[str]) -> int:
    """A bit of its own for a list of words, by which `held` says that a text holds one of them. To be called on import."""
    bit = 1 << next(_PLACES)
    for word in words:
        _BITS[word] = _BITS.get(word, 0) | bit
    return bit


def sentence_cue(words: Set[str]) -> int:
    """The same, by which `cues` says it of each sentence too."""
    _ASKED.update(words)
    return cue(words)


class HeardWords:
    """The words of each sentence of a text, and those of the whole text, each once."""

    __slots__ = ("distinct", "said")

    def __init__(self, said: Sequence[Sequence[str]]) -> None:
        self.said = said
        self.distinct: set[str] = set().union(*said)

    def holding(self, cues: Set[str]) -> Sequence[int]:
        """Indices of the sentences that hold one of the words, in order."""
        found = cues & self.distinct
        return [i for i, said in enumerate(self.said) if not found.isdisjoint(said)] if found else ()

    def held(self) -> int:
        """The cues of the text."""
        bits = 0
        for word in self.distinct & _BITS.keys():
            bits |= _BITS[word]
        return bits

    def cues(self) -> list[int]:
        """The cues of each sentence."""
        known = self.distinct & _ASKED
        found = []
        for said in self.said:
            bits = 0
            for word in known.intersection(said):
                bits |= _BITS[word]
            found.append(bits)
        return found
