"""What a test process has read out of texts before.

It remembers what was read, and reads anew where time is measured. Tokens are remembered in ``known_tokens``.

Tests shorten the same texts again and again: in other sizes, with other words, on other wires, with an empty memory. More than
half of all statements are read out of a text out of which they were read before. What is read depends on the arguments alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from importlib import import_module
from typing import Any, Final

#: Functions of a text, each behind those that its module imports.
_READERS: Final = (
    ("text.words", "words"),
    ("text.wrapped_lines", "broken_lines"),
    ("text.unmarked_speech", "unmarked_speech"),
    ("text.protect", "uncut_spans"),
    ("text.kinds", "parts"),
    ("text.ties.side_by_side", "side_by_side"),
    ("text.sentences", "sentences"),
    ("text.writers", "written_by"),
    ("text.statements", "statements"),
    ("text.statements", "objects"),
    ("text.statements", "objection"),
    ("text.records", "rows"),
    ("text.dialogue.standing.orders", "standing_orders"),
    ("text.dialogue.own_words", "asks"),
    ("text.dialogue.requests", "asks_for_compaction"),
    ("text.dialogue.self_statements", "fact_weight"),
    ("text.names.entities", "entities"),
    ("text.passages", "_chunks"),
    ("text.dialogue.updates", "_values_of"),
    ("text.dialogue.standings", "_standings_of"),
    ("text.dialogue.wanted.works", "asked_work"),
    ("text.dialogue.wanted.several_works", "asked_several"),
    ("recall.meant.dates", "with_times_and_dates"),
    ("recall.links", "_leads"),
    ("shorten.prose", "shorten"),
    ("shorten.kinds.plain", "rows"),
    ("shorten.kinds.plain", "sentence_rows"),
    ("shorten.registry", "facts"),
    ("wire.reports", "_read_framing"),
)
#: Characters; the few longer texts would take most of the memory.
_LONGEST: Final = 8_000
_anew: Final[list[None]] = []  # an entry while time is measured


def _known(read: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with a memory; a list or set that it gives is the caller's own."""
    remembered = lru_cache(maxsize=32_768)(read)

    @wraps(read)
    def known(text: str, *others: Any, **named: Any) -> Any:
        if _anew or len(text) > _LONGEST or not _are_keys((*others, *named.values())):
            return read(text, *others, **named)
        found = remembered(text, *others, **named)
        return type(found)(found) if isinstance(found, list | set) else found

    return known


def _are_keys(values: tuple[Any, ...]) -> bool:
    try:
        hash(values)
    except TypeError:
        return False
    return True


def remember_texts() -> None:
    """From now on what was read out of a text lately is not read again. Call it before others import what reads.

    Raises:
        RuntimeError: a module has a reader already.
    """
    for name, reader in _READERS:
        module = import_module(f"turnfold.compression.{name}")
        read = getattr(module, reader)
        if early := [one for one, has in [*sys.modules.items()] if has is not module and vars(has).get(reader) is read]:
            raise RuntimeError(f"{early} imported {reader} too early")
        setattr(module, reader, _known(read))


@contextmanager
def read_anew() -> Iterator[None]:
    """Read whatever is asked for, as a server does: for what measures time."""
    _anew.append(None)
    try:
        yield
    finally:
        _anew.pop()
