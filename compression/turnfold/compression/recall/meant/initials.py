"""Words of a question that a conversation writes as initials: "blood pressure" and "BP: 139/88".

This module finds the initials that stand for words of a question. What words weigh is up to ``question``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
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
    short_forms = [*_short_forms(frozenset(kept), words.words(folded))]
    terms = np.array([words.term(short) for _, short in short_forms], np.uint32)
    for (first, short), passages in zip(short_forms, index.words.having(terms).tolist(), strict=True):
        if passages and _stands_in_capitals(short, index):
            yield first, [words.term(short)]


def _short_forms(known: Set[str], said: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The first of several adjacent words, and their initials."""
    for size in _SIZES:
        for at in range(len(said) - size + 1):
            together = said[at : at + size]
            if all(word in known and word.isalpha() and word.isascii() for word in together):
                short = "".join(word[0] for word in together)
                if not words.is_function_word(short):
                    yield together[0], short


def _stands_in_capitals(short: str, index: PassageIndex) -> bool:
    passages = index.words.find(wanted_terms([(words.term(short),)])).passage.tolist()
    quotes = (index.quotes[number] for number in islice(passages, _LOOKED_AT))
    alone = re.compile(rf"(?<![\w-]){short.upper()}(?![\w-])")  # no part of a code
    return all(alone.search(index.sources[source].text, start, end) for source, start, end in quotes)
