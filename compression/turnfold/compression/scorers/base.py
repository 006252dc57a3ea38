"""The protocol of a sentence scorer.

Lives here: the seam that a user's own scorer plugs into. Does not belong here: any scorer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Scorer(Protocol):
    """Says how much each sentence matters.

    Attributes:
        name: a slug for reports.
    """

    name: str

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        """One score in 0..1 for each sentence, in order; deterministic; empty in, empty out."""
        ...
