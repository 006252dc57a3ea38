"""What a whole text holds, so that its sentences are not asked for what stands nowhere in it.

Lives here: what is found out once for all sentences of a text. Does not belong here: what one sentence is asked
(``statement_pieces``), the lists of words that tell (``cues``, ``listed_phrases``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain
from typing import Final, Protocol

from turnfold.compression.text.cues import CUES, sentence_cues, text_cues
from turnfold.compression.text.heard import HeardWords
from turnfold.compression.text.listed_phrases import OPENING, RARE, rare_words
from turnfold.compression.text.spans import Span

#: What begins a name or is in a figure, in ASCII: the signs that tell are one class, which the regex engine finds fast.
ASCII_NAMES: Final = re.compile(r"[A-Z0-9`._/@](?:(?<=[\w,;:] [A-Z])[^\W_]+|(?<=[\d`])|(?<=\w[._/@])\w)")
#: Signs of scripts without blanks between words.
DENSE: Final = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")


class _Hearable(Protocol):
    """One of the sentences, as ``statement_pieces`` has them."""

    said: list[str]
    span: Span
    opens: Mapping[str, int]
    stands_alone: bool

    @property
    def names_something(self) -> bool: ...

    @property
    def means_somebody(self) -> bool: ...

    def rare_lists(self) -> Iterator[str]: ...


class Hints:
    """What a whole text holds, so that a sentence is not asked for what stands nowhere in it."""

    def __init__(self, text: str) -> None:
        self._text = text
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
        #: All words, each once.
        self.distinct: Set[str] = frozenset()
        #: The cues (``cues``) of each sentence, and those of the text.
        self.cues: Sequence[int] = ()
        self.held = 0

    @cached_property
    def names(self) -> list[int]:
        """Where names and figures of a text of ASCII begin."""
        return [m.start() for m in ASCII_NAMES.finditer(self._text)]

    def _naming(self, pieces: Sequence[_Hearable]) -> Set[int]:
        """The sentences of a text of ASCII that name something: those in which one of `names` is, of which there are fewer."""
        found: set[int] = set()
        i = end = 0
        for at in self.names:
            if at >= end:
                while pieces[i].span.end <= at:
                    i += 1
                if pieces[i].names_something:
                    found.add(i)
                end = pieces[i].span.end
        return found

    def hear(self, pieces: Sequence[_Hearable]) -> None:
        """Take in the words of all sentences."""
        heard = HeardWords([piece.said for piece in pieces])
        self.opened = set(chain.from_iterable([piece.opens for piece in pieces if piece.opens]))
        self.distinct = heard.distinct
        self.cues, self.held = cues, held = sentence_cues(heard), text_cues(heard)
        self.may_limit = held & CUES["limits"] > 0
        if self.dense:
            self.meaning = {i for i, piece in enumerate(pieces) if piece.means_somebody}
        else:
            persons = CUES["persons"]
            meaning = [i for i, bits in enumerate(cues) if bits & persons] if held & persons else ()
            if meaning and self.ascii:
                self.meaning = set(meaning).difference(self._naming(pieces))
            else:
                self.meaning = {i for i in meaning if not pieces[i].names_something}
            if "pronouns" in self.opened:
                self.meaning |= {i for i, piece in enumerate(pieces) if piece.opens and "pronouns" in piece.opens}
            found = rare_words(heard, judged=held & CUES["sweeping"] > 0) if held & CUES["rare"] else set()
            told = [piece for piece in pieces if not found.isdisjoint(piece.said)] if found else []
            self.rare = {name for piece in told for name in piece.rare_lists()}
            for piece in told if self.rare else ():
                piece.stands_alone = False
