"""Statements that bind requested advice: quoted first, since no word of the question leads to them.

This module chooses those that are quoted. Such statements, and requests for advice, are recognised in ``text.dialogue.bindings``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turnfold.compression.memo import Memo, of_each
from turnfold.compression.shorten.told import parts_with_needs
from turnfold.compression.text.dialogue.bindings import Binding, advised_topics, bindings
from turnfold.compression.text.quotes import Quotable, Quote

_LONGEST: Final = 600  # longest question, in characters, that counts as asking for advice
_MOST: Final = 5  # statements at most


def bound(sources: Sequence[Quotable], asked: str, memo: Memo) -> list[Quote]:
    """The user's newest statements that restrict the advice a message asks for, newest first, with the text they depend on."""
    topics = advised_topics(asked) if len(asked) <= _LONGEST else frozenset()
    if not topics:
        return []

    def read(source: Quotable) -> tuple[Binding, ...]:
        return bindings(source.text) if source.role == "user" else ()

    found = of_each(memo, "bindings", sources, read)
    said = [(n, one) for n, some in enumerate(found) for one in some if not topics.isdisjoint(one.topics)]
    newest = said[: -_MOST - 1 : -1]
    needed = (Quote(n, *place) for n, one in newest for place in parts_with_needs(sources[n], one.start, one.end, memo))
    return list(dict.fromkeys(needed))
