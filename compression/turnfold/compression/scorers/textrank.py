"""TextRank: a sentence is important if important sentences resemble it.

Only the ranking is here; terms and the matrix are in ``terms``.

R. Mihalcea and P. Tarau, "TextRank: Bringing Order into Texts", EMNLP 2004; similarity is the cosine of TF-IDF vectors (as in
LexRank, Erkan and Radev 2004). The graph is never built: with A the matrix of sentences by terms its product with x is
``A (A' x) - diag(A A') x``, so the cost is linear in the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from turnfold.compression.scorers.terms import TermMatrix, Vector, normalise, term_matrix, terms

_DAMPING: Final = 0.85
_STEPS: Final = 100
_TOLERANCE: Final = 1e-6
#: Texts of fewer sentences are not worth a matrix: each of them matters.
FEW: Final = 4


def rank(matrix: TermMatrix) -> Vector:
    """The stationary distribution over sentences, shape ``(size,)``, sum 1; power iteration.

    A sentence that resembles no other passes its weight to all equally, as in networkx's ``pagerank``.
    """
    n = matrix.size
    if not n:
        return np.zeros(0)

    def product(x: Vector) -> Vector:
        return matrix.gather(matrix.spread(x)) - matrix.diagonal * x

    degrees = product(np.ones(n))
    alone = degrees < 1e-9
    inverse = np.where(alone, 0.0, 1.0 / np.where(alone, 1.0, degrees))
    x = np.full(n, 1.0 / n)
    for _ in range(_STEPS):
        fresh: Vector = _DAMPING * (product(x * inverse) + x[alone].sum() / n) + (1 - _DAMPING) / n
        change = float(np.abs(fresh - x).sum())
        x = fresh
        if change < _TOLERANCE:
            break
    x /= x.sum()
    return x


def rank_scores(matrix: TermMatrix) -> list[float]:
    """Ranks with the best sentence at 1."""
    return normalise(rank(matrix))


class TextRank:
    """Scores by rank, the best sentence at 1; `query` is ignored."""

    name = "textrank"

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        del query
        if len(sentences) < FEW:
            return [1.0] * len(sentences)
        return rank_scores(term_matrix([terms(s) for s in sentences]))

    def distribution(self, sentences: Sequence[str]) -> list[float]:
        """The ranks themselves: they sum to 1."""
        return [float(r) for r in rank(term_matrix([terms(s) for s in sentences]))]
