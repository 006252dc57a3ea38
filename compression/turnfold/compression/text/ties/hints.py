"""Features of a whole text, so that rules skip what it does not contain.

They are found once for all sentences of a text. The properties of one sentence are in ``pieces``, the lists of cue words in
``cues``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, reduce
from itertools import chain
from operator import or_
from typing import Final, Protocol

from turnfold.compression import lazy
from turnfold.compression.text.ties.cues import CUES, OPENING, RARE

#: What begins a name or is in a figure, in ASCII: the signs that tell are one class, which the regex engine finds fast.
ASCII_NAMES: Final = lazy.pattern(r"[A-Z0-9`._/@](?:(?<=[\w,;:] [A-Z])[^\W_]+|(?<=[\d`])|(?<=\w[._/@])\w)")
#: Signs of scripts without blanks between words.
DENSE: Final = lazy.pattern(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")


class _Hearable(Protocol):
    """One of the sentences, as ``pieces`` has them."""

    said: list[str]
    opens: Mapping[str, int]
    stands_alone: bool

    @property
    def names_something(self) -> bool: ...

    @property
    def means_somebody(self) -> bool: ...

    def rare_lists(self) -> Iterator[str]: ...


class Hints:
    """Features of a whole text, so that no sentence is checked for what the text does not contain."""

    def __init__(self, text: str) -> None:
        self.ascii = text.isascii()
        self.dense = not self.ascii and DENSE.search(text) is not None
        self.introduces = ":" in text or "：" in text
        #: Rare lists of which some sentence has a phrase.
        self.rare: Set[str] = frozenset(RARE)
        #: Lists with whose phrases some sentence begins; whether some has a word of a prohibition.
        self.opened: Set[str] = frozenset(OPENING)
        self.may_limit = True
        #: The sentences that speak of somebody whom another one names.
        self.meaning: Set[int] = frozenset()
        self._said: Sequence[Sequence[str]] = ()
        #: The cues (``cues``) of each sentence, and those of the text.
        self.cues: Sequence[int] = ()
        self.held = 0

    @cached_property
    def distinct(self) -> Set[str]:
        """All words, each once."""
        return frozenset().union(*self._said)

    def hear(self, pieces: Sequence[_Hearable], cues: Sequence[int]) -> None:
        """Take in the sentences and their cues (``cues``)."""
        self.opened = set(chain.from_iterable([piece.opens for piece in pieces if piece.opens]))
        self.cues, self.held = cues, reduce(or_, cues)
        self._said = [piece.said for piece in pieces]
        self.may_limit = self.held & CUES["limits"] > 0
        if self.dense:
            self.meaning = {i for i, piece in enumerate(pieces) if piece.means_somebody}
            return
        self.meaning = {i for i, bits in enumerate(cues) if bits & _PERSONS and not pieces[i].names_something}
        if "pronouns" in self.opened:
            self.meaning |= {i for i, piece in enumerate(pieces) if "pronouns" in piece.opens}
        rare: set[str] = set()
        for piece in [piece for piece, bits in zip(pieces, cues, strict=True) if bits & _RARE or bits & _JUDGES == _JUDGES]:
            if lists := set(piece.rare_lists()):
                piece.stands_alone = False
                rare |= lists
        self.rare = rare


_PERSONS: Final = CUES["persons"]
_RARE: Final = CUES["rare"]
_JUDGES: Final = CUES["judging"] | CUES["sweeping"]
