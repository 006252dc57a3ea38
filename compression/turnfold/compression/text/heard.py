"""The words of a text's sentences, so that a rule only looks at those with one of its cue words.

This module tells which sentences contain a word of a list. The lists, and what follows for such a sentence, belong to each rule.

A rule names its cue words once, in a frozen set. A text without any of them costs one intersection, whatever its length. Where
many rules ask, they use cues (``ties.cues``).
"""

from __future__ import annotations

from collections.abc import Sequence, Set


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
