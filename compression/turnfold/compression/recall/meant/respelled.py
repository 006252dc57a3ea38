"""Words of a question that do not occur in the conversation, as the conversation may spell them.

This module finds the words of the conversation that a word may be meant for. What a question's words weigh is up to ``question``.

People mistype words and leave accents out: "phyiscs", "ou sont mes cles". A word that no passage has would weigh most, being the
rarest, and find nothing. It stands for those that differ by one slip (Damerau, "A technique for computer detection and correction
of spelling errors", 1964), or only by accents. What is a slip from a function word says nothing of the subject.

Most words that the conversation does not have are spelled right: "space" is not meant for "spice". Right words of any language
are single tokens far more often than mistyped ones.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from turnfold.compression.recall.passage_index import PassageIndex
from turnfold.compression.scorers.bm25 import Hashes
from turnfold.compression.text import words
from turnfold.compression.tokens import BORDER_COUNTER

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_SHORTEST: Final = 5  # letters of a word that is corrected; too many words are one slip away from shorter ones
_SHORTEST_SWAPPED: Final = 3  # letters of a function word with two letters swapped
_LONGEST: Final = 24
_PLAIN_LETTERS: Final = str.maketrans({"ł": "l", "đ": "d", "ø": "o", "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe", "ð": "d"})
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa"})
_READ: Final = ""  # not a word: this key holds the number of sources read


def respelled_terms(word: str, index: PassageIndex) -> list[int]:
    """The terms of words of the conversation that an unknown word may be a misspelling of."""
    if not word.isalpha() or len(word) > _LONGEST:
        return []
    accented = _accented(index).get(plain(word), ())
    found = _known_terms(_terms(accented, index.languages), index)
    if not found and word.isascii() and len(word) >= _SHORTEST and not _is_known(word):
        found = _known_terms(_slip_terms(word, index.languages), index)
    return found


def _is_known(word: str) -> bool:
    """Whether the tokenizer's vocabulary has a word, which means that it is spelled correctly."""
    return BORDER_COUNTER(f" {word}") == 1


def is_mistyped_function_word(word: str, languages: tuple[str, ...]) -> bool:
    """Whether a word is a function word of a language with two adjacent letters swapped: "teh", "waht"."""
    known = _function_words(languages)
    return _SHORTEST_SWAPPED <= len(word) <= known.longest and not known.words.isdisjoint(_swapped(word))


class _FunctionWords(NamedTuple):
    """The function words of some languages, and the length of the longest in letters."""

    words: frozenset[str]
    longest: int


@lru_cache(maxsize=64)
def _function_words(languages: tuple[str, ...]) -> _FunctionWords:
    known = frozenset[str]().union(*(words.FUNCTION_WORDS.get(language, frozenset()) for language in languages))
    return _FunctionWords(known, max(map(len, known), default=0))


def plain(word: str) -> str:
    """A folded word without accents."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFD", word.translate(_PLAIN_LETTERS))
    return "".join(sign for sign in decomposed if not unicodedata.combining(sign))


def _known_terms(terms: Hashes, index: PassageIndex) -> list[int]:
    """The terms that occur in a passage."""
    return terms[index.words.having(terms) > 0].tolist() if len(terms) else []


def _terms(spellings: Collection[str], languages: Sequence[str]) -> Hashes:
    """The terms of several spellings in each of the languages."""
    return np.unique(np.array([t for name in languages for t in words.stem_table(spellings, name).values()], np.uint32))


@lru_cache(maxsize=256)  # a message is read again for each of its questions and each request that contains it
def _slip_terms(word: str, languages: tuple[str, ...]) -> Hashes:
    return _terms(dict.fromkeys(_slips(word)), languages)


def _slips(word: str) -> Iterator[str]:
    """The words one slip away from a word: two letters swapped, one extra, one replaced, one missing."""
    yield from _swapped(word)
    for at in range(len(word) + 1):
        before, behind = word[:at], word[at:]
        if behind:
            yield before + behind[1:]
            yield from (f"{before}{letter}{behind[1:]}" for letter in _LETTERS)
        yield from (f"{before}{letter}{behind}" for letter in _LETTERS)


def _swapped(word: str) -> Iterator[str]:
    for at in range(len(word) - 1):
        if word[at] != word[at + 1]:
            yield f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"


def _accented(index: PassageIndex) -> dict[str, tuple[str, ...]]:
    """The words with accents in the sources, by their form without accents."""
    table: dict[str, tuple[str, ...]] = index.derived("accented", dict)
    read = int(table.get(_READ, ("0",))[0])
    if read == len(index.sources):
        return table
    found: dict[str, set[str]] = {}
    for source in index.sources[read:]:
        if source.text.isascii():
            continue
        said = words.words(words.fold(" ".join(part for part in source.text.split() if not part.isascii())))
        for word in {word for word in said if not word.isascii()}:
            for key in {plain(word), plain(word.translate(_UMLAUTS))} - {word}:
                found.setdefault(key, set()).add(word)
    table.update((key, tuple(sorted(spelled.union(table.get(key, ()))))) for key, spelled in found.items())
    table[_READ] = (str(len(index.sources)),)
    return table
