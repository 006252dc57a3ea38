"""TextRank and the TF-IDF centroid on one matrix.

This module takes their mean, for half the price of both. Each of the two is defined in a module of its own, ``textrank`` and
``tfidf``.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnfold.compression.scorers.terms import term_matrix, terms
from turnfold.compression.scorers.textrank import FEW, rank_scores
from turnfold.compression.scorers.tfidf import centroid_scores


class Central:
    """``share * textrank + (1 - share) * tfidf``; equal to a ``Composite`` of both. `query` is ignored."""

    name = "central"

    def __init__(self, share: float = 0.6) -> None:
        self._share = share

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        del query
        if len(sentences) < FEW:
            return [1.0] * len(sentences)
        matrix = term_matrix([terms(s) for s in sentences])
        pairs = zip(rank_scores(matrix), centroid_scores(matrix), strict=True)
        return [round(self._share * r + (1 - self._share) * c, 9) for r, c in pairs]
