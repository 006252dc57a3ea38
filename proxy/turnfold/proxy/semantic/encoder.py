"""The protocol of an encoder.

The protocol, its failure, and the form of a vector. Encoders have modules of their own; where vectors are kept is no concern of
theirs.

A vector is int8, `dimension` bytes long. Each is scaled so that its largest number is 127: only its direction counts, so vectors
are compared by their cosine and never by their length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
from yarl import URL

from turnfold.proxy.asking.own_upstream import Caller
from turnfold.proxy.asking.spending import Payer

_LARGEST: Final = 127


class EncoderFailed(Exception):
    """There are no vectors; the message says why, and has no text of a conversation in it."""


@dataclass(frozen=True, slots=True)
class VectorRequest:
    """The request on whose behalf vectors are computed.

    Attributes:
        payer: a tenant, and its conversation.
        model: of the conversation.
        caller: the request that they are made for; without its headers where no credential of a client's may be used.
        url: where that request goes, without anything secret.
    """

    payer: Payer
    model: str
    caller: Caller
    url: URL


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors, one a text, and the seconds of this machine's core that they took."""

    vectors: list[bytes]
    seconds: float = 0.0


class Encoder(Protocol):
    """Texts in, int8 vectors out.

    Attributes:
        name: of the model, its version and its place: vectors of encoders of different names are never compared.
        dimension: numbers of a vector; 0 as long as nobody knows.
        knows: languages that it knows, as the stemmer names them; None: all.
        most_texts: texts of one call in the background.
        most_calls: calls in the background at once.
        failures: how often there were no vectors, by reason, as a slug.
    """

    name: str
    dimension: int
    knows: frozenset[str] | None
    most_texts: int
    most_calls: int
    failures: Counter[str]

    @property
    def only_while_served(self) -> bool:
        """Whether vectors may be made only while the request is served that they are made for: it pays with its own key."""
        ...

    def is_ready(self, errand: VectorRequest) -> bool:
        """Whether it can be called now."""
        ...

    async def encode(self, texts: Sequence[str], errand: VectorRequest) -> Encoded:
        """A vector a text, in order: one that depends on that text alone. Several may call at once.

        Raises:
            EncoderFailed: there are none.
        """
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Its resources while it is used."""
        ...


def quantised(row: npt.NDArray[Any]) -> bytes:
    """A vector of floats as int8. One without a direction, or that is no number, is all zeros: it is like nothing."""
    most = float(np.abs(row).max(initial=0.0))
    if not np.isfinite(row).all() or most == 0.0:
        return bytes(len(row))
    small: npt.NDArray[np.int8] = np.rint(row * (_LARGEST / most)).astype(np.int8)
    return small.tobytes()
