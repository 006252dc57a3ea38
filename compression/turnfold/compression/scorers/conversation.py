"""Importance in a conversation: recency, speaker, decisions, commitments, open questions, standing orders.

The weights are here; the patterns are in ``text.dialogue.signals`` and ``text.dialogue.standing.orders``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from turnfold.compression import lazy
from turnfold.compression.text.dialogue.signals import signal_weight
from turnfold.compression.text.dialogue.standing.orders import is_standing_order

_ROLES: Final = {"system": 1.0, "developer": 1.0, "user": 0.8, "assistant": 0.5, "tool": 0.3}
_LABEL: Final = lazy.pattern(r"\s*(system|developer|user|human|assistant|ai|tool)\s*:", re.IGNORECASE)
_ALIASES: Final = {"human": "user", "ai": "assistant"}


class ConversationScorer:
    """Scores sentences of a conversation in order; the last is the newest.

    Args:
        role: the speaker of all sentences; "" to read labels such as ``user:`` at their beginning.
    """

    name = "conversation"

    def __init__(self, role: str = "") -> None:
        self._role = role

    def score(self, sentences: Sequence[str], query: str | None = None) -> list[float]:
        del query
        role = self._role
        out: list[float] = []
        for i, sentence in enumerate(sentences):
            label = None if self._role else _LABEL.match(sentence)
            if label:
                role = _ALIASES.get(label.group(1).lower(), label.group(1).lower())
            if role in ("", "user", "system", "developer") and is_standing_order(sentence):
                out.append(1.0)
            else:
                recency = (i + 1) / len(sentences)
                out.append(round(0.25 * recency + 0.2 * _ROLES.get(role, 0.5) + 0.55 * signal_weight(sentence), 9))
        return out
