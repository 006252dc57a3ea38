"""Which conversations are left unfolded, to measure what folding does.

The choice, and the reason that the receipt gives. ``chat.folding`` acts on it; ``books.report`` compares.
"""

from __future__ import annotations

from typing import Final

from turnfold.compression.memo import digest

#: The reason on a receipt of a conversation that is deliberately not folded.
HELD_OUT: Final = "held-out"
_WHOLE: Final = 2**32


def is_held_out(conversation: str, share: float) -> bool:
    """Whether a conversation belongs to the held-out share. Decided by its hash, so it is the same on every replica and turn."""
    return int.from_bytes(digest("hold-out", conversation)[:4], "big") < share * _WHOLE
