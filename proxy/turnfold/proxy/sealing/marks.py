"""How a sealed value is told from others.

Only the mark is here, so that nobody who merely asks needs the package cryptography.
"""

from __future__ import annotations

from typing import Final

#: No plain value begins like this: those are JSON or zlib data.
MARK: Final = b"\x93tf-sealed-1\n"


def is_sealed(value: bytes) -> bool:
    """Whether a stored value is sealed."""
    return value.startswith(MARK)
