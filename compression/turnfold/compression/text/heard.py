"""The words of a text's sentences, so that a rule asks only those that hold one of its cue words.

Lives here: which sentences hold a word of a list, or have a cue. Does not belong here: the lists (``cues``), what a rule says of
such a sentence, many texts at once (``heard_page``).

A rule names its cue words once, in a frozen set. A text that holds none of them pays for one intersection, whatever its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from itertools import chain
from typing import Protocol

from turnfold.compression.text.cues import CUE_WORDS, CUES


class Heard(Protocol):
    """What was heard of the sentences of a text."""

    @property
    def distinct(self) -> Set[str]:
        """The words of the whole text, each once."""

    @property
    def cue(self) -> Callable[[str], Sequence[int]]:
        """Indices of the sentences that have one of ``CUES``, in order, by its name."""


class HeardWords:
    """The words of each sentence of a text, and those of the whole text, each once."""

    __slots__ = ("_cues", "distinct", "said")

    def __init__(self, said: Sequence[Sequence[str]]) -> None:
        self.said = said
        self.distinct: Set[str] = set(chain.from_iterable(said))
        self._cues: Set[str] | None = None

    def holding(self, cues: Set[str]) -> Sequence[int]:
        """Indices of the sentences that hold one of the words, in order."""
        found = cues & self.distinct
        return [i for i, said in enumerate(self.said) if not found.isdisjoint(said)] if found else ()

    def cue(self, name: str) -> Sequence[int]:
        """Indices of the sentences that have one of ``CUES``, in order."""
        words, begins, most = CUES[name]
        if not (words or begins):
            return [i for i, said in enumerate(self.said) if 0 < len(said) <= most]
        if self._cues is None:
            self._cues = self.distinct & CUE_WORDS
        found, first = words & self._cues, begins & self._cues
        if not (found or first):
            return ()
        return [
            i for i, said in enumerate(self.said) if 0 < len(said) <= most and (said[0] in first or not found.isdisjoint(said))
        ]
