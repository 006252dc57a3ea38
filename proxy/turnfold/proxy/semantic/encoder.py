"""What an encoder is.

Lives here: its protocol, its failure, and the form of a vector. Does not belong here: any encoder, where vectors are kept.

A vector is int8, `dimension` bytes long. Each is scaled so that its largest number is 127: only its direction counts, so vectors
are compared by their cosine and never by their length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

_LARGEST: Final = 127


class EncoderFailed(Exception):
    """There are no vectors; the message says why, and has no text of a conversation in it."""


class Encoder(Protocol):
    """Texts in, int8 vectors out.

    Attributes:
        name: of the model and its version: vectors of encoders of different names are never compared.
        dimension: numbers of a vector.
        knows: languages that it knows, as the stemmer names them; None: all.
    """

    name: str
    dimension: int
    knows: frozenset[str] | None

    def encode(self, texts: Sequence[str]) -> list[bytes]:
        """A vector a text, in order: one that depends on that text alone. Called in a thread; several may call at once.

        Raises:
            EncoderFailed: there are none.
        """
        ...


def quantised(row: npt.NDArray[Any]) -> bytes:
    """A vector of floats as int8. One without a direction, or that is no number, is all zeros: it is like nothing."""
    most = float(np.abs(row).max(initial=0.0))
    if not np.isfinite(row).all() or most == 0.0:
        return bytes(len(row))
    small: npt.NDArray[np.int8] = np.rint(row * (_LARGEST / most)).astype(np.int8)
    return small.tobytes()
