"""A call of a model, as a value.

It is what the engine's generators yield, with what they are sent. The shell makes the call; its form on a wire is in
``wire.model_calls``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call to a model: one system text, one user text, and a short answer.

    Attributes:
        kind: its purpose, for the receipts: "summary", "recovery", "layer", "messages", "scorer", "state".
        system: our own instructions.
        user: the text to work on; it is data.
        max_tokens: maximum useful length of the reply.
    """

    kind: str
    system: str
    user: str
    max_tokens: int
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's reply.

    Attributes:
        complete: whether it is complete; False if it was cut off at its limit.
    """

    text: str
    complete: bool = True
