"""The interfaces to Turnfold's own models, as the stations see them.

Two protocols: one for writing texts, implemented in ``proxy.asking``, and one for comparing them, in ``proxy.semantic``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from turnfold.compression.options import Likeness
from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.compression.wire.message import Message
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.receipts import OwnCall
from turnfold.proxy.learning.deciding import Place


class OwnModels(Protocol):
    """Calls a model in addition to the client's own requests."""

    @property
    def recovery_tokens(self) -> int:
        """Tokens of a summary in a recovery; 0: request none."""
        ...

    def begin(self, exchange: Exchange, place: Place) -> Callable[[], None]:
        """Have summaries written in the background; what is returned is called when the request was served."""
        ...

    async def ask(self, call: ModelCall, exchange: Exchange) -> tuple[ModelReply | None, tuple[OwnCall, ...]]:
        """The reply to a call that a request waits for, within a time limit; None for none; and what it cost."""
        ...


class OwnVectors(Protocol):
    """Rates the similarity of earlier passages to a question by sentence vectors."""

    @property
    def is_on(self) -> bool:
        """Whether a model is set."""
        ...

    def begin(self, exchange: Exchange, place: Place) -> Callable[[], None]:
        """Have the vectors of a conversation made in the background; what is returned is called when the request was served."""
        ...

    def known(self, messages: Sequence[Message], place: Place) -> tuple[Likeness, ...]:
        """What this process knows to have been decided of a conversation's user messages."""
        ...

    async def decide(self, exchange: Exchange, questions: Sequence[int], place: Place) -> tuple[Likeness, ...]:
        """What is decided of the user messages of a request that was read, by index; it is kept before this returns."""
        ...


def end_nothing() -> None:
    """What `begin` returns if nothing has to end with the request."""
