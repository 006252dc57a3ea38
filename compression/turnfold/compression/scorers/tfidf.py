"""TF-IDF: a sentence is important if it is close to the whole text, or to a query.

The centroid and the query score. Terms and the matrix are in ``terms``.

D. Radev et al., "Centroid-based summarization of multiple documents", IPM 2004.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from turnfold.compression.scorers.terms import TermMatrix, normalise, query_vector, term_matrix, terms


def centroid_scores(matrix: TermMatrix) -> list[float]:
    """Cosines with the centroid, the best at 1."""
    return normalise(matrix.gather(matrix.spread(np.ones(matrix.size))))


class TfIdf:
    """Cosine with the query if it shares a term with the text, else with the centroid; the best at 1."""

    name = "tfidf"

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        if not sentences:
            return []
        matrix = term_matrix([terms(s) for s in sentences])
        wanted = query_vector(matrix, terms(query)) if query else None
        if wanted is None or not wanted.any():
            return centroid_scores(matrix)
        return normalise(matrix.gather(wanted))
