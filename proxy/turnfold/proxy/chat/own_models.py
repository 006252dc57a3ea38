"""The seam to a model of our own, as the stations see it.

Lives here: its protocol, and one that has no model. Does not belong here: asking (``proxy.asking``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from turnfold.compression.summary.calls import ModelCall, ModelReply
from turnfold.proxy.chat.exchange import Exchange
from turnfold.proxy.chat.receipts import OwnCall
from turnfold.proxy.learning.deciding import Place


class OwnModels(Protocol):
    """Asks a model beside the client's own requests."""

    @property
    def recovery_tokens(self) -> int:
        """Tokens of a summary in a recovery; 0: none is asked for."""
        ...

    def begin(self, exchange: Exchange, place: Place) -> Callable[[], None]:
        """Have summaries written in the background; what is returned is called when the request was served."""
        ...

    async def ask(self, call: ModelCall, exchange: Exchange) -> tuple[ModelReply | None, tuple[OwnCall, ...]]:
        """The reply to a call that a request waits for, within a time limit; None for none; and what it cost."""
        ...


class NoModels:
    """No model is set."""

    recovery_tokens = 0

    def begin(self, exchange: Exchange, place: Place) -> Callable[[], None]:
        """Nothing is written."""
        del exchange, place
        return _nothing

    async def ask(self, call: ModelCall, exchange: Exchange) -> tuple[ModelReply | None, tuple[OwnCall, ...]]:
        """There is no reply."""
        del call, exchange
        return None, ()


def _nothing() -> None:
    """Nothing ends with the request."""


NO_MODELS: Final = NoModels()
