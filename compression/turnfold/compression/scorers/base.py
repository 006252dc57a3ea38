"""The protocol of a sentence scorer.

Lives here: the protocol that users implement for their own scorers. Does not belong here: any scorer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Scorer(Protocol):
    """Rates sentences.

    Attributes:
        name: a slug for reports.
    """

    name: str

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        """One score from 0 to 1 per sentence, in order; deterministic; empty for no sentences."""
        ...
