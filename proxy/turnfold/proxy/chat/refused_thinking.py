"""Thinking that an upstream has refused, so that it is not sent again.

This module only remembers it; ``sending`` leaves it out. A client may keep thinking after it has changed the history before it,
as Claude Code does after its own compaction. It would leave the thinking out once it saw the error, but Turnfold sends such a
request again without it, so the client never sees one. Thinking of later answers fits: it follows what was sent then.

The memory is that of one serving process: each is refused once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from turnfold.proxy.learning.window_records import UpstreamModel
from turnfold.proxy.store.fair import FairMemory

_MOST: Final = 20_000  # messages of all tenants


class RefusedThinking:
    """Keys of messages whose thinking was refused, by tenant, upstream and model."""

    def __init__(self) -> None:
        self._known: FairMemory[tuple[UpstreamModel, bytes], bool] = FairMemory(_MOST)

    def remember(self, spot: UpstreamModel, thoughts: Iterable[bytes]) -> None:
        """Remember the messages with thinking of a refused request."""
        for key in thoughts:
            self._known.put(spot.tenant, (spot, key), True)

    def forget(self) -> None:
        """Forget all messages: an upstream refuses their thinking once more."""
        self._known.clear()

    def among(self, spot: UpstreamModel, thoughts: Iterable[bytes]) -> frozenset[bytes]:
        """The messages whose thinking was refused."""
        return frozenset(key for key in thoughts if self._known.get(spot.tenant, (spot, key)) is not None)
