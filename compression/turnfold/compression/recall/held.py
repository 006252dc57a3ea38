"""Text that a request contains already, which is not quoted again.

Lives here: the value, and what is known by it of passages. Does not belong here: choosing quotes (``quote_choice``).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from turnfold.compression.recall.passage_index import Ints, PassageIndex

#: Of a passage of which nobody has asked yet whether it is held; it is 1 if so, else 0.
UNKNOWN: Final = -1


class Held(NamedTuple):
    """What the request holds already.

    Attributes:
        text: what was written in place of folded messages.
        whole: sources that stand in it as they were.
    """

    text: str = ""
    whole: frozenset[int] = frozenset()

    def has(self, source: int, text: str) -> bool:
        """Whether it holds a text of a source."""
        return source in self.whole or text in self.text

    def known(self, sources: Ints) -> npt.NDArray[np.int8]:
        """Of each of the sources 1 where it stands in it as it was, else that nothing is known yet."""
        whole = np.isin(sources, np.fromiter(self.whole, np.int64, len(self.whole)))
        return np.where(whole, np.int8(1), np.int8(UNKNOWN))


def answers_about(held: Held, index: PassageIndex) -> npt.NDArray[np.int8]:
    """Which passages a request holds, as far as that was asked; only answers about the last one are kept."""
    kept: list[tuple[Held, npt.NDArray[np.int8]]] = index.derived("held", list)
    for known, found in kept:
        if known == held:
            return found
    answers = held.known(index.source_of)
    kept[:] = [(held, answers)]
    return answers


# ---------------------------------------------------------------- the choice
