"""Words of a question that a conversation writes as initials: "blood pressure" and "BP: 139/88".

This module finds the initials that stand for words of a question. What words weigh is up to ``question``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import numpy as np

from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.scorers.bm25 import wanted_terms
from turnfold.compression.text import words

_LOOKED_AT: Final = 3  # passages with the term, searched for it in capitals
_SIZES: Final = (2, 3)


def initials(kept: Sequence[str], folded: str, index: PassageIndex) -> Iterator[tuple[str, list[int]]]:
    """The first of several adjacent words of a question, with the term of their initials, if the conversation has these in
    capitals.
    """
    known, said = frozenset(kept), words.words(folded)
    for size in _SIZES:
        for at in range(len(said) - size + 1):
            together = said[at : at + size]
            if all(word in known and word.isalpha() and word.isascii() for word in together):
                short = "".join(word[0] for word in together)
                if not words.is_function_word(short) and _stands_in_capitals(short, index):
                    yield together[0], [words.term(short)]


def _stands_in_capitals(short: str, index: PassageIndex) -> bool:
    term = words.term(short)
    if not index.words.having(np.array([term], np.uint32))[0]:
        return False
    passages = index.words.find(wanted_terms([(term,)])).passage.tolist()
    quotes = (index.quotes[number] for number in islice(passages, _LOOKED_AT))
    alone = re.compile(rf"(?<![\w-]){short.upper()}(?![\w-])")  # no part of a code
    return all(alone.search(index.sources[source].text, start, end) for source, start, end in quotes)
