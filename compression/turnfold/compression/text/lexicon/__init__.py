"""Word tables that are data, not code.

This is the one reader of the ``.txt`` tables beside it. It does not know what a table is for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final

_ALIKE: Final = 2  # more would take longer to compile than it saves
_FEW: Final = 16  # phrases, which take no longer one by one


@cache  # several modules ask for the same table, and most words stand in several sections
def lexicon(name: str) -> Mapping[str, frozenset[str]]:
    """A table: words by section; the line ``[section]`` begins a section."""
    table: dict[str, list[str]] = {}
    section = ""
    for line in (files(__package__) / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            table[section] = []
        elif line:
            table[section] += map(sys.intern, line.split())
    return MappingProxyType({section: frozenset(words) for section, words in table.items()})


@cache
def all_words(name: str) -> frozenset[str]:
    """The words of all sections of a table."""
    return frozenset().union(*lexicon(name).values())


@cache
def one_of(name: str, section: str) -> str:
    """A pattern for any phrase of a section, the longest first; a phrase's blanks are written as ``_`` in the table."""
    return any_of(phrase.replace("_", " ") for phrase in lexicon(name)[section])


def any_of(phrases: Iterable[str], alike: int = _ALIKE) -> str:
    """A pattern for any of some phrases, the longest first. Phrases with the same first characters, `alike` of them, are grouped,
    since a search tries each alternative at each word: hundreds of phrases take an eighth of the time.
    """
    ordered = sorted(set(phrases), key=lambda phrase: (-len(phrase), phrase))
    if alike == 0 or len(ordered) <= _FEW:
        return "|".join(map(re.escape, ordered))
    begun: dict[str, list[str]] = {}
    for phrase in ordered:  # an empty one, which matches anywhere, is the last
        begun.setdefault(phrase[:1], []).append(phrase[1:])
    return "|".join(f"{re.escape(sign)}(?:{any_of(rest, alike - 1)})" for sign, rest in begun.items())
