"""Tokens of texts that a test process has encoded before.

It remembers them, and encodes anew where time is measured. The encoder is the engine's (``tokens``).

Tests count the same texts again and again: each comparison with a fresh memory does, and each step of a budget. More than half of
all encoding is of a text that was encoded before. What an encoder makes of a text depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final

import tiktoken

_encode: Final = tiktoken.Encoding.encode_ordinary
_remembered: Final = lru_cache(maxsize=65_536)(_encode)
#: Characters; the few longer texts would take most of the memory.
_LONGEST: Final = 8_000


def _known(encoder: tiktoken.Encoding, text: str) -> list[int]:
    return _remembered(encoder, text) if len(text) <= _LONGEST else _encode(encoder, text)


def remember_tokens() -> None:
    """From now on no text that was encoded lately is encoded again."""
    tiktoken.Encoding.encode_ordinary = _known  # type: ignore[method-assign, assignment]


@contextmanager
def encoded_anew() -> Iterator[None]:
    """Encode whatever is asked for, as a server does: for what measures time."""
    before, tiktoken.Encoding.encode_ordinary = tiktoken.Encoding.encode_ordinary, _encode  # type: ignore[method-assign]
    try:
        yield
    finally:
        tiktoken.Encoding.encode_ordinary = before  # type: ignore[method-assign]
