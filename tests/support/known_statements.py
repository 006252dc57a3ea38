"""Statements of texts that a test process has read before.

Lives here: remembering them, and reading anew where time is measured. Does not belong here: reading (``text.statements`` has it),
tokens (``known_tokens``).

Tests shorten the same texts again and again: in other sizes, with other words, on other wires. More than half of all statements
are read out of a text out of which they were read before. What is read depends on the text alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Final

from turnfold.compression.text import statements
from turnfold.compression.text.spans import Span
from turnfold.compression.text.statements import Statements

#: Characters; the few longer texts would take most of the memory.
_LONGEST: Final = 8_000

_read: Final = statements.statements
_remembered: Final = lru_cache(maxsize=8_192)(_read)
_anew: Final[list[None]] = []  # an entry while time is measured


@wraps(_read)
def _known(text: str, blocks: Sequence[Span] | None = None) -> Statements:
    if _anew or blocks is not None or len(text) > _LONGEST:
        return _read(text, blocks)
    return _remembered(text)


def remember_statements() -> None:
    """From now on no text is read again that was read lately. Call it before others import what reads."""
    statements.statements = _known


@contextmanager
def read_anew() -> Iterator[None]:
    """Read whatever is asked for, as a server does: for what measures time."""
    _anew.append(None)
    try:
        yield
    finally:
        _anew.pop()
