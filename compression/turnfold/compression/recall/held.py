"""Text that a request contains already, which is not quoted again.

The value, and what it says of passages. Quotes are chosen in ``quote_choice``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression.recall.passage_index import Ints, PassageIndex

#: A passage for which it is not yet known whether the request holds it; otherwise the value is 1 or 0.
UNKNOWN: Final = -1


class Held(NamedTuple):
    """The text that the request already holds.

    Attributes:
        text: the text written in place of folded messages.
        whole: sources that it contains unchanged.
    """

    text: str = ""
    whole: frozenset[int] = frozenset()

    def has(self, source: int, text: str) -> bool:
        """Whether the request holds a text of a source."""
        return source in self.whole or text in self.text

    def known(self, sources: Ints) -> npt.NDArray[np.int8]:
        """For each source, 1 if the request contains it unchanged, else `UNKNOWN`."""
        whole = np.isin(sources, np.fromiter(self.whole, np.int64, len(self.whole)))
        return np.where(whole, np.int8(1), np.int8(UNKNOWN))


def answers_about(held: Held, index: PassageIndex) -> npt.NDArray[np.int8]:
    """Which passages a request holds, as far as known; only the answers for the last request are kept."""
    kept: list[tuple[Held, npt.NDArray[np.int8]]] = index.derived("held", list)
    for known, found in kept:
        if known == held:
            return found
    answers = held.known(index.source_of)
    kept[:] = [(held, answers)]
    return answers


# ---------------------------------------------------------------- the choice
