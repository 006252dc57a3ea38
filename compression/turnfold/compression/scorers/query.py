"""Scores for a query: a base scorer blended with relevance to the query.

Only the blend: a callable that matches is passed in (BM25 in the product, TF-IDF by default).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turnfold.compression.errors import InvalidInput
from turnfold.compression.scorers.base import Scorer, scores_of
from turnfold.compression.scorers.tfidf import TfIdf

#: Relevance of each sentence to a query, any non-negative scale.
Relevance = Callable[[Sequence[str], str], Sequence[float]]


class QueryAware:
    """``(1 - weight) * base + weight * relevance``; without a query, or if nothing matches, the base alone.

    Args:
        base: the wrapped scorer.
        relevance: rates how well each sentence answers a query; None: cosine of TF-IDF.
        weight: the share of relevance, 0 to 1.

    Raises:
        InvalidInput: the weight is out of range.
    """

    def __init__(self, base: Scorer, relevance: Relevance | None = None, weight: float = 0.7) -> None:
        if not 0 <= weight <= 1:
            raise InvalidInput("weight", "must lie between 0 and 1")
        self.name = f"query-{base.name}"
        self._base = base
        self._relevance = relevance or TfIdf().score
        self._weight = weight

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        plain = scores_of(self._base, sentences, query)
        if not query or not query.strip() or not sentences:
            return plain
        asked = self._relevance(sentences, query)
        top = max(asked)
        if not top > 0:
            return plain
        return [round((1 - self._weight) * p + self._weight * max(0.0, a) / top, 9) for p, a in zip(plain, asked, strict=True)]
