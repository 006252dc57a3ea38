"""The changes that a fold asks for: which messages go, which get other texts, and what is placed beside a user's message.

Changes name messages by their index and say nothing about JSON. A format turns them into edits of its own body
(``Wire.write``); deciding what changes is up to ``fold``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, starmap
from typing import Literal

from turnfold.compression.wire.message import Texts


@dataclass(frozen=True, slots=True)
class Beside:
    """Texts added to a kept user message: before and after its own text, in order."""

    front: tuple[str, ...] = ()
    behind: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MarkMove:
    """The move of a left-out message's cache mark to another message.

    Attributes:
        source: the message with the mark.
        target: the message that gets it.
        place: "front": on the last text inserted before the target's content; "own": on its last part; "behind": on the last
            text inserted after it.
    """

    source: int
    target: int
    place: Literal["front", "own", "behind"]


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to a conversation's messages, by their indices.

    Attributes:
        dropped: half-open runs of messages that are left out.
        texts: new texts by path; a path that ends at a part of the content stands for the whole part, which becomes a text.
        beside: texts inserted beside user messages.
        apart: user messages that are written as a list of parts, so that inserted texts are separate parts even if the content
            was a string. A cache mark ends at the end of a part. Clients write a message as parts while it is marked, and as a
            string once the mark has moved, so the parts must be the same.
        breakpoint: the user message whose own text gets a cache breakpoint (OpenAI 5.6 and later); None: none.
        unsigned: messages whose signed reasoning is removed; a message with nothing else is removed too.
        drops_thinking: whether to ask the provider to drop thinking that is no longer valid.
        marks: cache marks of left-out messages, and their new places.
    """

    dropped: tuple[tuple[int, int], ...] = ()
    texts: Mapping[int, Texts] = field(default_factory=dict)
    beside: Mapping[int, Beside] = field(default_factory=dict)
    apart: frozenset[int] = frozenset()
    breakpoint: int | None = None
    unsigned: frozenset[int] = frozenset()
    drops_thinking: bool = False
    marks: tuple[MarkMove, ...] = ()

    @property
    def gone(self) -> frozenset[int]:
        """The indices of all left-out messages."""
        return _one_by_one(self.dropped)


@lru_cache(maxsize=16)
def _one_by_one(runs: tuple[tuple[int, int], ...]) -> frozenset[int]:
    """Cached: between two fold events a conversation's runs are the same, and may cover nearly all of its messages."""
    return frozenset(chain.from_iterable(starmap(range, runs)))


def kept_indices(dropped: Iterable[tuple[int, int]], start: int, end: int) -> Iterator[int]:
    """The messages ``start..end`` that are in none of the left-out runs."""
    at = start
    for begin, stop in sorted(dropped):
        yield from range(at, min(begin, end))
        at = max(at, stop)
    yield from range(at, end)
