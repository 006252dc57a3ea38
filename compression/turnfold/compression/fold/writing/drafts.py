"""The values of a draft: sections with their originals, texts beside a user's message, and the draft itself.

``fold.write`` makes them; ``fold.changing`` turns a draft into changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from turnfold.compression.fold.adoption import WantedSummary
from turnfold.compression.wire.message import Texts


@dataclass(frozen=True, slots=True)
class Section:
    """The originals of one run of folded content, and their replacement.

    Attributes:
        id: content hash, the same on every replica; resolves within one tenant only.
        level: "facts", "summary" or "line".
        messages: the original messages' JSON texts, byte for byte, in order.
        tokens: tokens of the originals by the border counter.
        instead: the replacement: at level "facts" one text for each message (its shortened texts joined by a newline, or None if
            it is unchanged); at other levels a single text for all of them.
    """

    id: str
    level: str
    messages: tuple[str, ...]
    tokens: int
    instead: tuple[str | None, ...] = ()


@dataclass(slots=True)
class Surroundings:
    """Texts next to a kept user message's own text: before it, with the state last, and after it and its recall."""

    front: list[str] = field(default_factory=list)
    state: str = ""
    behind: list[str] = field(default_factory=list)


#: Folded results whose pictures stay, unless a budget has no room for so many.
PICTURES: Final = 5


@dataclass(frozen=True, slots=True)
class FoldDraft:
    """A complete fold except for recall.

    Attributes:
        dropped: runs of left-out message indices.
        gone: all left-out message indices.
        shortened: for each message index, new texts by path.
        shaped: new texts of tool results that are not folded, in the same form (see ``results``).
        beside: for each kept user message index, the texts next to its own.
        sections: originals of the folded content, and their replacements.
        section_of: for each message index, its section.
        unsigned: messages whose signed reasoning is removed.
        wanted: blocks for which a written summary would be used, if the options ask for them.
        pictures: the most folded tool results whose pictures stay.
    """

    dropped: tuple[tuple[int, int], ...]
    gone: frozenset[int]
    shortened: Mapping[int, Texts]
    shaped: Mapping[int, Texts]
    beside: Mapping[int, Surroundings]
    sections: tuple[Section, ...]
    section_of: Mapping[int, Section]
    unsigned: frozenset[int] = frozenset()
    wanted: tuple[WantedSummary, ...] = ()
    pictures: int = PICTURES

    def texts(self) -> Iterator[str]:
        """The texts written by the fold, which recall need not quote again.

        Excludes the state: otherwise a later block would change an earlier message's recall.
        """
        for texts in self.shortened.values():
            yield from texts.values()
        for beside in self.beside.values():
            yield from (*beside.front, *beside.behind)
