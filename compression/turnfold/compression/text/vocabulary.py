"""Words by number, and what rules of ties may ask of a word, in columns by its number.

Lives here: the numbers and the columns. Does not belong here: the lists of words (``cues``, ``listed_phrases``), sentences
(``heard_page``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from turnfold.compression.text.cues import CUES
from turnfold.compression.text.listed_phrases import LISTED, RARE_PHRASES
from turnfold.compression.text.listed_phrases import RARE as RARE_LISTS
from turnfold.compression.text.lower import words
from turnfold.compression.text.statement_pieces import ELLIPSES, OPENINGS

Ints = NDArray[np.int64]

#: The bit of each cue; then those of what else is asked of a word.
CUE_BITS: Final[Mapping[str, int]] = {name: 1 << n for n, name in enumerate(CUES)}
ELLIPSIS, RARE, JUDGES, SWEEPS, OPENS, MAY_OPEN, OPENS_SECOND = (1 << n for n in range(len(CUES), len(CUES) + 7))

_PHRASES: Final = {tuple(phrase.split()) for phrases in RARE_PHRASES.values() for _, phrase, _ in phrases}
#: The numbers that the first and the second words of rare phrases have among themselves, from 1 on.
_LEADS: Final = {word: n for n, word in enumerate(sorted({phrase[0] for phrase in _PHRASES if len(phrase) > 1}), 1)}
_FOLLOWS: Final = {word: n for n, word in enumerate(sorted({phrase[1] for phrase in _PHRASES if len(phrase) > 1}), 1)}
#: Whether a rare phrase begins with these two words.
RARE_PAIRS: Final = np.zeros((len(_LEADS) + 1, len(_FOLLOWS) + 1), bool)
for _phrase in _PHRASES:
    if len(_phrase) > 1:
        RARE_PAIRS[_LEADS[_phrase[0]], _FOLLOWS[_phrase[1]]] = True


def _anywhere() -> dict[str, int]:
    """What a word tells wherever it stands, in bits."""
    found: dict[str, int] = defaultdict(int)
    listed = [(CUE_BITS[name], cue.words) for name, cue in CUES.items()]
    seconds = frozenset().union(*[seconds for _, seconds in OPENINGS.values()])
    listed += [(ELLIPSIS, ELLIPSES), (OPENS_SECOND, seconds), (SWEEPS, frozenset(LISTED["sweeping"]))]
    for name in RARE_LISTS:
        single = frozenset(phrase for phrase, phrases in LISTED[name].items() if (phrase,) in phrases)
        listed.append((JUDGES if name == "verdicts" else RARE, single))
    for bit, told in listed:
        for word in told:
            found[word] |= bit
    return dict(found)


def _first() -> dict[str, int]:
    """What the first word of a sentence tells, in bits."""
    found: dict[str, int] = defaultdict(int)
    for name, cue in CUES.items():
        for word in cue.begins:
            found[word] |= CUE_BITS[name]
    for word, (sure, seconds) in OPENINGS.items():
        found[word] |= OPENS * bool(sure) | MAY_OPEN * bool(seconds)
    return dict(found)


_ANYWHERE: Final = _anywhere()
_FIRST: Final = _first()


class WordColumns(NamedTuple):
    """By a word's number: what it tells anywhere and as the first word, its numbers in ``RARE_PAIRS``, and how many words
    (``lower.words``) it is."""

    anywhere: Ints
    first: Ints
    leads: Ints
    follows: Ints
    parts: Ints


def word_columns(said: Sequence[str]) -> WordColumns:
    """The columns of some words, which are lowered and may have digits and joints in them."""
    parts = [1 if word.isalpha() else len(_parts(word)) if _parts(word) != [word] else 1 for word in said]
    rows = ([table.get(word, 0) for word in said] for table in (_ANYWHERE, _FIRST, _LEADS, _FOLLOWS))
    return WordColumns(*[np.array(row, np.int64) for row in (*rows, parts)])


def _parts(word: str) -> list[str]:
    return words(word)


class Vocabulary:
    """Gives each word a number when it is first heard."""

    def __init__(self, known: Mapping[str, int], columns: WordColumns) -> None:
        self.numbers: dict[str, int] = defaultdict(count(len(known)).__next__, known)
        #: Of words that are several, the numbers of these.
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
                if parts > 1 or (parts and _parts(word) != [word]):
                    self.several[self.numbers[word]] = [self.numbers[part] for part in _parts(word)]
        return self._columns
