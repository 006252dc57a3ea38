"""Where reading a body can go on from what an earlier request of the conversation left.

Lives here: places in a body with the content of all that stands before them. Does not belong here: what is read of a body.

Requests of a conversation begin with the same bytes. A mark stands at a multiple of `_STEP` and is keyed by a running hash of the
bytes before it, so the hash is all that is computed of them.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from turnfold.compression.memo import Mark

_STEP: Final = 32_768  # bytes from one mark to the next
_TRIED: Final = 3


def body_marks(wire: str, body: bytes) -> list[Mark]:
    """The last places at which an earlier request may have left what it had read, the latest first; `at` is in bytes."""
    last = len(body) // _STEP
    found: list[Mark] = []
    hashed, view, at = blake2b(digest_size=16), memoryview(body), 0
    for number in range(max(1, last - _TRIED + 1), last + 1):
        hashed.update(view[at : (at := number * _STEP)])
        found.append(Mark(at, (wire, hashed.digest())))
    return found[::-1]
