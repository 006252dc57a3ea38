"""The speaker whose words answer questions about oneself: "where do I live now?" is answered by what the user said.

This module lowers the worth of the other side's passages for such a question. Questions that name a speaker are handled in
``ranking``; single words are in ``lexicon/requests.txt``.

A model's answers take up much of a chat and repeat its words, but what holds for the one who asks was told by them. "What did we
agree on?" is about both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from turnfold.compression.recall.passage_index import Floats, PassageIndex
from turnfold.compression.recall.tuning import Tuning
from turnfold.compression.text import words
from turnfold.compression.text.dialogue.requests import ADDRESSED, ASKER
from turnfold.compression.text.quotes import Quotable


def asker_factor(index: PassageIndex, sources: Sequence[Quotable], folded: str, tuning: Tuning) -> Floats | float:
    """The factor of each passage for a question about the person asking; 1 for other questions, and where speakers are named."""
    if not index.is_talk or index.has_speakers or index.named.any():
        return 1.0
    said = frozenset(words.words(folded))
    if ASKER.isdisjoint(said) or not ADDRESSED.isdisjoint(said):
        return 1.0
    others = index.derived("others", lambda: np.array([source.role != "user" for source in sources]).take(index.source_of))
    factor: Floats = np.where(others, 1.0 - tuning.unasked, 1.0)
    return factor
