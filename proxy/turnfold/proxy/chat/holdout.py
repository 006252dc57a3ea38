"""Which conversations are left unfolded, to measure what folding does.

Lives here: the choice. Must not: acting on it (the service does, with ``rollups.HELD_OUT`` as the receipt's reason).
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.memo import digest

_WHOLE: Final = 2**32


def held_out(conversation: str, share: float) -> bool:
    """Whether a conversation belongs to the share that is left out: by its hash, so the same on every replica and turn."""
    return int.from_bytes(digest("hold-out", conversation)[:4], "big") < share * _WHOLE
