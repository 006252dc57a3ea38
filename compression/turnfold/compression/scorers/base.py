"""The protocol of sentence scorers.

This is the seam that a user's own scorer plugs into, with the check of what it is and returns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from turnfold.compression.errors import InvalidInput


class Scorer(Protocol):
    """Rates sentences.

    Attributes:
        name: a slug for reports.
    """

    name: str

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        """One score from 0 to 1 per sentence, in order; deterministic; empty for no sentences."""
        ...


def check_scorer(scorer: object) -> None:
    """Check that an object has the scorer protocol.

    Raises:
        InvalidInput: it is a class, has no ``name`` that is a text, or no ``score`` that can be called.
    """
    if (
        isinstance(scorer, type)
        or not isinstance(getattr(scorer, "name", None), str)
        or not callable(getattr(scorer, "score", None))
    ):
        raise InvalidInput("scorer", "must have a name and a method score(sentences, query)")


def scores_of(scorer: Scorer, sentences: Sequence[str], query: str | None) -> list[float]:
    """A scorer's scores for sentences.

    Raises:
        InvalidInput: it does not return one finite number for each sentence.
    """
    scores = scorer.score(sentences, query)
    problem = f"scorer {scorer.name!r} must return one finite number for each of {len(sentences):,} sentences"
    try:
        given = [float(score) for score in scores]
    except (TypeError, ValueError, OverflowError) as exc:
        raise InvalidInput("scorer", problem) from exc
    if len(given) != len(sentences) or not all(map(math.isfinite, given)):
        raise InvalidInput("scorer", problem)
    return given
