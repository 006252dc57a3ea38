"""Preselecting the sentences that may be standing orders, by the numbers of their words.

This module knows what each word says of the sentence that has it, and looks at a whole column of words at once. What makes an
order is decided in ``orders`` and ``constraints``.

Nine of ten sentences of prose with a word of orders have none of the others that an order of its kind also has. A sentence that
passes may not be an order; one that does not pass certainly is not, if it is ASCII, one clause, and does not begin with a
command.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

import numpy as np
from numpy.typing import NDArray

from turnfold.compression.text.dialogue.standing.constraints import FORM_WORDS
from turnfold.compression.text.dialogue.standing.languages import LAST_WORDS, LEADING
from turnfold.compression.text.dialogue.standing.manner import MANNER_CUES

_BITS: Final = 64
_Words = NDArray[np.int64]
#: An order of some kind contains a word of each of the two sets.
_Pair = tuple[Set[str], Set[str]]


def _leading_pairs() -> list[_Pair]:
    """The two longest words of each phrase that orders."""
    longest = [sorted(phrase, key=lambda word: (-len(word), word))[:2] for listed in LEADING.values() for phrase in listed]
    return [(frozenset(two[:1]), frozenset(two[1:])) for two in longest if len(two) > 1]


_FORM_PAIRS: Final[list[_Pair]] = [(one[0], one[1]) for one in FORM_WORDS if len(one) > 1]
#: A single one of these words requires a closer look.
_ALONE: Final = (
    MANNER_CUES
    | LAST_WORDS
    | frozenset().union(
        *(one[0] for one in FORM_WORDS if len(one) == 1),
        *(phrase for listed in LEADING.values() for phrase in listed if len(phrase) == 1),
    )
)


class _Column:
    """Bits of words; the two words of a pair share a bit."""

    def __init__(self, pairs: Sequence[_Pair]) -> None:
        self.first: dict[str, int] = {}
        self.second: dict[str, int] = {}
        bits = {one: 1 << n % _BITS for n, one in enumerate(dict.fromkeys(first for first, _ in pairs))}
        for first, second in pairs:
            for table, some in ((self.first, first), (self.second, second)):
                for word in some:
                    table[word] = table.get(word, 0) | bits[first]


_COLUMNS: Final = (_Column(_FORM_PAIRS), _Column(_leading_pairs()))
#: All words that matter for orders.
ORDER_SIGNS: Final = _ALONE.union(*(table for one in _COLUMNS for table in (one.first, one.second)))


class OrderSigns:
    """The same test for words given as numbers.

    Args:
        known: the words with the numbers 0, 1, 2 and so on; all others have the number after the last.
    """

    def __init__(self, known: Sequence[str]) -> None:
        names = (*known, "")
        self._alone = np.array([word in _ALONE for word in names], bool)
        self._pairs = [
            [np.array([table.get(word, 0) for word in names], np.uint64) for table in (one.first, one.second)] for one in _COLUMNS
        ]

    def asked(self, words: _Words, sizes: _Words) -> NDArray[np.bool_]:
        """Which sentences need a closer look. `sizes` is the number of words of each; none may be 0."""
        starts = np.cumsum(sizes) - sizes
        found: NDArray[np.bool_] = np.logical_or.reduceat(self._alone[words], starts)
        for first, second in self._pairs:
            firsts, seconds = (np.bitwise_or.reduceat(bits[words], starts) for bits in (first, second))
            found |= (firsts & seconds) > 0
        return found


__all__ = ["ORDER_SIGNS", "OrderSigns"]
