"""How much of a question the conversation covers, and the passage that covers most of it.

This module measures how many of a question's words that is, and which kind of words. What follows for how much is quoted is
decided in ``choosing``; what each passage is worth, in ``ranking``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from turnfold.compression.recall.passage_index import Floats, Ints, PassageIndex
from turnfold.compression.recall.ranking import Terms
from turnfold.compression.scorers.bm25 import Hits, distinct, idf, presence


class Coverage(NamedTuple):
    """How much of a question the conversation, and the passage with the most of it, have.

    Attributes:
        share: the greatest share of the question's weight that a passage has, in its text or its title.
        known: the share of its weight that occurs anywhere; for things of a kind, only what that passage has.
        is_named: whether it names a title or a speaker, and so concerns the conversation whatever else it says.
        is_one_word: whether that passage has only one of several words.
        is_by_kind: whether the passage has only things of a kind that the question names, and none of its words.
    """

    share: float
    known: float
    is_named: bool
    is_one_word: bool
    is_by_kind: bool


def coverage(asked: Terms, kind_of: Sequence[int], index: PassageIndex) -> Coverage:
    """How much of a question the passages have, and what the best of them has.

    A word and the things of its kind count as one match.

    Args:
        kind_of: as in `QuestionTerms`.
    """
    own = len(asked.groups) - len(kind_of)
    value = idf(asked.hits) * asked.weights
    word_of = np.array([*range(own), *kind_of], np.int64)
    both = _presence(asked.hits, value, word_of) + _presence(asked.heads, value, word_of)
    best = int(both.argmax())
    found = {term for hits in (asked.hits, asked.heads) for term in hits.term[hits.passage == best].tolist()}
    told = {int(word_of[term]): float(value[term]) for term in sorted(found, reverse=True)}  # the word comes before its kind
    all_of_it = max(float(value[:own].sum()), 1e-9)
    beside = [field.find(asked.wanted).term for field in (index.stamps, index.speakers)]
    places = [distinct(terms[terms < own]) for terms in (asked.hits.term, asked.heads.term, *beside)]
    anywhere = {term: float(value[term]) for terms in places for term in terms.tolist()}
    return Coverage(
        share=min(1.0, float(both[best]) / all_of_it),
        known=sum((told | anywhere).values()) / all_of_it,
        is_named=any(len(places[n]) for n in (1, 3)),
        is_one_word=len(told) == 1 < own,
        is_by_kind=bool(found) and min(found) >= own,
    )


def _presence(hits: Hits, value: Floats, word_of: Ints) -> Floats:
    """For every passage, the total weight of the question's words that it has. A word matched in several ways counts once, with
    the greatest weight.
    """
    if len(word_of) == len(set(word_of.tolist())):
        return presence(hits, value)
    places, at = np.unique(hits.passage * np.int64(len(word_of)) + word_of[hits.term], return_inverse=True)
    most = np.zeros(len(places))
    np.maximum.at(most, at, value.take(hits.term))
    return np.bincount(places // len(word_of), most, hits.passages).astype(np.float64, copy=False)
