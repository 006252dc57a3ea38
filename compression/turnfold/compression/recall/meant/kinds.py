"""Kinds and names: "which fruit?" matches "two apples", "my job" matches "I fix bikes".

This module gives the terms of words that belong to a word of a question. The words are in ``lexicon/kinds.txt``; what they weigh
is up to ``question``.

A word that means something else in another language is marked in the table with its own ("kind:german", "chat:french"), and
counts only where texts are in it. A stem that is also a function word's ("ans" and "an") counts nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

from turnfold.compression.text import words
from turnfold.compression.text.lexicon import lexicon


@cache  # read at the first question, not at startup
def _sections() -> MappingProxyType[str, tuple[str, ...]]:
    """The sections of the table, by each word of their headings."""
    found: dict[str, tuple[str, ...]] = {}
    for heads in lexicon(_TABLE):
        for head in heads.split():
            found[head] = (*found.get(head, ()), heads)
    return MappingProxyType(found)


def _in_language(marked: Iterable[str], language: str) -> list[str]:
    """The words of a language, and those for any language, without their language marks."""
    split = (word.partition(":") for word in marked)
    return [word for word, _, own in split if own in ("", language)]


_TABLE: Final = "kinds"


@cache
def _section_terms(heads: str, language: str) -> frozenset[int]:
    named = words.stem_table(_in_language(lexicon(_TABLE)[heads], language), language)
    empty = words.stem_table(words.FUNCTION_WORDS.get(language, frozenset()), language)
    return frozenset(named.values()).difference(empty.values())


def kind_terms(word: str, languages: tuple[str, ...]) -> frozenset[int]:
    """The terms of things of the kind that a folded word names, in each of the languages; empty if it names no kind."""
    sections = [heads for name in ("", *languages) for heads in _sections().get(f"{word}:{name}" if name else word, ())]
    return _joined_terms(tuple(sections), languages) if sections else frozenset()


@lru_cache(maxsize=256)
def _joined_terms(sections: tuple[str, ...], languages: tuple[str, ...]) -> frozenset[int]:
    return frozenset().union(*(_section_terms(heads, language) for heads in sections for language in languages))
