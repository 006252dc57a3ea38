"""Words by number, and what rules of ties may ask of a word, in columns by its number.

Lives here: the numbers and the columns. Does not belong here: the lists of words (``cues``, ``listed_phrases``), sentences
(``heard_page``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, count, islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnfold.compression.text.cues import CUES
from turnfold.compression.text.listed_phrases import LISTED, Phrases
from turnfold.compression.text.listed_phrases import RARE as RARE_LISTS
from turnfold.compression.text.lower import words
from turnfold.compression.text.statement_pieces import ELLIPSES, OPENINGS

Ints = NDArray[np.int64]

#: The bit of each cue; then those of what else is asked of a word.
CUE_BITS: Final[Mapping[str, int]] = {name: 1 << n for n, name in enumerate(CUES)}
ELLIPSIS, JUDGES, SWEEPS, RARE, OPENS, NARROWS = (1 << n for n in range(len(CUES), len(CUES) + 6))


def _anywhere() -> Mapping[str, int]:
    """What a word tells wherever it stands, in bits."""
    listed = [(CUE_BITS[name], cue.words) for name, cue in CUES.items()]
    listed += [(ELLIPSIS, ELLIPSES), (SWEEPS, LISTED["sweeping"].keys())]
    listed += [(JUDGES if name == "verdicts" else RARE, _single(LISTED[name])) for name in RARE_LISTS]
    return _bits(listed)


def _first() -> Mapping[str, int]:
    """What the first word of a sentence tells, in bits."""
    listed = [(CUE_BITS[name], cue.begins) for name, cue in CUES.items()]
    return _bits([*listed, *[(_opening_bit(name), _single(phrases)) for name, phrases in OPENINGS.items()]])


def _single(phrases: Phrases) -> Set[str]:
    return {word for word, listed in phrases.items() if (word,) in listed}


def _opening_bit(name: str) -> int:
    return NARROWS if name == "narrows" else OPENS


def _bits(listed: Iterable[tuple[int, Iterable[str]]]) -> Mapping[str, int]:
    found: dict[str, int] = defaultdict(int)
    for bit, told in listed:
        for word in told:
            found[word] |= bit
    return dict(found)


def _pairs() -> tuple[Mapping[str, int], Mapping[str, int], Ints]:
    """The numbers, from 1 on, of the first and the second words of phrases; by both numbers what such a phrase tells, in bits."""
    found: dict[tuple[str, ...], int] = defaultdict(int)
    listed = [(RARE, LISTED[name]) for name in RARE_LISTS]
    listed += [(_opening_bit(name), phrases) for name, phrases in OPENINGS.items()]
    for bit, phrases in listed:
        for phrase in chain.from_iterable(phrases.values()):
            if len(phrase) > 1:
                found[phrase[:2]] |= bit
    leads, follows = ({word: n for n, word in enumerate(sorted(set(each)), 1)} for each in zip(*found, strict=True))
    table = np.zeros((len(leads) + 1, len(follows) + 1), np.int64)
    for (lead, follow), bits in found.items():
        table[leads[lead], follows[follow]] = bits
    return leads, follows, table


_ANYWHERE: Final = _anywhere()
_FIRST: Final = _first()
_LEADS, _FOLLOWS, PAIRS = _pairs()


class WordColumns(NamedTuple):
    """By a word's number: what it tells anywhere and as the first word, its numbers in ``PAIRS``, and how many words
    (``lower.words``) it is."""

    anywhere: Ints
    first: Ints
    leads: Ints
    follows: Ints
    parts: Ints


def word_columns(said: Sequence[str]) -> WordColumns:
    """The columns of some words, which are lowered and may have digits and joints in them."""
    parts = [1 if word.isalpha() else len(words(word)) for word in said]
    rows = ([table.get(word, 0) for word in said] for table in (_ANYWHERE, _FIRST, _LEADS, _FOLLOWS))
    return WordColumns(*[np.array(row, np.int64) for row in (*rows, parts)])


class Vocabulary:
    """Gives each word a number when it is first heard."""

    def __init__(self, known: Mapping[str, int], columns: WordColumns) -> None:
        self.numbers: dict[str, int] = defaultdict(count(len(known)).__next__, known)
        #: Of words with digits and joints in them, the numbers of their parts.
        self.several: dict[int, list[int]] = {}
        self._columns = columns

    def number(self, said: Iterable[str]) -> Ints:
        """The numbers of words."""
        return np.array(list(map(self.numbers.__getitem__, said)), np.int64)

    def columns(self) -> WordColumns:
        """The columns of all words that have a number."""
        while (told := len(self._columns.parts)) < len(self.numbers):
            fresh = list(islice(reversed(self.numbers), len(self.numbers) - told))[::-1]
            more = word_columns(fresh)
            self._columns = WordColumns(*map(np.concatenate, zip(self._columns, more, strict=True)))
            for word, parts in zip(fresh, more.parts.tolist(), strict=True):
                if parts and not word.isalpha():
                    self.several[self.numbers[word]] = [self.numbers[part] for part in words(word)]
        return self._columns
