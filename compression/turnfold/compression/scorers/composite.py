"""A weighted mean of other scorers."""

from __future__ import annotations

from collections.abc import Sequence

from turnfold.compression.errors import InvalidInput
from turnfold.compression.scorers.base import Scorer, check_scorer, scores_of


class Composite:
    """``sum(w * s) / sum(w)`` of its parts.

    Raises:
        InvalidInput: no parts, or a weight that is not positive.
    """

    def __init__(self, parts: Sequence[tuple[Scorer, float]], name: str = "composite") -> None:
        if not parts or any(not weight > 0 for _, weight in parts):
            raise InvalidInput("parts", "needs at least one scorer, each with a positive weight")
        for scorer, _ in parts:
            check_scorer(scorer)
        self.name = name
        self._parts = tuple(parts)

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        total = sum(weight for _, weight in self._parts)
        columns = [(weight / total, scores_of(scorer, sentences, query)) for scorer, weight in self._parts]
        return [round(min(1.0, sum(weight * scores[i] for weight, scores in columns)), 9) for i in range(len(sentences))]
