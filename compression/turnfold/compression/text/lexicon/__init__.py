"""Word tables that are data, not code.

Lives here: the one reader of the ``.txt`` tables beside this file. Does not belong here: knowledge of what a table is for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType


@cache  # several modules ask for the same table, and most words stand in several sections
def lexicon(name: str) -> Mapping[str, frozenset[str]]:
    """A table: words by section, where ``[section]`` stands on a line of its own."""
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
    phrases = {phrase.replace("_", " ") for phrase in lexicon(name)[section]}
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))
