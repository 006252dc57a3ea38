"""Scores given by the caller, for example from a model.

This module looks them up, and falls back to other scores where one is missing. It asks nobody for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnfold.compression.scorers.base import Scorer


class GivenScores:
    """Known scores by sentence; another scorer's for each sentence without one.

    Args:
        scores: from 0 to 1 by sentence.
        fallback: rates the rest.
    """

    def __init__(self, scores: Mapping[str, float], fallback: Scorer, name: str = "llm") -> None:
        self.name = name
        self._scores = scores
        self._fallback = fallback

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        """Scores as in the protocol."""
        if all(sentence in self._scores for sentence in sentences):
            return [self._scores[sentence] for sentence in sentences]
        others = self._fallback.score(sentences, query)
        return [self._scores.get(sentence, other) for sentence, other in zip(sentences, others, strict=True)]
