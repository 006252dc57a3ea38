"""Drawing request ids. Headers, logs and receipts show them."""

from __future__ import annotations

import os
from typing import Final

_BYTES: Final = 12
_DRAWN: Final = 256  # ids per batch: asking the system for randomness is one of the most expensive steps of a small request


class _Drawn:
    """Random bytes that have not been used yet."""

    def __init__(self) -> None:
        self._bytes = b""

    def forget(self) -> None:
        """Draw new bytes for the next id."""
        self._bytes = b""

    def take(self) -> bytes:
        """The next bytes; each is returned once."""
        if not self._bytes:
            self._bytes = os.urandom(_BYTES * _DRAWN)
        taken, self._bytes = self._bytes[:_BYTES], self._bytes[_BYTES:]
        return taken


_drawn = _Drawn()
os.register_at_fork(after_in_child=_drawn.forget)  # otherwise two processes would use the same bytes


def new_request_id() -> str:
    """An id that no other request has."""
    return "tf-" + _drawn.take().hex()
